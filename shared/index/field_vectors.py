"""The vectors of items: a matrix a field, searched as one by the weighted sum of their cosines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from shared.errors import ReleaseIncompatible
from shared.index.items import VECTOR_ROLES
from shared.index.scan import Float32, Rows, Scanner, Vectors


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


def _opened(path: Path, role: str, rows: int, dimension: int) -> Vectors:
    vectors = Vectors(path, role)
    if (vectors.rows, vectors.dimension) != (rows, dimension):
        found = (vectors.rows, vectors.dimension)
        raise ReleaseIncompatible(f"{role}: expected shape {(rows, dimension)}, found {found}")
    return vectors
