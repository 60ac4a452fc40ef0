"""Shaping the candidate pool: the part that decides recall.

A table that is not in the pool can never be an answer, whatever the judge thinks. So the head of the
embedding walk is widened by what one phrasing alone found, what a large source would push out, and what
only a keyword finds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from shared.index.scan import Float32, Rows, top
from shared.settings import Settings

# What the best keyword match counts beside a cosine. Of .06 to .20 tried on the judged sets, this has the right
# answer among the first 120 most often: for 99.8 % and 99.1 % of the questions, the cosine alone for 99.5 % and 98.7 %.
_KEYWORD_SHARE = 0.08


class Retrieved(Struct, frozen=True):
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
        """Measurements of rows whose cosines are numbers."""
        best: Float32 = cosines.max(axis=0)
        return cls(rows, cosines, best, keywords)

    @property
    def fused(self) -> Float32:
        """`(n,)` both legs in one number: the best cosine, and the keyword score as a share of the best one's."""
        most = self.keywords.max(initial=0.0)
        return self.best + np.float32(_KEYWORD_SHARE) * (self.keywords / most) if most > 0 else self.best

    def without(self, positions: Rows) -> Retrieved:
        """The same without these rows: they are in no walk, no pool and no reply."""
        if len(positions) == 0:
            return self
        kept = np.ones(len(self.rows), dtype=np.bool_)
        kept[positions] = False
        return self._of(np.flatnonzero(kept))

    def kept_for(self, pool: Pool, settings: Settings) -> tuple[Retrieved, Pool]:
        """What is read once the judge is asked, with the same pool in it: its rows, and those that widening may reach.

        Eight phrasings' cosines with 118,703 rows are 3.8 MB, and a search waits for its judge for seconds.
        """
        kept = sorted_positions(pool.walk, pool.positions, top(self.best, settings.prefilter_examined_max))
        return self._of(kept), pool.within(kept)

    def _of(self, kept: Rows) -> Retrieved:
        return Retrieved(self.rows[kept], self.cosines[:, kept], self.best[kept], self.keywords[kept])


class Pool(Struct, frozen=True):
    """Candidates, as positions in `Retrieved`.

    `walk` is the embedding order, best first; `head` is what the judge sees for its place there, or for its place
    by both legs; `positions` is all the judge receives, in its order; `found_by` says why each is there.
    """

    walk: Rows
    head: Rows
    positions: Rows
    found_by: Mapping[int, tuple[str, ...]]

    def within(self, kept: Rows) -> Pool:
        """The same where only these positions are left, sorted, all of the pool's among them."""
        walk, head, positions = (np.searchsorted(kept, part) for part in (self.walk, self.head, self.positions))
        places = {position: place for place, position in enumerate(kept.tolist())}
        found_by = {places[position]: reasons for position, reasons in self.found_by.items()}
        return Pool(walk, head, positions, found_by)


def shape_pool(
    found: Retrieved, slices: Mapping[str, tuple[tuple[int, int], ...]], settings: Settings, *, reads: bool = True
) -> Pool:
    """The candidates of one search.

    A judge that `reads` pays for every candidate: its head is the slice of the embedding walk, or all within the
    band of the best where those are more, up to the examined cap, and widening goes deeper when nothing qualifies.
    To one that scores by retrieval a candidate costs 0.1 ms, so it gets as many as may be examined at once, by both
    legs together. Each phrasing's best stand within that cap, each family's best and the best keyword matches beyond.
    """
    cap = settings.prefilter_examined_max
    # Where a place-stripped twin found the table and the text as asked did not, a few places of its own are too few:
    # with a quarter of the cap for each of two phrasings one more of the judged questions has its answer here.
    own = settings.per_phrasing if reads else max(settings.per_phrasing, cap // max(4, 2 * len(found.cosines)))
    walk = top(found.best, settings.prefilter_max)
    phrasing = _best_first(found, [top(line, own) for line in found.cosines])
    source = _best_first(found, [_best_of_family(found, part, settings.per_source_pool) for part in slices.values()])
    keyword = top(found.keywords, settings.lexical_pool)
    keyword = keyword[found.keywords[keyword] > 0]
    first = walk[: _head_size(found.best[walk], settings)] if reads else top(found.fused, cap)
    head = _head(first, phrasing, cap)
    added = phrasing[~np.isin(phrasing, head, assume_unique=True)]
    walked = np.isin(head, walk, assume_unique=True)
    legs = {"embedding": head[walked], "phrasing": phrasing, "source": source}
    legs["keyword"] = _distinct([head[~walked], keyword])
    return Pool(walk, head, _distinct([head, added, keyword, source]), _reasons(legs))


def window(found: Retrieved, pool: Pool, start: int, settings: Settings) -> Rows:
    """The next positions of the embedding walk behind `start` that the judge has not seen, for widening."""
    end = min(start + settings.prefilter_slice, settings.prefilter_examined_max)
    behind = top(found.best, end)[start:]
    return behind[~np.isin(behind, pool.positions, assume_unique=True)]


def spread(found: Retrieved, positions: Rows) -> float:
    """Standard deviation of these candidates' embedding scores, in points of 0-100."""
    return float(np.std(found.best[positions] * 100)) if len(positions) else 0.0


def _head_size(walked: Float32, settings: Settings) -> int:
    within_band = int(np.count_nonzero(walked >= walked[0] - settings.prefilter_band)) if len(walked) else 0
    return min(max(settings.prefilter_slice, within_band), settings.prefilter_examined_max)


def _head(walked: Rows, phrasing: Rows, cap: int) -> Rows:
    """The walk's head with room left under the cap for the phrasings' best below it; those in it are never cut."""
    room = cap - np.count_nonzero(~np.isin(phrasing, walked, assume_unique=True))
    over = len(walked) - room
    if over <= 0:
        return walked
    ordinary = np.flatnonzero(~np.isin(walked, phrasing, assume_unique=True))
    return np.delete(walked, ordinary[max(len(ordinary) - over, 0) :])


def _best_of_family(found: Retrieved, parts: tuple[tuple[int, int], ...], k: int) -> Rows:
    """Positions of a family's best rows; its slices lie in row order, so each is one range of positions."""
    ranges = [np.searchsorted(found.rows, part) for part in parts]
    best = [top(found.best[start:stop], k) + start for start, stop in ranges]
    every = np.concatenate(best)
    return every[top(found.best[every], k)]


def _best_first(found: Retrieved, parts: list[Rows]) -> Rows:
    """The parts' positions in embedding order: families are judged in the order in which they first appear."""
    every = sorted_positions(*parts)
    return every[np.argsort(-found.best[every], kind="stable")]


def sorted_positions(*parts: Rows) -> Rows:
    """Each position of the parts once, in order.

    Not by np.unique, whose first call imports 7 ms of masked arrays; so does np.isin unless it is told that what it
    compares is distinct, as the positions of a part are.
    """
    return np.array(sorted({position for part in parts for position in part.tolist()}), dtype=np.int64)


def _distinct(parts: list[Rows]) -> Rows:
    """The parts one after another, each position once, at its first place."""
    return np.array(list(dict.fromkeys(position for part in parts for position in part.tolist())), dtype=np.int64)


def _reasons(legs: Mapping[str, Rows]) -> dict[int, tuple[str, ...]]:
    reasons: dict[int, tuple[str, ...]] = {}
    for name, positions in legs.items():
        for position in positions.tolist():
            reasons[position] = (*reasons.get(position, ()), name)
    return reasons
