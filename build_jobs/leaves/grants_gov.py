"""Grants.gov: federal funding that can be applied for, one leaf for all of it and one a category."""

from __future__ import annotations

from typing import Any

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.federal_funding import funding_draft, search_terms
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import inside
from build_jobs.leaves.rows import Row
from build_jobs.leaves.shapes import Record, Shape, at, required, text_at

_ACCESS = access_document(
    title="Grants.gov",
    description="Open funding opportunities of US federal agencies.",
    resource="https://api.grants.gov/v1/api/",
    publisher="grants.gov",
    scope="US federal grants that are open for applications, by topic or category",
    operations={
        "search_opportunities": {
            "method": "POST",
            "url": "https://api.grants.gov/v1/api/search2",
            "body": '{"rows":100,"startRecordNum":$start,"keyword":"$keyword","oppStatuses":"posted"}',
            "capability": {
                "page": {"complete": True, "max": 100},
                "returns": {"path": "data.oppHits", "label": "title", "value": "closeDate"},
            },
        },
        "opportunities_in_category": {
            "method": "POST",
            "url": "https://api.grants.gov/v1/api/search2",
            "body": '{"rows":100,"startRecordNum":$start,"fundingCategories":"$category","oppStatuses":"posted"}',
            "capability": {
                "page": {"complete": True, "max": 100},
                "returns": {"path": "data.oppHits", "label": "title", "value": "closeDate"},
            },
        },
    },
)
_ABOUT = """# About

Federal agencies announce here what organizations can apply for.

# Query

The leaf's `search` names the operation. `search_opportunities` takes a `keyword`, `opportunities_in_category` the
leaf's `category`; both start at `start`, 0 for the first page.

# Matching & caveats

- Only posted opportunities are asked for; `oppStatuses` may name others.
- `closeDate` may be empty: the agency takes applications at any time, or has not said.
"""

_KEYWORD = search_terms("search_opportunities", "keyword", "keyword", "data.oppHits")
_CATEGORY = search_terms("opportunities_in_category", "category", "category", "data.oppHits")
_HIT = ("id", "number", "title", "agency", "closeDate")


def draft(row: Row) -> Draft:
    category = row.get("category")
    made = funding_draft(
        row,
        suffix="Grants.gov",
        tags=["funding", "grants", "opportunities", "grants-gov", "apply"],
        default=_CATEGORY if category else _KEYWORD,
        more={"category": category, "start": 0},
    )
    return Draft(made.code, slug(str(made.front_matter["title"]).partition(" — ")[0]), made.front_matter, made.body)


def _reply(document: Any) -> list[Any] | None:
    """The categories of a reply of `search2`, each with how many opportunities it has, and all of them as one."""
    hits, categories = at(document, "data", "oppHits"), at(document, "data", "fundingCategories")
    if not isinstance(hits, list) or not isinstance(categories, list):
        return None
    first = hits[0] if hits and isinstance(hits[0], dict) else {}
    every = {"label": "Federal Funding Opportunities", "value": "all", "count": at(document, "data", "hitCount")}
    return [{**every, **{f"hit.{name}": first[name] for name in _HIT if name in first}}, *categories]


def _category(record: Record) -> Row:
    label, value = required(record, "label"), required(record, "value")
    if value == "all":
        return {
            "id": "all",
            "title": label,
            "description": "Federal grants that an organization can apply for now, found by words of their topic.",
            "queries": [
                "What federal grants can an organization apply for?",
                "open grant opportunities on a topic",
                "find funding opportunities",
            ],
        }
    return {
        "id": value,
        "title": f"Federal Funding Opportunities in {label}",
        "description": f"Federal grants of the category {label} that are open for applications.",
        "queries": [
            f"Which federal grants are open in {inside(label)}?",
            f"funding opportunities for {inside(label)}",
            f"apply for {inside(label)} grants",
        ],
        "category": value,
        "tags": [slug(text_at(record, "label"))],
    }


_SHAPES = (
    Shape(
        "a reply of Grants.gov `search2`",
        ("label", "value", "count", *(f"hit.{name}" for name in _HIT)),
        _category,
        _reply,
    ),
)

FAMILY = Family("grants-gov", _ACCESS, _ABOUT, draft, _SHAPES)
