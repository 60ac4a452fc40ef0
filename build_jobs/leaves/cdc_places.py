"""CDC PLACES: one leaf a health measure of small areas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from build_jobs.leaves.declared import coverage_of
from build_jobs.leaves.family import Family, access_document, reported
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import for_area
from build_jobs.leaves.rows import BadRow, Located, Row, identity
from build_jobs.leaves.shapes import Record, Shape, listed, required, text_at
from build_jobs.text import clean, clean_list

_LEVELS = ["county", "city", "zip", "tract"]

_ACCESS = access_document(
    title="CDC PLACES",
    description="Modelled estimates of the health of adults in every county, city, tract and ZIP area of the US.",
    resource="https://data.cdc.gov/resource/swc5-untb.json",
    publisher="cdc.gov",
    scope="a US county, city, census tract or ZIP area, for the health of its adults",
    operations={
        "county": {
            "method": "GET",
            "url": "https://data.cdc.gov/resource/swc5-untb.json?measureid={measureid}&stateabbr={state}"
            "&locationname={county}",
            "capability": {
                "returns": {"label": "locationname", "value": "data_value"},
                "period": {"field": "year", "multi": False},
                "grain": "county",
                "entity_kind": "fips",
                "entity_field": "locationid",
            },
        },
        "counties": {
            "method": "GET",
            "url": "https://data.cdc.gov/resource/swc5-untb.json?measureid={measureid}&datavaluetypeid=AgeAdjPrv"
            "&$order=data_value%20DESC&$limit=5000",
            "capability": {
                "page": {"complete": True, "max": 5000},
                "population": {"complete": True},
                "returns": {"label": "locationname", "value": "data_value"},
                "order": {"server": True},
                "grain": "county",
                "rows_per_unit": {"county": 1},
            },
        },
        "tract": {
            "method": "GET",
            "url": "https://data.cdc.gov/resource/cwsq-ngmh.json?measureid={measureid}&locationid={tract}",
            "capability": {"returns": {"label": "locationname", "value": "data_value"}, "grain": "tract"},
        },
    },
)
_ABOUT = """# About

A national telephone survey asks adults about their health; a model carries the answers over to small areas.

# Query

The leaf's `measureid` names the measure. `county` and `tract` ask for one area, `counties` for all of them in order.
`data_value` is a share of adults in percent, with its confidence limits beside it.

# Matching & caveats

- A county comes twice: crude (`CrdPrv`) and adjusted for age (`AgeAdjPrv`). Compare areas by the adjusted one.
- County names lack the word County, and repeat between states.
- The values are estimates of a model, never counts of people.
"""


def draft(row: Row) -> Draft:
    code, title = identity(row)
    category = clean(row.get("category"))
    front_matter = {
        "type": "Community Health Measure",
        "title": f"{title} — CDC PLACES",
        "description": clean(row.get("description")),
        "tags": ["health", "cdc", "places", *([slug(category)] if category else []), *_LEVELS],
        "source": "./_access.md",
        "measureid": code,
        "category": category,
        "unit": clean(row.get("unit")) or "%",
        "coverage": coverage_of(row, _LEVELS),
        "representativeQueries": clean_list(row.get("queries") or []) or for_area(title, "county"),
    }
    return Draft(code, slug(code), front_matter, reported(code, "for one area, or for all counties", "county"))


def _measure(record: Record) -> Row:
    return {
        "id": required(record, "measureid"),
        "title": text_at(record, "measure_short_name") or required(record, "measure_full_name"),
        "description": required(record, "measure_full_name"),
        "category": text_at(record, "category_name"),
    }


def _estimate(record: Record) -> Row:
    return {
        "id": required(record, "measureid"),
        "title": required(record, "short_question_text"),
        "description": required(record, "measure"),
        "category": text_at(record, "category"),
        "unit": text_at(record, "data_value_unit"),
        "year": text_at(record, "year"),
    }


def join(rows: Iterable[Located]) -> Iterator[Located | BadRow]:
    """One row a measure: the first that speaks of it, with the years of all that do."""
    first: dict[str, Located] = {}
    years: dict[str, set[str]] = {}
    for each in rows:
        first.setdefault(each.row["id"], each)
        years.setdefault(each.row["id"], set()).update(filter(None, [each.row.get("year")]))
    for code, each in first.items():
        said = {"years": [min(years[code]), max(years[code])]} if years[code] else {}
        yield Located(each.line, {**each.row, **said}, each.file, published=True)


_DICTIONARY = ("measureid", "measure_full_name", "measure_short_name", "category_name")

_SHAPES = (
    Shape("the dictionary of CDC PLACES", _DICTIONARY, _measure),
    Shape("the dictionary of CDC PLACES as JSON", _DICTIONARY, _measure, listed("measureid", "measure_full_name")),
    Shape(
        "estimates of CDC PLACES",
        ("measureid", "measure", "short_question_text", "year", "data_value_unit"),
        _estimate,
        listed("measureid", "locationname"),
    ),
)

FAMILY = Family("cdc-places", _ACCESS, _ABOUT, draft, _SHAPES, join)
