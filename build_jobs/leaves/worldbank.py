"""World Bank, World Development Indicators: one leaf an indicator."""

from __future__ import annotations

from typing import Any

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import for_worldbank
from build_jobs.leaves.rows import NoMeasure, Row, identity
from build_jobs.leaves.shapes import Record, Shape, at, required, text_at, under
from build_jobs.text import clean, clean_list

_SECTIONS = ("methodology", "limitations", "relevance")

_ACCESS = access_document(
    title="World Bank — World Development Indicators",
    description="Annual indicators of countries and world regions, collected by the World Bank.",
    resource="https://api.worldbank.org/v2/",
    publisher="worldbank.org",
    scope="a country or world region",
    operations={
        "indicator": {
            "method": "GET",
            "url": "https://api.worldbank.org/v2/country/{country}/indicator/{indicator}"
            "?format=json&date={date}&per_page=20000",
        },
        "metadata": {"method": "GET", "url": "https://api.worldbank.org/v2/indicator/{indicator}?format=json"},
    },
)
_ABOUT = """# About

The World Development Indicators gather what international agencies and national offices publish about countries.

# Query

`indicator` takes the leaf's `indicator`, a `country` (ISO code, `all`, or an aggregate such as `WLD`) and a `date`
such as `2023` or `2000:2023`. The reply is a list of two: the paging, then one object a country and year.

# Matching & caveats

- A year without a value comes as `null`.
- Aggregates of regions and income groups stand among the countries.
"""


def _body(code: str, row: Row) -> str:
    parts = [f"# Schema\n\nNational values of `{code}`; see [access](./_access.md)."]
    parts += [f"# {name.capitalize()}\n\n{text}" for name in _SECTIONS if (text := clean(row.get(name)))]
    return "\n\n".join(parts)


def draft(row: Row) -> Draft:
    code, title = identity(row)
    topics = [slug(tag) for tag in clean_list(row.get("tags") or [])]
    front_matter = {
        "type": "World Bank Indicator",
        "title": f"{title} — World Bank",
        "description": clean(row.get("description")),
        "tags": list(dict.fromkeys(["worldbank", *topics, "country", "region"])),
        "source": "./_access.md",
        "indicator": code,
        **{key: clean(row.get(key)) for key in ("unit", "periodicity", "aggregation", "origin", "license")},
        "representativeQueries": clean_list(row.get("queries") or []) or for_worldbank(title),
    }
    return Draft(code, slug(code), front_matter, _body(code, row))


# What the World Bank serves of its indicators

_INDICATORS = "2"  # the database "World Development Indicators" among those that the API serves


def _indicator(record: Record) -> Row:
    if text_at(record, "source", "id") != _INDICATORS:
        raise NoMeasure("an indicator of another database than the World Development Indicators")
    topics = at(record, "topics")
    return {
        "id": required(record, "id"),
        "title": required(record, "name"),
        "unit": text_at(record, "unit"),
        "description": text_at(record, "sourceNote"),
        "origin": text_at(record, "sourceOrganization"),
        "tags": [text for topic in topics if (text := text_at(topic, "value"))] if isinstance(topics, list) else [],
    }


def _goes_on(document: Any) -> bool:
    page, pages = at(document, 0, "page"), at(document, 0, "pages")
    return isinstance(page, int) and isinstance(pages, int) and page < pages


def _series(record: Record) -> Row:
    """A line of `WDISeries.csv`, which comes with the whole database."""
    return {
        "id": required(record, "series_code"),
        "title": required(record, "indicator_name"),
        "unit": text_at(record, "unit_of_measure"),
        "description": text_at(record, "long_definition") or text_at(record, "short_definition"),
        "periodicity": text_at(record, "periodicity"),
        "aggregation": text_at(record, "aggregation_method"),
        "origin": text_at(record, "source"),
        "license": text_at(record, "license_type"),
        "limitations": text_at(record, "limitations_and_exceptions"),
        "methodology": text_at(record, "statistical_concept_and_methodology"),
        "relevance": text_at(record, "development_relevance"),
        "tags": [topic.strip() for topic in text_at(record, "topic").split(":")],
    }


_SHAPES = (
    Shape(
        "the World Bank's `v2/indicator?format=json`",
        ("id", "name", "source", "sourceNote"),
        _indicator,
        under(1),
        goes_on=_goes_on,
    ),
    Shape("the World Bank's `WDISeries.csv`", ("series_code", "topic", "indicator_name", "long_definition"), _series),
)

FAMILY = Family("worldbank", _ACCESS, _ABOUT, draft, _SHAPES)
