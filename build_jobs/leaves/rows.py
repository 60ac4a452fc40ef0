"""Rows of a catalog, and why one is no leaf: bad, or no measure at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from build_jobs.text import clean
from shared.errors import BuildError

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that no leaf can be made of, and why: the line of a file of rows, else the record's place from 1.

    `file` is empty where only one file was read.
    """

    line: int
    reason: str
    file: str = ""

    def __str__(self) -> str:
        return f"{self.file + ' ' if self.file else ''}line {self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Located:
    """A row of a family, and where it was read; `published` says that it came of a publisher's own record."""

    line: int
    row: Row
    file: str = ""
    published: bool = False

    def bad(self, reason: str) -> BadRow:
        """This row as one that cannot be used."""
        return BadRow(self.line, reason, self.file)


class RowError(BuildError):
    """A row that its family cannot make a leaf of; the message is the reason."""


class NoMeasure(BuildError):
    """A record that is right, and by its family's rule no leaf: a heading, a margin of error. The message says what."""


def identity(row: Row) -> tuple[str, str]:
    """A row's published id and its title. Raises RowError where one is missing."""
    code, title = clean(row.get("id")), clean(row.get("title")).rstrip(".")
    if not code:
        raise RowError("no id")
    if not title:
        raise RowError("no title")
    return code, title
