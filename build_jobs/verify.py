"""The gate before publishing: what was written is opened as a server would open it, and compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from build_jobs.collect import URN, Collected
from shared.contracts.leaf import Leaf
from shared.errors import BuildError, ReleaseError
from shared.index.documents import Documents
from shared.index.lexical import Lexical
from shared.index.records import Records
from shared.index.scan import Vectors

_BLOCK = 8_192
SAMPLE = 24
"""Rows that are embedded again. One text takes 6 ms with the embedded model."""


def verify(files: Mapping[str, Path], leaves: Sequence[Leaf], signatures: Sequence[str], dimension: int) -> None:
    """Whether the files are the release of these leaves. Raises BuildError naming file, expected and found."""
    try:
        _check_vectors(Vectors(files["vectors"]), leaves, dimension)
        _check_records(Records(files["records"]), leaves, signatures)
        Lexical(files, len(leaves))
    except ReleaseError as error:
        raise BuildError(f"the index that was written cannot be opened: {error.message}") from error


def verify_documents(path: Path, collected: Collected) -> None:
    """Whether documents.db holds every file as it was collected. Raises BuildError naming the first that differs."""
    paths = [*(leaf.path for leaf in collected.leaves), *(each.path for each in collected.sources if each.path)]
    documents = Documents(path)
    documents.check(len(paths))
    for inside, content in zip(paths, documents.every(), strict=True):
        found = "" if content is None else hashlib.sha256(content).hexdigest()
        if found != collected.files[inside].digest:
            raise BuildError(f"documents.db: {inside} is not the file that was collected")


def _check_vectors(vectors: Vectors, leaves: Sequence[Leaf], dimension: int) -> None:
    if (vectors.rows, vectors.dimension) != (len(leaves), dimension):
        found = f"{vectors.rows} x {vectors.dimension}"
        raise BuildError(f"vectors.npy: expected {len(leaves)} x {dimension}, found {found}")
    for start in range(0, vectors.rows, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, vectors.rows))
        bad = rows[vectors.unusable(rows)]
        if len(bad):
            row = int(bad[0])
            raise BuildError(f"vectors.npy: row {row} ({leaves[row].path}) is no unit vector")


def _check_records(records: Records, leaves: Sequence[Leaf], signatures: Sequence[str]) -> None:
    """Every row of records.db is the leaf, and carries the signature, of the same row of the matrix."""
    try:
        records.check(len(leaves))
        for row, urn in records.urn_of_each_row().items():
            _check_row(row, leaves[row], urn)
        by_signature = records.signatures()
        for signature, row in by_signature.items():
            if signatures[row] != signature:
                raise BuildError(f"records.db: row {row} carries the signature of another text")
        if len(by_signature) != len(set(signatures)):
            raise BuildError("records.db: expected one signature a row, found fewer")
    finally:
        records.close()


def _check_row(row: int, expected: Leaf, found: str) -> None:
    if found != expected.urn:
        raise BuildError(f"records.db: row {row}: expected {expected.urn}, found {found}")
    if not URN.match(found):
        raise BuildError(f"records.db: row {row}: {found} is no URN")


def sample_rows(rows: int) -> list[int]:
    """Rows spread evenly from the first to the last."""
    return sorted({int(row) for row in np.linspace(0, rows - 1, min(rows, SAMPLE))})
