"""What the families over one BigQuery table share: the table's shapes, its operation, and a leaf of one column.

Each ranks, filters and adds up a whole population (counties, companies, nonprofits) of which another family answers
for one member at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from build_jobs.leaves.leaf import Draft, fitted, slug
from build_jobs.leaves.queries import for_population
from build_jobs.leaves.rows import NoMeasure, Row, identity
from build_jobs.leaves.shapes import Record, Shape, at, required, text_at
from build_jobs.text import clean, clean_list

_STEM_LENGTH = 60
_NUMBERS = ("INTEGER", "INT64", "FLOAT", "FLOAT64", "NUMERIC", "BIGNUMERIC")

ABOUT_SQL = """# Query

The leaf's `bq` mapping holds the parts of a statement: `table` and `field` (or `value_field`), `entity_field` for
whom a row is about, `filter` where the table stacks measures, `group_agg` where one member has several rows, and
`name_table`, `name_key`, `name_field` for a join that brings the names. With it `query` runs, for instance,
`SELECT <entity_field>, <field> FROM <table> ORDER BY <field> DESC LIMIT 10` in the caller's own project.
"""


def query_operation(grain: str) -> dict[str, dict[str, Any]]:
    """The operation of such a family: SQL over the whole population, in the caller's project."""
    capability = {
        "paths": ["key", "filter", "order", "enumerate", "aggregate"],
        "grain": grain,
        "order": {"server": True},
        "population": {"complete": True},
        "requires_env": "GOOGLE_CLOUD_PROJECT",
    }
    return {"query": {"method": "BIGQUERY", "url": "", "capability": capability}}


def table_shapes(row: Callable[[Record], Row]) -> tuple[Shape, ...]:
    """A table's columns as `tables.get` serves them, and as INFORMATION_SCHEMA.COLUMN_FIELD_PATHS lists them.

    `row` gets, of each numeric column, `table`, `name` and `description`.
    """

    def numeric(record: Record) -> Row:
        if text_at(record, "type").upper() not in _NUMBERS:
            raise NoMeasure("a column that is no number")
        return row(record)

    def listed_numeric(record: Record) -> Row:
        parts = [required(record, f"table_{name}") for name in ("catalog", "schema", "name")]
        column = {
            "table": ".".join(parts),
            "name": required(record, "column_name"),
            "type": required(record, "data_type"),
            "description": text_at(record, "description"),
        }
        return numeric(column)

    return (
        Shape("a reply of BigQuery `tables.get`", ("table", "name", "type"), numeric, _fields),
        Shape(
            "a CSV of INFORMATION_SCHEMA.COLUMN_FIELD_PATHS",
            ("table_catalog", "table_schema", "table_name", "column_name", "data_type"),
            listed_numeric,
        ),
    )


def _fields(document: Any) -> list[Any] | None:
    fields = at(document, "schema", "fields")
    if not isinstance(fields, list):
        return None
    parts = [text_at(document, "tableReference", name) for name in ("projectId", "datasetId", "tableId")]
    table = {"table": ".".join(parts)} if all(parts) else {}
    return [{**table, **each} if isinstance(each, dict) else each for each in fields]


def population_draft(
    row: Row, *, type_: str, suffix: str, one: str, many: str, tags: list[str], bq: dict[str, Any], closing: str
) -> Draft:
    """A leaf that ranks `many` by one measure; `bq` is what its SQL is made of, `closing` ends the description."""
    code, title = identity(row)
    said = clean(row.get("description"))
    description = f"Rank, filter or add up {many} by {title[:1].lower() + title[1:]} (`{code}`){closing}."
    front_matter = {
        "type": type_,
        "title": f"{title} by {one} — {suffix}",
        "description": f"{description} {said}" if said else description,
        "tags": [*tags, "bigquery", "ranking", "aggregate", "population", slug(title)],
        "source": "./_access.md",
        "bq": {key: value for key, value in bq.items() if value not in (None, "")},
        "representativeQueries": clean_list(row.get("queries") or []) or for_population(title, one, many),
    }
    body = f"# Schema\n\nOrders {many} by `{code}` (operation `query`, SQL from `bq`); see [access](./_access.md)."
    return Draft(code, fitted(slug(code), code, _STEM_LENGTH), front_matter, body)
