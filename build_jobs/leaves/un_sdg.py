"""United Nations, Sustainable Development Goals: one leaf a series of the global database."""

from __future__ import annotations

import re

from build_jobs.leaves.family import Family, access_document, reported
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import for_un_sdg
from build_jobs.leaves.rows import Row, identity
from build_jobs.leaves.shapes import Record, Shape, listed, required
from build_jobs.text import clean, clean_list

# A series' unit stands in the last brackets of its name: `(%)`, `(per 100,000 live births)`; others hold splits.
_UNIT = re.compile(
    r"\(((?:%|per |number|thousands|millions|US\$|current|constant|tonnes|kg|litres|kilometres|index)[^()]*)\)\s*$",
    re.IGNORECASE,
)

_ACCESS = access_document(
    title="United Nations — Sustainable Development Goals",
    description="Series of the global database behind the 17 goals, by country, region and year.",
    resource="https://unstats.un.org/sdgapi/v1/sdg/",
    publisher="unstats.un.org",
    scope="a country or world region",
    operations={
        "data": {
            "method": "GET",
            "url": "https://unstats.un.org/sdgapi/v1/sdg/Series/Data?seriesCode={series}&areaCode={area}"
            "&pageSize=1000&page={page}",
            "capability": {
                "page": {"complete": True, "max": 1000},
                "returns": {"path": "data", "label": "geoAreaName", "value": "value"},
                "period": {"field": "timePeriodStart", "multi": True},
                "grain": "country-year",
            },
        },
        "areas": {"method": "GET", "url": "https://unstats.un.org/sdgapi/v1/sdg/Series/{series}/GeoAreas"},
        "dimensions": {"method": "GET", "url": "https://unstats.un.org/sdgapi/v1/sdg/Series/{series}/Dimensions"},
    },
)
_ABOUT = """# About

Custodian agencies of the United Nations gather one or more series for each indicator of the goals.

# Query

`data` takes the leaf's `series` and an `area`, a numeric M49 code such as `356` for India; leave it empty for all
areas. `areas` lists which areas a series has, `dimensions` what it is split by (sex, age, location …).

# Matching & caveats

- A reply has one object an area, year and combination of dimensions: pick the total, or the split that is asked for.
- `value` is a text; `NaN` stands for a value that is not published.
- Values of regions and of the world stand beside those of countries.
- Some values are estimates or modelled; `attributes` says which.
"""


def draft(row: Row) -> Draft:
    code, title = identity(row)
    unit = _UNIT.search(title)
    goals = clean_list(row.get("goals") or [])
    front_matter = {
        "type": "UN SDG Series",
        "title": f"{title} — UN SDG",
        "description": clean(row.get("description")) or _described(title, row),
        "tags": ["un-sdg", *(f"goal-{goal}" for goal in goals), "country", "region"],
        "source": "./_access.md",
        "series": code,
        "unit": clean(row.get("unit")) or (unit[1] if unit else ""),
        "goals": goals,
        "targets": clean_list(row.get("targets") or []),
        "indicators": clean_list(row.get("indicators") or []),
        "release": clean(row.get("release")),
        "representativeQueries": clean_list(row.get("queries") or []) or for_un_sdg(title),
    }
    return Draft(code, slug(code), front_matter, reported(code, "by country or region and year", "data"))


def _described(title: str, row: Row) -> str:
    indicators = ", ".join(clean_list(row.get("indicators") or []))
    return f"{title}." + (
        f" Measures indicator {indicators} of the Sustainable Development Goals." if indicators else ""
    )


def _series(record: Record) -> Row:
    return {
        "id": required(record, "code"),
        "title": required(record, "description"),
        "goals": record.get("goal"),
        "targets": record.get("target"),
        "indicators": record.get("indicator"),
        "release": record.get("release"),
    }


_SHAPES = (
    Shape(
        "the UN's `v1/sdg/Series/List`",
        ("code", "description", "goal", "target", "indicator"),
        _series,
        listed("code", "goal"),
    ),
)

FAMILY = Family("un-sdg", _ACCESS, _ABOUT, draft, _SHAPES)
