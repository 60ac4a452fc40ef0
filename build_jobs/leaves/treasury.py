"""US Treasury FiscalData: one leaf a numeric field of a small dataset, or a series of a long one."""

from __future__ import annotations

import re
from typing import Any

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft, fitted, slug
from build_jobs.leaves.queries import for_treasury
from build_jobs.leaves.rows import Row, RowError, identity
from build_jobs.text import clean, clean_list

_STEM_LENGTH = 60
# Datasets that stack many series: the column that tells them apart, and the one that holds the value.
_STACKED = {
    "rates_of_exchange": ("country_currency_desc", "exchange_rate"),
    "avg_interest_rates": ("security_desc", "avg_interest_rate_amt"),
}
_COLUMN = re.compile(r"^[a-z][a-z0-9_]*$")

_ACCESS = access_document(
    title="US Treasury — FiscalData",
    description="Datasets of the US government's finances: debt, interest rates, exchange rates.",
    resource="https://api.fiscaldata.treasury.gov/services/api/fiscal_service/",
    publisher="treasury.gov",
    scope="the US federal government",
    operations={
        "latest": {
            "method": "GET",
            "url": "https://api.fiscaldata.treasury.gov/services/api/fiscal_service/{path}"
            "?fields=record_date,{tfield}&filter={filter}&sort=-record_date&page[size]=1",
        },
        "rows": {
            "method": "GET",
            "url": "https://api.fiscaldata.treasury.gov/services/api/fiscal_service/{path}?{query}",
        },
    },
)
_ABOUT = """# About

FiscalData publishes the Treasury's accounts as flat datasets, one row a record date.

# Query

The leaf fixes the dataset's `path`, the value's column `tfield` and, where a dataset stacks series, the `filter`.
`latest` reads the newest record; `rows` takes any `query` of `fields`, `filter`, `sort` and paging.

# Matching & caveats

- Without a sort the oldest records come first.
- Every value is a string.
- Exchange rates are quarterly reporting rates, in units of the foreign currency for one US dollar.
"""


def _pinned(path: str, series: str) -> dict[str, Any]:
    """What a leaf fixes of its dataset: the column of a small one, column and filter of a stacked one."""
    dimension, value = _STACKED.get(path.rsplit("/", 1)[-1], (None, None))
    if dimension:
        return {"type": "Treasury Fiscal Series", "tfield": value, "filter": f"{dimension}:eq:{series}"}
    if _COLUMN.match(series):
        return {"type": "Treasury Fiscal Field", "tfield": series}
    return {"type": "Treasury Fiscal Series", "series": series}


def draft(row: Row) -> Draft:
    code, title = identity(row)
    path, separator, series = code.partition("|")
    if not separator or not path or not series:
        raise RowError("id is not `path|field`")
    pinned = _pinned(path, series)
    dataset, _, label = title.partition(": ")
    exchange_rate = pinned.get("tfield") == "exchange_rate"
    front_matter = {
        "type": pinned.pop("type"),
        "title": title,
        "description": clean(row.get("description")),
        "tags": [*clean_list(row.get("tags") or ["finance", "treasury", "government", "fiscal"]), "country"],
        "source": "./_access.md",
        "code": code,
        "path": path,
        **pinned,
        "representativeQueries": clean_list(row.get("queries") or [])
        or for_treasury(dataset, label or series, exchange_rate=exchange_rate),
    }
    body = (
        f"# Schema\n\nReports {label or series} of `{path}` by record date (operation `latest`); "
        "see [access](./_access.md)."
    )
    stem = fitted(slug(f"{path.rsplit('/', 1)[-1]}-{series}"), code, _STEM_LENGTH)
    return Draft(code, stem, front_matter, body)


FAMILY = Family("treasury", _ACCESS, _ABOUT, draft)
