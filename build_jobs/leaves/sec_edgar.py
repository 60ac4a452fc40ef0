"""SEC EDGAR: one leaf a numeric us-gaap concept; the company is the caller's parameter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft, slug, split_camel
from build_jobs.leaves.queries import for_sec_edgar
from build_jobs.leaves.rows import BadRow, Located, NoMeasure, Row, RowError, identity
from build_jobs.leaves.shapes import Record, Shape, at, listed, required, text_at
from build_jobs.text import clean, clean_list

# What a type of the taxonomy, or a unit of the API, is measured in: a family of units, since filers choose among them.
_UNITS_BY_TYPE = {
    "monetary": "currency",
    "pershare": "per-share",
    "shares": "shares",
    "percent": "percent",
    "pure": "pure",
    "integer": "pure",
    "decimal": "pure",
}
_CURRENCY = re.compile(r"^[A-Z]{3}$")
_DEPRECATED = re.compile(r"\bdeprecated\b", re.IGNORECASE)

_ACCESS = access_document(
    title="SEC EDGAR — XBRL company facts",
    description="Financial facts that US public companies report in XBRL.",
    resource="https://data.sec.gov/api/xbrl/",
    publisher="sec.gov",
    scope="a US public company",
    headers={"User-Agent": "env:SEC_USER_AGENT"},
    operations={
        "resolve_ticker": {"method": "GET", "url": "https://www.sec.gov/files/company_tickers.json"},
        "company_concept": {
            "method": "GET",
            "url": "https://data.sec.gov/api/xbrl/companyconcept/CIK{cik:0>10}/{taxonomy}/{concept}.json",
        },
        "company_facts": {"method": "GET", "url": "https://data.sec.gov/api/xbrl/companyfacts/CIK{cik:0>10}.json"},
        "frame": {
            "method": "GET",
            "url": "https://data.sec.gov/api/xbrl/frames/{taxonomy}/{concept}/{measure}/{period}.json",
        },
    },
)
_ABOUT = """# About

Every US public company files its statements with tagged facts; each tag of the taxonomy is one concept.

# Query

`resolve_ticker` maps tickers to CIK numbers. `company_concept` takes the company's `cik` and the leaf's `concept`.
`frame` gives one fact a company for a `measure` such as `USD` and a `period` such as `CY2024` or `CY2024Q1I`.

# Matching & caveats

- A `User-Agent` that names the caller is required.
- The reply is keyed by unit; the leaf's `unit` is a family of units, not one of them.
- A 404 means that this company does not report the concept.
"""


def draft(row: Row) -> Draft:
    code, title = identity(row)
    front_matter = {
        "type": "Financial Statement Concept",
        "title": f"{title} — SEC EDGAR",
        "description": clean(row.get("description")),
        "tags": clean_list(row.get("tags") or ["finance", "sec", "edgar", "us-gaap"]),
        "source": "./_access.md",
        "taxonomy": clean(row.get("taxonomy")) or "us-gaap",
        "concept": code,
        "periodType": clean(row.get("periodType")),
        "unit": clean(row.get("unit")),
        "representativeQueries": clean_list(row.get("queries") or []) or for_sec_edgar(title),
    }
    body = (
        f"# Schema\n\nReports `{code}` per company and fiscal period (operation `company_concept`, key `cik`); "
        "see [access](./_access.md)."
    )
    return Draft(code, slug(split_camel(code)), front_matter, body)


# What the SEC and the taxonomy's keepers serve of a concept


def _concept(taxonomy: str, name: str, label: str, **more: Any) -> Row:
    if taxonomy != "us-gaap":
        raise NoMeasure(f"a concept of {taxonomy or 'a company of its own'}, not of us-gaap")
    if _DEPRECATED.search(label):
        raise NoMeasure("a deprecated concept")
    return {"id": name, "title": label or split_camel(name), "taxonomy": taxonomy, **more}


def _typed(kind: str) -> str:
    """The unit family of a type such as `monetaryItemType`. Raises NoMeasure for text, dates and headings."""
    unit = _UNITS_BY_TYPE.get(kind.rpartition(":")[2].removesuffix("ItemType").lower())
    if not unit:
        raise NoMeasure("a concept that is no number")
    return unit


def _tag(record: Record) -> Row:
    """A line of `tag.txt`, which comes with every Financial Statement Data Set."""
    if text_at(record, "custom") == "1":
        raise NoMeasure("a company's own tag")
    if text_at(record, "abstract") == "1":
        raise NoMeasure("an abstract concept")
    taxonomy, _, year = required(record, "version").partition("/")
    return _concept(
        taxonomy,
        required(record, "tag"),
        text_at(record, "tlabel"),
        description=text_at(record, "doc"),
        unit=_typed(text_at(record, "datatype")),
        periodType={"I": "instant", "D": "duration"}.get(text_at(record, "iord"), ""),
        version=year,
    )


def _element(record: Record) -> Row:
    """An element of the taxonomy's schema."""
    if not text_at(record, "substitutionGroup").endswith("item"):
        raise NoMeasure("an element that is no item")
    if text_at(record, "abstract") == "true":
        raise NoMeasure("an abstract concept")
    unit = _typed(text_at(record, "type"))
    return _concept("us-gaap", required(record, "name"), "", unit=unit, periodType=text_at(record, "periodType"))


def _facts(document: Any) -> list[Any] | None:
    """The concepts of a reply of `companyfacts`: taxonomy, then tag, then its label, description and units."""
    facts = at(document, "facts")
    if not isinstance(facts, dict):
        return None
    return [
        {"taxonomy": taxonomy, "tag": tag, **concept}
        for taxonomy, concepts in facts.items()
        for tag, concept in (concepts.items() if isinstance(concepts, dict) else ())
        if isinstance(concept, dict)
    ]


def _fact(record: Record) -> Row:
    units = at(record, "units")
    if not isinstance(units, dict) or not units:
        raise RowError("no units")
    observed = next((one for values in units.values() if isinstance(values, list) for one in values), None)
    return _concept(
        required(record, "taxonomy"),
        required(record, "tag"),
        text_at(record, "label"),
        description=text_at(record, "description"),
        unit=_measured(next(iter(units))),
        periodType="" if observed is None else "duration" if text_at(observed, "start") else "instant",
    )


def _frame(record: Record) -> Row:
    return _concept(
        required(record, "taxonomy"),
        required(record, "tag"),
        text_at(record, "label"),
        description=text_at(record, "description"),
        unit=_measured(required(record, "uom")),
        periodType="instant" if required(record, "ccp").endswith("I") else "duration",
    )


def _measured(unit: str) -> str:
    """The family of a unit as the API names it: `USD`, `USD/shares` or `USD-per-shares`, `shares`, `pure`."""
    parts = re.split(r"/|-per-", unit)
    if len(parts) == 2 and parts[1] == "shares":
        return "per-share"
    if unit == "shares":
        return "shares"
    return "currency" if _CURRENCY.match(unit) else "pure"


def join(rows: Iterable[Located]) -> Iterator[Located | BadRow]:
    """One row a concept: it is filed by many companies and lives through many years; its latest version says most."""
    latest: dict[str, Located] = {}
    for each in rows:
        before = latest.get(each.row["id"])
        if before is None or str(each.row.get("version", "")) > str(before.row.get("version", "")):
            latest[each.row["id"]] = each
    yield from latest.values()


_SHAPES = (
    Shape("the SEC's `tag.txt`", ("tag", "version", "custom", "abstract", "datatype", "iord", "tlabel", "doc"), _tag),
    Shape("a reply of EDGAR `companyfacts`", ("taxonomy", "tag", "label", "units"), _fact, _facts),
    Shape("a reply of EDGAR `companyconcept`", ("taxonomy", "tag", "label", "units"), _fact, listed("tag", "units")),
    Shape("a reply of EDGAR `frames`", ("taxonomy", "tag", "uom", "ccp", "label"), _frame, listed("tag", "ccp")),
    Shape(
        "the us-gaap taxonomy's schema",
        ("name", "type", "substitutionGroup", "periodType"),
        _element,
        element="element",
    ),
)

FAMILY = Family("sec-edgar", _ACCESS, _ABOUT, draft, _SHAPES, join)
