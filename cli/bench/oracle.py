"""What is right, computed slowly and plainly: an engine that is fast and wrong must show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]

_ROWS_PER_BLOCK = 4_096


def best_cosines(vectors: npt.NDArray[np.float16], queries: npt.NDArray[np.float32]) -> Float64:
    """`(rows,)` the best product of each row with any query, in double precision throughout."""
    wide = queries.astype(np.float64).T
    blocks = range(0, len(vectors), _ROWS_PER_BLOCK)
    found = [(vectors[at : at + _ROWS_PER_BLOCK].astype(np.float64) @ wide).max(axis=1) for at in blocks]
    return np.concatenate(found)


def share_found(truth: Float64, rows: Sequence[int], k: int, tolerance: float = 0.0) -> float:
    """Of the k best by the truth, the share that these rows name. 1.0 where there is nothing to be found.

    A row whose true score ties with the last of the best counts as one of them, within the relative tolerance. Rows
    named twice count once, rows that do not exist and rows past the first k not at all, nor rows that score 0.
    """
    k = min(k, int(np.count_nonzero(truth > 0)))
    if k == 0:
        return 1.0
    least = np.partition(truth, len(truth) - k)[len(truth) - k] * (1 - tolerance)
    named = {row for row in rows[:k] if 0 <= row < len(truth)}
    return sum(bool(truth[row] >= least) for row in named) / k


@dataclass(frozen=True, slots=True)
class Keywords:
    """BM25F's knobs, as the index under test is given them."""

    fields: tuple[float, ...]
    k1: float
    b: float
    scaled: bool = True
    filled_only: bool = False


class KeywordOracle:
    """BM25F as the textbook writes it, over documents that are each the tokens of their fields."""

    def __init__(self, documents: Sequence[Sequence[Sequence[str]]], keywords: Keywords) -> None:
        self._keywords = keywords
        self._lengths = [[len(field) for field in fields] for fields in documents]
        # A field shorter than one word on average counts as one word long, so that a rare code is no feat.
        self._averages = [max(self._average(lengths), 1.0) for lengths in zip(*self._lengths, strict=True)]
        self._postings: dict[str, dict[int, list[int]]] = {}
        for row, fields in enumerate(documents):
            for number, field in enumerate(fields):
                for token, count in Counter(field).items():
                    own = self._postings.setdefault(token, {}).setdefault(row, [0] * len(fields))
                    own[number] = count

    def _average(self, lengths: Sequence[int]) -> float:
        counted = sum(length > 0 for length in lengths) if self._keywords.filled_only else len(lengths)
        return sum(lengths) / max(counted, 1)

    def scores(self, tokens: Sequence[str]) -> Float64:
        """`(rows,)` scores of a question's tokens."""
        out = np.zeros(len(self._lengths))
        for token in tokens:
            for row, score in self._token(self._postings.get(token, {})).items():
                out[row] += score
        return out

    def _token(self, postings: Mapping[int, Sequence[int]]) -> dict[int, float]:
        rows, own = len(self._lengths), self._keywords
        idf = math.log1p((rows - len(postings) + 0.5) / (len(postings) + 0.5))
        weights = {row: self._weight(row, counts) for row, counts in postings.items()}
        most = own.k1 + 1 if own.scaled else 1.0
        return {row: idf * weight * most / (weight + own.k1) for row, weight in weights.items()}

    def _weight(self, row: int, counts: Sequence[int]) -> float:
        b, lengths = self._keywords.b, self._lengths[row]
        fields = zip(self._keywords.fields, counts, lengths, self._averages, strict=True)
        return math.fsum(weight * count / (1 - b + b * length / average) for weight, count, length, average in fields)
