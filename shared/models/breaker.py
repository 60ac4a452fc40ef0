"""A circuit breaker: after several failed calls in a row a service is left alone for a moment.

closed ──N failures in a row──▶ open ──open_s later──▶ half-open, one probe ──success──▶ closed
                                 ▲──────────────────────failure──┘
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from msgspec import Struct

from shared.errors import AskbucketError, ModelUnavailable


class Health(Struct):
    """What one call found of the service; None where it was ended before it found anything."""

    good: bool | None = None


class Breaker:
    """Counts calls, not attempts: five groups judged side by side that each fail once are no outage."""

    def __init__(
        self,
        failures: int,
        open_s: float,
        clock: Callable[[], float],
        service: str = "The model gateway",
        refusal: type[AskbucketError] = ModelUnavailable,
    ) -> None:
        """`refusal` is what a call gets while open, in the name of `service`; `failures` 0 never opens."""
        self._service = service
        self._refusal = refusal
        self._limit = failures
        self._open_s = open_s
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        """What the next call would meet; `half-open` while a probe is due or under way."""
        if self._opened_at is None:
            return "closed"
        return "open" if self._left_s() > 0 else "half-open"

    @contextmanager
    def watch(self) -> Iterator[Health]:
        """Around one call, which says in `Health` what it found. Raises the refusal at once while open."""
        probe = self._enter()
        health = Health()
        try:
            yield health
        finally:
            self._leave(health, probe)

    def _left_s(self) -> float:
        return 0.0 if self._opened_at is None else self._opened_at + self._open_s - self._clock()

    def _enter(self) -> bool:
        """Whether this call is the probe."""
        with self._lock:
            if self._opened_at is None:
                return False
            if self._left_s() > 0 or self._probing:
                wait = max(1, math.ceil(self._left_s()))
                message = f"{self._service} failed several times in a row and is left alone for a moment"
                raise self._refusal(message, retry_after_s=wait)
            self._probing = True
            return True

    def _leave(self, health: Health, probe: bool) -> None:
        with self._lock:
            if probe:
                self._probing = False
            if health.good is True:
                self._failures, self._opened_at = 0, None
            elif health.good is False:
                self._failures += 1
                if self._limit and self._failures >= self._limit:
                    self._opened_at = self._clock()
