"""What lies in the bucket beside the files: the manifest of a release and the pointer to it.

docs/data-format.md gives the bytes; these shapes are what is checked when a release is opened.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from shared.contracts.strict import matching, ruled

FORMAT_VERSION = 1
# The files of a keyword index, by the roles they play in a release; shared/index/lexical.py writes and reads them.
LEXICAL_ROLES = (
    "lexical.terms",
    "lexical.term_ends",
    "lexical.posting_ends",
    "lexical.rows",
    "lexical.frequencies",
    "lexical.lengths",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFile:
    """One content-addressed file, `files/<sha256>`, and the role it plays."""

    role: str = ruled("a name", bool)
    sha256: str = ruled("64 hexadecimal digits", matching(r"[0-9a-f]{64}"))
    bytes: int = ruled("0 or more", lambda size: size >= 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedder:
    """The model whose vectors the release holds. Queries are embedded by it and by no other."""

    provider: Literal["embedded", "openrouter"]
    model: str = ruled("a name", bool)
    dimension: int = ruled("an integer greater than 0", lambda length: length > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NullBank:
    """Best cosine of everyday queries that this catalog does not answer: the zero of the embedded judge."""

    queries: int = ruled("0 or more", lambda count: count >= 0)
    median: float
    mad: float = ruled("0 or more", lambda deviation: deviation >= 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A source family: one contiguous slice of the rows, and the rows of each source directory in it."""

    family: str
    first_row: int = ruled("0 or more", lambda row: row >= 0)
    rows: int = ruled("an integer greater than 0", lambda count: count > 0)
    sources: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A release: its id is `<UTC time>-<12 hex of this document's digest>`.

    `label` is what people call it. `collection` is what an items release calls its items' site; a tables release has
    none. The one family of an items release is its collection, whose `sources` are the sites its items name.
    """

    format_version: int
    kind: Literal["tables", "items"]
    catalog: str
    label: str
    collection: str = ""
    created_at: str
    builder: str
    inputs_digest: str
    embedder: Embedder
    rows: int = ruled("an integer greater than 0", lambda count: count > 0)
    families: list[Family]
    extends: list[str] = field(default_factory=list)
    files: list[ReleaseFile]
    null_bank: NullBank | None = None
    gate: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """`current.json`, the only object that ever changes."""

    release: str = ruled("a release id", bool)
    previous: str | None
    switched_at: str
