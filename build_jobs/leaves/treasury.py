"""US Treasury FiscalData: one leaf a numeric field of a small dataset, or a series of a long one."""

from __future__ import annotations

import re
from typing import Any

from build_jobs.leaves.family import Family, access_document, one_each
from build_jobs.leaves.leaf import Draft, fitted, slug
from build_jobs.leaves.queries import for_treasury
from build_jobs.leaves.rows import NoMeasure, Row, RowError, identity
from build_jobs.leaves.shapes import Finder, Record, Shape, at, required, text_at
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
        "coverage": {"levels": ["country"], "dates": row["dates"]} if isinstance(row.get("dates"), dict) else None,
        "representativeQueries": clean_list(row.get("queries") or [])
        or for_treasury(dataset, label or series, exchange_rate=exchange_rate),
    }
    body = (
        f"# Schema\n\nReports {label or series} of `{path}` by record date (operation `latest`); "
        "see [access](./_access.md)."
    )
    stem = fitted(slug(f"{path.rsplit('/', 1)[-1]}-{series}"), code, _STEM_LENGTH)
    return Draft(code, stem, front_matter, body)


# What FiscalData serves of its datasets

_NUMBERS = ("CURRENCY", "NUMBER", "PERCENTAGE", "RATE", "SMALL_FRACTION")
_NO_VALUE = re.compile(r"^(record_|src_line_nbr|.*_nbr$)")
_RATES = ("Treasury Reporting Rates of Exchange", "v1/accounting/od/rates_of_exchange")
_INTEREST = ("Average Interest Rates on U.S. Treasury Securities", "v2/accounting/od/avg_interest_rates")


def _columns(document: Any) -> list[Any] | None:
    """The columns of the metadata's datasets: dataset, then API, then field."""
    datasets = document if isinstance(document, list) else [document]
    if not any(isinstance(at(dataset, "apis"), list) for dataset in datasets):
        return None
    return [
        {"dataset": text_at(dataset, "title"), **_api(api), **each}
        for dataset in datasets
        for api in at(dataset, "apis") or []
        for each in at(api, "fields") or []
        if isinstance(each, dict)
    ]


def _api(api: Any) -> Record:
    """What a column inherits of its API; some releases of the metadata spell the names with their type."""
    keys = {"endpoint": ("endpoint", "endpoint_txt"), "table": ("table_name", "table_nm", "title"),
            "first": ("earliest_date",), "last": ("latest_date",)}  # fmt: skip
    found = {key: next(filter(None, (text_at(api, name) for name in names)), "") for key, names in keys.items()}
    return {key: value for key, value in found.items() if value}


def _column(record: Record) -> Row:
    name, path = required(record, "column_name"), required(record, "endpoint").strip("/")
    if not text_at(record, "data_type").upper().startswith(_NUMBERS) or _NO_VALUE.match(name):
        raise NoMeasure("a column of dates, texts or line numbers")
    if path.rsplit("/", 1)[-1] in _STACKED:
        raise NoMeasure("a column that stacks series; the dataset's own rows name them")
    table = text_at(record, "table") or required(record, "dataset")
    dates = {key: text_at(record, key) for key in ("first", "last")}
    return {
        "id": f"{path}|{name}",
        "title": f"{table}: {text_at(record, 'pretty_name') or name.replace('_', ' ')}",
        "description": text_at(record, "definition"),
        "dates": dates if all(dates.values()) else None,
    }


def _stacked(dimension: str) -> Finder:
    """The rows of a dataset's own reply, where they have this column."""

    def find(document: Any) -> list[Any] | None:
        records = at(document, "data")
        is_reply = isinstance(records, list) and isinstance(at(document, "meta"), dict)
        return records if is_reply and any(dimension in each for each in records if isinstance(each, dict)) else None

    return find


def _exchange_rate(record: Record) -> Row:
    (title, path), currency = _RATES, required(record, "country_currency_desc")
    text = f"Reporting rate of exchange: {currency} for one US dollar, at the end of a quarter."
    return {"id": f"{path}|{currency}", "title": f"{title}: {currency}", "description": text}


def _interest_rate(record: Record) -> Row:
    (title, path), security = _INTEREST, required(record, "security_desc")
    text = f"Average interest rate on {security}, by month, in percent."
    return {"id": f"{path}|{security}", "title": f"{title}: {security}", "description": text}


_SHAPES = (
    Shape("FiscalData's metadata", ("endpoint", "column_name", "data_type"), _column, _columns),
    Shape(
        "FiscalData's `rates_of_exchange`",
        ("country_currency_desc", "exchange_rate"),
        _exchange_rate,
        _stacked("country_currency_desc"),
    ),
    Shape(
        "FiscalData's `avg_interest_rates`",
        ("security_desc", "avg_interest_rate_amt"),
        _interest_rate,
        _stacked("security_desc"),
    ),
)

FAMILY = Family("treasury", _ACCESS, _ABOUT, draft, _SHAPES, one_each)
