"""The gate before an items release is published: what was written is opened as a server would, and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from build_jobs.items.embed import Texts
from shared.contracts.items import Item
from shared.errors import BuildError, ReleaseError
from shared.index.cosmos_documents import read_ids
from shared.index.items import FIELDS, IDS_ROLE, VECTOR_ROLES, Items
from shared.index.lexical import Lexical
from shared.index.scan import Vectors

_BLOCK = 4_096


def verify_items(files: Mapping[str, Path], items: Sequence[Item], texts: Texts, dimension: int) -> None:
    """Whether the files are the release of these items. Raises BuildError naming file, expected and found."""
    try:
        for place, role in enumerate(VECTOR_ROLES):
            filled = np.array([bool(signatures[place]) for signatures in texts.signatures])
            _check_vectors(Vectors(files[role], role), role, filled, dimension)
        _check_records(Items(files["records"]), items, texts)
        Lexical(files, len(items))
        read_ids(files[IDS_ROLE], len(items))
    except ReleaseError as error:
        raise BuildError(f"the index that was written cannot be opened: {error.message}") from error


def _check_vectors(vectors: Vectors, role: str, filled: np.ndarray[tuple[int], np.dtype[np.bool_]], size: int) -> None:
    if (vectors.rows, vectors.dimension) != (len(filled), size):
        found = f"{vectors.rows} x {vectors.dimension}"
        raise BuildError(f"{role}: expected {len(filled)} x {size}, found {found}")
    for start in range(0, vectors.rows, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, vectors.rows))
        is_zero = ~np.asarray(vectors.array[rows]).any(axis=1)
        wrong = rows[np.where(filled[rows], vectors.unusable(rows), ~is_zero)]
        if len(wrong):
            expected = "a unit vector" if filled[wrong[0]] else "zeros, as the field is empty"
            raise BuildError(f"{role}: row {wrong[0]}: expected {expected}, found neither that nor anything usable")


def _check_records(records: Items, items: Sequence[Item], texts: Texts) -> None:
    try:
        records.check(len(items))
        for start in range(0, len(items), _BLOCK):
            for row, found in records.items(range(start, min(start + _BLOCK, len(items)))).items():
                if found != items[row]:
                    raise BuildError(f"records.db: row {row}: expected {items[row].id}, found another or a changed one")
        for place, field in enumerate(FIELDS):
            for signature, row in records.signatures(field).items():
                if texts.signatures[row][place] != signature:
                    raise BuildError(f"records.db: row {row} carries the signature of another {field}")
    finally:
        records.close()
