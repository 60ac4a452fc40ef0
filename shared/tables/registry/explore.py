"""POST /explore: how many of the matching entries have which publisher, source, type or tag. No model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from msgspec import Struct

from shared.contracts.leaf import LEAF_TYPE
from shared.contracts.text import whole_number
from shared.errors import RequestError
from shared.index.selection import Selection
from shared.tables.catalogs import Catalog
from shared.tables.entry import context
from shared.tables.filters import Filter, filter_of, ignored
from shared.tables.names import catalogs_of, directories_left, expect_known
from shared.tables.registry.library import Library
from shared.tables.request import clean_text, names_of

FIELDS = ("publisher", "source", "type", "tags")
BUCKETS, MOST_BUCKETS = 20, 1_000


class Facet(Struct, frozen=True):
    """A field to count by: how many buckets to show, and the least count of one."""

    field: str
    limit: int = BUCKETS
    min_count: int = 1


class Exploration(Struct, frozen=True):
    """POST /explore. `text` is empty for none; empty tuples mean no restriction.

    `filter` is as `filter_of` says; None is none.
    """

    facets: tuple[Facet, ...]
    text: str = ""
    filter: Filter | None = None
    sources: tuple[str, ...] = ()
    exclude_sources: tuple[str, ...] = ()
    catalogs: tuple[str, ...] = ()

    def of(self, key: str) -> tuple[str, ...]:
        """The values of a filter key; empty where it is not given."""
        return (self.filter or {}).get(key, ())


def parse_explore(body: Mapping[str, Any], okf_namespace: str) -> Exploration:
    """The exploration a body asks for. Raises RequestError with one sentence about the first thing that is wrong."""
    query = body.get("query")
    if query is not None and not isinstance(query, dict):
        _refuse("query must be an object")
    given: Mapping[str, Any] = query or {}
    return Exploration(
        facets=_facets(body.get("resultType")),
        text=_text(given.get("text")),
        filter=filter_of(given, okf_namespace),
        sources=names_of(body, "sources"),
        exclude_sources=names_of(body, "excludeSources"),
        catalogs=names_of(body, "catalogs"),
    )


def explore(exploration: Exploration, library: Library) -> dict[str, Any]:
    """Counts over everything that matches; text matches lexically. Raises UnknownName listing the valid names.

    `otherCount` is the sum of the counts of the buckets that are not shown.
    """
    chosen = list(_selections(exploration, library))
    sources: Counter[str] = Counter()
    for catalog, selection in chosen:
        sources.update(catalog.records.sources_where(selection))
    filters = exploration.filter
    return {
        "@context": context(library.tables.settings.okf_namespace),
        "resultType": "facets",
        "facets": {facet.field: _shown(facet, _counts(facet.field, sources, chosen)) for facet in exploration.facets},
        "total": sources.total(),
        **({"textMatch": "lexical"} if exploration.text else {}),
        **({} if filters is None else {"filter": {"ignored": ignored(filters)}}),
    }


def _selections(exploration: Exploration, library: Library) -> Iterator[tuple[Catalog, Selection]]:
    """Each catalog that is asked, and its rows that match."""
    directories = _directories(exploration, library)
    tags = exploration.of("tags") or None
    if LEAF_TYPE not in (exploration.of("type") or (LEAF_TYPE,)):
        directories = ()
    for catalog in catalogs_of(exploration.catalogs, library.tables):
        rows = library.rows_with(exploration.text, catalog) if exploration.text else None
        yield catalog, Selection(sources=directories, tags=tags, rows=rows)


def _directories(exploration: Exploration, library: Library) -> tuple[str, ...] | None:
    """The source directories that every restriction leaves; None where nothing restricts them."""
    left = directories_left(library.tables, exploration.sources, exploration.exclude_sources, exploration.filter or {})
    return None if left is None else tuple(sorted(left))


def _counts(field: str, sources: Mapping[str, int], chosen: list[tuple[Catalog, Selection]]) -> Counter[str]:
    if field == "source":
        return Counter(sources)
    counts: Counter[str] = Counter()
    if field == "publisher":
        publisher_of = {name: each.publisher for catalog, _ in chosen for name, each in catalog.sources.items()}
        for directory, count in sources.items():
            counts[publisher_of[directory]] += count
    elif field == "type":
        counts[LEAF_TYPE] = sum(sources.values())
    else:
        for catalog, selection in chosen:
            counts.update(catalog.records.tags_where(selection))
    return counts


def _shown(facet: Facet, counts: Counter[str]) -> dict[str, Any]:
    """The largest buckets first, equal ones by their value."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [pair for pair in ordered if pair[1] >= facet.min_count][: facet.limit]
    return {
        "buckets": [{"value": value, "count": count} for value, count in shown],
        "otherCount": counts.total() - sum(count for _, count in shown),
    }


def _facets(value: object) -> tuple[Facet, ...]:
    asked = value.get("facets") if isinstance(value, dict) else None
    if not isinstance(asked, list) or not asked or not all(isinstance(each, dict) for each in asked):
        _refuse(f'resultType must be {{"facets": [{{"field": …}}, …]}}, each field one of {", ".join(FIELDS)}')
    facets = tuple(_facet(each) for each in asked)
    if len({facet.field for facet in facets}) < len(facets):
        _refuse("resultType.facets must name each field once")
    return facets


def _facet(asked: Mapping[str, Any]) -> Facet:
    field = asked.get("field")
    expect_known("facet field", [field if isinstance(field, str) else repr(field)], FIELDS)
    limit = BUCKETS if asked.get("limit") is None else whole_number(asked["limit"], "limit")
    least = 1 if asked.get("minCount") is None else whole_number(asked["minCount"], "minCount")
    return Facet(str(field), min(max(limit, 1), MOST_BUCKETS), max(least, 1))


def _text(value: object) -> str:
    """Empty and null mean no text: a client that only wants facets sends an empty one."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return ""
    return clean_text(value, "query.text")


def _refuse(sentence: str) -> NoReturn:
    raise RequestError(sentence)
