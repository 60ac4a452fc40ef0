"""College Scorecard: one leaf a figure of a school; the school is the caller's parameter."""

from __future__ import annotations

from build_jobs.leaves.family import Family, access_document, reported
from build_jobs.leaves.leaf import Draft, fitted, slug
from build_jobs.leaves.queries import for_one
from build_jobs.leaves.rows import NoMeasure, Row, identity
from build_jobs.leaves.shapes import Record, Shape, required, text_at
from build_jobs.text import clean, clean_list

_STEM_LENGTH = 60

_ACCESS = access_document(
    title="College Scorecard",
    description="Cost, admissions, completion, debt and earnings of US colleges, from the Department of Education.",
    resource="https://api.data.gov/ed/collegescorecard/v1/schools",
    publisher="ed.gov",
    scope="a US college or university",
    auth="key",
    operations={
        "school": {
            "method": "GET",
            "url": "https://api.data.gov/ed/collegescorecard/v1/schools?school.name={school}"
            "&fields=id,school.name,school.state,{scorecard}&api_key={key}",
            "capability": {
                "identity_field": "id",
                "page": {"complete": True, "max": 100},
                "returns": {"path": "results", "label": "school.name", "value": "{scorecard}"},
            },
        },
        "schools": {
            "method": "GET",
            "url": "https://api.data.gov/ed/collegescorecard/v1/schools?fields=id,school.name,{scorecard}"
            "&sort={scorecard}:desc&page={page}&per_page=100&api_key={key}",
            "capability": {
                "page": {"complete": True, "max": 100},
                "population": {"complete": True},
                "returns": {"path": "results", "label": "school.name", "value": "{scorecard}"},
                "order": {"server": True},
                "grain": "school",
            },
        },
    },
)
_ABOUT = """# About

The scorecard joins what schools report with the government's records of student aid and of taxes.

# Query

`school` takes the leaf's `scorecard` field and a `school` by name; `schools` lists all of them by that field.
`latest` in a field's name stands for the newest year that has it; a year such as `2018` may take its place.

# Matching & caveats

- A name finds every school that has its words: pick by state, or ask by `id`.
- A value that would tell about single students is withheld and comes as null.
- Shares come as fractions between 0 and 1, amounts in dollars.
"""


def draft(row: Row) -> Draft:
    code, title = identity(row)
    said = clean(row.get("description"))
    front_matter = {
        "type": "College Scorecard Field",
        "title": f"{title} — College Scorecard",
        "description": said or f"{title}, of one US college or university.",
        "tags": list(
            dict.fromkeys(["education", "college", "university", "scorecard", *clean_list(row.get("tags") or [])])
        ),
        "source": "./_access.md",
        "scorecard": code,
        "key": "env:DATA_GOV_API_KEY",
        "representativeQueries": clean_list(row.get("queries") or []) or for_one(title, "{school}"),
    }
    stem = fitted(slug(code), code, _STEM_LENGTH)
    return Draft(code, stem, front_matter, reported(code, "per school, keyed by its name or id", "school"))


def _element(record: Record) -> Row:
    """A line of the dictionary; the lines below an element give what its values mean."""
    if not text_at(record, "variable_name"):
        raise NoMeasure("a value of the element above it")
    category = required(record, "dev_category")
    if category in ("root", "school"):
        raise NoMeasure("an element that says which school it is")
    if text_at(record, "api_data_type") not in ("integer", "float", "long"):
        raise NoMeasure("an element that is no number")
    title = required(record, "name_of_data_element")
    return {
        "id": f"latest.{category}.{required(record, 'developer_friendly_name')}",
        "title": title,
        "description": f"{title} ({text_at(record, 'variable_name')}).",
        "tags": [category],
    }


_SHAPES = (
    Shape(
        "the College Scorecard's data dictionary",
        ("name_of_data_element", "dev_category", "developer_friendly_name", "api_data_type", "variable_name"),
        _element,
    ),
)

FAMILY = Family("college-scorecard", _ACCESS, _ABOUT, draft, _SHAPES)
