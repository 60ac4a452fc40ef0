"""The names that a caller may use for sources and publishers, and the source directories they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from shared.contracts.tables import SOURCE_DIRECTORY
from shared.errors import UnknownName
from shared.tables.catalogs import Catalog
from shared.tables.tables import Tables


def catalogs_of(names: Sequence[str], tables: Tables) -> list[Catalog]:
    """The catalogs of these names, all for none. Raises UnknownName."""
    expect_known("catalog", names, [catalog.name for catalog in tables.catalogs])
    return [catalog for catalog in tables.catalogs if not names or catalog.name in names]


def sources_of(names: Sequence[str], tables: Tables) -> set[str]:
    """The directories of these source families or directories. Raises UnknownName listing the valid names."""
    families = tables.families()
    known = {directory: [directory] for members in families.values() for directory in members} | families
    expect_known("source", names, known)
    return {directory for name in names for directory in known[name]}


def published_by(names: Sequence[str], tables: Tables) -> set[str]:
    """The directories of these publishers: domains or, as older clients say, directories. Raises UnknownName."""
    domains = publishers(tables)
    known = {directory: [directory] for members in domains.values() for directory in members} | domains
    expect_known("publisher", names, known, shown=domains)
    return {directory for name in names for directory in known[name]}


def directories_left(
    tables: Tables, sources: Sequence[str], excluded: Sequence[str], filters: Mapping[str, Sequence[str]]
) -> set[str] | None:
    """The directories that `sources`, `excludeSources` and a filter leave, all together; None where none restricts.

    Empty is no restriction. Raises UnknownName listing the valid names.
    """
    without = sources_of(excluded, tables)
    asked = (
        (sources_of, sources),
        (published_by, filters.get("publisher")),
        (sources_of, filters.get(SOURCE_DIRECTORY)),
    )
    groups = [find(names, tables) for find, names in asked if names]
    if not groups and not without:
        return None
    every = {directory for members in tables.families().values() for directory in members}
    return every.intersection(*groups) - without


def publishers(tables: Tables) -> dict[str, list[str]]:
    """Publisher domain → its source directories over all catalogs, both sorted."""
    found: dict[str, set[str]] = {}
    for catalog in tables.catalogs:
        for source in catalog.sources.values():
            found.setdefault(source.publisher, set()).add(source.directory)
    return {domain: sorted(found[domain]) for domain in sorted(found)}


def rows_by_source(tables: Tables) -> dict[str, int]:
    """Source directory → its documents over all catalogs."""
    counts: dict[str, int] = {}
    for catalog in tables.catalogs:
        for family in catalog.release.manifest.families:
            for directory, rows in family.sources.items():
                counts[directory] = counts.get(directory, 0) + rows
    return counts


def expect_known(
    kind: str, asked: Sequence[str], valid: Iterable[str] | Mapping[str, object], shown: Iterable[str] | None = None
) -> None:
    """Raises UnknownName where a name is none of the valid ones; `shown` are those worth listing."""
    there = set(valid)
    unknown = [name for name in asked if name not in there]
    if unknown:
        names = sorted(there if shown is None else shown)
        raise UnknownName(f"unknown {kind} {unknown[0]!r}; the valid ones are: {', '.join(names)}", names)
