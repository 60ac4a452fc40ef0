"""The vectors of a release and the exact scan over them.

`vectors.npy` is float16, C order, unit rows; it is mapped, never read into an array. A scan multiplies
row ranges with NumKong's packed float16 product, which reads the mapped half precision as it lies: on two
cores 118,703 x 1,536 rows and 8 phrasings took 17-26 ms, where numpy's own float16 product needs seconds.
"""

from __future__ import annotations

import logging
import mmap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numkong
import numpy as np
import numpy.typing as npt

from shared.errors import ReleaseIncompatible
from shared.settings import threads_or_cores

Float16 = npt.NDArray[np.float16]
Float32 = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

# Below this many rows a second thread costs more than it saves.
_ROWS_PER_TASK = 4_096
# A selection in more runs than this is gathered row by row: 12 ms for a tenth of 118,703 rows of 1,536.
_MOST_RUNS = 64
# Above this share of all rows, scanning everything and taking the columns is faster than gathering: for three
# quarters of those rows 53 ms against 113 ms, and no copy of them.
_MOST_GATHERED = 0.25
# float16 rounds a unit vector's length by up to 5e-4; what is further off was never a unit vector.
_LENGTH_TOLERANCE = 0.02

log = logging.getLogger(__name__)


def write_vectors(path: Path, vectors: Float32 | Float16) -> None:
    """Write `(rows, dimension)` unit vectors as float16 `.npy`, C order."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(vectors, dtype="<f2"), allow_pickle=False)


class Vectors:
    """A mapped `(rows, dimension)` float16 matrix. Raises ReleaseIncompatible where the file is anything else."""

    def __init__(self, path: Path) -> None:
        array = open_array(path, "vectors", dtype="<f2", ndim=2)
        self.array: Float16 = array
        self.rows, self.dimension = array.shape

    def unusable(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Which of these rows hold no unit vector (NaN, infinite, zero or unnormalised)."""
        with np.errstate(over="ignore", invalid="ignore"):
            length = np.linalg.norm(self.array[rows].astype(np.float32), axis=1)
            usable: npt.NDArray[np.bool_] = np.abs(length - 1) <= _LENGTH_TOLERANCE
        return ~usable


class Scanner:
    """Scores vectors against queries on a pool of threads that all requests of a process share."""

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads_or_cores(threads)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="scan")
        kernels = sorted(name for name, there in numkong.get_capabilities().items() if there)
        log.info("scan kernels: %s; threads: %d", ", ".join(kernels), self._threads)
        if kernels == ["serial"]:
            log.warning("this processor has no vector kernel: the scan runs many times slower")

    def scan(self, vectors: Vectors, queries: Float32, rows: Rows | None = None) -> Float32:
        """Cosine of every query with every row.

        `queries` is `(q, dimension)` float32, unit length. `rows` are sorted row numbers, or None for all.
        Returns `(q, n)` float32, one contiguous line a query, `n` aligned with `rows`.
        """
        if rows is not None and len(rows) > vectors.rows * _MOST_GATHERED and _scattered(rows):
            return np.ascontiguousarray(self.scan(vectors, queries)[:, rows])
        packed = numkong.dots_pack(np.ascontiguousarray(queries, dtype=np.float16), dtype="f16")
        out = np.empty((len(queries), vectors.rows if rows is None else len(rows)), dtype=np.float32)

        def score(task: tuple[int, slice | Rows]) -> None:
            start, chosen = task
            block = vectors.array[chosen]
            out[:, start : start + len(block)] = np.asarray(numkong.dots_packed(block, packed)).T

        list(self._pool.map(score, _tasks(vectors.rows, rows, self._threads)))
        return out

    def close(self) -> None:
        """End the threads; a scan under way finishes."""
        self._pool.shutdown(wait=False)


def not_cosines(scores: Float32) -> Rows:
    """Positions of `(q, n)` scores where any is no cosine: NaN, infinite, or of a vector far from unit length."""
    return np.flatnonzero(~(np.abs(scores) <= 1 + _LENGTH_TOLERANCE).all(axis=0)).astype(np.int64)


def top(scores: Float32, k: int) -> Rows:
    """Positions of the k best scores, best first; equal scores in row order, so that a reply is repeatable."""
    k = min(k, len(scores))
    if k == 0:
        return np.empty(0, dtype=np.int64)
    least = scores[np.argpartition(scores, len(scores) - k)[len(scores) - k :]].min()
    chosen = np.flatnonzero(scores >= least)
    return chosen[np.argsort(-scores[chosen], kind="stable")][:k].astype(np.int64)


def open_array(path: Path, role: str, *, dtype: str, ndim: int) -> npt.NDArray[Any]:
    """Map an `.npy` file of exactly this type. No pickle is ever read. Raises ReleaseIncompatible naming the role."""
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, OSError) as error:
        # What the system says would name the file's path, and callers see this.
        reason = error.strerror if isinstance(error, OSError) else error
        raise ReleaseIncompatible(f"{role}: expected a plain {dtype} .npy array, found none: {reason}") from error
    if array.dtype != np.dtype(dtype) or array.ndim != ndim:
        found = f"{array.ndim}-dimensional {array.dtype.str}"
        raise ReleaseIncompatible(f"{role}: expected a {ndim}-dimensional {dtype} array, found {found}")
    if not array.flags.c_contiguous:
        raise ReleaseIncompatible(f"{role}: expected C order, found Fortran order")
    _will_need(array)
    return array


def _will_need(array: np.memmap[Any, Any]) -> None:
    mapped = array._mmap  # type: ignore[attr-defined]
    if mapped is not None and hasattr(mmap, "MADV_WILLNEED"):
        mapped.madvise(mmap.MADV_WILLNEED)


def _scattered(rows: Rows) -> bool:
    """Whether the rows lie in more runs than are worth a task each."""
    return int(np.count_nonzero(np.diff(rows) != 1)) >= _MOST_RUNS


def _tasks(total: int, rows: Rows | None, threads: int) -> list[tuple[int, slice | Rows]]:
    """What each task scans and where its scores go: slices of the file where rows lie together, else row numbers.

    Row numbers are gathered by the task itself, so no more than a task's rows a thread are ever copied.
    """
    if rows is None:
        return list(_cuts(0, 0, total, _step(total, threads)))
    step = _step(len(rows), threads)
    if _scattered(rows):
        step = min(step, _ROWS_PER_TASK)
        return [(start, rows[start : start + step]) for start in range(0, len(rows), step)]
    tasks: list[tuple[int, slice | Rows]] = []
    for run in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(rows) != 1) + 1):
        if len(run):
            tasks += _cuts(int(run[0]), int(rows[run[0]]), len(run), step)
    return tasks


def _cuts(offset: int, first: int, count: int, step: int) -> Iterator[tuple[int, slice | Rows]]:
    for start in range(0, count, step):
        yield offset + start, slice(first + start, first + min(start + step, count))


def _step(rows: int, threads: int) -> int:
    return max(_ROWS_PER_TASK, -(-rows // (threads * 4)))
