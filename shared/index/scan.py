"""The vectors of a release and the exact scan over them.

`vectors.npy` is float16, C order, unit rows; it is mapped, never read into an array. A scan multiplies
row ranges with NumKong's packed float16 product, which reads the mapped half precision as it lies: on two
cores 118,703 x 1,536 rows and 8 phrasings took 17-26 ms, where numpy's own float16 product needs seconds.
"""

from __future__ import annotations

import logging
import mmap
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numkong
import numpy as np
import numpy.typing as npt

from shared.errors import ReleaseIncompatible

Float16 = npt.NDArray[np.float16]
Float32 = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

# Below this many rows a second thread costs more than it saves.
_ROWS_PER_TASK = 4_096
# A selection with more runs than this is gathered into one block: measured 12 ms for a tenth of 118,703 rows.
_MOST_RUNS = 64
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
        self._threads = (
            threads or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
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
        packed = numkong.dots_pack(np.ascontiguousarray(queries, dtype=np.float16), dtype="f16")
        blocks = _blocks(vectors.array, rows)
        out = np.empty((len(queries), sum(len(block) for block in blocks)), dtype=np.float32)

        def score(task: tuple[int, Float16]) -> None:
            start, block = task
            out[:, start : start + len(block)] = np.asarray(numkong.dots_packed(block, packed)).T

        list(self._pool.map(score, _tasks(blocks, self._threads)))
        return out

    def close(self) -> None:
        """End the threads; a scan under way finishes."""
        self._pool.shutdown(wait=False)


def best_of(scores: Float32) -> Float32:
    """Each row's best cosine over the queries, `(n,)`; what is no cosine at all becomes -1, so it can never lead."""
    best: Float32 = scores.max(axis=0)
    impossible = ~(np.abs(best) <= 1 + _LENGTH_TOLERANCE)
    if impossible.any():
        best[impossible] = -1.0
    return best


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
        raise ReleaseIncompatible(f"{role}: expected a plain {dtype} .npy array, found none: {error}") from error
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


def _blocks(array: Float16, rows: Rows | None) -> Sequence[Float16]:
    """The rows to scan as few contiguous blocks, without a copy where they lie together."""
    if rows is None:
        return [array]
    if len(rows) == 0:
        return []
    ends = np.flatnonzero(np.diff(rows) != 1) + 1
    if len(ends) >= _MOST_RUNS:
        return [array[rows]]
    return [array[run[0] : run[-1] + 1] for run in np.split(rows, ends)]


def _tasks(blocks: Sequence[Float16], threads: int) -> list[tuple[int, Float16]]:
    """Blocks cut into even row ranges, each with its offset in the output."""
    total = sum(len(block) for block in blocks)
    step = max(_ROWS_PER_TASK, -(-total // (threads * 4)))
    tasks: list[tuple[int, Float16]] = []
    offset = 0
    for block in blocks:
        tasks += [(offset + start, block[start : start + step]) for start in range(0, len(block), step)]
        offset += len(block)
    return tasks
