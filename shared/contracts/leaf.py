"""A table document as it travels from the leaf files to a release, and back out of records.db.

okf-leaves: a *source* is one directory with an access document; a *leaf* is one measure of it. A *family*
is what a caller calls a source: one directory, except that the five BigQuery directories are one family.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

BIGQUERY_DIRECTORIES = ("census-acs-bq", "gcp-bigquery-public", "gcp-marketplace-free", "irs-990-bq", "sec-bq")
LEAF_TYPE = "application/okf-table+markdown"
SOURCE_TYPE = "application/okf-source+markdown"


# Where a leaf keeps the identifier that its publisher gave it, the surest first. `get` comes last: it may ask
# for more columns than the one the leaf is about.
_CODE_KEYS = (
    "code", "variable", "concept", "indicator", "indicatorCode", "series", "measureid", "offense", "shortDesc",
    "measure", "scorecard", "field", "bmf", "profile", "fema", "irsgrants.direction", "bq.field", "bq.value_field",
    "datasetId", "tfield", "get",
)  # fmt: skip


def code_of(terms: Mapping[str, Any], prefix: str = "") -> str | None:
    """The published identifier among a leaf's terms, or None where it has none.

    `prefix` is what the terms' names begin with: nothing in front matter, `okf:` on the wire.
    """
    for name in _CODE_KEYS:
        first, *inner = name.split(".")
        value = terms.get(prefix + first)
        for part in inner:
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, str | int | float) and str(value).strip():
            return str(value).strip().removeprefix("NAME,") if name == "get" else str(value).strip()
    return None


def family_of(directory: str) -> str:
    """The source family a directory belongs to."""
    return "bigquery" if directory in BIGQUERY_DIRECTORIES else directory


class Source(Struct, frozen=True):
    """One source directory: its access document, inherited by every leaf of it.

    `publisher` is the domain in every URN of the source; `front_matter` is JSON-ready, as read.
    `path` is None where the access document is missing.
    """

    directory: str
    family: str
    publisher: str
    urn: str
    path: str | None
    front_matter: Mapping[str, Any]
    body: str


class Leaf(Struct, frozen=True):
    """One table document.

    `path` is relative to the leaf root (`sources/census/dp03-0062e.md`); `code` is the identifier its
    publisher gave it; `scope` is the source's entity type; `front_matter` is the leaf's own, JSON-ready.
    `unreadable` says why the front matter could not be read, else it is None.
    """

    path: str
    urn: str
    family: str
    source: str
    publisher: str
    code: str | None
    title: str
    description: str
    queries: tuple[str, ...]
    tags: tuple[str, ...]
    scope: str
    front_matter: Mapping[str, Any]
    body: str
    unreadable: str | None = None

    @property
    def text(self) -> str:
        """What is embedded: title, questions, scope and description, joined with ". ", empty parts skipped."""
        scope = f"Describes {self.scope}" if self.scope else ""
        parts = (self.title, *self.queries, scope, self.description)
        return ". ".join(part.strip() for part in parts if part.strip())[:8000]
