"""SEC financial statements in BigQuery: one leaf a reported concept, for rankings over all companies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from build_jobs.leaves.bigquery_columns import ABOUT_SQL, population_draft, query_operation
from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft, split_camel
from build_jobs.leaves.rows import BadRow, Located, NoMeasure, Row, RowError
from build_jobs.leaves.shapes import Record, Shape, listed, required
from build_jobs.text import clean

_TABLE = "bigquery-public-data.sec_quarterly_financials.quick_summary"
_TAG = re.compile(r"^[A-Za-z][A-Za-z0-9]*$")
_WORD = re.compile(r"^[A-Za-z0-9/]+$")
# No company reports more than this of anything in dollars: beyond it lie slips of the pen.
_MOST_DOLLARS = 1e13

_ACCESS = access_document(
    title="SEC financial statements (BigQuery)",
    description="Facts of the annual and quarterly reports of US public companies as one table for SQL.",
    resource="bigquery-public-data.sec_quarterly_financials",
    publisher="sec.gov",
    scope="the population of US public companies, for ranking, filtering and counting over all that report",
    auth="gcp",
    operations=query_operation("company"),
)
_ABOUT = f"""# About

The same facts as `sec-edgar`, as a table of all companies: it answers which companies lead or lie above a value, which
an API keyed by one company does not.

{ABOUT_SQL}
# Matching & caveats

- The table has one row a fact and filing; the leaf's `filter` picks one concept, one form, one year and one length
  of period, and `group_agg` one value a company.
- `number_of_quarters` is 4 for what flows through a year and 0 for a balance at its end.
- `value_max` leaves out what can only be a slip of the pen.
"""


def draft(row: Row) -> Draft:
    unit = clean(row.get("unit")) or "USD"
    bq = {
        "table": _TABLE,
        "entity_field": "company_name",
        "entity_kind": "company",
        "value_field": "value",
        "group_agg": "MAX",
        "filter": clean(row.get("filter")),
        "value_max": _MOST_DOLLARS if unit == "USD" else None,
        "unit": unit,
        "source": "SEC financial statements (BigQuery sec_quarterly_financials)",
    }
    made = population_draft(
        row,
        type_="SEC Financials Population Field (BigQuery)",
        suffix="SEC financials (BigQuery)",
        one="company",
        many="US public companies",
        tags=["sec", "edgar", "financials", "company"],
        bq=bq,
        closing=f" in {clean(row['year'])}" if clean(row.get("year")) else "",
    )
    # `bq.value_field` is the same in every leaf of this source, so the concept is said as its code.
    return Draft(made.code, made.slug, {**made.front_matter, "code": made.code}, made.body)


def _fact(record: Record) -> Row:
    if required(record, "form") != "10-K":
        raise NoMeasure("a fact of another form than the annual report")
    names = ("measure_tag", "units", "number_of_quarters", "fiscal_year")
    tag, units, quarters, year = (required(record, name) for name in names)
    if not _TAG.match(tag) or not _WORD.match(units):
        raise RowError(f"measure_tag {tag!r} or units {units!r} is no name")
    if quarters not in ("0", "4"):
        raise NoMeasure("a fact of a part of the year")
    if not year.isdigit():
        raise RowError(f"fiscal_year {year!r} is no year")
    return {"id": tag, "key": (units, quarters), "year": year}


def join(rows: Iterable[Located]) -> Iterator[Located | BadRow]:
    """One row a concept: its latest year, and the unit and length of period that most companies report it in."""
    first: dict[str, Located] = {}
    seen: dict[str, dict[str, Counter[tuple[str, str]]]] = {}
    for each in rows:
        tag, year = each.row["id"], each.row["year"]
        first.setdefault(tag, each)
        seen.setdefault(tag, {}).setdefault(year, Counter())[each.row["key"]] += 1
    for tag, years in seen.items():
        year = max(years)
        units, quarters = max(years[year].items(), key=lambda pair: (pair[1], pair[0]))[0]
        chosen = f"measure_tag='{tag}' AND units='{units}' AND form='10-K'"
        row = {
            "id": tag,
            "title": split_camel(tag),
            "unit": units,
            "year": year,
            "filter": f"{chosen} AND number_of_quarters={quarters} AND fiscal_year={year}",
        }
        yield Located(first[tag].line, row, first[tag].file, published=True)


_SHAPES = (
    Shape(
        "rows of BigQuery `sec_quarterly_financials.quick_summary`",
        ("company_name", "measure_tag", "units", "form", "number_of_quarters", "fiscal_year"),
        _fact,
        listed("company_name", "measure_tag"),
    ),
)

FAMILY = Family("sec-bq", _ACCESS, _ABOUT, draft, _SHAPES, join)
