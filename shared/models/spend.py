"""What this process spent on models today, and the ceiling on it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from shared.errors import BudgetExhausted

DAY_S = 86_400


class Spend:
    """Dollars of the current UTC day. A limit of 0 is none.

    Checked before each attempt, so the day ends above the limit by the calls that were then under way, at most.
    """

    def __init__(self, limit_usd: float, wall: Callable[[], float]) -> None:
        self._limit_usd = limit_usd
        self._wall = wall
        self._lock = threading.Lock()
        self._day = 0
        self._usd = 0.0

    @property
    def today_usd(self) -> float:
        """Spent since midnight UTC."""
        with self._lock:
            self._turn()
            return self._usd

    def add(self, usd: float) -> None:
        """Count the cost of one attempt."""
        with self._lock:
            self._turn()
            self._usd += usd

    def check(self) -> None:
        """Raises BudgetExhausted where nothing more may be spent today."""
        if self._limit_usd and self.today_usd >= self._limit_usd:
            left_s = math.ceil(DAY_S - self._wall() % DAY_S)
            raise BudgetExhausted("Today's budget for model calls is spent", retry_after_s=left_s)

    def _turn(self) -> None:
        day = int(self._wall() // DAY_S)
        if day != self._day:
            self._day, self._usd = day, 0.0
