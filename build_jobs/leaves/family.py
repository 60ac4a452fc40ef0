"""What a source family is to the leaf makers: its directory, its access document, and how a row becomes a leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from build_jobs.leaves.leaf import Draft
from build_jobs.leaves.rows import BadRow, Located, Row
from build_jobs.leaves.shapes import Shape

Joined = Callable[[Iterable[Located]], Iterator[Located | BadRow]]


@dataclass(frozen=True, slots=True)
class Family:
    """One publisher's catalog.

    `draft` makes a leaf of a row, whichever file it came from, and raises RowError for one no leaf can be made of.
    `shapes` are the publisher's own files, `join` makes the family's rows of their records where one record is not
    one row: several files speak of one measure, or many records of one.
    """

    directory: str
    access: Mapping[str, Any]
    about: str
    draft: Callable[[Row], Draft]
    shapes: tuple[Shape, ...] = ()
    join: Joined | None = None


def one_each(rows: Iterable[Located]) -> Iterator[Located | BadRow]:
    """The first row of each id: for files in which every observation repeats what it observes."""
    seen: set[str] = set()
    for each in rows:
        if each.row["id"] not in seen:
            seen.add(each.row["id"])
            yield each


def access_document(
    *,
    title: str,
    description: str,
    resource: str,
    publisher: str,
    scope: str,
    operations: Mapping[str, Mapping[str, Any]],
    auth: str = "none",
    headers: Mapping[str, str] | None = None,
    cost_notice: str = "",
) -> dict[str, Any]:
    """The front matter of a source's `_access.md`; `scope` goes into the embedded text of every leaf.

    In an operation's `url` a `{name}` is the leaf's key of that name, or else what the caller gives.
    """
    access: dict[str, Any] = {"auth": auth}
    if headers:
        access["headers"] = dict(headers)
    access["operations"] = {name: dict(operation) for name, operation in operations.items()}
    return {
        "type": "Data Source",
        "title": f"{title} (access)",
        "description": description,
        "resource": resource,
        "publisher": publisher,
        "trust": {"identity": f"did:web:{publisher}", "identityType": "did"},
        "access": access,
        "costNotice": cost_notice,
        "entityType": scope,
    }


def reported(code: str, keyed_by: str, operation: str, more: str = "") -> str:
    """The body that most leaves have: what the code reports, how it is keyed, which operation asks for it."""
    text = f"# Schema\n\nReports `{code}` {keyed_by} (operation `{operation}`); see [access](./_access.md)."
    return f"{text}\n\n{more}" if more else text
