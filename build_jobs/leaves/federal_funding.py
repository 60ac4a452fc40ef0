"""What the leaves of federal funding share: they name an operation to search with, not a value to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from build_jobs.leaves.declared import coverage_of
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import for_dataset
from build_jobs.leaves.rows import Row, identity
from build_jobs.text import clean, clean_list


def search_terms(
    operation: str, arg: str, want: str, extract: str, *, match: str = "", field: str = ""
) -> dict[str, Any]:
    """How a leaf is asked: the operation, its argument and what to put there, where the records lie in the reply.

    `match` says whether records are found by a name or by a key, and `field` where a record carries it.
    """
    search = {"operation": operation, "arg": arg, "want": want, "extract": extract}
    return {"search": search, **({"identity": {"match": match, "field": field}} if match else {})}


def funding_draft(
    row: Row, *, suffix: str, tags: list[str], default: Mapping[str, Any], more: Mapping[str, Any] | None = None
) -> Draft:
    """A leaf of federal funding; `default` are the search terms of a row that brings none of its own."""
    code, title = identity(row)
    given = row.get("search")
    terms = dict(default)
    if isinstance(given, Mapping):
        terms = {"search": dict(given), "identity": row.get("identity")}
    operation = clean(terms["search"].get("operation"))
    front_matter = {
        "type": "Federal Funding Dataset",
        "title": f"{title} — {suffix}",
        "description": clean(row.get("description")),
        "tags": list(dict.fromkeys([*tags, *clean_list(row.get("tags") or [])])),
        "source": "./_access.md",
        "code": code,
        **terms,
        **(more or {}),
        "coverage": coverage_of(row, ["country"]),
        "representativeQueries": clean_list(row.get("queries") or []) or for_dataset(title, suffix),
    }
    body = f"# Schema\n\nAsk with the operation `{operation}` that `search` names; see [access](./_access.md)."
    return Draft(code, slug(code), front_matter, body)
