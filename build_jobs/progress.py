"""How a long job tells how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Stage = Literal["convert", "collect", "embed", "index", "verify", "publish", "questions", "pool", "load"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a stage stands: things done of all, things a second, seconds left, dollars and request units so far.

    A `total` of 0 and a `left_s` of None mean that it is not known.
    """

    stage: Stage
    done: int
    total: int
    rate_s: float = 0.0
    left_s: float | None = None
    cost_usd: float = 0.0
    units: float = 0.0


Told = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """Tells nobody."""


class Meter:
    """Rate and time left of one stage, from the moment it begins."""

    def __init__(self, stage: Stage, total: int, told: Told) -> None:
        self._stage: Stage = stage
        self._total = total
        self._told = told
        self._done = 0
        self._started = time.monotonic()

    def advance(self, step: int, cost_usd: float = 0.0, units: float = 0.0) -> None:
        """`step` more are done; `cost_usd` and a database's request units are what the stage has cost so far."""
        self._done += step
        seconds = time.monotonic() - self._started
        rate = self._done / seconds if seconds > 0 else 0.0
        left = (self._total - self._done) / rate if rate else None
        self._told(Progress(self._stage, self._done, self._total, rate, left, cost_usd, units))
