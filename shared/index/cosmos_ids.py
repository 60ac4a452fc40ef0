"""Which documents of a container are a release's: row → id and back, over its file `cosmos_ids`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from shared.index.cosmos_documents import read_ids
from shared.index.scan import Rows


class ReleaseIds:
    """The ids of one release, mapped. Raises ReleaseIncompatible where they are not one a row.

    `listed` are the rows that have one; the others, `unlisted` in number, are too large to be in the container.
    """

    def __init__(self, path: Path, rows: int) -> None:
        self._ids = read_ids(path, rows)
        self._order = np.argsort(self._ids)
        self._sorted = self._ids[self._order]
        self.rows = rows
        self.listed = np.asarray(self._ids != b"", np.bool_)
        self.unlisted = rows - int(self.listed.sum())

    def of(self, rows: Iterable[int]) -> list[str]:
        """The ids of these rows, which have to be among those that are listed."""
        return [bytes(self._ids[row]).decode("ascii") for row in rows]

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """The row of each id, -1 for one that is another release's."""
        asked = np.array([each.encode("ascii", "replace") for each in ids], dtype=np.bytes_)
        places = np.minimum(np.searchsorted(self._sorted, asked), self.rows - 1)
        return np.where((self._sorted[places] == asked) & (asked != b""), self._order[places], -1)
