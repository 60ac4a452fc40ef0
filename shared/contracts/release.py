"""What lies in the bucket beside the files: the manifest of a release and the pointer to it.

docs/data-format.md gives the bytes; these models are what is checked when a release is opened.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT_VERSION = 1

_SHA256 = r"^[0-9a-f]{64}$"
_STRICT = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ReleaseFile(BaseModel):
    """One content-addressed file, `files/<sha256>`, and the role it plays."""

    model_config = _STRICT
    role: str = Field(min_length=1)
    sha256: str = Field(pattern=_SHA256)
    bytes: int = Field(ge=0)


class Embedder(BaseModel):
    """The model whose vectors the release holds. Queries are embedded by it and by no other."""

    model_config = _STRICT
    provider: Literal["embedded", "openrouter"]
    model: str = Field(min_length=1)
    dimension: int = Field(gt=0)


class NullBank(BaseModel):
    """Best cosine of everyday queries that this catalog does not answer: the zero of the embedded judge."""

    model_config = _STRICT
    queries: int = Field(ge=0)
    median: float
    mad: float = Field(ge=0)


class Family(BaseModel):
    """A source family: one contiguous slice of the rows, and the rows of each source directory in it."""

    model_config = _STRICT
    family: str
    first_row: int = Field(ge=0)
    rows: int = Field(gt=0)
    sources: dict[str, int]


class Manifest(BaseModel):
    """A release: its id is `<UTC time>-<12 hex of this document's digest>`."""

    model_config = _STRICT
    format_version: int
    kind: Literal["tables", "items"]
    catalog: str
    label: str
    created_at: str
    builder: str
    inputs_digest: str
    embedder: Embedder
    rows: int = Field(gt=0)
    families: list[Family]
    extends: list[str] = []
    files: list[ReleaseFile]
    null_bank: NullBank | None = None
    gate: dict[str, float] = {}


class Pointer(BaseModel):
    """`current.json`, the only object that ever changes."""

    model_config = _STRICT
    release: str = Field(min_length=1)
    previous: str | None
    switched_at: str
