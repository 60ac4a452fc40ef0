"""Which documents of a container are a release's: row → id and back, over its file `cosmos_ids`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from shared.index.cosmos_documents import read_ids
from shared.index.scan import Rows


class ReleaseIds:
    """The ids of one release, mapped. Raises ReleaseIncompatible where they are not one a row."""

    def __init__(self, path: Path, rows: int) -> None:
        self._ids = read_ids(path, rows)
        self._order = np.argsort(self._ids)
        self._sorted = self._ids[self._order]
        self.rows = rows

    def of(self, rows: Iterable[int]) -> list[str]:
        """The ids of these rows."""
        return [bytes(self._ids[row]).decode("ascii") for row in rows]

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """The row of each id, -1 for one that is another release's."""
        asked = np.array([each.encode("ascii", "replace") for each in ids], dtype=np.bytes_)
        places = np.minimum(np.searchsorted(self._sorted, asked), self.rows - 1)
        return np.where(self._sorted[places] == asked, self._order[places], -1)
