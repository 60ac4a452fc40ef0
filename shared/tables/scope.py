"""Which rows a request may be answered from: settled before any model is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from shared.contracts.leaf import LEAF_TYPE
from shared.contracts.tables import FILTER_KEYS, SearchRequest
from shared.index.scan import Rows
from shared.models.caches import cache_key
from shared.tables.catalogs import Catalog
from shared.tables.filters import ignored
from shared.tables.names import catalogs_of, directories_left
from shared.tables.tables import Tables
from shared.timed import timed


class Scope(Struct, frozen=True):
    """Row numbers that may be searched, sorted, None for all; and the filter keys nobody reads.

    The array is shared by every request with the same filters, and cannot be written.
    """

    rows: Rows | None
    ignored: tuple[str, ...] | None

    @property
    def empty(self) -> bool:
        """Whether the filters leave nothing."""
        return self.rows is not None and len(self.rows) == 0


def scope_of(request: SearchRequest, tables: Tables) -> Scope:
    """The rows that `catalogs`, `sources`, `excludeSources` and `query.filter` leave.

    Values of one key are alternatives, keys are all required. Raises UnknownName listing the valid names.
    """
    filters = request.query.filter
    unread = None if filters is None else tuple(ignored(filters))
    known = {key: values for key, values in (filters or {}).items() if key in FILTER_KEYS and values}
    if not (known or request.sources or request.exclude_sources or request.catalogs):
        return Scope(None, unread)
    with timed("scope"):
        return Scope(_kept_rows(request, known, tables), unread)


def _kept_rows(request: SearchRequest, known: Mapping[str, Sequence[str]], tables: Tables) -> Rows | None:
    """The rows left, looked up once for each release: a tag of 34,728 of 118,703 rows took 11 ms, again 0.09 ms.

    What a filter means is kept, never that it is wrong.
    """
    if tables.legs is None:
        return _left(request, known, tables)
    kept, key = tables.legs.row_sets, _key(request, known)
    rows = kept.get(key)
    if rows is None:
        rows = _left(request, known, tables)
        if rows is not None:
            rows.setflags(write=False)
            kept.put(key, rows)
    return rows


def _key(request: SearchRequest, known: Mapping[str, Sequence[str]]) -> bytes:
    """The same for the same names in another order, or named twice."""
    asked = {"catalogs": request.catalogs, "sources": request.sources, "excluded": request.exclude_sources, **known}
    return cache_key(json.dumps({name: sorted(set(values)) for name, values in asked.items()}, sort_keys=True))


def _left(request: SearchRequest, known: Mapping[str, Sequence[str]], tables: Tables) -> Rows | None:
    catalogs = catalogs_of(request.catalogs, tables)
    directories = directories_left(tables, request.sources, request.exclude_sources, known)
    if LEAF_TYPE not in known.get("type", (LEAF_TYPE,)):
        return np.empty(0, np.int64)
    if len(catalogs) == len(tables.catalogs) and directories is None and "tags" not in known:
        return None
    return np.concatenate([_rows(catalog, directories, known.get("tags")) for catalog in catalogs])


def _rows(catalog: Catalog, directories: set[str] | None, tags: Sequence[str] | None) -> Rows:
    """One catalog's rows of these directories that carry one of these tags."""
    rows = np.arange(catalog.rows) if directories is None else _of_directories(catalog, directories)
    if tags is not None:
        rows = np.intersect1d(rows, np.array(catalog.records.rows_of_tags(tags), dtype=np.int64), assume_unique=True)
    return rows + catalog.first_row


def _of_directories(catalog: Catalog, directories: set[str]) -> Rows:
    """A whole family is one range of the manifest; only a part of one needs the records."""
    ranges, rest = [], []
    for family in catalog.release.manifest.families:
        if set(family.sources) <= directories:
            ranges.append(np.arange(family.first_row, family.first_row + family.rows))
        else:
            rest += sorted(directories & set(family.sources))
    if rest:
        ranges.append(np.array(catalog.records.rows_of_sources(rest), dtype=np.int64))
    return np.sort(np.concatenate(ranges)) if ranges else np.empty(0, np.int64)
