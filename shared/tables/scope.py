"""Which rows a request may be answered from: settled before any model is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shared.contracts.leaf import LEAF_TYPE
from shared.contracts.tables import FILTER_KEYS, SearchRequest
from shared.errors import UnknownName
from shared.index.scan import Rows
from shared.tables.catalogs import Catalog
from shared.tables.tables import Tables


@dataclass(frozen=True, slots=True)
class Scope:
    """Row numbers that may be searched, sorted, None for all; and the filter keys nobody reads."""

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
    ignored = None if filters is None else tuple(key for key in filters if key not in FILTER_KEYS)
    known = {key: values for key, values in (filters or {}).items() if key in FILTER_KEYS and values}
    catalogs = _catalogs(request.catalogs, tables)
    directories = _directories(request, known.get("publisher", ()), tables)
    if LEAF_TYPE not in known.get("type", (LEAF_TYPE,)):
        return Scope(np.empty(0, np.int64), ignored)
    if len(catalogs) == len(tables.catalogs) and directories is None and "tags" not in known:
        return Scope(None, ignored)
    parts = [_rows(catalog, directories, known.get("tags")) for catalog in catalogs]
    return Scope(np.concatenate(parts), ignored)


def _catalogs(names: Sequence[str], tables: Tables) -> list[Catalog]:
    _known("catalog", names, [catalog.name for catalog in tables.catalogs])
    return [catalog for catalog in tables.catalogs if not names or catalog.name in names]


def _directories(request: SearchRequest, publishers: Sequence[str], tables: Tables) -> set[str] | None:
    """The source directories left by sources, excludeSources and publishers; None where nothing restricts them."""
    if not (request.sources or request.exclude_sources or publishers):
        return None
    families = tables.families()
    left = {directory for members in families.values() for directory in members}
    names = {**{directory: [directory] for directory in left}, **families}
    _known("source", [*request.sources, *request.exclude_sources], names)
    if request.sources:
        left &= _members(request.sources, names)
    left -= _members(request.exclude_sources, names)
    return left & _published_by(publishers, tables) if publishers else left


def _published_by(publishers: Sequence[str], tables: Tables) -> set[str]:
    """Directories of these publishers: a domain, or a source directory as older clients say."""
    names: dict[str, list[str]] = {}
    for catalog in tables.catalogs:
        for domain, directories in catalog.records.publishers().items():
            names.setdefault(domain, []).extend(directories)
    domains = list(names)
    names |= {directory: [directory] for domain in domains for directory in names[domain]}
    _known("publisher", publishers, names, shown=domains)
    return _members(publishers, names)


def _members(chosen: Iterable[str], names: dict[str, list[str]]) -> set[str]:
    return {directory for name in chosen for directory in names[name]}


def _known(kind: str, asked: Sequence[str], valid: Iterable[str], shown: Iterable[str] | None = None) -> None:
    there = set(valid)
    unknown = [name for name in asked if name not in there]
    if unknown:
        names = sorted(there if shown is None else shown)
        raise UnknownName(f"unknown {kind} {unknown[0]!r}; the valid ones are: {', '.join(names)}", names)


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
