"""What a tables release is made of: its digest, what is counted of it, and the version of what makes it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs, to_builtins

from build_jobs.collect import Collected
from build_jobs.gate import Counts
from build_jobs.samples import Suite, TableQuestion
from build_jobs.workplace import program
from shared.contracts.leaf import Leaf
from shared.contracts.release import FORMAT_VERSION
from shared.contracts.release import Embedder as EmbedderSpec

INDEX_VERSION = 3
"""Raised whenever the same leaves would give other files: a rebuild is then not skipped."""


def counts_of(leaves: Sequence[Leaf]) -> Counts:
    """Of each source directory: its rows, those whose front matter could be read, and those with a published code."""
    found: dict[str, dict[str, int]] = {}
    for leaf in leaves:
        own = found.setdefault(leaf.source, {"rows": 0, "readable": 0, "coded": 0})
        own["rows"] += 1
        own["readable"] += leaf.unreadable is None
        own["coded"] += leaf.code is not None
    return found


def builder() -> str:
    """Who builds: the program's version and the version of what it writes."""
    return f"{program()}, index {INDEX_VERSION}"


def inputs_digest(
    collected: Collected, embedder: EmbedderSpec, extends: Sequence[str], suites: Sequence[Suite[TableQuestion]] = ()
) -> str:
    """The digest of all a release is made of: leaves, access documents, embedder, questions, and what writes them.

    Of a document that is what its bytes are; what is read from them is told by INDEX_VERSION.
    """
    digest = hashlib.sha256()
    first: list[Any] = [FORMAT_VERSION, INDEX_VERSION, to_builtins(embedder), list(extends)]
    first += [[suite.name, suite.digest] for suite in suites]
    encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=dict).encode
    for part in (first, *_documents(collected)):
        digest.update(encode(part).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _documents(collected: Collected) -> Iterator[object]:
    for source in collected.sources:
        yield structs.asdict(source)
    for leaf in collected.leaves:
        file = collected.files[leaf.path]
        # What is too large to be kept has no digest: then it is what was read of it.
        yield [leaf.urn, leaf.path, file.digest or structs.asdict(leaf)]
