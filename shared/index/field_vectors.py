"""The vectors of items: a matrix a field, searched as one by the weighted sum of their cosines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from shared.errors import ReleaseIncompatible
from shared.index.item_vectors import Charge, Nearest, Sought, Store
from shared.index.items import VECTOR_ROLES
from shared.index.scan import Float32, Rows, Scanner, Vectors, top
from shared.timed import timed
from shared.work import work

_NOWHERE = np.float32(-np.inf)


class FieldVectors:
    """Three mapped matrices of the same shape; a field that says nothing is a zero row, and adds nothing.

    Raises ReleaseIncompatible where a matrix has another shape than the manifest says.
    """

    def __init__(self, paths: Mapping[str, Path], rows: int, dimension: int, scanner: Scanner) -> None:
        self._fields = [_opened(paths[role], role, rows, dimension) for role in VECTOR_ROLES]
        self._scanner = scanner
        self.rows = rows

    def scores(self, query: Float32, weights: Sequence[float]) -> Float32:
        """`(rows,)`, each the sum of its fields' cosines with the query, `(dimension,)` of unit length, by weight.

        Raises ValueError for a query of another dimension.
        """
        total = np.zeros(self.rows, dtype=np.float32)
        for vectors, weight, broken in zip(self._fields, weights, self._broken, strict=True):
            if weight:
                cosines = self._scanner.scan(vectors, query[np.newaxis])[0]
                cosines[broken] = 0.0
                total += np.float32(weight) * cosines
        return total

    @property
    def unusable(self) -> int:
        """Rows with a vector that is neither of unit length nor zero. They are found by their other fields only."""
        return len(np.unique(np.concatenate(self._broken)))

    def close(self) -> None:
        """End the scan's threads."""
        self._scanner.close()

    @cached_property
    def _broken(self) -> list[Rows]:
        """Rows of each field whose vector cannot be right. Looked at once, when first searched."""
        return [vectors.broken() for vectors in self._fields]


class MemoryVectors(Struct, frozen=True):
    """Matrices that are mapped into this process, searched whole with these weights; as `ItemVectors` promises."""

    fields: FieldVectors
    weights: Sequence[float]
    store: Store = "memory"

    @property
    def unusable(self) -> int:
        """Rows with a vector that is neither of unit length nor zero."""
        return self.fields.unusable

    async def nearest(self, sought: Sought, charge: Charge) -> Nearest:
        """The best rows. Costs nobody anything, so nothing is charged."""
        del charge
        return await work(lambda: self._nearest(sought))

    def describe(self) -> dict[str, Any]:
        """That they are here."""
        return {"store": self.store, "degraded": False}

    def close(self) -> None:
        """End the scan's threads."""
        self.fields.close()

    def _nearest(self, sought: Sought) -> Nearest:
        with timed("scan"):
            scores = self.fields.scores(sought.vector, self.weights)
            scores = scores if sought.among is None else np.where(sought.among, scores, _NOWHERE)
            left_out = sought.without
            rows = top(scores, sought.limit + len(left_out))
            best = zip(rows.tolist(), scores[rows].tolist(), strict=True)
            found = [(row, score) for row, score in best if row not in left_out and score > _NOWHERE]
            return Nearest(found[: sought.limit])


def _opened(path: Path, role: str, rows: int, dimension: int) -> Vectors:
    vectors = Vectors(path, role)
    if (vectors.rows, vectors.dimension) != (rows, dimension):
        found = (vectors.rows, vectors.dimension)
        raise ReleaseIncompatible(f"{role}: expected shape {(rows, dimension)}, found {found}")
    return vectors
