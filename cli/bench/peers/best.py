"""The rows with the best maximum over several queries, with numpy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def best_of_maximum(scores: npt.NDArray[Any], k: int) -> list[int]:
    """The k rows whose best score is highest, best first, of `(q, n)` scores."""
    best = scores.max(axis=0)
    k = min(k, len(best))
    chosen = np.argpartition(best, len(best) - k)[len(best) - k :]
    rows: list[int] = chosen[np.argsort(-best[chosen])].tolist()
    return rows


def merge(rows: npt.NDArray[Any], scores: npt.NDArray[Any], k: int) -> list[int]:
    """The same of each query's own best rows and their scores, both `(q, k)`.

    A row among the k best maxima is among the k best of the query that gave it its maximum, so nothing is lost.
    """
    ordered = rows.ravel()[np.argsort(-scores.ravel(), kind="stable")]
    first = np.sort(np.unique(ordered, return_index=True)[1])
    merged: list[int] = ordered[first][:k].tolist()
    return merged
