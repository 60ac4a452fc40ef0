"""IRS Form 990 in BigQuery: one leaf a numeric line of the form, for rankings over all that file it."""

from __future__ import annotations

from build_jobs.leaves.bigquery_columns import ABOUT_SQL, population_draft, query_operation, table_shapes
from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.form_990 import COUNTS, LINES
from build_jobs.leaves.leaf import Draft
from build_jobs.leaves.rows import NoMeasure, Row
from build_jobs.leaves.shapes import Record, required, text_at
from build_jobs.text import clean

_TABLE = "bigquery-public-data.irs_990.irs_990_2017"

_ACCESS = access_document(
    title="IRS Form 990 (BigQuery)",
    description="The yearly returns of US tax-exempt organizations as one table that SQL can rank and add up.",
    resource="bigquery-public-data.irs_990",
    publisher="irs.gov",
    scope="the population of US tax-exempt nonprofits, for ranking, filtering and counting over all that file",
    auth="gcp",
    operations=query_operation("organization"),
)
_ABOUT = f"""# About

The same returns as `nonprofit-990`, as a table of everybody who filed: it answers which nonprofits lead or lie above
a value, which an API keyed by one organization does not.

{ABOUT_SQL}
# Matching & caveats

- `entity_field` is the employer identification number; names have to be brought from elsewhere (`name_via`).
- One table holds the returns of one year, as they were filed: a slip of the pen by one filer can lead a ranking.
"""


def draft(row: Row) -> Draft:
    table = clean(row.get("table")) or _TABLE
    year = table.rpartition("_")[2]
    bq = {
        "table": table,
        "field": clean(row.get("id")),
        "entity_field": "ein",
        "entity_kind": "ein",
        "name_via": "propublica",
        "unit": clean(row.get("unit")) or ("" if clean(row.get("id")) in COUNTS else "USD"),
        "source": f"IRS Form 990 (BigQuery irs_990, {year})",
    }
    return population_draft(
        row,
        type_="Nonprofit 990 Population Field (BigQuery)",
        suffix="IRS 990 population (BigQuery)",
        one="nonprofit",
        many="US nonprofits",
        tags=["nonprofit", "irs", "form-990"],
        bq=bq,
        closing=f", over all returns of {year}",
    )


def _column(record: Record) -> Row:
    name = required(record, "name")
    known = LINES.get(name)
    description = text_at(record, "description")
    if not known:
        raise NoMeasure("a column that is no amount of the form, or whose line is not known")
    return {"id": name, "title": known, "description": description, "table": required(record, "table")}


FAMILY = Family("irs-990-bq", _ACCESS, _ABOUT, draft, table_shapes(_column))
