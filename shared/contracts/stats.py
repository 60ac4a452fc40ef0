"""What one instance counted on one day: the object `<day>/<instance>.json` below STATS_URL."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from shared.contracts.strict import ruled

# Beyond this JSON's numbers are not exact, and sums of them may be no JSON at all.
_MOST = 2**53
_BUCKET = re.compile(r"[0-9]|[1-9][0-9]|[12][0-9][0-9]", re.ASCII)


def _count() -> int:
    number: int = ruled("0 to 2^53", lambda count: 0 <= count <= _MOST, default=0)
    return number


def _dollars() -> float:
    number: float = ruled("0 to 2^53", lambda usd: 0 <= usd <= _MOST, default=0.0)
    return number


def _spread() -> dict[str, int]:
    counts: dict[str, int] = ruled("counts by bucket, 0 to 300", _is_spread, default_factory=dict)
    return counts


def _is_spread(counts: dict[str, int]) -> bool:
    return all(_BUCKET.fullmatch(bucket) and 0 <= times <= _MOST for bucket, times in counts.items())


@dataclass(slots=True, kw_only=True)
class ModelTally:
    """Billed calls of one model, and how long each attempt took (edge/stats/spread.py)."""

    calls: int = _count()
    tokens: int = _count()
    cost_usd: float = _dollars()
    latency: dict[str, int] = _spread()  # noqa: RUF009 - a field with its own factory


@dataclass(slots=True, kw_only=True)
class SiteTally:
    """Questions to one site and what became of them; `left` are those whose reader went away before the end."""

    asks: int = _count()
    with_results: int = _count()
    no_match: int = _count()
    failed: int = _count()
    left: int = _count()
    latency: dict[str, int] = _spread()  # noqa: RUF009 - a field with its own factory


@dataclass(slots=True, kw_only=True)
class DayTally:
    """Searches answered (`with_results`, `no_match`) or `failed` (5xx), how long the answered ones took, the same of
    each site, and the models that all of them asked.

    `callers` counts distinct client addresses and holds none of them: edge/stats/distinct.py.
    """

    version: Literal["1"] = "1"
    searches: int = _count()
    with_results: int = _count()
    no_match: int = _count()
    failed: int = _count()
    latency: dict[str, int] = _spread()  # noqa: RUF009 - a field with its own factory
    sites: dict[str, SiteTally] = field(default_factory=dict)
    models: dict[str, ModelTally] = field(default_factory=dict)
    callers: str = ""
