"""Grants between US nonprofits, from IRS e-file returns: one leaf a way to walk from funders to recipients."""

from __future__ import annotations

from build_jobs.leaves.declared import Measure, coverage_of, measured_by
from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import distinct
from build_jobs.leaves.rows import NoMeasure, Row, identity
from build_jobs.leaves.shapes import Record, Shape, required, text_at
from build_jobs.text import clean, clean_list

# Schedule I of Form 990 and Part XV of Form 990-PF list grants; the short form and the postcard do not.
_WITH_GRANTS = ("990", "990PF")

_ACCESS = access_document(
    title="IRS e-file returns — grants",
    description="Grants that US charities and foundations list in their yearly returns, funder by recipient.",
    resource="https://apps.irs.gov/pub/epostcard/990/xml/",
    publisher="irs.gov",
    scope="grants between US nonprofits and foundations: who funds whom, and how much (no federal awards)",
    operations={
        "index": {
            "method": "GET",
            "url": "https://apps.irs.gov/pub/epostcard/990/xml/{year}/index_{year}.csv",
            "capability": {"population": {"complete": True}, "grain": "return"},
        },
        "returns": {
            "method": "GET",
            "url": "https://apps.irs.gov/pub/epostcard/990/xml/{year}/{batch}.zip",
            "capability": {"grain": "return"},
        },
        "graph": {
            "method": "LOCAL",
            "url": "",
            "capability": {
                "paths": ["key", "order", "aggregate"],
                "grain": "organization",
                "order": {"server": True},
                "population": {"complete": True},
            },
        },
    },
)
_ABOUT = """# About

Charities list the grants they make in Schedule I of Form 990, private foundations in Part XV of Form 990-PF. Read
together they are a graph: a funder, a recipient, an amount, a purpose and a year.

# Query

`index` lists a year's returns, `returns` fetches a batch of them as XML. `graph` runs over what a caller has extracted
from them: the leaf's `irsgrants.direction` says which walk, from the funder or from the recipient.

# Matching & caveats

- Schedule I names recipients by EIN, Part XV by name and state only.
- Grants to persons are no part of it.
- Returns come a year or two late: the newest year is never complete.
"""


def _walk(direction: str, title: str, description: str, kind: str, *queries: str) -> Measure:
    return Measure(direction, title, description, queries, {"kind": kind})


_WALKS = (
    _walk(
        "forward",
        "Grants made by an organization",
        "What a foundation or charity granted: the recipients, the amounts and their total.",
        "Grants Made",
        "Who does this foundation fund?",
        "Which grants did a foundation make?",
        "recipients of a foundation's grants",
    ),
    _walk(
        "reverse",
        "Grants received by an organization",
        "Who funds a nonprofit: the foundations and charities that granted it money, and how much.",
        "Grants Received",
        "Who funds this nonprofit?",
        "Which foundations gave money to this organization?",
        "funders of a charity",
    ),
    _walk(
        "top_grantmakers",
        "The biggest grantmakers",
        "Foundations and charities in the order of what they grant, or of how many they fund.",
        "Top Grantmakers",
        "Which foundations give the most?",
        "largest grantmakers in the United States",
        "rank foundations by grants made",
    ),
    _walk(
        "biggest_recipients",
        "The biggest recipients of grants",
        "Organizations in the order of the grants they receive, or of how many funders they have.",
        "Biggest Recipients",
        "Which nonprofits receive the most in grants?",
        "organizations with the most funders",
        "rank charities by grants received",
    ),
    _walk(
        "theme",
        "Grants by cause",
        "How grants divide among causes such as health, education, arts or the environment.",
        "By Cause",
        "How much in grants goes to education?",
        "Which causes get the most foundation money?",
        "grant money by sector",
    ),
    _walk(
        "geo",
        "Grants by state",
        "Where grants come from and go to, by US state.",
        "Geographic Flows",
        "Which states receive the most grant money?",
        "How much in grants flows from one state to another?",
        "foundation giving by state",
    ),
    _walk(
        "shared",
        "Recipients that two funders share",
        "The organizations that two named funders both support.",
        "Shared Grantees",
        "Whom do these two foundations both fund?",
        "grantees that two funders have in common",
    ),
    _walk(
        "overview",
        "Grants in all",
        "How many grants there are, what they come to and what one is on average, by year.",
        "Overview",
        "How much money was granted in all?",
        "What is the average grant?",
        "number of grants by year",
    ),
)


def draft(row: Row) -> Draft:
    code, title = identity(row)
    kind = clean(row.get("kind"))
    front_matter = {
        "type": f"Grant Graph — {kind}" if kind else "Grant Graph",
        "title": f"{title} — IRS grants",
        "description": clean(row.get("description")),
        "tags": ["grants", "foundation", "philanthropy", "nonprofit", "who-funds-whom", "state"],
        "source": "./_access.md",
        "irsgrants": {"direction": code},
        "coverage": coverage_of(row, ["country", "state"]),
        "representativeQueries": clean_list(row.get("queries") or []) or distinct([title]),
    }
    body = f"# Schema\n\nThe walk `{code}` over the graph of grants (operation `graph`); see [access](./_access.md)."
    return Draft(code, slug(title), front_matter, body)


def _return(record: Record) -> Row:
    if required(record, "return_type") not in _WITH_GRANTS:
        raise NoMeasure("a return of a form without a list of grants")
    return {"year": text_at(record, "tax_period")[:4]}


_SHAPES = (
    Shape(
        "the IRS's `index_<year>.csv` of e-file returns",
        ("return_id", "ein", "tax_period", "taxpayer_name", "return_type", "object_id"),
        _return,
    ),
)

FAMILY = Family("irs-grants", _ACCESS, _ABOUT, draft, _SHAPES, measured_by(_WALKS))
