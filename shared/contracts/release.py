"""What lies in the bucket beside the files: the manifest of a release and the pointer to it.

docs/data-format.md gives the bytes; these shapes are what is checked when a release is opened.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct, field

from shared.contracts.strict import Rule, matching

FORMAT_VERSION = 2
# Releases of version 1 have no crc32.
READ_VERSIONS = (1, 2)
RANGE_BYTES = 8 << 20
"""Files are copied and checked in ranges of so many bytes; the last one is what is left."""
# The files of a keyword index, by the roles they play in a release; shared/index/lexical.py writes and reads them.
LEXICAL_ROLES = (
    "lexical.terms",
    "lexical.term_ends",
    "lexical.posting_ends",
    "lexical.rows",
    "lexical.frequencies",
    "lexical.lengths",
)

_CRC32 = matching(r"[0-9a-f]{8}")
Name = Annotated[str, Rule("a name", bool)]
ReleaseId = Annotated[str, Rule("a release id", bool)]
Sha256 = Annotated[str, Rule("64 hexadecimal digits", matching(r"[0-9a-f]{64}"))]
Crc32 = Annotated[list[str], Rule("texts of 8 hexadecimal digits", lambda each: all(map(_CRC32, each)))]
Deviation = Annotated[float, Rule("0 or more", lambda deviation: deviation >= 0)]
Count = Annotated[int, Rule("0 or more", lambda count: count >= 0)]
Positive = Annotated[int, Rule("an integer greater than 0", lambda count: count > 0)]


class ReleaseFile(Struct, frozen=True, kw_only=True):
    """One content-addressed file, `files/<sha256>`, and the role it plays; `crc32` is that of each of its ranges."""

    role: Name
    sha256: Sha256
    bytes: Count
    crc32: Crc32 = field(default_factory=list)


class Embedder(Struct, frozen=True, kw_only=True):
    """The model whose vectors the release holds. Queries are embedded by it and by no other."""

    provider: Literal["embedded", "openrouter"]
    model: Name
    dimension: Positive


class NullBank(Struct, frozen=True, kw_only=True):
    """Best cosine of everyday queries that this catalog does not answer: the zero of the embedded judge."""

    queries: Count
    median: float
    mad: Deviation


class Family(Struct, frozen=True, kw_only=True):
    """A source family: one contiguous slice of the rows, and the rows of each source directory in it."""

    family: str
    first_row: Count
    rows: Positive
    sources: dict[str, Count]


class Manifest(Struct, frozen=True, kw_only=True):
    """A release: its id is `<UTC time>-<12 hex of this document's digest>`.

    `label` is what people call it. `collection` is what an items release calls its items' site; a tables release has
    none. The one family of an items release is its kind, whose `sources` are the sites its items name.
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
    rows: Positive
    families: list[Family]
    extends: list[str] = field(default_factory=list)
    files: list[ReleaseFile]
    null_bank: NullBank | None = None
    gate: dict[str, float] = field(default_factory=dict)


class Pointer(Struct, frozen=True, kw_only=True):
    """`current.json`, the only object that ever changes."""

    release: ReleaseId
    previous: str | None
    switched_at: str
