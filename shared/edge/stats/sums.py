"""/stats.json: what all instances counted, added up, and what the model gateway's key has spent."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from shared.contracts.notices import Notice, notice
from shared.edge.stats.recorder import Recorder
from shared.edge.stats.tally import Tally
from shared.errors import BucketError, ModelUnavailable, ObjectMissing, Unavailable
from shared.models.account import key_spend_usd
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.bucket.base import Bucket

DAYS_SHOWN = (30, 366)

_KEY = re.compile(r"(\d{4}-\d\d-\d\d)/([A-Za-z0-9-]{1,64})\.json", re.ASCII)
# One small object takes some 30 ms to read from a cloud, and a day has one for each instance.
_READERS = 16
# How long a first caller's companions wait for it, and how long a bucket that failed is left alone.
_FIRST_WAIT_S = 1.0
_PAUSE_S = 5.0


class Sums:
    """What /stats.json answers. Reads the bucket again when the sums are STATS_FLUSH_S old; safe between threads."""

    def __init__(self, settings: Settings, recorder: Recorder, wall: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._recorder = recorder
        self._wall = wall
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._read_at = float("-inf")
        self._failure: tuple[float, BucketError] | None = None
        self._sums: dict[str, _Sum] = {}
        self._notices: list[Notice] = []
        self._provider: dict[str, Any] | None = None

    @property
    def scope(self) -> str:
        """`all` instances', or this `instance`'s numbers alone: without STATS_URL nobody else's are known."""
        return "instance" if self._recorder.bucket is None else "all"

    def shown(self, days: int) -> dict[str, Any]:
        """The last so many UTC days, newest first, and their models. Raises BucketError.

        One caller reads, for as long as the bucket and the gateway take; the others get what was read before
        that. Where nothing was yet they wait a moment for it, and then it is Unavailable.
        """
        if self._is_due():
            self._read_once()
        with self._lock:
            found = self._days(days, self._recorder.tallies())
            total = _total(found.values())
            return {
                "scope": self.scope,
                "generated_at": self._now().strftime("%Y-%m-%dT%H:%M:%SZ"),
                "days": {name: {**found[name].shown(), "models": found[name].models} for name in found},
                "models": total.models,
                "total": total.shown(),
                "provider": self._provider,
                "notices": list(self._notices),
            }

    def _is_due(self) -> bool:
        return time.monotonic() - self._read_at >= self._settings.stats_flush_s

    def _read_once(self) -> None:
        """Read, where no other thread is at it. With every thread waiting here, nothing else would be answered."""
        was_read = self._read_at > float("-inf")
        if not self._reading.acquire(timeout=0 if was_read else _FIRST_WAIT_S):
            if was_read:
                return
            raise Unavailable("The counters are being added up", retry_after_s=1)
        try:
            if self._is_due():
                self._read_again()
        finally:
            self._reading.release()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._wall(), UTC)

    def _first(self, days: int) -> str:
        return (self._now() - timedelta(days=days - 1)).strftime("%Y-%m-%d")

    def _days(self, days: int, own: Mapping[str, Tally]) -> dict[str, Tally]:
        """Day → its sum: what was read of the others, and this process's own numbers as they are now."""
        parts: dict[str, list[Tally]] = {}
        for name, tally in [*((name, each.tally) for name, each in self._sums.items()), *own.items()]:
            if name >= self._first(days):
                parts.setdefault(name, []).append(tally)
        return {name: _total(parts[name]) for name in sorted(parts, reverse=True)}

    def _read_again(self) -> None:
        """Read the bucket and ask the gateway. A bucket that failed is left alone for a moment."""
        if self._failure and time.monotonic() - self._failure[0] < min(_PAUSE_S, self._settings.stats_flush_s):
            raise type(self._failure[1])(self._failure[1].message)
        try:
            found = self._found(self._recorder.bucket) if self._recorder.bucket is not None else {}
        except BucketError as error:
            self._failure = time.monotonic(), error
            raise
        provider, notices = self._spend()
        with self._lock:
            self._provider, self._notices = provider, notices
            self._add(found)
        self._read_at = time.monotonic()

    def _found(self, bucket: Bucket) -> dict[tuple[str, str], bytes | None]:
        """What instances wrote today and yesterday, which may still change, and of older days what is not known yet."""
        own, moving, last = self._recorder.tallies(), self._first(2), self._first(0)
        wanted = []
        for key in filter(None, map(_KEY.fullmatch, bucket.keys(""))):
            day, instance = key[1], key[2]
            known = day < moving and day in self._sums and instance in self._sums[day].instances
            mine = day in own and instance == self._recorder.instance
            if self._first(DAYS_SHOWN[1]) <= day <= last and not known and not mine:
                wanted.append((day, instance))
        with ThreadPoolExecutor(_READERS) as readers:
            return dict(zip(wanted, readers.map(lambda each: _object(bucket, *each), wanted), strict=True))

    def _add(self, found: Mapping[tuple[str, str], bytes | None]) -> None:
        """Add what was read to the days that no longer change; the others begin anew."""
        first, moving = self._first(DAYS_SHOWN[1]), self._first(2)
        self._sums = {day: each for day, each in self._sums.items() if first <= day < moving}
        read = [self._sums.setdefault(day, _Sum()).add(name, data) for (day, name), data in found.items()]
        if not all(read):
            message = "Counters of some instances could not be read; the sums lack them."
            self._notices.insert(0, notice("stats_unreadable", message, objects=read.count(False)))

    def _spend(self) -> tuple[dict[str, Any] | None, list[Notice]]:
        """What the gateway says, or a notice where it says nothing. None where there is no key to ask about."""
        if not self._settings.openrouter_api_key:
            return None, []
        try:
            return {"name": "openrouter", "spend_usd": round(key_spend_usd(self._settings), 6)}, []
        except ModelUnavailable as error:
            unknown = notice("spend_unknown", f"What the key has spent is not known: {error.message}.")
            return {"name": "openrouter", "spend_usd": None}, [unknown]


class _Sum:
    """A day's numbers over the instances that were read."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.instances: set[str] = set()

    def add(self, instance: str, data: bytes | None) -> bool:
        """Add what an instance wrote; False where it cannot be read."""
        try:
            if data is not None:
                self.tally.add(Tally.of(data))
                self.instances.add(instance)
        except ValueError:
            return False
        return True


def _object(bucket: Bucket, day: str, instance: str) -> bytes | None:
    try:
        return bucket.read(f"{day}/{instance}.json")
    except ObjectMissing:  # removed since it was listed: an operator cleared old days
        return None


def _total(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for each in tallies:
        total.add(each)
    return total
