"""The vectors of a release and the exact scan over them.

`vectors.npy` is float16, C order, unit rows; it is mapped, never read into an array. A scan multiplies
row ranges with NumKong's packed float16 product, which reads the mapped half precision as it lies: on two
cores 118,703 x 1,536 rows and 8 phrasings took 17-26 ms, where numpy's own float16 product needs seconds.
"""

from __future__ import annotations

import logging
import mmap
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numkong
import numpy as np
import numpy.typing as npt
from msgspec import Struct

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
# Queries of several requests go over the rows together up to this many: 8 cost one core 6.3 ms for 30,000 rows of
# 1,536, 32 cost 15.4 ms where four times 8 cost 25; beyond that there is little left to share (64: 27.7 ms).
_MOST_TOGETHER = 32
# float16 rounds a unit vector's length by up to 5e-4; what is further off was never a unit vector.
_LENGTH_TOLERANCE = 0.02
# Scores whose maxima bound the k best from below; 256 floats are 1 KB.
_BLOCK = 256

log = logging.getLogger(__name__)


def write_vectors(path: Path, vectors: Float32 | Float16) -> None:
    """Write `(rows, dimension)` unit vectors as float16 `.npy`, C order."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(vectors, dtype="<f2"), allow_pickle=False)


class Vectors:
    """A mapped `(rows, dimension)` float16 matrix. Raises ReleaseIncompatible where the file is anything else."""

    def __init__(self, path: Path, role: str = "vectors") -> None:
        array = open_array(path, role, dtype="<f2", ndim=2)
        self.array: Float16 = array
        self.rows, self.dimension = array.shape

    def unusable(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Which of these rows hold no unit vector (NaN, infinite, zero or unnormalised)."""
        # Not by np.linalg.norm, which needs float32: 0.03 ms for 280 rows of 1,536 against 1.9 ms.
        length = np.asarray(numkong.norm(self.array[rows], axis=1))
        usable: npt.NDArray[np.bool_] = np.abs(length - 1) <= _LENGTH_TOLERANCE
        return ~usable

    def broken(self) -> Rows:
        """The rows whose vector is neither of unit length nor zero, as that of a text that says nothing is."""
        blocks = (block for _, block in _cuts(0, 0, self.rows, _ROWS_PER_TASK))
        length = np.concatenate([np.asarray(numkong.norm(self.array[block], axis=1)) for block in blocks])
        right = (np.abs(length - 1) <= _LENGTH_TOLERANCE) | (length == 0)  # a NaN compares as false
        return np.flatnonzero(~right).astype(np.int64)


class _Scan(Struct, eq=False):
    """One request's scan, and its scores once somebody has done it."""

    vectors: Vectors
    queries: Float32
    rows: Rows | None
    scores: Float32 | None = None

    def goes_with(self, other: _Scan) -> bool:
        """Whether one pass over the rows can answer both."""
        return self.vectors is other.vectors and self.rows is None and other.rows is None


class Scanner:
    """Scores vectors against queries on a pool of threads that all requests of a process share.

    One scan runs at a time and has every thread, since scans side by side only make each other late. Whoever has
    the turn does the oldest one that waits, together with what one pass over the same rows can answer beside it,
    until its own is done; so nobody is passed over.
    """

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads_or_cores(threads)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="scan")
        self._turn = threading.Lock()
        self._waiting: list[_Scan] = []
        self._waiting_lock = threading.Lock()
        kernels = sorted(name for name, there in numkong.get_capabilities().items() if there)
        log.info("scan kernels: %s; threads: %d", ", ".join(kernels), self._threads)
        if kernels == ["serial"]:
            log.warning("this processor has no vector kernel: the scan runs many times slower")

    def scan(self, vectors: Vectors, queries: Float32, rows: Rows | None = None) -> Float32:
        """Cosine of every query with every row; the same bits whatever else is being asked.

        `queries` is `(q, dimension)` float32, unit length. `rows` are sorted row numbers, or None for all.
        Returns `(q, n)` float32, one contiguous line a query, `n` aligned with `rows`. Raises ValueError for queries
        of another dimension.
        """
        dimension = vectors.array.shape[1]
        if queries.ndim != 2 or queries.shape[1] != dimension:
            raise ValueError(f"expected queries of {dimension} dimensions, got an array of {queries.shape}")
        if rows is not None and len(rows) > vectors.rows * _MOST_GATHERED and _scattered(rows):
            return np.ascontiguousarray(self.scan(vectors, queries)[:, rows])
        own = _Scan(vectors, queries, rows)
        with self._waiting_lock:
            self._waiting.append(own)
        try:
            with self._turn:
                while own.scores is None:
                    self._answer(self._next())
        finally:
            with self._waiting_lock:
                self._waiting.remove(own)
        assert own.scores is not None  # noqa: S101 - the turn was ours until it was done
        return own.scores

    def close(self) -> None:
        """End the threads; a scan under way finishes."""
        self._pool.shutdown(wait=False)

    def _next(self) -> list[_Scan]:
        """The oldest scan that waits, and others that go with it."""
        with self._waiting_lock:
            waiting = [each for each in self._waiting if each.scores is None]
        oldest, *others = waiting
        batch, room = [oldest], _MOST_TOGETHER - len(oldest.queries)
        for other in others:
            if oldest.goes_with(other) and len(other.queries) <= room:
                batch.append(other)
                room -= len(other.queries)
        return batch

    def _answer(self, batch: Sequence[_Scan]) -> None:
        """Give every scan of the batch its scores, lines of one matrix."""
        queries = batch[0].queries if len(batch) == 1 else np.concatenate([each.queries for each in batch])
        scores, start = self._score(batch[0].vectors, queries, batch[0].rows), 0
        for each in batch:
            each.scores = scores[start : start + len(each.queries)]
            start += len(each.queries)

    def _score(self, vectors: Vectors, queries: Float32, rows: Rows | None) -> Float32:
        packed = numkong.dots_pack(np.ascontiguousarray(queries, dtype=np.float16), dtype="f16")
        out = np.empty((len(queries), vectors.rows if rows is None else len(rows)), dtype=np.float32)

        def score(task: tuple[int, slice | Rows]) -> None:
            start, chosen = task
            block = vectors.array[chosen]
            out[:, start : start + len(block)] = np.asarray(numkong.dots_packed(block, packed)).T

        list(self._pool.map(score, _tasks(vectors.rows, rows, self._threads)))
        return out


def not_cosines(scores: Float32) -> Rows:
    """Positions of `(q, n)` scores where any is no cosine: NaN, infinite, or of a vector far from unit length."""
    most = 1 + _LENGTH_TOLERANCE
    # A NaN anywhere is the minimum and the maximum, and compares as false.
    if scores.size == 0 or (scores.min() >= -most and scores.max() <= most):
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(~(np.abs(scores) <= most).all(axis=0)).astype(np.int64)


def top(scores: Float32, k: int) -> Rows:
    """Positions of the k best scores, best first; equal scores in row order, so that a reply is repeatable.

    Scores are numbers, never NaN. Of 118,703, the best 150 take 0.06 ms and the best 6 take 0.04 ms.
    """
    k = min(k, len(scores))
    if k == 0:
        return np.empty(0, dtype=np.int64)
    chosen = np.flatnonzero(scores >= _least(scores, k))
    values = scores[chosen]
    if len(chosen) > 2 * k:  # many are equal, or crowd in few blocks: the order of the others is nobody's concern
        kth = np.partition(values, len(values) - k)[len(values) - k]
        better = np.flatnonzero(values > kth)
        equal = np.flatnonzero(values == kth)[: k - len(better)]
        kept = np.sort(np.concatenate([better, equal]))
        chosen, values = chosen[kept], values[kept]
    return chosen[np.argsort(-values, kind="stable")][:k].astype(np.int64)


def _least(scores: Float32, k: int) -> np.float32:
    """A score that at least k reach, and few others: the k-th best of the blocks' maxima."""
    blocks = len(scores) // _BLOCK
    if blocks <= k:
        kth: np.float32 = np.partition(scores, len(scores) - k)[len(scores) - k]
        return kth
    best = np.maximum.reduceat(scores, np.arange(blocks) * _BLOCK)
    least: np.float32 = np.partition(best, blocks - k)[blocks - k]
    return least


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
