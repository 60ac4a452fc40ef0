"""The tables as they are browsed: the same catalogs without vectors or models, and the documents as published."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shared.errors import ReleaseIncompatible
from shared.index.documents import Documents
from shared.settings import Settings
from shared.tables.catalogs import BROWSE_ROLES, Catalog
from shared.tables.tables import Tables, open_tables
from shared.timed import timed

if TYPE_CHECKING:
    from shared.index.lexical import Lexical
    from shared.release.reader import Progress

# Walking a list page by page asks for the same rows again and again; 118,703 rows take 0.5 MB.
_LISTS_KEPT = 16


class Library:
    """Everything the registry answers from. What is derived from the release is made when first asked for."""

    def __init__(self, tables: Tables, documents: Mapping[str, Documents]) -> None:
        self.tables = tables
        self._documents = documents
        self._lists: OrderedDict[Hashable, Sequence[int]] = OrderedDict()
        self._folders: dict[str, Mapping[str, int]] = {}
        self._lock = threading.Lock()

    @property
    def releases(self) -> tuple[str, ...]:
        """The ids of what is served, in the catalogs' order."""
        return tuple(catalog.release.id for catalog in self.tables.catalogs)

    def content(self, catalog: Catalog, number: int) -> bytes | None:
        """A document as it was published; None where it was too large to keep.

        Raises ReleaseIncompatible where the release was built before documents were part of one.
        """
        documents = self._documents.get(catalog.name)
        if documents is None:
            raise ReleaseIncompatible(
                f"release {catalog.release.id} of catalog {catalog.name!r} holds no documents, it was built before"
                " they were part of a release: build it again"
            )
        return documents.read(number)

    def kept(self, key: Hashable, make: Callable[[], Sequence[int]]) -> Sequence[int]:
        """A list of row numbers, made once for as long as it is among those last asked for."""
        with self._lock:
            if key in self._lists:
                self._lists.move_to_end(key)
                return self._lists[key]
        made = make()
        kept = made if isinstance(made, range) else array("i", made)
        with self._lock:
            self._lists[key] = kept
            while len(self._lists) > _LISTS_KEPT:
                self._lists.popitem(last=False)
        return kept

    def folders(self, catalog: Catalog) -> Mapping[str, int]:
        """Folder → leaves directly in it, every folder that a document lies below included."""
        if catalog.name not in self._folders:
            self._folders[catalog.name] = _with_ancestors(catalog)
        return self._folders[catalog.name]

    def rows_with(self, text: str, catalog: Catalog) -> tuple[int, ...]:
        """A catalog's rows that hold every word of a text, stop words aside; none where it has no word."""
        from shared.index.lexical import query_tokens  # and with it numpy, which nothing else here needs

        postings = self._postings[catalog.name]
        found = [set(postings.rows_of(token).tolist()) for token in query_tokens(text)]
        return tuple(sorted(set.intersection(*found))) if found else ()

    @cached_property
    def _postings(self) -> dict[str, Lexical]:
        from shared.index.lexical import Lexical

        return {catalog.name: Lexical(catalog.release.paths, catalog.rows) for catalog in self.tables.catalogs}

    def stale(self) -> bool:
        """Whether a catalog's pointer has moved since it was opened."""
        return self.tables.stale()

    def describe(self) -> dict[str, Any]:
        """What /health says of the data."""
        return self.tables.describe()

    @property
    def bytes(self) -> int:
        """What a release beside this one would need: as much as this one."""
        return self.tables.bytes

    def close(self) -> None:
        """Give back connections and the hold on the cached files."""
        self.tables.close()

    def retire(self) -> None:
        """Close, and clear the cache of what no process holds: another release took this one's place."""
        self.tables.retire()


def open_library(settings: Settings, progress: Progress | None = None) -> Library:
    """Fetch, check and open every catalog the settings mount. Raises ReleaseError for what lies in the bucket."""
    with ExitStack() as opened:
        tables = opened.enter_context(closing(open_tables(settings, None, progress, BROWSE_ROLES)))
        with timed("map"):
            documents = {catalog.name: _documents(catalog) for catalog in tables.catalogs}
        opened.pop_all()
    return Library(tables, {name: each for name, each in documents.items() if each})


def numbered_sources(catalog: Catalog) -> list[str]:
    """The directories whose access document is numbered behind the leaves, in the order of their numbers."""
    return sorted(directory for directory, source in catalog.sources.items() if source.path)


def _documents(catalog: Catalog) -> Documents | None:
    path = catalog.release.paths.get("documents")
    if path is None:
        return None
    documents = Documents(path)
    documents.check(catalog.rows + len(numbered_sources(catalog)))
    return documents


def _with_ancestors(catalog: Catalog) -> dict[str, int]:
    found = dict(catalog.records.folders())
    beside = [source.path.rpartition("/")[0] for source in catalog.sources.values() if source.path]
    for folder in (*found, *beside):
        parts = folder.split("/") if folder else []
        for end in range(len(parts) + 1):
            found.setdefault("/".join(parts[:end]), 0)
    return found
