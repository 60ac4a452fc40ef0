"""The documents as their publishers wrote them: what lies in which folder, and each file whole.

A path is looked up among the paths of the release and is never joined to another one: what is no document of the
release is not found, however it is spelled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from shared.errors import NotFound
from shared.tables.catalogs import Catalog
from shared.tables.registry.library import Library, numbered_sources
from shared.tables.registry.page_tokens import next_token, offset_of, question_of

FILES, MOST_FILES = 100, 500


class _Folder(Struct, frozen=True):
    """A folder of one catalog: its path there, and the access document that lies in it, if one does."""

    catalog: Catalog
    path: str
    access: tuple[str, str] | None
    leaves: int

    def files(self, skip: int, count: int) -> list[dict[str, str]]:
        """Its files from one on: the access document first, then leaves by path."""
        first = [self.access] if self.access and skip == 0 else []
        before = 1 if self.access else 0
        leaves = self.catalog.records.titles_in(self.path, max(skip - before, 0), count - len(first))
        return [{"path": self.catalog.prefix + path, "title": title} for path, title in [*first, *leaves]]

    @property
    def total(self) -> int:
        return self.leaves + (1 if self.access else 0)


def list_folder(folder: str, size: int, token: str | None, library: Library) -> dict[str, Any]:
    """The folders and, page by page, the files that lie directly in a folder; `""` is the root of all catalogs.

    Raises NotFound, and RequestError for a token of another folder or release.
    """
    found = _folders(folder.removesuffix("/"), library)
    if not found:
        raise NotFound("no such folder")
    total = sum(each.total for each in found)
    question = question_of("okf", library.releases, folder.removesuffix("/"))
    offset = offset_of(token, question, total)
    files = _slice(found, offset, size)
    return {
        "dir": folder.removesuffix("/"),
        "dirs": [line for each in found for line in _inside(each, library)],
        "files": files,
        "total": total,
        "pageToken": next_token(question, offset, files, total),
    }


def read_file(path: str, library: Library) -> bytes:
    """The bytes of the document with exactly this path. Raises NotFound with one message for every other path.

    Raises ReleaseIncompatible where the release was built before documents were part of one.
    """
    for catalog in library.tables.catalogs:
        if path.startswith(catalog.prefix):
            number = _number(path.removeprefix(catalog.prefix), catalog)
            content = None if number is None else library.content(catalog, number)
            if content is not None:
                return content
    raise NotFound("no such document")


def _number(path: str, catalog: Catalog) -> int | None:
    row = catalog.records.row_of_path(path)
    if row is not None:
        return row
    for place, directory in enumerate(numbered_sources(catalog)):
        if catalog.sources[directory].path == path:
            return catalog.rows + place
    return None


def _folders(folder: str, library: Library) -> list[_Folder]:
    """The folders of this name: one, but for the root, which every catalog has."""
    catalogs = library.tables.catalogs
    if folder == "":
        return [_folder(catalog, "", library) for catalog in catalogs]
    return [
        _folder(catalog, folder.removeprefix(catalog.prefix), library)
        for catalog in catalogs
        if folder.startswith(catalog.prefix)
        and folder != catalog.prefix
        and folder.removeprefix(catalog.prefix) in library.folders(catalog)
    ]


def _folder(catalog: Catalog, path: str, library: Library) -> _Folder:
    return _Folder(catalog, path, _accesses(catalog).get(path), library.folders(catalog)[path])


def _accesses(catalog: Catalog) -> dict[str, tuple[str, str]]:
    """Folder → path and title of the access document in it."""
    found = {}
    for source in catalog.sources.values():
        if source.path:
            title = source.front_matter.get("title")
            found[source.path.rpartition("/")[0]] = (source.path, title if isinstance(title, str) else source.directory)
    return found


def _inside(folder: _Folder, library: Library) -> list[dict[str, Any]]:
    """The folders directly in one, each with its title and the documents in it and below."""
    start = f"{folder.path}/" if folder.path else ""
    totals = _totals(folder.catalog, library)
    names = sorted(name for name in totals if name and name.startswith(start) and "/" not in name[len(start) :])
    accesses = _accesses(folder.catalog)
    return [
        {
            "path": folder.catalog.prefix + name,
            "title": accesses[name][1] if name in accesses else name[len(start) :],
            "documents": totals[name],
        }
        for name in names
    ]


def _totals(catalog: Catalog, library: Library) -> Mapping[str, int]:
    """Folder → documents in it and in every folder below."""
    accesses, totals = _accesses(catalog), Counter[str]()
    for folder, leaves in library.folders(catalog).items():
        own, parts = leaves + (1 if folder in accesses else 0), folder.split("/")
        for end in range(1, len(parts) + 1):
            totals["/".join(parts[:end])] += own
    return totals


def _slice(folders: list[_Folder], offset: int, size: int) -> list[dict[str, str]]:
    files: list[dict[str, str]] = []
    for folder in folders:
        if len(files) < size and offset < folder.total:
            files += folder.files(offset, size - len(files))
        offset = max(offset - folder.total, 0)
    return files
