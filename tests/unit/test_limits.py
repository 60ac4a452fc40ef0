"""Windows that count and leases that are given back, in memory and in a real Redis."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from redis_server import Redis, redis_server

from shared.edge import limits
from shared.edge.limits import DAY_S, Gate, MemoryCounts, Policy, RedisCounts, Window
from shared.errors import Busy, QuotaExceeded, SettingsError
from shared.settings import Settings

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def gate(*windows: Window, concurrent: int = 0, clock: Clock | None = None, url: str = "", lease_s: float = 60) -> Gate:
    policy = Policy("test", windows, concurrent, lease_s)
    return Gate(policy, Settings(rate_limit_storage_url=url), clock or Clock())


def ask(of: Gate, client: str = "a") -> dict[str, str]:
    """One request that passes; the headers of its reply."""
    headers: dict[str, str] = {}
    with of.passing(client, headers):
        pass
    return headers


def refused(of: Gate, client: str = "a") -> QuotaExceeded:
    with pytest.raises(QuotaExceeded) as raised:
        ask(of, client)
    return raised.value


def passed(of: Gate, times: int, client: str = "a") -> int:
    """How many of so many requests passed."""
    count = 0
    for _ in range(times):
        try:
            ask(of, client)
            count += 1
        except QuotaExceeded:
            pass
    return count


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Redis that is slow because the machine is busy is waited for: one that is given up lets everything pass."""
    monkeypatch.setattr(limits, "REDIS_TIMEOUT_S", 60.0)


@pytest.fixture(scope="module")
def redis() -> Iterator[Redis]:
    with redis_server() as redis:
        yield redis


@pytest.fixture(params=["memory", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    """Where counts are kept; every test has its own numbers by its own clock."""
    return "" if request.param == "memory" else request.getfixturevalue("redis").url


@pytest.fixture
def clock(request: pytest.FixtureRequest) -> Clock:
    """Noon of a day of this test's own, so that counts left in Redis by another test are of another day."""
    return Clock(NOON + DAY_S * (abs(hash(request.node.nodeid)) % 100_000))


DAY = Window("day", DAY_S, 3)


def test_a_client_has_its_limit_and_then_waits_for_utc_midnight(url: str, clock: Clock) -> None:
    of = gate(DAY, clock=clock, url=url)
    assert passed(of, 5) == 3
    clock.now += 3600.25
    error = refused(of)
    assert (error.status, error.code, error.error_code) == (429, "quota_exceeded", "RATE_LIMIT_EXCEEDED")
    assert error.retry_after_s == 11 * 3600  # 10:59:59.75 is 11 hours to the second, rounded up
    assert error.detail == {"window": "day", "limit": 3}
    assert passed(of, 5, client="b") == 3
    clock.now += error.retry_after_s - 1
    refused(of)
    clock.now += 1
    assert passed(of, 5) == 3


def test_the_headers_say_what_is_left_also_on_a_refusal(url: str, clock: Clock) -> None:
    of = gate(DAY, clock=clock, url=url)
    seen = [ask(of) for _ in range(3)]
    assert [headers["RateLimit"] for headers in seen] == [f'"day";r={left};t=43200' for left in (2, 1, 0)]
    assert {headers["RateLimit-Policy"] for headers in seen} == {'"day";q=3;w=86400'}
    headers: dict[str, str] = {}
    with pytest.raises(QuotaExceeded), of.passing("a", headers):
        raise AssertionError("it passed")
    assert headers["RateLimit"] == '"day";r=0;t=43200'


def test_a_site_counts_minutes_by_client_and_hours_and_days_together(url: str, clock: Clock) -> None:
    clock.now += 30.5
    minute, hour = Window("minute", 60, 2), Window("hour", 3600, 3, of_all=True)
    of = gate(minute, hour, clock=clock, url=url)
    assert passed(of, 5, "a") == 2
    assert refused(of, "a").retry_after_s == 30
    assert passed(of, 5, "b") == 1, "what the minute refused was not charged to the hour"
    error = refused(of, "c")
    assert error.retry_after_s == 3600 - 30
    assert "of all callers" in error.message


def test_no_limit_counts_nothing_and_says_nothing() -> None:
    settings = Settings(search_limit_per_day=0)
    of = Gate(Policy.of_tables(settings), settings)
    assert [ask(of) for _ in range(3)] == [{}, {}, {}]


def test_the_defaults_are_those_of_production() -> None:
    assert Policy.of_tables(Settings()).windows == (Window("day", 86_400, 10_000),)
    site = Policy.of_site(Settings(), "recipes")
    assert [(window.name, window.limit, window.of_all) for window in site.windows] == [
        ("minute", 50, False),
        ("hour", 1_000, True),
        ("day", 10_000, True),
    ]
    assert site.concurrent == 4


def test_C04_beyond_the_places_a_request_is_refused_at_once_and_costs_nothing(url: str, clock: Clock) -> None:
    of = gate(DAY, concurrent=2, clock=clock, url=url)
    with ExitStack() as under_way:
        for _ in range(2):
            under_way.enter_context(of.passing("a", {}))
        with pytest.raises(Busy) as raised, of.passing("a", {}):
            raise AssertionError("it passed")
        assert (raised.value.status, raised.value.code, raised.value.retry_after_s) == (429, "busy", 1)
    assert passed(of, 3) == 1, "of three, two were used"


def test_C04_a_place_is_given_back_whatever_the_request_came_to(url: str, clock: Clock) -> None:
    of = gate(replace(DAY, limit=1), concurrent=1, clock=clock, url=url)
    with pytest.raises(ZeroDivisionError), of.passing("a", {}):
        raise ZeroDivisionError
    for _ in range(3):
        refused(of)
    ask(of, "b")


def test_C01_a_burst_of_threads_never_passes_more_than_the_limit(url: str, clock: Clock) -> None:
    of = gate(replace(DAY, limit=100), clock=clock, url=url)
    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(lambda _: passed(of, 25), range(8))) == 100


def test_C02_the_table_of_clients_is_bounded_and_keeps_those_who_asked_most() -> None:
    counts = MemoryCounts(most=1_000)
    for _ in range(5):
        counts.add("loud", NOON + 60, NOON)
    for number in range(20_000):
        counts.add(f"quiet {number}", NOON + 60, NOON)
        assert len(counts) <= 1_000
    assert counts.add("loud", NOON + 60, NOON) == 6
    assert limits.MOST_COUNTS == 50_000


def test_C05_a_flood_of_clients_never_keeps_more_than_fifty_thousand() -> None:
    of = gate(DAY)
    counts = of._counts
    assert isinstance(counts, MemoryCounts)
    for number in range(60_000):
        ask(of, f"2001:db8:{number:x}::/64")
        assert len(counts) <= 50_000
    assert passed(of, 5, "one more") == 3


def test_C02_windows_that_ended_are_forgotten_first() -> None:
    counts = MemoryCounts(most=100)
    for number in range(100):
        counts.add(f"yesterday {number}", NOON, NOON - 10)
    for number in range(40):
        counts.add(f"today {number}", NOON + 60, NOON + 1)
    assert len(counts) == 40


def test_C03_two_instances_share_one_redis_and_otherwise_count_alone(redis: Redis, clock: Clock) -> None:
    first, second = (gate(DAY, clock=clock, url=redis.url) for _ in range(2))
    assert passed(first, 2) + passed(second, 5) == 3
    first, second = (gate(DAY, clock=clock) for _ in range(2))
    assert passed(first, 5) + passed(second, 5) == 6


def test_C03_functions_with_one_redis_have_budgets_of_their_own(redis: Redis, clock: Clock) -> None:
    search, mcp = (
        Gate(Policy(budget, (DAY,), 1), Settings(rate_limit_storage_url=redis.url), clock)
        for budget in ("search", "mcp")
    )
    with search.passing("a", {}):
        assert passed(mcp, 5) == 3


def test_C04_a_lease_whose_holder_died_runs_out(redis: Redis, clock: Clock) -> None:
    died, alive = (gate(concurrent=1, url=redis.url, lease_s=lease_s, clock=clock) for lease_s in (0.05, 600))
    first = died.passing("a", {})
    first.__enter__()

    def is_free() -> bool:
        with suppress(Busy):
            ask(alive)
            return True
        return False

    assert until(is_free)
    with alive.passing("a", {}), pytest.raises(Busy):
        ask(alive)


def test_a_redis_that_does_not_answer_lets_requests_through_and_is_asked_again(
    clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REDIS_TIMEOUT_S", 2.0)
    caplog.set_level(logging.INFO, logger="shared")
    with redis_server() as redis:
        of = gate(DAY, concurrent=1, clock=clock, url=redis.url)
        assert passed(of, 5) == 3
        with redis.frozen():
            assert passed(of, 5) == 5
            assert "RateLimit" not in ask(of)
        assert until(lambda: passed(of, 1) == 0), "what was counted before it froze still counts"
        redis.stop()
        assert passed(of, 5) == 5
        redis.start()
        assert until(lambda: "RateLimit" in ask(of, "b"))
    said = [record.getMessage() for record in caplog.records if record.name == "shared.edge.limits"]
    assert [line.split(",")[0].split(":")[0] for line in said] == [
        "limits are not counted",
        "limits are counted again",
    ] * 2
    assert not any("redis://" in line for line in said)


def test_a_redis_that_was_never_there_lets_requests_through(clock: Clock) -> None:
    assert passed(gate(DAY, concurrent=1, clock=clock, url="redis://127.0.0.1:1/0"), 5) == 5


@pytest.mark.parametrize(
    "wrong",
    [
        "http://127.0.0.1", "redis://[bad", "redis://127.0.0.1:abc", "redis://127.0.0.1:99999", "redis://a..b",
        "redis://:hidden@127.0.0.1/0?unheard_of=1", "redis://127.0.0.1/0?socket_timeout=soon",
    ],
)  # fmt: skip
def test_an_address_that_is_no_redis_stops_the_function_when_it_is_made(wrong: str) -> None:
    with pytest.raises(SettingsError, match="RATE_LIMIT_STORAGE_URL") as refused:
        gate(url=wrong)
    assert "hidden" not in refused.value.message


def test_threads_that_hold_places_at_once_are_never_more_than_the_places(url: str, clock: Clock) -> None:
    of = gate(concurrent=3, clock=clock, url=url)
    lock, inside, most = threading.Lock(), 0, 0

    def request(_: int) -> None:
        nonlocal inside, most
        try:
            with of.passing("a", {}):
                with lock:
                    inside += 1
                    most = max(most, inside)
                time.sleep(0.001)
                with lock:
                    inside -= 1
        except Busy:
            pass

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(request, range(200)))
    assert 1 <= most <= 3


def until(condition: object, timeout_s: float = 60.0) -> bool:
    """Whether it becomes true before long."""
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_a_redis_that_stays_away_is_owed_no_more_leases_than_one_script_gives_back() -> None:
    counts = RedisCounts("redis://127.0.0.1:1/0")
    for number in range(1_200):
        counts._owes(f"lease-{number}")
    assert counts._owes()[0] == "lease-200"
    assert len(counts._owes()) == 1_000


def test_one_request_is_said_in_the_singular() -> None:
    of = gate(Window("minute", 60, 1, of_all=True), concurrent=1)
    with of.passing("a", {}), pytest.raises(Busy) as busy, of.passing("b", {}):
        pass
    assert busy.value.message == "1 request is being answered already"
    assert refused(of).message == "The 1 request a minute of all callers together is used up"
