"""Nonprofit registration, the IRS Business Master File: one leaf a fact; the organization is the caller's parameter."""

from __future__ import annotations

from typing import Any

from build_jobs.leaves.declared import Measure, measured_by
from build_jobs.leaves.family import Family, access_document, reported
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import for_one
from build_jobs.leaves.rows import Row, identity
from build_jobs.leaves.shapes import Record, Shape, under
from build_jobs.text import clean, clean_list

_ACCESS = access_document(
    title="IRS Business Master File — nonprofit registration",
    description="What the IRS has on record of US tax-exempt organizations, through ProPublica's Nonprofit Explorer.",
    resource="https://projects.propublica.org/nonprofits/api/v2/",
    publisher="propublica.org",
    scope="a US nonprofit's registration with the IRS: its status, sector, ruling and address (not its finances)",
    operations={
        "search": {
            "method": "GET",
            "url": "https://projects.propublica.org/nonprofits/api/v2/search.json?q={organization}",
            "capability": {"identity_field": "ein", "page": {"complete": False, "max": 25}},
        },
        "organization": {
            "method": "GET",
            "url": "https://projects.propublica.org/nonprofits/api/v2/organizations/{ein}.json",
            "capability": {"returns": {"path": "organization", "value": "{fields}"}, "grain": "organization"},
        },
    },
)
_ABOUT = """# About

The master file has one record an exempt organization: where it is, what it does, and what the IRS has granted it.

# Query

`search` finds the EIN by name. `organization` takes it; the leaf's `fields` are the keys of the `organization` object.

# Matching & caveats

- Most values are codes: `deductibility_code` 1 means that gifts can be deducted, `foundation_code` 15 a public charity.
- `ntee_code` begins with the letter of the sector, for instance E for health.
- `ruling_date` is the month in which the exemption was granted, not that of the foundation.
- The address is the one for letters, which may be an accountant's.
"""


def _fact(key: str, title: str, description: str, fields: str, *queries: str) -> Measure:
    return Measure(key, title, description, queries, {"fields": fields.split()})


_FACTS = (
    _fact(
        "location",
        "Registered Address",
        "The street, city, state and ZIP code under which a US nonprofit is registered with the IRS.",
        "address city state zipcode",
        "Where is this nonprofit registered?",
        "In which city and state is this charity?",
        "address of a nonprofit",
    ),
    _fact(
        "ntee_sector",
        "Sector (NTEE)",
        "The sector that a US nonprofit works in, by the National Taxonomy of Exempt Entities.",
        "ntee_code",
        "What sector does this nonprofit work in?",
        "NTEE code of a charity",
        "Is this organization in education, health or the arts?",
    ),
    _fact(
        "foundation_type",
        "Foundation Type",
        "Whether a US nonprofit is a public charity or a private foundation.",
        "foundation_code",
        "Is this a private foundation or a public charity?",
        "foundation status of a nonprofit",
    ),
    _fact(
        "deductibility",
        "Deductibility of Contributions",
        "Whether gifts to a US nonprofit can be deducted from the giver's income tax.",
        "deductibility_code",
        "Can I deduct a gift to this charity from my taxes?",
        "tax-deductible donations to a nonprofit",
    ),
    _fact(
        "ruling_date",
        "Ruling Date",
        "The month in which the IRS granted a US nonprofit its exemption from tax.",
        "ruling_date",
        "Since when has this nonprofit been tax-exempt?",
        "When did the IRS recognize this charity?",
    ),
    _fact(
        "eligibility",
        "Exempt Status and Subsection",
        "Under which subsection of section 501(c) a US nonprofit is exempt, such as 501(c)(3).",
        "subsection_code exempt_organization_status_code",
        "Is this organization a 501(c)(3)?",
        "Under which section is this nonprofit exempt?",
    ),
    _fact(
        "affiliation",
        "Affiliation with a Parent Organization",
        "Whether a US nonprofit stands alone, is a central organization, or belongs to a group exemption.",
        "affiliation_code",
        "Is this nonprofit a chapter of a larger organization?",
        "group exemption of a charity",
    ),
)


def draft(row: Row) -> Draft:
    code, title = identity(row)
    front_matter: dict[str, Any] = {
        "type": "Nonprofit BMF Fact",
        "title": f"{title} — IRS Business Master File",
        "description": clean(row.get("description")),
        "tags": ["nonprofit", "irs", "business-master-file", "charity", slug(title)],
        "source": "./_access.md",
        "bmf": code,
        "fields": clean_list(row.get("fields") or []),
        "representativeQueries": clean_list(row.get("queries") or []) or for_one(title, "a nonprofit"),
    }
    return Draft(code, slug(code), front_matter, reported(code, "per organization, keyed by EIN", "organization"))


def _seen(_: Record) -> Row:
    return {}


_SHAPES = (
    Shape(
        "the IRS's `eo*.csv`",
        ("ein", "name", "street", "city", "state", "zip", "subsection", "affiliation", "ruling", "deductibility",
         "foundation", "status", "ntee_cd"),
        _seen,
    ),
    Shape(
        "an organization of ProPublica's Nonprofit Explorer",
        tuple(dict.fromkeys(field for fact in _FACTS for field in fact.terms["fields"])),
        _seen,
        under("organization"),
    ),
)  # fmt: skip

FAMILY = Family("nonprofit-bmf", _ACCESS, _ABOUT, draft, _SHAPES, measured_by(_FACTS))
