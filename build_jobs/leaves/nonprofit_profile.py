"""Nonprofit profiles from Wikidata: one leaf a property; the organization is the caller's parameter."""

from __future__ import annotations

from build_jobs.leaves.family import Family, access_document, reported
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import distinct, for_one
from build_jobs.leaves.rows import NoMeasure, Row, identity
from build_jobs.leaves.shapes import Record, Shape, at, members, required, text_at
from build_jobs.text import clean, clean_list

# What callers know the facts by, where that differs from Wikidata's own label.
_FACTS = {
    "P571": "inception",
    "P159": "headquarters",
    "P1128": "employees",
    "P856": "website",
    "P169": "ceo",
    "P112": "founder",
}
_MOST_ALIASES = 3

_ACCESS = access_document(
    title="Organization profile — Wikidata",
    description="Facts about organizations that are no finances: founding, seat, staff, leaders, website.",
    resource="https://www.wikidata.org/",
    publisher="wikidata.org",
    scope="a nonprofit's profile: who leads it, when and by whom it was founded, its seat, staff and website",
    operations={
        "search": {
            "method": "GET",
            "url": "https://www.wikidata.org/w/api.php?action=wbsearchentities&search={organization}&language=en"
            "&format=json",
            "capability": {"identity_field": "id"},
        },
        "claims": {
            "method": "GET",
            "url": "https://www.wikidata.org/w/api.php?action=wbgetclaims&entity={qid}&property={property}&format=json",
            "capability": {"returns": {"path": "claims", "value": "mainsnak.datavalue.value"}, "grain": "organization"},
        },
    },
)
_ABOUT = """# About

Wikidata is written by volunteers; each fact is a property of the organization's item.

# Query

`search` finds the item's `qid` by name, `claims` reads the leaf's `property` of it. A value that is an item itself
comes as its id; ask for that item's label.

# Matching & caveats

- A missing property means that nobody has written it down.
- A property may have a value for each period: the present one has no end time (`P582`).
- Nothing keeps a value up to date: say that it is Wikidata's.
"""


def draft(row: Row) -> Draft:
    code, title = identity(row)
    front_matter = {
        "type": "Organization Profile Fact",
        "title": f"{title} — Organization Profile",
        "description": clean(row.get("description")),
        "tags": distinct(["nonprofit", "profile", "wikidata", slug(code)]),
        "source": "./_access.md",
        "profile": code,
        "property": clean(row.get("property")),
        "datatype": clean(row.get("datatype")),
        "representativeQueries": clean_list(row.get("queries") or [])
        or distinct([*for_one(title, "this nonprofit"), *clean_list(row.get("aliases") or [])]),
    }
    return Draft(
        code, slug(code), front_matter, reported(code, "per organization, keyed by its Wikidata item", "claims")
    )


def _property(record: Record) -> Row:
    name = required(record, "id")
    if "missing" in record or text_at(record, "type") != "property":
        raise NoMeasure("an entity that is no property of Wikidata")
    label = required(record, "labels", "en", "value")
    aliases = at(record, "aliases", "en")
    return {
        "id": _FACTS.get(name) or slug(label),
        "title": label[:1].upper() + label[1:],
        "description": text_at(record, "descriptions", "en", "value"),
        "property": name,
        "datatype": text_at(record, "datatype"),
        "aliases": [text_at(each, "value") for each in aliases][:_MOST_ALIASES] if isinstance(aliases, list) else [],
    }


_SHAPES = (
    Shape(
        "properties in a reply of Wikidata `wbgetentities`",
        ("id", "type", "labels"),
        _property,
        members("entities", name="id"),
    ),
)

FAMILY = Family("nonprofit-profile", _ACCESS, _ABOUT, draft, _SHAPES)
