"""Counting searches: in memory at once, and below STATS_URL when the numbers changed and are a minute old.

An instance writes `<day>/<instance>.json` whole, and nobody else writes there; a new process is a new instance, so
what an earlier one counted stays. Nothing relies on a timer: what is due is written by a helper thread beside a
request, and once more when the process ends. Killed without warning, it loses what it counted since the last write.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shared.bucket.base import opened_as
from shared.edge.stats.tally import Tally
from shared.errors import AskbucketError, ObjectMissing, PreconditionFailed
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.bucket.base import Bucket
    from shared.edge.exchange import Answered, Observer

log = logging.getLogger(__name__)

# The route of a site that is a question, and what a tool's call counts as.
ASKED = "/ask"
# Addresses wait in memory for the day's salt; one that does not come must not fill it.
_MOST_WAITING = 10_000
_SALTS = "salts/"


class Recorder:
    """Counts the searches of one process; an observer of an App. Safe between threads.

    Made by `create(settings)` and shared by what one process serves; first called after the fork. Raises
    SettingsError for a STATS_URL nobody speaks; without one it counts for this process alone.
    """

    def __init__(self, settings: Settings, wall: Callable[[], float] = time.time) -> None:
        self._bucket = opened_as("STATS_URL", settings.stats_url, settings) if settings.stats_url else None
        self._flush_s = settings.stats_flush_s
        self._wall = wall
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._days: dict[str, _Day] = {}
        self._busy = False
        self._written_at = 0.0
        self._instance = ""

    def __call__(self, answered: Answered) -> None:
        """Count one answer. A request the caller got wrong (4xx) is no search, nor is a HEAD, which starts none."""
        if not _is_asked(answered):
            return
        found = "no_match" if answered.outcome == "no_match" else "with_results"
        outcome = "failed" if answered.status >= 500 else found
        self._count(answered, lambda tally: tally.count(outcome, answered.usage, answered.elapsed_s))

    def of_site(self, kind: str) -> Observer:
        """Counts what one site is asked at ASKED; its other routes ask nothing."""

        def note(answered: Answered) -> None:
            if answered.route == ASKED and _is_asked(answered):
                found = {"no_match": "no_match", "left": "left", "failed": "failed"}.get(
                    answered.outcome, "with_results"
                )
                outcome = "failed" if answered.status >= 500 else found
                self._count(answered, lambda tally: tally.count_ask(kind, outcome, answered.usage, answered.elapsed_s))

        return note

    def _count(self, answered: Answered, count: Callable[[Tally], None]) -> None:
        with self._lock:
            day = self._today()
            count(day.tally)
            day.see(answered.client)
            day.changed = True
        self._flush_beside()

    @property
    def bucket(self) -> Bucket | None:
        """Where the counters of all instances lie; None: there are this process's alone."""
        return self._bucket

    @property
    def instance(self) -> str:
        """This process's name in the bucket; empty before its first search."""
        return self._instance

    def tallies(self) -> dict[str, Tally]:
        """Day → what this process counted, by now."""
        with self._lock:
            return {name: day.tally.copy() for name, day in self._days.items()}

    def flush(self) -> None:
        """Write what changed. A bucket that fails is said in the log, and tried again when it is due again."""
        if self._bucket is None:
            return
        with self._writing:
            self._written_at = time.monotonic()
            for name in [name for name, day in list(self._days.items()) if day.changed]:
                try:
                    self._save(self._bucket, name)
                except AskbucketError as error:
                    log.warning("stats not written: %s: %s", error.code, error.message)

    def _flush_beside(self) -> None:
        """Start a helper thread where something is due and none is at it."""
        with self._lock:
            due = time.monotonic() - self._written_at >= self._flush_s
            if self._bucket is None or self._busy or not due:
                return
            self._busy = True
        try:
            threading.Thread(target=self._work, name="stats", daemon=True).start()
        except RuntimeError:  # no thread to be had now; a later request tries again
            self._busy = False

    def _work(self) -> None:
        try:
            self.flush()
        finally:
            self._busy = False

    def _save(self, bucket: Bucket, name: str) -> None:
        day = self._days[name]
        if day.salt is None:
            day.salt = _salt(bucket, name)
        with self._lock:
            day.salt_all()
            data, day.changed = day.tally.as_bytes(), False
        try:
            bucket.put(f"{name}/{self._instance}.json", data)
        except AskbucketError:
            day.changed = True
            raise

    def _today(self) -> _Day:
        """The current UTC day, begun where it is new. Yesterday stays: a clock may be set back across midnight."""
        name = datetime.fromtimestamp(self._wall(), UTC).strftime("%Y-%m-%d")
        if name not in self._days:
            self._begin()
            kept = sorted(self._days)[-1:]
            self._days = {key: day for key, day in self._days.items() if key in kept or day.changed}
            self._days[name] = _Day(None if self._bucket else os.urandom(32))
        return self._days[name]

    def _begin(self) -> None:
        """On the first search, which is after the fork: a name nobody else has, and a last word at the end.

        The first write is due a while later: a cloud's library takes half a second to import, beside a cold start.
        """
        if not self._instance:
            self._instance = os.urandom(8).hex()
            self._written_at = time.monotonic()
            atexit.register(_flush_last, weakref.ref(self))


def _is_asked(answered: Answered) -> bool:
    return not 400 <= answered.status < 500 and answered.method != "HEAD"


class _Day:
    """One day's tally, whether it changed since it was written, and callers that wait to be counted."""

    def __init__(self, salt: bytes | None) -> None:
        self.tally = Tally()
        self.changed = False
        self.salt = salt
        self._waiting: set[str] = set()

    def see(self, client: str) -> None:
        """Count a caller; before the salt is known, keep the address in memory."""
        if self.salt is not None:
            self.tally.callers.add(client, self.salt)
        elif len(self._waiting) < _MOST_WAITING:
            self._waiting.add(client)

    def salt_all(self) -> None:
        """Count and forget the addresses that waited."""
        if self.salt is not None:
            for client in self._waiting:
                self.tally.callers.add(client, self.salt)
            self._waiting.clear()


def _salt(bucket: Bucket, day: str) -> bytes:
    """The day's salt, the same for all instances: the first one makes it.

    With the salts of the days before yesterday goes the means to ask those days about an address.
    """
    try:
        return bucket.read(_SALTS + day)[:64]
    except ObjectMissing:
        made = os.urandom(32).hex().encode()
    try:
        bucket.put_if(_SALTS + day, made, None)
    except PreconditionFailed:
        return bucket.read(_SALTS + day)[:64]
    for old in sorted(key for key in bucket.keys(_SALTS) if key < _SALTS + day)[:-1]:
        bucket.delete(old)
    return made


def _flush_last(recorder: weakref.ref[Recorder]) -> None:
    alive = recorder()
    if alive is not None:
        alive.flush()
