"""Shaping the candidate pool: the part that decides recall.

A table that is not in the pool can never be an answer, whatever the judge thinks. So the head of the
embedding walk is widened by what one phrasing alone found, what a large source would push out, and what
only a keyword finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.index.scan import Float32, Rows, best_of, top
from shared.settings import Settings


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What both legs measured over the rows in scope.

    `rows` are their row numbers, sorted, `(n,)`; `cosines` are `(q, n)`; `best` is each row's maximum;
    `keywords` is its BM25, 0 where no word matched.
    """

    rows: Rows
    cosines: Float32
    best: Float32
    keywords: Float32

    @classmethod
    def of(cls, rows: Rows, cosines: Float32, keywords: Float32) -> Retrieved:
        """Measurements with each row's best cosine."""
        return cls(rows, cosines, best_of(cosines), keywords)

    def without(self, rows: Rows) -> Retrieved:
        """The same without these rows' scores: they stay in place, behind every other."""
        if len(rows) == 0:
            return self
        lost = np.isin(self.rows, rows)
        return Retrieved(
            self.rows, np.where(lost, -1.0, self.cosines).astype(np.float32),
            np.where(lost, -1.0, self.best).astype(np.float32), np.where(lost, 0.0, self.keywords).astype(np.float32),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates as positions in `Retrieved`, in the order the judge receives them, and why each is there."""

    walk: Rows
    head: Rows
    positions: Rows
    found_by: Mapping[int, tuple[str, ...]]


def shape_pool(found: Retrieved, slices: Mapping[str, tuple[tuple[int, int], ...]], settings: Settings) -> Pool:
    """The candidates of one search.

    The head is at least the slice and as many as lie within the band of the best, at most the examined cap;
    each phrasing's best join it within the cap; each family's best and the best keyword matches beyond it.
    """
    walk = top(found.best, settings.prefilter_max)
    head = walk[: _head_size(found.best[walk], settings)]
    phrasing = _best_first(found, [top(line, settings.per_phrasing) for line in found.cosines])
    source = _best_first(found, [_best_of_family(found, part, settings.per_source_pool) for part in slices.values()])
    keyword = top(found.keywords, settings.lexical_pool)
    keyword = keyword[found.keywords[keyword] > 0]
    added = phrasing[~np.isin(phrasing, head)]
    head = head[: max(settings.prefilter_examined_max - len(added), 0)]
    legs = {"embedding": head, "phrasing": phrasing, "source": source, "keyword": keyword}
    return Pool(walk, head, _distinct([head, added, keyword, source]), _reasons(legs))


def window(found: Retrieved, pool: Pool, start: int, settings: Settings) -> Rows:
    """The next positions of the embedding walk behind `start` that the judge has not seen, for widening."""
    end = min(start + settings.prefilter_slice, settings.prefilter_examined_max)
    behind = top(found.best, end)[start:]
    return behind[~np.isin(behind, pool.positions)]


def spread(found: Retrieved, positions: Rows) -> float:
    """Standard deviation of these candidates' embedding scores, in points of 0-100."""
    return float(np.std(found.best[positions] * 100)) if len(positions) else 0.0


def _head_size(walked: Float32, settings: Settings) -> int:
    within_band = int(np.count_nonzero(walked >= walked[0] - settings.prefilter_band)) if len(walked) else 0
    return min(max(settings.prefilter_slice, within_band), settings.prefilter_examined_max)


def _best_of_family(found: Retrieved, parts: tuple[tuple[int, int], ...], k: int) -> Rows:
    """Positions of a family's best rows; its slices lie in row order, so each is one range of positions."""
    ranges = [np.searchsorted(found.rows, part) for part in parts]
    best = [top(found.best[start:stop], k) + start for start, stop in ranges]
    every = np.concatenate(best)
    return every[top(found.best[every], k)]


def _best_first(found: Retrieved, parts: list[Rows]) -> Rows:
    """The parts' positions in embedding order: families are judged in the order in which they first appear."""
    every = np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)
    return every[np.argsort(-found.best[every], kind="stable")]


def _distinct(parts: list[Rows]) -> Rows:
    """The parts one after another, each position once, at its first place."""
    every = np.concatenate(parts) if parts else np.empty(0, np.int64)
    _, first = np.unique(every, return_index=True)
    ordered: npt.NDArray[np.int64] = every[np.sort(first)]
    return ordered


def _reasons(legs: Mapping[str, Rows]) -> dict[int, tuple[str, ...]]:
    reasons: dict[int, tuple[str, ...]] = {}
    for name, positions in legs.items():
        for position in positions.tolist():
            reasons[position] = (*reasons.get(position, ()), name)
    return reasons
