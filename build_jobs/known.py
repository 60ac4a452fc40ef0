"""What the current release knows already: what unchanged files say, and the vectors of unchanged texts.

Parsing is most of a rebuild: of 118,703 leaves it takes 50 s, and reading their files 8. The release has both what a
file said (records.db) and its bytes (documents.db), so it is the one cache that is always there, on any machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from build_jobs.embed import Float16
from build_jobs.frontmatter import Document, heading_of
from build_jobs.text import clean
from shared.index.documents import Documents
from shared.index.records import Records
from shared.index.scan import Vectors
from shared.release.reader import Release

_BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class _Read:
    """What a file said when it was read."""

    digest: str
    front_matter: Mapping[str, Any]
    body: str


class KnownDocuments:
    """What the files of a release said, by their path below the leaf root."""

    def __init__(self, records: Path, documents: Path, rows: int) -> None:
        """Reads all of it: 118,703 leaves in 6 s. Raises ReleaseIncompatible."""
        self._known: dict[str, _Read] = {}
        opened = Records(records)
        contents = Documents(documents).every()
        try:
            for start in range(0, rows, _BLOCK):
                leaves = opened.leaves(range(start, min(start + _BLOCK, rows)))
                for row, content in zip(sorted(leaves), contents, strict=False):
                    leaf = leaves[row]
                    if content is not None and leaf.unreadable is None:
                        digest = hashlib.sha256(content).hexdigest()
                        self._known[leaf.path] = _Read(digest, leaf.front_matter, leaf.body)
        finally:
            opened.close()

    def document(self, path: str, digest: str) -> Document | None:
        """What a file says whose bytes have this digest; None where it says something new."""
        known = self._known.get(path)
        if known is None or known.digest != digest:
            return None
        # A heading stands in for a title, and few documents want for one: looking through all bodies took 2 s.
        heading = "" if clean(known.front_matter.get("title")) else heading_of(known.body)
        return Document(dict(known.front_matter), known.body, heading, None, digest)


def known_vectors(release: Release) -> dict[str, Float16]:
    """Each signature's vector in a release, but for rows that hold no unit vector."""
    import numpy as np

    records, vectors = Records(release.paths["records"]), Vectors(release.paths["vectors"])
    try:
        signatures = records.signatures()
    finally:
        records.close()
    unusable = vectors.unusable(np.arange(vectors.rows))
    return {name: np.array(vectors.array[row]) for name, row in signatures.items() if not unusable[row]}
