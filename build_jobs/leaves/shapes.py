"""Files as their publishers serve them: how each is recognised, and which fields its records must have.

A *shape* is one kind of file: a reply of an API, or a table with a header. It is recognised by where its records
lie, or by the names of its columns; what a publisher has since renamed is then missed by name, not read as nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from build_jobs.leaves.rows import Row, RowError
from build_jobs.text import clean

Record = dict[str, Any]
Finder = Callable[[Any], list[Any] | None]

_NOT_A_WORD = re.compile(r"[^a-z0-9]+")
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of file that a publisher serves.

    `needs` are the fields that at least one record must have, of a table the columns, as `column_key` spells them.
    `row` makes a row of a record; it raises RowError for a bad one, NoMeasure for one that is no leaf by rule.
    `find` gives the records of a JSON document, or None where the document is of another shape; a shape without it
    is a table. `element` is the XML element that is a record. `goes_on` says whether a page names another after it.
    """

    name: str
    needs: tuple[str, ...]
    row: Callable[[Record], Row]
    find: Finder | None = None
    element: str = ""
    goes_on: Callable[[Any], bool] | None = None

    @property
    def is_table(self) -> bool:
        """Whether its records are lines below a header."""
        return self.find is None and not self.element

    def missing(self, names: Sequence[str]) -> list[str]:
        """The fields it needs that are not among these."""
        return [name for name in self.needs if name not in names]

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.needs)})"


def column_key(name: str) -> str:
    """A column's name as `needs` spells it: lower-case words joined by `_`, so `Series Code` is `series_code`."""
    return _NOT_A_WORD.sub("_", name.lower()).strip("_")


def under(*path: str | int) -> Finder:
    """The list at a path of keys and indexes; a single object there is a list of one."""

    def find(document: Any) -> list[Any] | None:
        value = at(document, *path)
        return value if isinstance(value, list) else [value] if isinstance(value, dict) else None

    return find


def members(*path: str, name: str) -> Finder:
    """The objects of an object of objects at a path, each with its key as field `name`."""

    def find(document: Any) -> list[Any] | None:
        value = at(document, *path)
        if not isinstance(value, dict):
            return None
        return [{**each, name: key} if isinstance(each, dict) else each for key, each in value.items()]

    return find


def listed(*keys: str) -> Finder:
    """A document that is a list of objects with these keys, or one such object alone."""

    def find(document: Any) -> list[Any] | None:
        records = document if isinstance(document, list) else [document]
        first = next((each for each in records if isinstance(each, dict)), None)
        return records if first is not None and all(key in first for key in keys) else None

    return find


def first_of(*finders: Finder) -> Finder:
    """The records that the first of several finders finds."""

    def find(document: Any) -> list[Any] | None:
        return next((found for each in finders if (found := each(document)) is not None), None)

    return find


def at(document: Any, *path: str | int) -> Any:
    """The value at a path of keys and indexes; None where there is none."""
    for step in path:
        if isinstance(step, int):
            document = document[step] if isinstance(document, list) and -len(document) <= step < len(document) else None
        else:
            document = document.get(step) if isinstance(document, Mapping) else None
    return document


def text_at(document: Any, *path: str | int) -> str:
    """The text or number at a path as one line; empty where there is none."""
    return clean(at(document, *path))


def required(record: Record, *path: str | int) -> str:
    """The text at a path. Raises RowError where it is missing."""
    value = text_at(record, *path)
    if not value:
        raise RowError(f"no {'.'.join(map(str, path))}")
    return value


def outline(document: Any) -> str:
    """What a document is, for a person who expected another: `an object with count, results`."""
    if isinstance(document, dict):
        return f"an object with {_named(list(document))}" if document else "an empty object"
    if isinstance(document, list):
        if not document:
            return "an empty list"
        return f"a list of {len(document):,}, the first of them {outline(document[0])}"
    return f"{'a text' if isinstance(document, str) else 'a bare value'}: {clean(document)[:60]!r}"


def _named(keys: Sequence[object]) -> str:
    more = len(keys) - _MOST_NAMED
    return ", ".join(map(str, keys[:_MOST_NAMED])) + (f" and {more:,} more" if more > 0 else "")


def columns_text(names: Sequence[str]) -> str:
    """Columns, for a person who expected others."""
    return f"a table with {_named(names)}"
