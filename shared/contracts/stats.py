"""What one instance counted on one day: the object `<day>/<instance>.json` below STATS_URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from shared.contracts.strict import ruled

# Beyond this JSON's numbers are not exact, and sums of them may be no JSON at all.
_MOST = 2**53


def _count() -> int:
    number: int = ruled("0 to 2^53", lambda count: 0 <= count <= _MOST, default=0)
    return number


def _dollars() -> float:
    number: float = ruled("0 to 2^53", lambda usd: 0 <= usd <= _MOST, default=0.0)
    return number


@dataclass(slots=True, kw_only=True)
class ModelTally:
    """Billed calls of one model."""

    calls: int = _count()
    tokens: int = _count()
    cost_usd: float = _dollars()


@dataclass(slots=True, kw_only=True)
class DayTally:
    """Searches answered (`with_results`, `no_match`) or `failed` (5xx), and the models they asked.

    `callers` counts distinct client addresses and holds none of them: edge/stats/distinct.py.
    """

    version: Literal["1"] = "1"
    searches: int = _count()
    with_results: int = _count()
    no_match: int = _count()
    failed: int = _count()
    models: dict[str, ModelTally] = field(default_factory=dict)
    callers: str = ""
