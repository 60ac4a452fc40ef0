"""World Bank, World Development Indicators: one leaf an indicator."""

from __future__ import annotations

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import for_worldbank
from build_jobs.leaves.rows import Row, identity
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


FAMILY = Family("worldbank", _ACCESS, _ABOUT, draft)
