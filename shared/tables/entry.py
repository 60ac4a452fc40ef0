"""A leaf as the ARD entry that goes over the wire, with its `okf:` terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.contracts.leaf import LEAF_TYPE, Leaf, Source

ARD_CONTEXT = "https://agenticresourcediscovery.org/context/v1"

# ARD has these words itself; everything else of the front matter is an `okf:` term, spelling kept.
_ARD_KEYS = frozenset({"title", "description", "tags", "representativeQueries", "trust"})


def context(namespace: str) -> list[Any]:
    """The `@context` of an envelope and of every entry: an entry may be lifted out of its envelope."""
    return [ARD_CONTEXT, {"okf": namespace}]


def entry(leaf: Leaf, source: Source, *, prefix: str, namespace: str) -> dict[str, Any]:
    """The full form of a leaf: its own words, the terms it inherits, and its body.

    `prefix` is `""` for the built-in catalog and `name:` for a mounted one. A leaf whose front matter could not be
    read has `okf:unreadable`, which says why: it carries only what it inherits.
    """
    return {
        "@context": context(namespace),
        "identifier": leaf.urn,
        "displayName": leaf.title,
        "type": LEAF_TYPE,
        "description": leaf.description,
        "representativeQueries": list(leaf.queries),
        "tags": list(leaf.tags) or [leaf.source],
        **okf_terms(leaf.front_matter, source.front_matter),
        "okf:sourceDocument": prefix + leaf.path,
        "okf:sourceDirectory": leaf.source,
        **({"okf:unreadable": leaf.unreadable} if leaf.unreadable else {}),
        **({"okf:accessDescriptor": prefix + source.path} if source.path else {}),
        **_trust(source.front_matter),
        "data": {"content": leaf.body.removeprefix("\n")},
    }


def okf_terms(own: Mapping[str, Any], inherited: Mapping[str, Any]) -> dict[str, Any]:
    """The access document's terms with the leaf's laid over them, whole values; empty ones are dropped."""
    merged = {**inherited, **own}
    return {
        f"okf:{key}": value
        for key, value in merged.items()
        if key not in _ARD_KEYS and value is not None and value not in ("", [], {})
    }


def _trust(inherited: Mapping[str, Any]) -> dict[str, Any]:
    trust = inherited.get("trust")
    if isinstance(trust, Mapping) and trust.get("identity"):
        return {"trustManifest": dict(trust)}
    return {"okf:trust": trust} if trust else {}
