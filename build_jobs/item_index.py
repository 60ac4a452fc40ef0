"""The files of an items release, written side by side into one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from shared.contracts.items import Item
from shared.errors import BuildError
from shared.index.cosmos_documents import write_ids
from shared.index.item_lexical import item_tokens
from shared.index.items import FIELDS, IDS_ROLE, VECTOR_ROLES, Items, Signatures, write_items
from shared.index.lexical import write_lexical
from shared.index.scan import Float16, Float32, write_vectors
from shared.sites.fields import fields_of
from shared.sites.kinds import Kind

# float16 rounds a unit vector's length by up to 5e-4.
_LENGTH_TOLERANCE = 0.02


def write_item_index(
    folder: Path,
    items: Sequence[Item],
    kind: Kind,
    vectors: Sequence[Float16 | Float32],
    signatures: Sequence[Signatures],
) -> dict[str, Path]:
    """Write records, postings, vectors and the ids of documents into `folder`. Returns role → file; row i is one item.

    Items come by rising id, no two alike. `vectors` are three `(items, dimension)` matrices, of the names, descriptions
    and bodies that `fields_of` gives, unit rows and a zero row for a field that is empty; `signatures` say of each item
    what was embedded, empty where nothing was. Raises BuildError where any of this does not hold.
    """
    _check_order(items)
    for field, matrix, told in zip(FIELDS, vectors, zip(*signatures, strict=True), strict=True):
        _check_vectors(field, matrix, [bool(signature) for signature in told])
    folder.mkdir(parents=True, exist_ok=True)
    paths = {"records": folder / "records.db", **{role: folder / f"{role}.npy" for role in VECTOR_ROLES}}
    write_items(paths["records"], items, [kind.columns(item.record) for item in items], signatures)
    for role, matrix in zip(VECTOR_ROLES, vectors, strict=True):
        write_vectors(paths[role], matrix)
    paths[IDS_ROLE] = folder / f"{IDS_ROLE}.npy"
    _write_ids(paths, len(items))
    return {**paths, **write_lexical(folder, (fields_of(item.record) for item in items), item_tokens)}


def _write_ids(paths: Mapping[str, Path], rows: int) -> None:
    """Of every release, whichever store its site has now: it can be loaded later without being built again."""
    records = Items(paths["records"])
    try:
        write_ids(paths[IDS_ROLE], records, paths, rows)
    finally:
        records.close()


def _check_order(items: Sequence[Item]) -> None:
    if not items:
        raise BuildError("there are no items: expected at least one")
    for before, after in pairwise(items):
        if before.id >= after.id:
            raise BuildError(f"items: expected rising ids, no two alike, found {after.id!r} behind {before.id!r}")


def _check_vectors(field: str, matrix: Float16 | Float32, filled: Sequence[bool]) -> None:
    if matrix.ndim != 2 or len(matrix) != len(filled):
        raise BuildError(f"vectors of {field}: expected {len(filled)} rows, found an array of {matrix.shape}")
    lengths = np.linalg.norm(matrix.astype(np.float32), axis=1)
    wrong = ~(np.abs(lengths - np.asarray(filled, dtype=np.float32)) <= _LENGTH_TOLERANCE)
    if wrong.any():
        row = int(wrong.argmax())
        expected = "a unit row" if filled[row] else "a zero row, as the field is empty"
        raise BuildError(f"vectors of {field}, row {row}: expected {expected}, found length {lengths[row]:.3f}")
