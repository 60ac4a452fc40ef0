"""How long things took, as counts that add up: a bucket is 10 % wide, so a quantile of sums is within 10 %."""

from __future__ import annotations

import math
from collections.abc import Mapping

Spread = dict[str, int]

_WIDTH = math.log(1.1)
_LEAST_MS = 1.0
# 10^8 ms is a day and more; what a clock that jumped says falls into the last bucket.
_LAST = math.ceil(math.log(1e8) / _WIDTH)


def note(spread: Spread, seconds: float, times: int = 1) -> None:
    """Count one duration."""
    ms = max(_LEAST_MS, seconds * 1_000)
    bucket = str(min(_LAST, math.ceil(math.log(ms) / _WIDTH)))
    spread[bucket] = spread.get(bucket, 0) + times


def merge(spread: Spread, other: Mapping[str, int]) -> None:
    """Count what the other one counted too."""
    for bucket, times in other.items():
        spread[bucket] = spread.get(bucket, 0) + times


def shown(spread: Mapping[str, int]) -> dict[str, float | None]:
    """Median and 95th percentile in seconds; None where nothing was counted."""
    return {"median": _quantile(spread, 0.5), "p95": _quantile(spread, 0.95)}


def _quantile(spread: Mapping[str, int], share: float) -> float | None:
    """The upper end of the bucket in which so large a share is reached."""
    left = share * sum(spread.values())
    for bucket, times in sorted(spread.items(), key=lambda each: int(each[0])):
        left -= times
        if left <= 0:
            return round(math.exp(int(bucket) * _WIDTH) / 1_000, 4)
    return None
