"""The parts of the gateway that are no wire: waits, prices, spend, breaker, cache, address."""

from __future__ import annotations

import pytest
from fakes.asking import Clock
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import BudgetExhausted, ModelUnavailable, SettingsError
from shared.models.breaker import Breaker
from shared.models.caches import ENTRY_BYTES, Cache, cache_key
from shared.models.gateway import Gateway
from shared.models.prices import price_usd
from shared.models.retry import Pace, is_retried, server_wait_s
from shared.models.spend import Spend
from shared.settings import Settings

NOON = 1_793_448_000.0  # 2026-10-31 12:00:00 UTC


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 2.5 "}, 2.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Sat, 31 Oct 2026 12:00:20 GMT"}, 20.0),
        ({"retry-after": "Saturday, 31-Oct-26 12:00:20 GMT"}, 20.0),
        ({"retry-after": "Sat, 31 Oct 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "0"}, 0.0),
        *[({"retry-after": bad}, None) for bad in ("", "soon", "-1", "nan", "inf", "Sat, 99 Oct 2026 12:00:20 GMT")],
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({}, None),
    ],
)
def test_a_wait_is_read_in_all_three_forms(headers, wait_s):
    assert server_wait_s(headers, NOON) == wait_s


def test_without_a_word_from_the_server_the_back_off_doubles_up_to_half_a_minute():
    assert [Pace().wait_s(attempt, {}) for attempt in (*range(7), 5_000)] == [1, 2, 4, 8, 16, 30, 30, 30]


@given(st.text(max_size=60))
def test_no_header_ever_breaks_the_reading_of_a_wait(text):
    wait = server_wait_s({"retry-after": text, "retry-after-ms": text}, NOON)
    assert wait is None or 0 <= wait < float("inf")


def test_only_what_speaks_of_the_moment_is_tried_again():
    tried = {status for status in range(100, 600) if is_retried(status)}
    assert tried == {408, 409, 429, *range(500, 600)}


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        ("openai/gpt-oss-20b", 0.19), ("openai/gpt-oss-120b:nitro", 0.54), ("openai/text-embedding-3-small", 0.02),
        ("text-embedding-3-large", 0.13), ("nomic-embed-text", 0.0), ("somebody/else", 0.0),
    ],
)  # fmt: skip
def test_a_million_tokens_each_way_cost_what_the_table_says(model, usd):
    assert price_usd(model, 1_000_000, 1_000_000) == pytest.approx(usd)


def test_the_budget_of_a_day_ends_at_midnight_utc():
    wall = Clock(NOON)
    spend = Spend(1.0, wall)
    spend.add(0.6)
    spend.check()
    spend.add(0.4)
    with pytest.raises(BudgetExhausted) as refused:
        spend.check()
    assert refused.value.retry_after_s == 12 * 3600
    wall.now += 12 * 3600
    spend.check()
    assert spend.today_usd == 0.0


def test_without_a_limit_any_spend_is_counted_and_none_refused():
    spend = Spend(0.0, Clock(NOON))
    spend.add(1e6)
    spend.check()
    assert spend.today_usd == 1e6


def call(breaker: Breaker, good: bool | None) -> None:
    with breaker.watch() as health:
        health.good = good


def test_the_breaker_opens_after_failures_in_a_row_and_says_when_to_come_back():
    clock = Clock()
    breaker = Breaker(3, 15.0, clock)
    for good in (False, False, True, False, None, False):
        call(breaker, good)
    assert breaker.state == "closed"
    call(breaker, False)
    clock.now += 4.5
    with pytest.raises(ModelUnavailable) as refused:
        call(breaker, True)
    assert (breaker.state, refused.value.retry_after_s) == ("open", 11)


def test_an_open_breaker_lets_one_probe_through_and_closes_when_it_succeeds():
    clock = Clock()
    breaker = Breaker(1, 15.0, clock)
    call(breaker, False)
    clock.now += 15
    assert breaker.state == "half-open"
    with breaker.watch() as probe:
        with pytest.raises(ModelUnavailable):
            call(breaker, True)
        probe.good = True
    assert breaker.state == "closed"


def test_a_failed_probe_opens_the_breaker_anew_and_a_cancelled_one_leaves_room_for_the_next():
    clock = Clock()
    breaker = Breaker(2, 15.0, clock)
    call(breaker, False)
    call(breaker, False)
    clock.now += 15
    call(breaker, None)
    assert breaker.state == "half-open"
    call(breaker, False)
    assert breaker.state == "open"


def test_a_breaker_of_zero_never_opens():
    breaker = Breaker(0, 15.0, Clock())
    for _ in range(50):
        call(breaker, False)
    assert breaker.state == "closed"


def test_C05_a_flood_of_distinct_keys_stays_within_both_bounds():
    by_entries: Cache[bytes] = Cache(100, 10**9, len)
    by_bytes: Cache[bytes] = Cache(10**9, 50_000, len)
    for number in range(10_000):
        for cache in (by_entries, by_bytes):
            cache.put(cache_key("question", str(number)), b"x" * (number % 700))
            assert cache.describe()["entries"] <= 100 or cache is by_bytes
            assert cache.describe()["bytes"] <= 50_000 or cache is by_entries
    assert by_entries.describe()["entries"] == 100
    assert by_bytes.describe()["bytes"] > 45_000


def test_C05_the_least_recently_used_goes_first_and_a_replaced_value_is_counted_once():
    cache: Cache[bytes] = Cache(2, 10**6, len)
    for name in ("a", "b", "a", "a"):
        cache.put(cache_key(name), name.encode() * 10)
    assert cache.describe()["bytes"] == 2 * (10 + ENTRY_BYTES)
    assert cache.get(cache_key("b")) == b"b" * 10
    cache.put(cache_key("c"), b"c")
    assert (cache.get(cache_key("a")), cache.get(cache_key("b"))) == (None, b"b" * 10)


def test_C05_one_value_too_large_is_not_kept_and_pushes_nothing_out():
    cache: Cache[bytes] = Cache(10, 1_000, len)
    cache.put(cache_key("small"), b"x")
    cache.put(cache_key("large"), b"x" * 1_001)
    assert (cache.get(cache_key("small")), cache.get(cache_key("large"))) == (b"x", None)


def test_C05_a_cache_of_no_entries_keeps_nothing():
    cache: Cache[bytes] = Cache(0, 1_000, len)
    cache.put(cache_key("a"), b"x")
    assert cache.describe() == {"entries": 0, "bytes": 0, "hits": 0, "misses": 0}


def test_C05_keys_of_parts_that_join_to_the_same_text_differ():
    assert cache_key("ab", "c") != cache_key("a", "bc") != cache_key("abc")
    assert len(cache_key("x" * 10**6, "\ud800")) == 32


@pytest.mark.parametrize(
    "url",
    ["", "openrouter.ai/api", "ftp://host/v1", "http://", "http://host:0/", "http://host:99999/", "http://me:pw@host/",
     f"http://{'x' * 64}.org/", "https://host/v1?key=1"],
)  # fmt: skip
def test_an_address_that_no_request_can_go_to_is_refused_at_start(url):
    with pytest.raises(SettingsError, match="OPENROUTER_BASE_URL"):
        Gateway(Settings(openrouter_base_url=url))


def test_M09_without_a_key_the_models_say_what_to_set():
    gateway = Gateway(Settings())
    for opened in (gateway.judge, lambda: gateway.embedder("openai/text-embedding-3-small", 1536)):
        with pytest.raises(ModelUnavailable, match="OPENROUTER_API_KEY"):
            opened()


def test_the_key_shows_in_no_repr_and_in_no_refusal():
    settings = Settings.from_env({"OPENROUTER_API_KEY": "sk-or-secret"})
    assert settings.openrouter_api_key == "sk-or-secret"
    assert "secret" not in repr(settings)
    assert "secret" not in str(settings.__rich_repr__())
    with pytest.raises(SettingsError) as refused:
        Settings.from_env({"OPENROUTER_API_KEY": "sk-or-secret\r\nX-Evil: 1"})
    assert "sk-or" not in str(refused.value)
