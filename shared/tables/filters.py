"""Reading `query.filter`, for every route that takes one: which keys are read, and what they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.contracts.tables import FILTER_KEYS, OKF_NAMESPACES, SOURCE_DIRECTORY
from shared.errors import RequestError

Filter = Mapping[str, tuple[str, ...]]


def filter_of(query: Mapping[str, Any], okf_namespace: str) -> dict[str, tuple[str, ...]] | None:
    """The filter of a query: the keys of FILTER_KEYS with their values, and others, as sent, with none; None for none.

    `okf:sourceDirectory` is matched by its IRI, however it is spelled: in full, in `okf_namespace` or in one that the
    vocabulary is published under, or with a prefix that `@context` binds. Raises RequestError.
    """
    given = query.get("filter")
    if given is None:
        return None
    if not isinstance(given, dict):
        raise RequestError("query.filter must be an object")
    directory = {f"{namespace}sourceDirectory" for namespace in (okf_namespace, *OKF_NAMESPACES)}
    prefixes = {"okf": okf_namespace, **_prefixes(query.get("@context"))}
    found: dict[str, tuple[str, ...]] = {}
    for key, value in given.items():
        name = SOURCE_DIRECTORY if _expanded(key, prefixes) in directory else key
        found[name] = (*found.get(name, ()), *(_values(key, value) if name in FILTER_KEYS else ()))
    return found


def ignored(filters: Filter) -> list[str]:
    """The keys that nobody reads, as they were sent."""
    return [key for key in filters if key not in FILTER_KEYS]


def _values(key: str, given: object) -> tuple[str, ...]:
    """A scalar is a list of one."""
    values = given if isinstance(given, list) else [given]
    words = [value.strip() for value in values if isinstance(value, str)]
    if len(words) < len(values) or not all(words):
        raise RequestError(f"query.filter.{key} must be a string or a list of non-empty strings")
    return tuple(words)


def _prefixes(given: object) -> dict[str, str]:
    """The prefixes of a JSON-LD context: an object, or a list with objects among others."""
    contexts = given if isinstance(given, list) else [given]
    pairs = [pair for each in contexts if isinstance(each, dict) for pair in each.items()]
    return {prefix: iri for prefix, iri in pairs if isinstance(iri, str)}


def _expanded(key: str, prefixes: Mapping[str, str]) -> str:
    """The IRI of a key. What goes on with two slashes is one already, whatever its scheme is bound to."""
    prefix, colon, rest = key.partition(":")
    return f"{prefixes[prefix]}{rest}" if colon and prefix in prefixes and not rest.startswith("//") else key
