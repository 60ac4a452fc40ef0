"""USAspending: what US federal agencies award and spend; one leaf an agency, one an endpoint that serves figures."""

from __future__ import annotations

import re

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.federal_funding import funding_draft, search_terms
from build_jobs.leaves.leaf import Draft, fitted, slug
from build_jobs.leaves.queries import distinct
from build_jobs.leaves.rows import NoMeasure, Row, RowError
from build_jobs.leaves.shapes import Record, Shape, required, text_at, under
from build_jobs.text import clean

_STEM_LENGTH = 90
_PATH = re.compile(r"/api/v2/[^\s)\]`|]*")
_PARAMETER = re.compile(r"<([A-Za-z_]+)>")
# Endpoints that only help to fill in a form, or that make a file to be fetched later.
_NO_FIGURES = re.compile(r"/(autocomplete|download|bulk_download|references/filter|award_spending/recipient/status)/")

_ACCESS = access_document(
    title="USAspending",
    description="Awards and accounts of the US federal government, as the DATA Act has them published.",
    resource="https://api.usaspending.gov/api/v2/",
    publisher="usaspending.gov",
    scope="awards and spending of the US federal government, by agency, recipient, program or place",
    operations={
        "agency_budget": {
            "method": "GET",
            "url": "https://api.usaspending.gov/api/v2/agency/{toptier_code}/budgetary_resources/",
            "capability": {
                "identity_field": "toptier_code",
                "returns": {"path": "agency_data_by_year", "label": "fiscal_year", "value": "agency_total_obligated"},
                "period": {"field": "fiscal_year", "multi": True},
                "grain": "agency-year",
            },
        },
        "agency_awards": {
            "method": "GET",
            "url": "https://api.usaspending.gov/api/v2/agency/{toptier_code}/awards/?fiscal_year={fy}",
            "capability": {"identity_field": "toptier_code", "grain": "agency-year"},
        },
        "awards_by_recipient": {
            "method": "POST",
            "url": "https://api.usaspending.gov/api/v2/search/spending_by_award/",
            "body": '{"filters":{"recipient_search_text":["$recipient"],"award_type_codes":["02","03","04","05"]},'
            '"fields":["Award Amount","Recipient Name","Awarding Agency","Start Date"],"limit":100,"page":$page,'
            '"sort":"Award Amount","order":"desc"}',
            "capability": {
                "identity_field": "Recipient Name",
                "page": {"complete": False, "max": 100},
                "returns": {"path": "results", "label": "Recipient Name", "value": "Award Amount"},
            },
        },
        "get": {"method": "GET", "url": "https://api.usaspending.gov{endpoint}?{query}"},
        "post": {"method": "POST", "url": "https://api.usaspending.gov{endpoint}", "body": "$filters"},
    },
)
_ABOUT = """# About

Agencies report every award and every account; USAspending publishes them daily.

# Query

The leaf's `search` names the operation. A leaf of an agency has its `toptier_code`; one of an endpoint has `endpoint`,
whose own parameters stand in braces, and is asked with `get` or `post`.

# Matching & caveats

- `awards_by_recipient` matches by name: chapters and affiliates with names of their own come along.
- Award types 02 to 05 are grants and other assistance; contracts have A to D.
- A fiscal year runs from October to September.
"""

_RECIPIENT = search_terms(
    "awards_by_recipient", "recipient", "organization", "results", match="name", field="Recipient Name"
)


def draft(row: Row) -> Draft:
    more = {key: clean(row.get(key)) for key in ("toptier_code", "abbreviation", "endpoint", "method")}
    tags = ["federal", "spending", "funding", "usaspending"]
    made = funding_draft(row, suffix="USAspending.gov", tags=tags, default=_RECIPIENT, more=more)
    name = made.code.removeprefix("/api/v2/")
    return Draft(made.code, fitted(slug(name), made.code, _STEM_LENGTH), made.front_matter, made.body)


def _agency(record: Record) -> Row:
    code, name = required(record, "toptier_code"), required(record, "agency_name")
    short = text_at(record, "abbreviation")
    return {
        "id": f"agency/{code}",
        "title": f"Federal Spending of the {name.removeprefix('The ')}",
        "description": f"Budgetary resources, obligations and outlays of the {name.removeprefix('The ')}"
        + (f" ({short})" if short and short != name else "")
        + ", by fiscal year.",
        "tags": ["agency"],
        "toptier_code": code,
        "abbreviation": short,
        "queries": distinct(
            [
                f"How much does the {name} spend?",
                f"budget of the {name}",
                f"{short} obligations and outlays by fiscal year" if short else "",
            ]
        ),
        **search_terms(
            "agency_budget", "toptier_code", "agency", "agency_data_by_year", match="key", field="toptier_code"
        ),
    }


def _endpoint(record: Record) -> Row:
    """A line of the list of endpoints; addresses stand in angle brackets and Markdown links."""
    said = required(record, "endpoint").replace("\\", "")
    found = _PATH.search(said)
    if not found:
        raise RowError(f"endpoint {said[:60]!r} has no address under /api/v2/")
    path = _PARAMETER.sub(lambda name: f"{{{name[1].lower()}}}", found[0])
    if _NO_FIGURES.search(path):
        raise NoMeasure("an endpoint that serves no figures")
    method = required(record, "method").upper()
    if method not in ("GET", "POST"):
        raise RowError(f"method {method!r} is neither GET nor POST")
    words = re.sub(r"\{[^}]*\}|[/_]+", " ", path.removeprefix("/api/v2/")).split()
    title = " ".join(words).capitalize()
    return {
        "id": path,
        "title": title,
        "description": required(record, "description"),
        "tags": words[:2],
        "endpoint": path,
        "method": method,
        **search_terms(method.lower(), "filters" if method == "POST" else "query", "filters", "results"),
    }


_SHAPES = (
    Shape(
        "USAspending's `references/toptier_agencies`",
        ("toptier_code", "agency_name", "abbreviation"),
        _agency,
        under("results"),
    ),
    Shape("USAspending's list of endpoints", ("endpoint", "method", "description"), _endpoint),
)

FAMILY = Family("usaspending", _ACCESS, _ABOUT, draft, _SHAPES)
