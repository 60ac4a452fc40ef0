"""How much a client may ask of what costs money: windows that count, and a lease for each request under way.

A window is clock-aligned (a day is a UTC day), so what `Retry-After` says is true to the second. Counts live in
this process, or with RATE_LIMIT_STORAGE_URL in a Redis that every instance shares. A Redis that does not answer
lets requests through uncounted, says so once in the log, and counts again as soon as it answers.

The `limits` library counts in Redis only, and is imported there only: with its client that takes 0.3 s. Its own
store in memory is not used: it starts a thread for a count, walks through all clients in it, and has no bound.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from shared.errors import Busy, QuotaExceeded, SettingsError
from shared.settings import Settings
from shared.words import counted

if TYPE_CHECKING:
    from limits.storage import RedisStorage

R = TypeVar("R")
Clock = Callable[[], float]
Place = Literal["taken", "none", "uncounted"]

log = logging.getLogger(__name__)

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
# A table of counts is cut to half of this when it grows beyond it.
MOST_COUNTS = 50_000
REDIS_TIMEOUT_S = 0.2
# How long a Redis that failed is left alone: an outage costs one request a second the timeout, not each of them.
REDIS_PAUSE_S = 1.0
# Leases to be given back that are remembered: older ones ran out by themselves, and a day of them fits no script.
_MOST_OWED = 1_000
# A lease outlives the longest request by this much; then its holder must have died.
LEASE_SLACK_S = 10.0

# By the server's clock, the same for every instance: drop what is given back or ran out, then take a place if one
# is free.
_ACQUIRE = b"""
    local time = redis.call('TIME')
    local now = time[1] + time[2] / 1000000
    for i = 4, #ARGV do redis.call('ZREM', KEYS[1], ARGV[i]) end
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
    if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
    redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[2])
    redis.call('EXPIRE', KEYS[1], math.ceil(ARGV[3]))
    return 1
"""
_RELEASE = b"return redis.call('ZREM', KEYS[1], unpack(ARGV))"
_TERSE = "Rate limit exceeded"
_REASONS = {
    "minute": "Client query limit reached.",
    "hour": "Hourly query budget reached.",
    "day": "Daily query budget reached.",
}
_SCHEMES = ("redis://", "rediss://", "redis+unix://")


class Window(Struct, frozen=True):
    """At most `limit` requests in each stretch of `seconds`: of one client, or of all clients together."""

    name: str
    seconds: int
    limit: int
    of_all: bool = False


class Policy(Struct, frozen=True):
    """What a function allows. `budget` keeps its counts apart from other functions' in one Redis; 0 is no limit.

    `terse` refuses in the words that NLWeb's clients know: "Rate limit exceeded", and the reason as `detail`.
    """

    budget: str
    windows: tuple[Window, ...] = ()
    concurrent: int = 0
    lease_s: float = 120.0
    terse: bool = False

    @classmethod
    def of_tables(cls, settings: Settings, budget: str = "search") -> Policy:
        """A day's searches of each client, and how many may be under way."""
        day = Window("day", DAY_S, settings.search_limit_per_day)
        lease_s = settings.query_timeout_s + LEASE_SLACK_S
        return cls(budget, _limiting(day), settings.search_max_concurrent, lease_s)

    @classmethod
    def of_site(cls, settings: Settings, budget: str) -> Policy:
        """A minute's requests of each client, an hour's and a day's of all, and how many may be under way."""
        windows = _limiting(
            Window("minute", MINUTE_S, settings.rate_limit_per_minute),
            Window("hour", HOUR_S, settings.rate_limit_per_hour, of_all=True),
            Window("day", DAY_S, settings.rate_limit_per_day, of_all=True),
        )
        return cls(budget, windows, settings.max_concurrent, settings.ask_timeout_s + LEASE_SLACK_S, terse=True)


class Gate:
    """Lets a paid request pass, or raises QuotaExceeded or Busy. One for each function; safe between threads."""

    def __init__(self, policy: Policy, settings: Settings, clock: Clock = time.time) -> None:
        self._policy = policy
        self._clock = clock
        self._counts: Counts = RedisCounts(url) if (url := settings.rate_limit_storage_url) else MemoryCounts()

    @contextmanager
    def passing(self, client: str, headers: dict[str, str]) -> Iterator[None]:
        """One request of this client. Puts what is left to it into `headers`, also when it raises.

        It never waits for its turn, and a request that finds no room costs nothing.
        """
        lease = os.urandom(8).hex()
        place = self._counts.acquire(self._policy, lease) if self._policy.concurrent else "uncounted"
        if place == "none":
            raise _busy(self._policy)
        try:
            self._charge(client, headers)
            yield
        finally:
            if place == "taken":
                self._counts.release(self._policy, lease)

    def _charge(self, client: str, headers: dict[str, str]) -> None:
        """Count the request in every window until one is full. Those after it are not charged for a refusal."""
        left = []
        for window in self._policy.windows:
            now = self._clock()
            ends = (now // window.seconds + 1) * window.seconds
            used = self._counts.add(_key(self._policy, window, client, ends), ends, now)
            if used is None:
                continue
            left.append(f'"{window.name}";r={max(0, window.limit - used)};t={math.ceil(ends - now)}')
            headers["RateLimit-Policy"] = ", ".join(
                f'"{w.name}";q={w.limit};w={w.seconds}' for w in self._policy.windows
            )
            headers["RateLimit"] = ", ".join(left)
            if used > window.limit:
                raise _used_up(self._policy, window, math.ceil(ends - now))


class Counts(Protocol):
    """Where requests are counted. What cannot be counted now is None, and passes."""

    def add(self, key: str, ends: float, now: float) -> int | None:
        """Count one more under a key that is forgotten when its window ends; how many that makes."""

    def acquire(self, policy: Policy, lease: str) -> Place:
        """Take a place among the requests under way, if there is one."""

    def release(self, policy: Policy, lease: str) -> None:
        """Give back a place that was taken."""


class MemoryCounts:
    """Counts of this process alone, gone with it. Never more than MOST_COUNTS of them."""

    def __init__(self, most: int = MOST_COUNTS) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._used: dict[str, tuple[int, float]] = {}
        self._under_way = 0

    def __len__(self) -> int:
        return len(self._used)

    def add(self, key: str, ends: float, now: float) -> int:
        """As `Counts` says."""
        with self._lock:
            used = self._used.get(key, (0, ends))[0] + 1
            self._used[key] = (used, ends)
            if len(self._used) > self._most:
                self._prune(now)
        return used

    def acquire(self, policy: Policy, lease: str) -> Place:
        """As `Counts` says."""
        del lease  # whoever holds one here dies with it
        with self._lock:
            if self._under_way >= policy.concurrent:
                return "none"
            self._under_way += 1
            return "taken"

    def release(self, policy: Policy, lease: str) -> None:
        """As `Counts` says."""
        del policy, lease
        with self._lock:
            self._under_way -= 1

    def _prune(self, now: float) -> None:
        """Forget the windows that ended; if that is not enough, the clients that asked least."""
        live = {key: count for key, count in self._used.items() if count[1] > now}
        if len(live) > self._most // 2:
            live = dict(nlargest(self._most // 2, live.items(), key=lambda item: item[1][0]))
        self._used = live


class RedisCounts:
    """Counts that all instances share."""

    def __init__(self, url: str) -> None:
        _check(url)
        self._url = url
        self._lock = threading.Lock()
        self._made: RedisStorage | None = None
        self._owed: dict[str, None] = {}
        self._left_alone_until = 0.0
        self._failing = False

    def add(self, key: str, ends: float, now: float) -> int | None:
        """As `Counts` says."""
        return self._asked(lambda redis: redis.incr(key, math.ceil(ends - now) + 1), None)

    def acquire(self, policy: Policy, lease: str) -> Place:
        """As `Counts` says. A lease whose holder died runs out by itself."""
        owed = self._owes()
        arguments: list[str | float] = [policy.concurrent, lease, policy.lease_s, *owed]
        if self._is_left_alone:
            return "uncounted"
        taken = self._asked(lambda redis: bool(_run(redis, _ACQUIRE, _leases(policy), *arguments)), None)
        if taken is None:
            # It may still be read and obeyed, by a Redis that was stopped for a moment and goes on.
            self._owes(lease)
            return "uncounted"
        self._paid(owed)
        return "taken" if taken else "none"

    def release(self, policy: Policy, lease: str) -> None:
        """As `Counts` says. What cannot be given back now is given back with the next lease."""
        owed = self._owes(lease)
        if self._asked(lambda redis: _run(redis, _RELEASE, _leases(policy), *owed), None) is not None:
            self._paid(owed)

    def _owes(self, *leases: str) -> list[str]:
        """All leases to be given back, with these."""
        with self._lock:
            self._owed.update(dict.fromkeys(leases))
            for oldest in list(self._owed)[:-_MOST_OWED]:
                del self._owed[oldest]
            return list(self._owed)

    def _paid(self, leases: Iterable[str]) -> None:
        with self._lock:
            for lease in leases:
                self._owed.pop(lease, None)

    @property
    def _is_left_alone(self) -> bool:
        return time.monotonic() < self._left_alone_until

    def _asked(self, work: Callable[[RedisStorage], R], otherwise: R) -> R:
        """What Redis says, or `otherwise` where it does not answer or failed a moment ago."""
        if self._is_left_alone:
            return otherwise
        redis = self._storage()
        try:
            found = work(redis)
        except redis.base_exceptions as error:
            self._fail(error)
            return otherwise
        if self._failing:
            self._failing = False
            log.info("limits are counted again: Redis answers")
        return found

    def _fail(self, error: Exception) -> None:
        self._left_alone_until = time.monotonic() + REDIS_PAUSE_S
        if not self._failing:
            log.warning("limits are not counted, every request passes: Redis failed with %s", type(error).__name__)
        self._failing = True

    def _storage(self) -> RedisStorage:
        with self._lock:
            if self._made is None:
                self._made = _connect(self._url)
            return self._made


def _check(url: str) -> None:
    """Refuse what no client could connect to. Raises SettingsError, which does not show it: a password may be in it."""
    if not url.startswith(_SCHEMES):
        raise SettingsError(f"RATE_LIMIT_STORAGE_URL must begin with one of {', '.join(_SCHEMES)}")
    try:
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")
        fits = parts.port != 0 and not parts.query  # an option that the client does not know would fail each request
    except ValueError:
        fits = False
    if not fits:
        raise SettingsError("RATE_LIMIT_STORAGE_URL must be redis://[user:password@]host[:port][/database] and no more")


def _connect(url: str) -> RedisStorage:
    """A client that connects when first asked. A broken connection is tried once more: a pooled one may be stale."""
    from limits.storage import RedisStorage
    from redis.backoff import NoBackoff
    from redis.exceptions import ConnectionError as Broken
    from redis.retry import Retry

    options: dict[str, Any] = {
        "socket_timeout": REDIS_TIMEOUT_S,
        "socket_connect_timeout": REDIS_TIMEOUT_S,
        "retry": Retry(NoBackoff(), 1, supported_errors=(Broken,)),
    }
    return RedisStorage(url, key_prefix="askbucket", **options)


def _run(redis: RedisStorage, script: bytes, key: str, *arguments: str | float) -> object:
    """A script's answer; it is sent whole only when the server does not know it yet."""
    return redis.get_connection().register_script(script)([key], arguments)


def _limiting(*windows: Window) -> tuple[Window, ...]:
    """Those that limit anything: a limit of 0 is none."""
    return tuple(window for window in windows if window.limit)


def _key(policy: Policy, window: Window, client: str, ends: float) -> str:
    return f"{policy.budget}/{window.name}/{int(ends)}/{'all' if window.of_all else client}"


def _leases(policy: Policy) -> str:
    return f"askbucket:{policy.budget}/leases"


def _busy(policy: Policy) -> Busy:
    if policy.terse:
        return Busy(_TERSE, detail="Too many queries are already running.", retry_after_s=1)
    answered = counted(policy.concurrent, "request is", "requests are")
    return Busy(f"{answered} being answered already", retry_after_s=1)


def _used_up(policy: Policy, window: Window, seconds: int) -> QuotaExceeded:
    if policy.terse:
        return QuotaExceeded(_TERSE, detail=_REASONS[window.name], retry_after_s=seconds)
    whose = "of all callers together" if window.of_all else "of this address"
    are = "is" if window.limit == 1 else "are"
    return QuotaExceeded(
        f"The {counted(window.limit, 'request')} a {window.name} {whose} {are} used up",
        detail={"window": window.name, "limit": window.limit},
        retry_after_s=seconds,
    )
