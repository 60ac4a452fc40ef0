"""US Census Bureau, American Community Survey: one leaf a variable."""

from __future__ import annotations

import re

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import for_census
from build_jobs.leaves.rows import Row, identity
from build_jobs.text import clean, clean_list

_LEVELS = ["country", "state", "county", "metro", "city", "place", "zip", "tract"]
_DATASETS = (("DP", "profile"), ("CP", "comparison"), ("S", "subject"), ("B", "detailed"), ("C", "detailed"))
_VINTAGE = re.compile(r"\bACS 5-year (\d{4})\b")

_ACCESS = access_document(
    title="US Census — American Community Survey",
    description="Population, housing, social and economic estimates of the ACS 5-year survey.",
    resource="https://api.census.gov/data/",
    publisher="census.gov",
    scope="a US state, county, city or tract",
    auth="key",
    operations={
        "detailed": {
            "method": "GET",
            "url": "https://api.census.gov/data/{vintage}/acs/acs5?get={get}&for={geo}&key={key}",
        },
        "subject": {
            "method": "GET",
            "url": "https://api.census.gov/data/{vintage}/acs/acs5/subject?get={get}&for={geo}&key={key}",
        },
        "profile": {
            "method": "GET",
            "url": "https://api.census.gov/data/{vintage}/acs/acs5/profile?get={get}&for={geo}&key={key}",
        },
        "comparison": {
            "method": "GET",
            "url": "https://api.census.gov/data/{vintage}/acs/acs5/cprofile?get={get}&for={geo}&key={key}",
        },
    },
)
_ABOUT = """# About

The American Community Survey asks a sample of US addresses every month; the 5-year estimates are averages over
sixty months and reach down to the census tract.

# Query

Use the operation named by the leaf's `dataset`. The leaf fixes `get` and `key`; the caller gives `geo`, for
instance `state:06`, or `county:037&in=state:06`. The reply is a list of lists: a header, then one row an area.

# Matching & caveats

- A large negative number such as -666666666 stands for a value that is not published.
- A code ending in `PE` is the percentage that belongs to the estimate ending in `E`.
- Not every variable is published for every area.
"""


def _dataset(code: str) -> str:
    return next((dataset for prefix, dataset in _DATASETS if code.startswith(prefix)), "detailed")


def draft(row: Row) -> Draft:
    code, title = identity(row)
    description, concept = clean(row.get("description")), clean(row.get("concept"))
    dataset, vintage = _dataset(code), _VINTAGE.search(description)
    own = clean_list(row.get("queries") or [])
    front_matter = {
        "type": "Census Variable",
        "title": f"{title} — US Census",
        "description": description,
        "tags": list(dict.fromkeys([*clean_list(row.get("tags") or ["census", "acs", dataset]), *_LEVELS])),
        "source": "./_access.md",
        "dataset": dataset,
        "get": f"NAME,{code}",
        "variable": code,
        "key": "env:CENSUS_API_KEY",
        "vintage": vintage[1] if vintage else None,
        "table": clean(row.get("table")) or code.split("_")[0],
        "concept": concept,
        "representativeQueries": own
        or for_census(clean(row.get("label")) or title, concept, percent=code.endswith("PE")),
    }
    body = (
        f"# Schema\n\nReports `{code}` for one US area, keyed by its Census geography (operation `{dataset}`); "
        "see [access](./_access.md)."
    )
    return Draft(code, slug(code), front_matter, body)


FAMILY = Family("census", _ACCESS, _ABOUT, draft)
