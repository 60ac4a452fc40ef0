"""US Census ACS in BigQuery: one leaf a numeric column of the county table, for rankings over all counties."""

from __future__ import annotations

from build_jobs.leaves.bigquery_columns import ABOUT_SQL, population_draft, query_operation, table_shapes
from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft
from build_jobs.leaves.rows import NoMeasure, Row
from build_jobs.leaves.shapes import Record, required, text_at
from build_jobs.text import clean

_TABLE = "bigquery-public-data.census_bureau_acs.county_2018_5yr"
_KEYS = {"geo_id", "do_date"}

_ACCESS = access_document(
    title="US Census ACS (BigQuery)",
    description="County estimates of the American Community Survey as one table that SQL can rank and add up.",
    resource="bigquery-public-data.census_bureau_acs",
    publisher="census.gov",
    scope="the population of US counties, for ranking, filtering and counting over all of them",
    auth="gcp",
    operations=query_operation("county"),
)
_ABOUT = f"""# About

The same estimates as `census`, as a table of all US counties: it answers which counties lead or lie above a value,
which the Census API, asked for one area at a time, does not.

{ABOUT_SQL}
# Matching & caveats

- `entity_field` is the county's five-digit FIPS code; the join named in `bq` brings its name.
- Estimates are averages over five years.
"""


def draft(row: Row) -> Draft:
    unit = clean(row.get("unit"))
    bq = {
        "table": clean(row.get("table")) or _TABLE,
        "field": clean(row.get("id")),
        "entity_field": "geo_id",
        "entity_kind": "fips",
        "name_table": "bigquery-public-data.geo_us_boundaries.counties",
        "name_key": "geo_id",
        "name_field": "county_name",
        "unit": unit,
        "source": "US Census ACS county 5-year (BigQuery census_bureau_acs)",
    }
    return population_draft(
        row,
        type_="Census ACS Population Field (BigQuery)",
        suffix="US Census ACS (BigQuery)",
        one="county",
        many="US counties",
        tags=["census", "acs", "county"],
        bq=bq,
        closing=", over all counties",
    )


def _column(record: Record) -> Row:
    name = required(record, "name")
    if name in _KEYS:
        raise NoMeasure("a column that names the county")
    words = name.replace("_", " ")
    dollars = any(word in words.split() for word in ("income", "rent", "value", "earnings"))
    return {
        "id": name,
        "title": words[:1].upper() + words[1:],
        "description": text_at(record, "description"),
        "table": required(record, "table"),
        "unit": "USD" if dollars else "",
    }


FAMILY = Family("census-acs-bq", _ACCESS, _ABOUT, draft, table_shapes(_column))
