"""What a chat ranker is shown of a record: what matters for its kind, and no more of it than is needed."""

from __future__ import annotations

from typing import Any

from shared.contracts.items import Json
from shared.sites.kinds.kind import Kind
from shared.sites.values import clipped, plain

MOST_MEMBERS = 20
MOST_CHARS = 1_000
_PARTIES = frozenset({"Person", "Organization"})


def project(record: Json, kind: Kind) -> Json:
    """The record, limited to the kind's properties at every depth: a new object, the given one untouched.

    Lists are cut to 20, texts to 1,000 characters; a nested Person or Organization keeps its type and name.
    What is left empty by that is left out.
    """
    return {
        name: kept for name, value in record.items() if name in kind.projection and _is_told(kept := _kept(value, kind))
    }


def _kept(value: object, kind: Kind) -> Any:
    if isinstance(value, str):
        return clipped(plain(value), MOST_CHARS)
    if isinstance(value, list):
        return [kept for member in value[:MOST_MEMBERS] if _is_told(kept := _kept(member, kind))]
    if isinstance(value, dict):
        return _party(value) if _is_party(value) else project(value, kind)
    return value


def _is_party(value: Json) -> bool:
    kinds = value.get("@type")
    return not _PARTIES.isdisjoint(
        each for each in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(each, str)
    )


def _party(value: Json) -> Json:
    name = value.get("name")
    return {"@type": value["@type"], **({"name": clipped(plain(name), MOST_CHARS)} if isinstance(name, str) else {})}


def _is_told(value: object) -> bool:
    """Whether anything is left: an object that is down to its type says nothing."""
    if isinstance(value, dict):
        return any(name != "@type" for name in value)
    return value is not None and value not in ("", [])
