"""Nonprofit finances, IRS Form 990: one leaf a line of the form; the organization is the caller's parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from build_jobs.leaves.declared import coverage_of
from build_jobs.leaves.family import Family, access_document, reported
from build_jobs.leaves.form_990 import COUNTS, LINES
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import for_one
from build_jobs.leaves.rows import BadRow, Located, Row, identity
from build_jobs.leaves.shapes import Record, Shape, required, text_at, under
from build_jobs.text import clean, clean_list

_ACCESS = access_document(
    title="IRS Form 990 — nonprofit finances",
    description="Yearly financial returns of US tax-exempt organizations, through ProPublica's Nonprofit Explorer.",
    resource="https://projects.propublica.org/nonprofits/api/v2/",
    publisher="propublica.org",
    scope="a US nonprofit's finances from its IRS Form 990 (not its registration, not its mission)",
    operations={
        "search": {
            "method": "GET",
            "url": "https://projects.propublica.org/nonprofits/api/v2/search.json?q={organization}",
            "capability": {"identity_field": "ein", "page": {"complete": False, "max": 25}},
        },
        "organization": {
            "method": "GET",
            "url": "https://projects.propublica.org/nonprofits/api/v2/organizations/{ein}.json",
            "capability": {
                "returns": {"path": "filings_with_data", "label": "tax_prd_yr", "value": "{field}"},
                "period": {"field": "tax_prd_yr", "multi": True},
                "grain": "organization-year",
            },
        },
    },
)
_ABOUT = """# About

Organizations that are exempt from US income tax file Form 990 every year. The key is the employer identification
number (EIN).

# Query

`search` finds the EIN by name. `organization` takes it; in `filings_with_data` each object is one year, and the leaf's
`field` is the line to read.

# Matching & caveats

- A large charity has chapters with EINs of their own: compare name and city before using the first hit.
- Very small organizations file a postcard without figures: `filings_with_data` is then empty.
- Filings come a year or two late; say the year with the figure.
- A short form (`formtype` 1 or 2) has fewer lines: a line without a value may not be part of the form.
"""


def draft(row: Row) -> Draft:
    code, title = identity(row)
    said = clean(row.get("description"))
    front_matter = {
        "type": "Nonprofit 990 Field",
        "title": f"{title} — IRS Form 990",
        "description": said or f"{title} of a US tax-exempt organization, as it reported it on IRS Form 990.",
        "tags": ["nonprofit", "irs", "form-990", "charity", slug(title)],
        "source": "./_access.md",
        "field": code,
        "unit": "" if code in COUNTS else "USD",
        "line": clean(row.get("line")),
        "coverage": coverage_of(row, ["country"]),
        "representativeQueries": clean_list(row.get("queries") or []) or for_one(title, "a nonprofit"),
    }
    return Draft(
        code, slug(code), front_matter, reported(code, "per organization and year, keyed by EIN", "organization")
    )


def _filing(record: Record) -> Row:
    return {"filing": {name for name, value in record.items() if isinstance(value, int | float) and name in LINES},
            "year": required(record, "tax_prd_yr")}  # fmt: skip


def _element(record: Record) -> Row:
    """A line of the documentation that comes with the IRS extracts."""
    code = required(record, "element_name").lower()
    title = LINES.get(code) or required(record, "description")
    return {
        "id": code,
        "title": title,
        "description": text_at(record, "description"),
        "line": text_at(record, "location"),
    }


def join(rows: Iterable[Located]) -> Iterator[Located | BadRow]:
    """Elements of the documentation as they are; of filings, one row a known line that any of them has."""
    years: dict[str, set[str]] = {}
    first: dict[str, Located] = {}
    for each in rows:
        if "filing" not in each.row:
            yield each
            continue
        for name in each.row["filing"]:
            first.setdefault(name, each)
            years.setdefault(name, set()).add(each.row["year"])
    for name in sorted(first):
        row = {"id": name, "title": LINES[name], "years": [min(years[name]), max(years[name])]}
        yield Located(first[name].line, row, first[name].file, published=True)


_SHAPES = (
    Shape(
        "an organization of ProPublica's Nonprofit Explorer",
        ("tax_prd_yr", "totrevenue", "totfuncexpns", "totassetsend"),
        _filing,
        under("filings_with_data"),
    ),
    Shape("the documentation of the IRS 990 extract", ("element_name", "description", "location"), _element),
)

FAMILY = Family("nonprofit-990", _ACCESS, _ABOUT, draft, _SHAPES, join)
