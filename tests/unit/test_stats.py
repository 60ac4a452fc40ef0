"""Counting searches: over a day, over instances, over restarts and a bucket that fails."""

from __future__ import annotations

import json
import math
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fakes.openrouter import KEY, OpenRouter
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from shared.bucket.file import FileBucket
from shared.contracts.stats import DayTally
from shared.contracts.strict import read
from shared.edge.exchange import Answered
from shared.edge.stats import spread
from shared.edge.stats.distinct import Distinct
from shared.edge.stats.recorder import Recorder
from shared.edge.stats.sums import Sums
from shared.edge.stats.tally import Tally
from shared.errors import BucketError, ModelUnavailable, SettingsError
from shared.models.account import key_spend_usd, model_ids
from shared.settings import Settings

DAY_S = 86_400
# A tenth of a second, as the upper end of its bucket.
TENTH = {"median": 0.1067, "p95": 0.1067}
# 2026-10-09, at noon.
NOON = 1_791_547_200.0


class Clock:
    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def answered(outcome: str = "answered", status: int = 200, client: str = "192.0.2.1", **usage: Any) -> Answered:
    by_model = {
        name: {"calls": calls, "tokens": tokens, "cost_usd": usd} for name, (calls, tokens, usd) in usage.items()
    }
    events = [{"model": name, "elapsed_ms": 100} for name, (calls, *_) in usage.items() for _ in range(calls)]
    return Answered("/search", "POST", status, outcome, 0.1, client, {"by_model": by_model, "call_events": events}, [])


def settings_of(folder: Path, **more: Any) -> Settings:
    return Settings(stats_url=f"file://{folder / 'stats'}", stats_flush_s=more.pop("stats_flush_s", 0.0), **more)


def an_instance(settings: Settings, clock: Clock | None = None) -> Recorder:
    return Recorder(settings, clock or Clock())


def shown(settings: Settings, clock: Clock | None = None, days: int = 30) -> dict[str, Any]:
    """What a stats function of its own says."""
    clock = clock or Clock()
    return Sums(settings, Recorder(settings, clock), clock).shown(days)


def written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (folder / "stats").rglob("*") if path.is_file())


def test_a_day_counts_what_came_of_its_searches_and_what_they_cost(tmp_path: Path):
    settings = settings_of(tmp_path)
    recorder = an_instance(settings)
    recorder(answered(judge=(2, 100, 0.02)))
    recorder(answered("no_match", judge=(1, 50, 0.01), embedder=(1, 5, 0.0)))
    recorder(answered("failed", 503, client="192.0.2.2"))
    recorder.flush()
    told = shown(settings)
    day = {
        "searches": 3, "with_results": 1, "no_match": 1, "failed": 1, "callers": 2, "calls": 4, "tokens": 155,
        "cost_usd": 0.03, "latency_seconds": TENTH, "sites": {},
    }  # fmt: skip
    models = {
        "embedder": {"calls": 1, "tokens": 5, "cost_usd": 0.0, "latency_seconds": TENTH},
        "judge": {"calls": 3, "tokens": 150, "cost_usd": 0.03, "latency_seconds": TENTH},
    }
    assert told["days"] == {"2026-10-09": {**day, "models": models}}
    assert (told["scope"], told["total"], told["models"], told["notices"]) == ("all", day, models, [])


def test_a_request_the_caller_got_wrong_is_no_search(tmp_path: Path):
    recorder = an_instance(settings_of(tmp_path))
    recorder(answered("refused", 400))
    recorder(answered("refused", 429))
    assert recorder.tallies() == {}


@pytest.mark.parametrize(
    ("outcome", "status", "counted"),
    [
        ("answered", 200, "with_results"),
        ("no_match", 200, "no_match"),
        ("left", 200, "left"),
        ("failed", 200, "failed"),
        ("failed", 503, "failed"),
    ],
)
def test_a_question_to_a_site_counts_there_with_what_came_of_it(
    tmp_path: Path, outcome: str, status: int, counted: str
):
    settings = settings_of(tmp_path)
    recorder = an_instance(settings)
    recorder.of_site("movies")(replace(answered(outcome, status, ranker=(3, 30, 0.003)), route="/ask"))
    recorder.flush()
    day = shown(settings)["days"]["2026-10-09"]
    none = {"with_results": 0, "no_match": 0, "failed": 0, "left": 0}
    took = TENTH if counted in ("with_results", "no_match") else {"median": None, "p95": None}
    assert day["sites"] == {"movies": {"asks": 1, **none, counted: 1, "latency_seconds": took}}
    assert (day["searches"], day["callers"], day["calls"], day["models"]["ranker"]["calls"]) == (0, 1, 3, 3)


def test_what_a_site_is_not_asked_does_not_count(tmp_path: Path):
    recorder = an_instance(settings_of(tmp_path))
    note = recorder.of_site("movies")
    for route, method, status in [
        ("/who", "GET", 200),
        ("/mcp", "POST", 200),
        ("/ask", "HEAD", 200),
        ("/ask", "GET", 429),
    ]:
        note(replace(answered(status=status), route=route, method=method))
    assert recorder.tallies() == {}


def test_instances_add_up_and_a_restarted_one_takes_nothing_away(tmp_path: Path):
    settings = settings_of(tmp_path)
    for client in ("192.0.2.1", "192.0.2.2", "192.0.2.1"):
        recorder = an_instance(settings)
        recorder(answered(client=client, judge=(1, 10, 0.001)))
        recorder.flush()
    day = shown(settings)["days"]["2026-10-09"]
    assert (day["searches"], day["callers"], day["cost_usd"]) == (3, 2, 0.003)


def test_no_address_is_ever_written(tmp_path: Path):
    settings = settings_of(tmp_path)
    recorder = an_instance(settings)
    for number in range(100):
        recorder(answered(client=f"192.0.2.{number}"))
    recorder.flush()
    assert b"192.0.2" not in written(tmp_path)
    assert shown(settings)["days"]["2026-10-09"]["callers"] == pytest.approx(100, abs=4)


def test_the_salt_of_a_day_is_the_same_for_all_and_gone_after_the_next_day(tmp_path: Path):
    settings, clock = settings_of(tmp_path), Clock()
    for _ in range(3):
        for recorder in (an_instance(settings, clock), an_instance(settings, clock)):
            recorder(answered())
            recorder.flush()
        clock.now += DAY_S
    salts = sorted((tmp_path / "stats" / "salts").glob("2*"))
    assert [path.name for path in salts] == ["2026-10-10", "2026-10-11"]
    assert len({path.read_bytes() for path in salts}) == 2
    assert [day["callers"] for day in shown(settings, clock)["days"].values()] == [1, 1, 1]


def test_a_new_day_is_a_new_object_and_the_old_one_stays(tmp_path: Path):
    settings, clock = settings_of(tmp_path), Clock()
    recorder = an_instance(settings, clock)
    for _ in range(4):
        recorder(answered())
        recorder.flush()
        clock.now += DAY_S
    assert [day["searches"] for day in shown(settings, clock)["days"].values()] == [1, 1, 1, 1]
    assert len(recorder.tallies()) == 2


def test_a_bucket_that_fails_loses_nothing_once_it_is_back(tmp_path: Path):
    settings = settings_of(tmp_path)
    recorder = an_instance(settings)
    (tmp_path / "stats").write_text("a file where the folder should be")
    recorder(answered())
    recorder.flush()
    with pytest.raises(BucketError):
        shown(settings)
    (tmp_path / "stats").unlink()
    recorder.flush()
    assert shown(settings)["days"]["2026-10-09"]["searches"] == 1


def test_what_is_due_is_written_beside_a_request(tmp_path: Path):
    an_instance(settings_of(tmp_path))(answered())
    deadline = time.monotonic() + 30
    while not list((tmp_path / "stats").glob("2026-10-09/*.json")):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_is_not_due_is_not_written(tmp_path: Path):
    recorder = an_instance(settings_of(tmp_path, stats_flush_s=3600.0))
    for _ in range(3):
        recorder(answered())
    assert not (tmp_path / "stats").exists()


def test_without_a_bucket_a_process_tells_its_own_and_says_so():
    settings = Settings()
    recorder = Recorder(settings, Clock())
    recorder(answered())
    told = Sums(settings, recorder, Clock()).shown(30)
    assert told["scope"] == "instance"
    assert told["days"]["2026-10-09"]["searches"] == told["days"]["2026-10-09"]["callers"] == 1


def test_a_process_that_counts_and_tells_shows_its_own_numbers_at_once_and_only_once(tmp_path: Path):
    settings = settings_of(tmp_path, stats_flush_s=3600.0)
    recorder = an_instance(settings)
    sums = Sums(settings, recorder, Clock())
    recorder(answered())
    recorder.flush()
    for expected in (2, 3, 4):
        recorder(answered())
        assert sums.shown(30)["days"]["2026-10-09"]["searches"] == expected


def test_sums_are_kept_and_old_days_are_read_once(tmp_path: Path):
    settings, clock = settings_of(tmp_path), Clock()
    old = an_instance(settings, clock)
    old(answered())
    old.flush()
    clock.now += 5 * DAY_S
    sums = Sums(settings, Recorder(settings, clock), clock)
    assert sums.shown(30)["total"]["searches"] == 1
    [path] = (tmp_path / "stats" / "2026-10-09").glob("*.json")
    path.write_bytes(b"never read again")
    assert (sums.shown(30)["total"]["searches"], sums.shown(30)["notices"]) == (1, [])
    late = an_instance(settings, Clock())
    late(answered())
    late.flush()
    assert sums.shown(30)["total"]["searches"] == 2


def test_days_before_the_window_are_left_out(tmp_path: Path):
    settings, clock = settings_of(tmp_path), Clock()
    for _ in range(3):
        recorder = an_instance(settings, clock)
        recorder(answered())
        recorder.flush()
        clock.now += DAY_S
    clock.now -= DAY_S
    assert list(shown(settings, clock, days=2)["days"]) == ["2026-10-11", "2026-10-10"]


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"searches": -1}', b'{"searches": true}', b'{"callers": "AAAA"}', b"\xff"]
)
def test_counters_that_cannot_be_read_are_told(tmp_path: Path, data: bytes):
    settings = settings_of(tmp_path)
    FileBucket(settings.stats_url).put("2026-10-09/broken.json", data)
    recorder = an_instance(settings)
    recorder(answered())
    recorder.flush()
    told = shown(settings)
    assert told["total"]["searches"] == 1
    assert [(each["code"], each["objects"]) for each in told["notices"]] == [("stats_unreadable", 1)]


def test_objects_that_are_no_counters_are_left_alone(tmp_path: Path):
    settings = settings_of(tmp_path)
    for key in ("built-in/current.json", "2026-10-09/more/a.json", "README"):
        FileBucket(settings.stats_url).put(key, b"{}")
    assert shown(settings)["days"] == {}


def test_a_wrong_address_is_refused_at_start():
    with pytest.raises(SettingsError):
        Recorder(Settings(stats_url="ftp://somewhere"))


@pytest.fixture
def fake() -> Iterator[OpenRouter]:
    with OpenRouter(key=KEY) as fake:
        yield fake


def test_the_gateways_own_books_are_beside_ours(tmp_path: Path, fake: OpenRouter):
    fake.spent_usd = 12.3
    settings = settings_of(tmp_path, openrouter_api_key=KEY, openrouter_base_url=fake.url)
    assert shown(settings)["provider"] == {"name": "openrouter", "spend_usd": 12.3}
    assert fake.calls == []


def test_a_gateway_that_says_nothing_is_a_notice_and_no_error(tmp_path: Path, fake: OpenRouter):
    settings = settings_of(tmp_path, openrouter_api_key="sk-or-wrong", openrouter_base_url=fake.url)
    told = shown(settings)
    assert told["provider"] == {"name": "openrouter", "spend_usd": None}
    assert [each["code"] for each in told["notices"]] == ["spend_unknown"]
    assert "sk-or-wrong" not in json.dumps(told)


def test_without_a_key_there_are_no_books_to_read(tmp_path: Path):
    assert shown(settings_of(tmp_path))["provider"] is None


def test_the_gateways_models_are_listed_without_a_call(fake: OpenRouter):
    assert model_ids(Settings(openrouter_api_key=KEY, openrouter_base_url=fake.url)) >= {"openai/gpt-oss-20b"}
    assert fake.calls == []


def test_a_gateway_that_is_gone_is_said(fake: OpenRouter):
    with pytest.raises(ModelUnavailable, match="could not be reached"):
        key_spend_usd(Settings(openrouter_api_key=KEY, openrouter_base_url="http://127.0.0.1:9"))


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://a..b", "http://127.0.0.1:99999", "nowhere", "http://127.0.0.1/a b"]
)
def test_a_gateway_whose_address_is_none_is_said(url: str):
    with pytest.raises(ModelUnavailable, match="could not be reached"):
        key_spend_usd(Settings(openrouter_api_key=KEY, openrouter_base_url=url))


@pytest.mark.parametrize("drips", [False, True])
def test_a_gateway_that_is_silent_or_drips_is_waited_for_no_longer_than_said(drips: bool):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1"
        threading.Thread(target=_never_done, args=(listener, drips), daemon=True).start()
        with pytest.raises(ModelUnavailable, match="in time"):
            key_spend_usd(Settings(openrouter_api_key=KEY, openrouter_base_url=url), timeout_s=0.3)


def _never_done(listener: socket.socket, drips: bool) -> None:
    """Answer a byte at a time, or not at all, until the other side leaves."""
    connection, _ = listener.accept()
    with connection, suppress(OSError):
        connection.recv(65_536)
        if drips:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while drips:
            connection.sendall(b" ")
            time.sleep(0.02)
        connection.recv(1)


@pytest.mark.parametrize("number", [0, 1, 5, 300, 5_000, 100_000])
def test_distinct_callers_are_counted_within_a_few_percent(number: int):
    counted = Distinct()
    for index in range(number):
        counted.add(f"client {index}", b"salt")
    assert counted.count == pytest.approx(number, rel=0.05, abs=1)


def test_the_same_caller_counts_once_and_another_salt_makes_it_another():
    counted = Distinct()
    for _ in range(10):
        counted.add("192.0.2.1", b"today")
    assert counted.count == 1
    counted.add("192.0.2.1", b"tomorrow")
    assert counted.count == 2


@given(st.lists(st.text(), max_size=40), st.lists(st.text(), max_size=40))
def test_what_two_instances_counted_merges_into_what_one_would_have(left: list[str], right: list[str]):
    one, other, both = Distinct(), Distinct(), Distinct()
    for counted, texts in ((one, left), (other, right), (both, left + right)):
        for text in texts:
            counted.add(text, b"salt")
    one.merge(Distinct.unpacked(other.packed()))
    assert one.packed() == both.packed()


@pytest.mark.parametrize("text", ["?", "AAAA", "eJwDAAAAAAE=", "é"])
def test_registers_that_are_none_are_refused(text: str):
    with pytest.raises(ValueError, match="registers"):
        Distinct.unpacked(text)


@given(st.lists(st.floats(0.001, 3_600), min_size=1, max_size=60))
def test_a_quantile_of_added_spreads_is_within_a_tenth_of_the_true_one(seconds: list[float]):
    one: spread.Spread = {}
    other: spread.Spread = {}
    for place, each in enumerate(seconds):
        spread.note(one if place % 3 else other, each)
    spread.merge(one, other)
    told, ordered = spread.shown(one), sorted(seconds)
    for name, share in (("median", 0.5), ("p95", 0.95)):
        true = ordered[math.ceil(share * len(ordered)) - 1]
        assert true * 0.999 <= told[name] + 0.0001 <= true * 1.101 + 0.0002


def test_what_took_no_time_or_for_ever_is_counted_and_of_nothing_there_is_no_quantile():
    counts: spread.Spread = {}
    assert spread.shown(counts) == {"median": None, "p95": None}
    for seconds in (-1.0, 0.0, 1e-9, 1e30):
        spread.note(counts, seconds)
    tally = DayTally(latency=counts)
    assert read(DayTally, to_builtins(tally)) == tally


def test_only_an_answered_search_counts_for_the_latency_of_its_day(tmp_path: Path):
    settings = settings_of(tmp_path)
    recorder = an_instance(settings)
    recorder(answered("failed", 503))
    recorder.flush()
    assert shown(settings)["total"]["latency_seconds"] == {"median": None, "p95": None}


def test_a_tally_survives_its_bytes_and_adding_up_has_no_order():
    chance = random.Random(7)
    tallies = []
    for _ in range(5):
        tally = Tally()
        for _ in range(chance.randrange(9)):
            usage = {"by_model": {chance.choice("ab"): {"calls": 1, "tokens": 7, "cost_usd": chance.random()}}}
            tally.count(chance.choice(["with_results", "no_match", "failed"]), usage, chance.expovariate(1))
            tally.count_ask(chance.choice(["movies", "trails"]), chance.choice(["no_match", "left"]), usage, 0.2)
            tally.callers.add(str(chance.randrange(20)), b"salt")
        tallies.append(tally)
    forth, back = Tally(), Tally()
    for tally in tallies:
        forth.add(Tally.of(tally.as_bytes()))
    for tally in reversed(tallies):
        back.add(tally)
    assert forth.shown() == back.shown()
    assert forth.models == back.models
