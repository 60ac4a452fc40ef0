"""OpenFEMA: one leaf a dataset of the Federal Emergency Management Agency."""

from __future__ import annotations

from build_jobs.leaves.family import Family, access_document, reported
from build_jobs.leaves.leaf import Draft, slug, split_camel
from build_jobs.leaves.queries import distinct, for_dataset, inside
from build_jobs.leaves.rows import NoMeasure, Row, RowError, identity
from build_jobs.leaves.shapes import Record, Shape, required, text_at, under
from build_jobs.text import clean, clean_list

_ACCESS = access_document(
    title="OpenFEMA",
    description="Datasets of the US disaster agency: declarations, assistance, grants, flood insurance.",
    resource="https://www.fema.gov/api/open/",
    publisher="fema.gov",
    scope="US disasters and federal emergency assistance, by state and county",
    operations={
        "records": {
            "method": "GET",
            "url": "https://www.fema.gov/api/open/{version}/{fema}?$filter={filter}&$top=1000&$skip={skip}",
            "capability": {
                "page": {"complete": True, "max": 1000, "offset_param": "skip"},
                "returns": {"path": "{fema}"},
                "order": {"server": True},
            },
        },
        "fields": {
            "method": "GET",
            "url": "https://www.fema.gov/api/open/v1/OpenFemaDataSetFields?$filter=openFemaDataSet%20eq%20'{fema}'",
        },
    },
)
_ABOUT = """# About

OpenFEMA serves the agency's public datasets through one interface.

# Query

`records` takes the leaf's `fema` and `version`, and a `filter` such as `state eq 'CA'`. `fields` lists what can be
filtered by. `$orderby=declarationDate desc` sorts.

# Matching & caveats

- Dates are texts in UTC.
- A reply has at most 1,000 records: go on with `skip`.
- A dataset with a newer version keeps answering for a while; the leaf names the version it was made of.
"""


def draft(row: Row) -> Draft:
    code, title = identity(row)
    said = inside(title)
    front_matter = {
        "type": "FEMA Dataset",
        "title": f"{title} — OpenFEMA",
        "description": clean(row.get("description")),
        "tags": distinct(["disaster", "fema", "emergency", *map(slug, clean_list(row.get("tags") or []))]),
        "source": "./_access.md",
        "fema": code,
        "version": clean(row.get("version")) or "v2",
        "representativeQueries": clean_list(row.get("queries") or [])
        or distinct([*for_dataset(title, "OpenFEMA"), f"{said} in {{state}}"]),
    }
    return Draft(
        code,
        slug(split_camel(code)),
        front_matter,
        reported(code, "record by record, filtered by its fields", "records"),
    )


def _dataset(record: Record) -> Row:
    if text_at(record, "depDate") or text_at(record, "deprecationDate"):
        raise NoMeasure("a dataset that is deprecated")
    version = required(record, "version")
    if not version.isdigit():
        raise RowError(f"version {version!r} is no number")
    theme = text_at(record, "theme")
    return {
        "id": required(record, "name"),
        "title": required(record, "title"),
        "description": text_at(record, "description"),
        "version": f"v{version}",
        "tags": [theme] if theme else [],
    }


_SHAPES = (
    Shape(
        "OpenFEMA's `OpenFemaDataSets`",
        ("name", "title", "description", "version"),
        _dataset,
        under("OpenFemaDataSets"),
    ),
)

FAMILY = Family("fema", _ACCESS, _ABOUT, draft, _SHAPES)
