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
from shared.errors import ModelUnavailable, ObjectMissing
from shared.models.account import key_spend_usd
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.bucket.base import Bucket

DAYS_SHOWN = (30, 366)

_KEY = re.compile(r"(\d{4}-\d\d-\d\d)/([A-Za-z0-9-]{1,64})\.json", re.ASCII)
# One small object takes some 30 ms to read from a cloud, and a day has one for each instance.
_READERS = 16


class Sums:
    """What /stats.json answers. Reads the bucket again when the sums are STATS_FLUSH_S old; safe between threads."""

    def __init__(self, settings: Settings, recorder: Recorder, wall: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._recorder = recorder
        self._wall = wall
        self._lock = threading.Lock()
        self._read_at = float("-inf")
        self._sums: dict[str, _Sum] = {}
        self._notices: list[Notice] = []
        self._provider: dict[str, Any] | None = None

    @property
    def scope(self) -> str:
        """`all` instances', or this `instance`'s numbers alone: without STATS_URL nobody else's are known."""
        return "instance" if self._recorder.bucket is None else "all"

    def shown(self, days: int) -> dict[str, Any]:
        """The last so many UTC days, newest first, and their models. Raises BucketError."""
        with self._lock:
            own = self._recorder.tallies()
            if time.monotonic() - self._read_at >= self._settings.stats_flush_s:
                self._read_again(own)
            found = self._days(days, own)
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

    def _read_again(self, own: Mapping[str, Tally]) -> None:
        self._notices = []
        if self._recorder.bucket is not None:
            self._read(self._recorder.bucket, own)
        self._provider = self._spend()
        self._read_at = time.monotonic()

    def _read(self, bucket: Bucket, own: Mapping[str, Tally]) -> None:
        """Read today and yesterday, which may still change, and of older days what was not read yet."""
        first, moving = self._first(DAYS_SHOWN[1]), self._first(2)
        sums = {day: each for day, each in self._sums.items() if first <= day < moving}
        wanted = []
        for key in filter(None, map(_KEY.fullmatch, bucket.keys(""))):
            day, instance = key[1], key[2]
            known = instance in sums[day].instances if day in sums else False
            mine = day in own and instance == self._recorder.instance
            if day >= first and not known and not mine:
                wanted.append((day, instance))
        with ThreadPoolExecutor(_READERS) as readers:
            objects = list(readers.map(lambda each: _object(bucket, *each), wanted))
        read = [sums.setdefault(day, _Sum()).add(name, data) for (day, name), data in zip(wanted, objects, strict=True)]
        self._sums = sums
        if not all(read):
            message = "Counters of some instances could not be read; the sums lack them."
            self._notices.append(notice("stats_unreadable", message, objects=read.count(False)))

    def _spend(self) -> dict[str, Any] | None:
        """What the gateway says, or a notice where it says nothing. None where there is no key to ask about."""
        if not self._settings.openrouter_api_key:
            return None
        try:
            spend_usd: float | None = round(key_spend_usd(self._settings), 6)
        except ModelUnavailable as error:
            spend_usd = None
            self._notices.append(notice("spend_unknown", f"What the key has spent is not known: {error.message}."))
        return {"name": "openrouter", "spend_usd": spend_usd}


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
