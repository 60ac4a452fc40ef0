"""What a function answered since it started: the counters of /health."""

from __future__ import annotations

import threading
from collections import Counter, deque
from datetime import UTC, datetime
from typing import Any

WINDOW = 1_000


class Counters:
    """Totals since the process started, and the latency of the last 1,000 answers. Safe between threads.

    A request the caller got wrong (4xx) is no answer and is not counted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: deque[float] = deque(maxlen=WINDOW)
        self._outcomes: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._last_at: datetime | None = None

    def record(self, status: int, seconds: float, outcome: str) -> None:
        """Count one reply: `outcome` is a word such as `answered` or `no_match`."""
        if 400 <= status < 500:
            return
        with self._lock:
            self._last_at = datetime.now(UTC)
            if status >= 500:
                self._failures[str(status)] += 1
                self._outcomes["failed"] += 1
            else:
                self._outcomes[outcome] += 1
                self._seconds.append(seconds)

    def snapshot(self) -> dict[str, Any]:
        """JSON-ready. Latencies are seconds of successful answers, null before the first."""
        with self._lock:
            seconds, last_at = sorted(self._seconds), self._last_at
            outcomes, failures = dict(self._outcomes), dict(self._failures)
        return {
            "total": sum(outcomes.values()),
            "last_at": last_at.strftime("%Y-%m-%dT%H:%M:%SZ") if last_at else None,
            "latency_seconds": {"median": _quantile(seconds, 0.5), "p95": _quantile(seconds, 0.95)},
            "outcomes": outcomes,
            "failures_by_status": failures,
        }


def _quantile(ordered: list[float], share: float) -> float | None:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 4) if ordered else None
