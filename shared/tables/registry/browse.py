"""Browsing: what there is, entry by entry and page by page. Exact, no model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import quote

from msgspec import Struct

from shared.contracts.leaf import LEAF_TYPE, SOURCE_TYPE, Leaf, Source
from shared.errors import RequestError, UnknownName
from shared.index.records import OrderColumn
from shared.index.selection import Selection
from shared.tables.catalogs import Catalog, Hit
from shared.tables.entry import context, entry
from shared.tables.names import published_by
from shared.tables.registry.library import Library
from shared.tables.registry.page_tokens import next_token, offset_of, question_of
from shared.tables.request import clean_text
from shared.tables.tables import Tables

# The specification's page, and that of clients which ask in the words from before it.
LISTED, LISTED_IN_OLDER_WORDS, MOST_LISTED = 20, 50, 100
FILTERS = ("displayName", "type", "publisherId", "createdAfter", "updatedAfter")

_ORDERS: dict[str, OrderColumn] = {"displayName": "title", "identifier": "urn", "publisherId": "publisher"}
_IN_A_LIST = (
    "@context", "identifier", "displayName", "type", "description", "representativeQueries", "tags",
    "okf:sourceDocument", "okf:sourceDirectory", "okf:accessDescriptor", "trustManifest",
)  # fmt: skip
_QUERIES_IN_A_LIST = 6
_MOMENTS = ("createdAfter", "updatedAfter")
_URN = re.compile(r"urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+", re.ASCII)

Clause = tuple[str, tuple[str, ...]]


class Listing(Struct, frozen=True):
    """Which entries are listed: all clauses hold, each by one of its values; and in which order, None for rows'."""

    words: str | None = None
    clauses: tuple[Clause, ...] = ()
    order: tuple[OrderColumn, Literal["asc", "desc"]] | None = None
    in_older_words: bool = False

    @property
    def page(self) -> int:
        """Entries on a page where the caller says no number."""
        return LISTED_IN_OLDER_WORDS if self.in_older_words else LISTED

    def values(self, key: str) -> list[tuple[str, ...]]:
        """The values of every clause on this key."""
        return [values for name, values in self.clauses if name == key]


def parse_listing(given: Mapping[str, str | None], filters: Sequence[str]) -> Listing:
    """The listing that `q`, `publisher`, `orderBy`, the names of FILTERS and some `filter` texts ask for.

    A filter is `key=value,value`, several are joined with `;` or `&`; a publisher is a domain or a directory.
    Raises RequestError for what is no filter or order.
    """
    clauses = [clause for text in filters for part in re.split("[;&]", text) for clause in _clause(part)]
    older = given.get("publisher") is not None or any(key == "publisher" for key, _ in clauses)
    named = [_values(key, given[key] or "") for key in ("publisher", *FILTERS) if given.get(key) is not None]
    every = tuple(("publisherId" if key == "publisher" else key, values) for key, values in (*clauses, *named))
    words = (given.get("q") or "").strip()
    words = clean_text(words, "q") if words else ""
    order = _order(given.get("orderBy")) or (("title", "asc") if older else None)
    listing = Listing(words or None, every, order, older)
    for key, values in listing.clauses:
        if key in _MOMENTS:
            for value in values:
                _moment(key, value)  # refused here, before a page is begun
    return listing


def list_entries(listing: Listing, size: int, token: str | None, library: Library, base_url: str) -> dict[str, Any]:
    """One page of entries in the list form, and the token of the next one.

    Raises UnknownName for a publisher nobody is, RequestError for a token of another question or release.
    """
    question = question_of("agents", library.releases, listing)
    rows = library.kept(("agents", listing), lambda: _rows(listing, library.tables))
    offset = offset_of(token, question, len(rows))
    page = rows[offset : offset + size]
    hits = library.tables.hits(page)
    entries = [_listed(library.tables.entry(hits[row]), base_url) for row in page]
    return {
        "@context": context(library.tables.settings.okf_namespace),
        "items": entries,
        "entries": entries,
        "total": len(rows),
        "totalSize": len(rows),
        "pageSize": size,
        "offset": offset,
        "pageToken": next_token(question, offset, page, len(rows)),
    }


def is_urn(text: str) -> bool:
    """Whether a text has the form of an identifier."""
    return _URN.fullmatch(text) is not None


def entry_of(identifier: str, tables: Tables) -> dict[str, Any] | None:
    """The full form of a leaf or a source, by its URN or its path."""
    find = entry_of_urn if identifier.startswith("urn:") else entry_of_path
    return find(identifier, tables)


def entry_of_urn(urn: str, tables: Tables) -> dict[str, Any] | None:
    """The full form of the leaf, or of the source, with exactly this identifier."""
    for catalog in tables.catalogs:
        row = catalog.records.row_of_urn(urn)
        if row is not None:
            return _full(catalog, row, tables)
    return next((_source(catalog, source, tables) for catalog, source in _sources(tables) if source.urn == urn), None)


def entry_of_path(path: str, tables: Tables) -> dict[str, Any] | None:
    """The full form of the leaf, or of the access document, with exactly this path, as the wire spells it."""
    for catalog in tables.catalogs:
        if catalog.prefix and not path.startswith(catalog.prefix):
            continue
        inside = path.removeprefix(catalog.prefix)
        row = catalog.records.row_of_path(inside)
        if row is not None:
            return _full(catalog, row, tables)
        source = next((each for each in catalog.sources.values() if each.path == inside), None)
        if source is not None:
            return _source(catalog, source, tables)
    return None


def source_entry(catalog: Catalog, source: Source, namespace: str) -> dict[str, Any]:
    """The full form of a source: its access document, read as a leaf that inherits from nothing else."""
    own = source.front_matter
    document = Leaf(
        path=source.path or "", urn=source.urn, family=source.family, source=source.directory,
        publisher=source.publisher, code=None, title=_text(own.get("title")) or source.directory,
        description=_text(own.get("description")), queries=tuple(_texts(own.get("representativeQueries"))),
        tags=tuple(_texts(own.get("tags"))), scope="", front_matter=own, body=source.body,
    )  # fmt: skip
    made = entry(document, source, prefix=catalog.prefix, namespace=namespace)
    left_out = {"okf:accessDescriptor", *(() if source.path else ("okf:sourceDocument",))}
    return {key: value for key, value in {**made, "type": SOURCE_TYPE}.items() if key not in left_out}


def _full(catalog: Catalog, row: int, tables: Tables) -> dict[str, Any]:
    return tables.entry(Hit(catalog, catalog.records.leaves([row])[row]))


def _source(catalog: Catalog, source: Source, tables: Tables) -> dict[str, Any]:
    return source_entry(catalog, source, tables.settings.okf_namespace)


def _sources(tables: Tables) -> Iterator[tuple[Catalog, Source]]:
    return ((catalog, source) for catalog in tables.catalogs for source in catalog.sources.values())


def _listed(full: Mapping[str, Any], base_url: str) -> dict[str, Any]:
    """The list form: no body and no terms but where it lies, and a link to the whole in their place."""
    queries = full["representativeQueries"][:_QUERIES_IN_A_LIST]
    changed = {"representativeQueries": queries, "tags": [full["okf:sourceDirectory"]]}
    kept = {key: full[key] for key in _IN_A_LIST if key in full}
    return {**kept, **changed, "url": entry_url(base_url, full["okf:sourceDocument"])}


def entry_url(base_url: str, identifier: str) -> str:
    """Where the full form of an entry is, by its path or its URN."""
    return f"{base_url}agents/entry?id={quote(identifier, safe='/:')}"


def _rows(listing: Listing, tables: Tables) -> Sequence[int]:
    """Row numbers over all catalogs, in the order asked for."""
    if not listing.clauses and listing.words is None and listing.order is None:
        return range(tables.rows)
    directories = _directories(listing, tables)
    chosen = [(catalog, _selection(listing, directories)) for catalog in _catalogs(listing, tables)]
    if listing.order is None:
        return [catalog.first_row + row for catalog, selected in chosen for row in catalog.records.rows_where(selected)]
    column, direction = listing.order
    keys = [
        (value.casefold(), urn, catalog.first_row + row)
        for catalog, selected in chosen
        for value, urn, row in catalog.records.keys_where(column, selected)
    ]
    return [row for _, _, row in sorted(keys, reverse=direction == "desc")]


def _catalogs(listing: Listing, tables: Tables) -> list[Catalog]:
    """Those that can hold an entry of the listing's type and age. Entries are as old as the release they lie in."""
    if not all(LEAF_TYPE in values for values in listing.values("type")):
        return []
    after = [(key, values) for key, values in listing.clauses if key in _MOMENTS]
    return [
        catalog
        for catalog in tables.catalogs
        if all(any(_built(catalog) > _moment(key, value) for value in values) for key, values in after)
    ]


def _built(catalog: Catalog) -> datetime:
    return datetime.fromisoformat(catalog.release.manifest.created_at)


def _directories(listing: Listing, tables: Tables) -> tuple[str, ...] | None:
    groups = [published_by(values, tables) for values in listing.values("publisherId")]
    return tuple(sorted(set.intersection(*groups))) if groups else None


def _selection(listing: Listing, directories: tuple[str, ...] | None) -> Selection:
    return Selection(sources=directories, titles=tuple(listing.values("displayName")), words=listing.words)


def _clause(text: str) -> list[Clause]:
    """A part of a filter as a list of one clause; nothing for a blank part."""
    key, equals, values = text.strip().partition("=")
    if not text.strip():
        return []
    if key not in (*FILTERS, "publisher") or not equals:
        raise UnknownName(
            f"filter {text[:80]!r}: expected <name>=<value>,…; the names are: {', '.join(FILTERS)}", FILTERS
        )
    return [_values(key, values)]


def _values(key: str, text: str) -> Clause:
    values = tuple(value.strip() for value in text.split(",") if value.strip())
    if not values:
        raise RequestError(f"{key} must name at least one value")
    if key == "displayName":
        return key, tuple(clean_text(value, key) for value in values)
    # A plus that was sent as it is has become a blank; a media type has none.
    return key, tuple(value.replace(" ", "+") for value in values) if key == "type" else values


def _order(text: str | None) -> tuple[OrderColumn, Literal["asc", "desc"]] | None:
    words = (text or "").split()
    if not words:
        return None
    if words[0] not in _ORDERS or words[1:] not in ([], ["asc"], ["desc"]):
        raise RequestError(f"orderBy must be one of {', '.join(_ORDERS)}, with asc or desc behind it or without")
    return _ORDERS[words[0]], "desc" if words[1:] == ["desc"] else "asc"


def _moment(key: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise RequestError(f"{key} must be a date or a time such as 2026-01-31T12:00:00Z, not {text[:40]!r}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(text for text in map(_text, values) if text))
