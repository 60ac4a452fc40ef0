"""NIH RePORTER: biomedical research projects and what they are awarded, by organization and fiscal year."""

from __future__ import annotations

from build_jobs.leaves.declared import Measure, measured_by
from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.federal_funding import funding_draft, search_terms
from build_jobs.leaves.leaf import Draft
from build_jobs.leaves.rows import Row
from build_jobs.leaves.shapes import Record, Shape, required, under

_ACCESS = access_document(
    title="NIH RePORTER",
    description="Research projects that the US National Institutes of Health fund, with their yearly awards.",
    resource="https://api.reporter.nih.gov/v2/",
    publisher="nih.gov",
    scope="a research organization or university, for what the NIH awards it",
    operations={
        "projects_by_organization": {
            "method": "POST",
            "url": "https://api.reporter.nih.gov/v2/projects/search",
            "body": '{"criteria":{"org_names":["$organization"],"fiscal_years":[$fy]},"limit":500,"offset":$offset,'
            '"sort_field":"award_amount","sort_order":"desc"}',
            "capability": {
                "identity_field": "organization.org_name",
                "page": {"complete": False, "max": 500, "offset_param": "offset"},
                "population": {"complete": False},
                "grain": "project",
                "returns": {"path": "results", "label": "project_title", "value": "award_amount"},
            },
        },
        "projects_by_topic": {
            "method": "POST",
            "url": "https://api.reporter.nih.gov/v2/projects/search",
            "body": '{"criteria":{"advanced_text_search":{"operator":"and","search_field":"all",'
            '"search_text":"$topic"},"fiscal_years":[$fy]},"limit":500,"offset":$offset}',
            "capability": {"page": {"complete": False, "max": 500}, "grain": "project"},
        },
    },
)
_ABOUT = """# About

RePORTER has one record a project and fiscal year, since 1985.

# Query

The leaf's `search` names the operation. `fy` and `offset` are keys of the leaf; the caller gives an `organization` by
its registered name, or a `topic`.

# Matching & caveats

- An organization is matched by name: no short form or nickname finds it.
- The API pages through at most 15,000 records of one query: always give a fiscal year.
- There is no reply that ranks all organizations.
"""

_ORGANIZATION = search_terms(
    "projects_by_organization", "organization", "organization", "results", match="name", field="organization.org_name"
)
_TOPIC = search_terms("projects_by_topic", "topic", "topic", "results")

_MEASURES = (
    Measure(
        "research-grants",
        "NIH Research Grants by Organization",
        "Biomedical research projects that the NIH fund at an organization: titles, awards and their sum for a year.",
        (
            "How much NIH funding does this university get?",
            "NIH grants awarded to a research institution",
            "biomedical research projects at an organization",
        ),
        _ORGANIZATION,
    ),
    Measure(
        "research-by-topic",
        "NIH Research Projects by Topic",
        "Projects that the NIH fund on a disease, a method or any other topic, with what each is awarded.",
        (
            "What does the NIH spend on Alzheimer's research?",
            "NIH projects on a topic",
            "which projects study this disease",
        ),
        _TOPIC,
    ),
)


def draft(row: Row) -> Draft:
    years = row.get("years")
    more = {"offset": 0, "fy": int(years[1]) if isinstance(years, list) else row.get("fy")}
    tags = ["research", "grants", "nih", "biomedical", "funding"]
    return funding_draft(row, suffix="NIH RePORTER", tags=tags, default=_ORGANIZATION, more=more)


def _project(record: Record) -> Row:
    return {"year": required(record, "fiscal_year")}


_SHAPES = (
    Shape(
        "a reply of NIH RePORTER `projects/search`",
        ("project_title", "fiscal_year", "award_amount", "organization"),
        _project,
        under("results"),
    ),
)

FAMILY = Family("nih-reporter", _ACCESS, _ABOUT, draft, _SHAPES, measured_by(_MEASURES))
