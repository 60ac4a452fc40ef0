"""What a source family is to the leaf makers: its directory, its access document, and how a row becomes a leaf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from build_jobs.leaves.leaf import Draft
from build_jobs.leaves.rows import Row


@dataclass(frozen=True, slots=True)
class Family:
    """One publisher's catalog. `draft` raises RowError for a row no leaf can be made of."""

    directory: str
    access: Mapping[str, Any]
    about: str
    draft: Callable[[Row], Draft]


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
) -> dict[str, Any]:
    """The front matter of a source's `_access.md`; `scope` goes into the embedded text of every leaf."""
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
        "entityType": scope,
    }
