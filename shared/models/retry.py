"""When a model call is tried again, and after how long: policy as data."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

from msgspec import Struct

LONGEST_BACK_OFF_S = 30.0
# A gateway that asks for more is believed, but not waited for: the caller is told instead.
LONGEST_WAIT_S = 60.0
# And nobody is told to come back later than tomorrow.
_LONGEST_ASKED_S = 86_400.0


class Pace(Struct, frozen=True):
    """What waits are reckoned with: the first back-off, a clock that never jumps, and the time of day."""

    back_off_s: float = 1.0
    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time

    def wait_s(self, attempt: int, headers: Mapping[str, str]) -> float:
        """Seconds before the attempt after this one (counted from 0): what the server says, else the back-off."""
        said = server_wait_s(headers, self.wall())
        return min(LONGEST_BACK_OFF_S, self.back_off_s * 2.0 ** min(attempt, 30)) if said is None else said


def is_retried(status: int) -> bool:
    """Whether a status speaks of the moment and not of the request: 408, 409, 429 and every 5xx."""
    return status in {408, 409, 429} or 500 <= status <= 599


def server_wait_s(headers: Mapping[str, str], now: float) -> float | None:
    """The wait that a reply asks for: `retry-after-ms`, else `Retry-After` as seconds or as an HTTP date.

    `headers` are looked up in lower case, `now` is seconds since the epoch. None where nothing readable is said.
    """
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after", "")
    seconds = _seconds(asked)
    return _until(asked, now) if seconds is None else seconds


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return min(value, _LONGEST_ASKED_S) if 0 <= value < math.inf else None


def _until(date: str, now: float) -> float | None:
    try:
        return min(max(0.0, parsedate_to_datetime(date).timestamp() - now), _LONGEST_ASKED_S)
    except (ValueError, OverflowError):
        return None
