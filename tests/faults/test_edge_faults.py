"""Odd addresses, slow bodies and counters that stall, against real servers: what the fault table has no row for."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client
from wire import Service, serving

from cli.servers import listen
from functions.registry.service import create
from shared.bucket.file import FileBucket
from shared.edge.address import self_url_of
from shared.edge.exchange import Answered
from shared.edge.stats.recorder import Recorder
from shared.edge.stats.sums import Sums
from shared.errors import BucketError, SettingsError, Unavailable
from shared.settings import Settings

ROUTES_WITH_LINKS = ["/", "/agents?pageSize=1", "/.well-known/ard.json", "/robots.txt", "/openapi.json"]
NO_HOSTS = [
    'a"b', "<script>", "user:password@example.org", "a..b", "[::1", "[zz]", "a b", "x/y", "x\\y", "%00",
    "localhost:abc", "localhost:999999", ".",
]  # fmt: skip


@pytest.mark.parametrize("host", NO_HOSTS)
def test_a_host_that_is_none_is_a_400_and_in_no_link(gateway: Service, host: str) -> None:
    for path in ROUTES_WITH_LINKS:
        answer = gateway.get(path, {"Host": host})
        assert (answer.status, answer.json["code"]) == (400, "invalid_request"), path
        assert "Host" in answer.json["error"]


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("example.org", "http://example.org/"),
        ("example.org:80", "http://example.org/"),
        ("example.org:8080", "http://example.org:8080/"),
        ("my_host.", "http://my_host./"),
        ("xn--", "http://xn--/"),
        ("[::1]:8080", "http://[::1]:8080/"),
    ],
)
def test_links_begin_with_the_name_that_the_client_called_us_by(gateway: Service, host: str, shown: str) -> None:
    assert gateway.get("/", {"Host": host}).json["endpoints"]["search"] == f"{shown}search"


def test_a_clients_own_word_on_where_it_is_mounted_is_not_believed(gateway: Service) -> None:
    for header in ("SCRIPT_NAME", "SCRIPT-NAME", "PATH_INFO"):
        answer = gateway.get("/health", {header: "/elsewhere"})
        assert (answer.status, answer.json["ok"]) == (200, True), header


def test_health_answers_whatever_it_is_called(gateway: Service) -> None:
    assert gateway.get("/health", {"Host": "<script>"}).status == 200


def test_a_public_address_without_its_slash_has_links_with_one(tiny_bucket: str, tmp_path: Path) -> None:
    settings = Settings(bucket_url=tiny_bucket, cache_dir=str(tmp_path), self_url="https://example.org/tables")
    app = create(settings)
    with closing(app.hosted):
        assert app.hosted.wait(60)
        card = json.loads(Client(app.wsgi).get("/").get_data())
    assert card["endpoints"]["search"] == "https://example.org/tables/search"


@pytest.mark.parametrize(
    "wrong",
    ["example.org", "javascript:alert(1)", "http://[::1", "http://", "https://example.org/a?b", "https://example.org#a",
     "https://exa mple.org", "https://example.org:99999"],
)  # fmt: skip
def test_a_public_address_that_is_none_stops_the_function_when_it_is_made(wrong: str) -> None:
    with pytest.raises(SettingsError, match="AGENT_FINDER_SELF"):
        create(Settings(bucket_url="file:///nowhere", self_url=wrong))


def test_a_refused_public_address_does_not_show_its_password() -> None:
    with pytest.raises(SettingsError) as refused:
        self_url_of("https://somebody:hidden@example.org/")
    assert "hidden" not in refused.value.message


@pytest.fixture(scope="module")
def impatient(tiny_bucket: str) -> Iterator[Service]:
    with serving(tiny_bucket, {"BODY_TIMEOUT": "0.4"}) as service:
        yield service


@pytest.mark.parametrize("framing", [b"Content-Length: 60000", b"Transfer-Encoding: chunked"])
def test_a_body_that_drips_gives_its_thread_back_however_short_its_pauses(impatient: Service, framing: bytes) -> None:
    with socket.create_connection(impatient.address, timeout=30) as connection:
        connection.sendall(b"POST /search HTTP/1.1\r\nHost: localhost\r\n" + framing + b"\r\n\r\n")
        left = threading.Event()
        dripping = threading.Thread(
            target=drip, args=(connection, left, b"20000\r\n" if b"chunked" in framing else b"")
        )
        dripping.start()
        try:
            answer = connection.recv(65_536)
        finally:
            left.set()
            dripping.join()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert impatient.get("/health").status == 200


def drip(connection: socket.socket, left: threading.Event, first: bytes) -> None:
    """A byte every 50 ms, which is no pause to speak of."""
    try:
        connection.sendall(first)
        while not left.wait(0.05):
            connection.sendall(b"a")
    except OSError:
        return


def test_a_body_that_takes_its_time_within_the_limit_is_read(tiny_bucket: str) -> None:
    def slowly() -> Iterator[bytes]:
        for piece in (b'{"query":', b'{"text":', b'"rain"}}'):
            time.sleep(0.1)
            yield piece

    with serving(tiny_bucket, {"BODY_TIMEOUT": "60"}) as service:
        assert service.send("POST", "/search", slowly()).status == 200


def test_a_patience_beyond_what_a_clock_can_count_is_an_hour_or_so_and_no_fault(tiny_bucket: str) -> None:
    with serving(tiny_bucket, {"BODY_TIMEOUT": "1e300"}) as service:
        assert service.post("/search", {"query": {"text": "rain"}}).status == 200


class Stalling(FileBucket):
    """A bucket that does not answer until it is let go, then as it is told."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.asked = 0
        self.may = threading.Event()
        self.fails = False

    def keys(self, prefix: str) -> Any:
        self.asked += 1
        assert self.may.wait(60)
        if self.fails:
            raise BucketError("the bucket is away")
        return super().keys(prefix)


@pytest.fixture
def stalling(tmp_path: Path) -> Stalling:
    return Stalling(tmp_path.as_uri())


def sums_over(bucket: Stalling, flush_s: float = 60.0) -> Sums:
    settings = Settings(stats_flush_s=flush_s)
    recorder = Recorder(settings)
    recorder._bucket = bucket
    recorder(Answered("/search", "POST", 200, "answered", 0.1, "192.0.2.1", None, []))
    return Sums(settings, recorder)


def beside(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_while_counters_are_read_for_the_first_time_no_other_caller_waits_long(stalling: Stalling) -> None:
    sums = sums_over(stalling)
    reader = beside(lambda: sums.shown(30))
    try:
        while not stalling.asked:
            time.sleep(0.01)
        with pytest.raises(Unavailable) as refused:
            sums.shown(30)
        assert refused.value.retry_after_s == 1
    finally:
        stalling.may.set()
        reader.join()
    assert sums.shown(30)["total"]["searches"] == 1
    assert stalling.asked == 1


def test_while_counters_are_read_again_the_others_get_what_was_read_before(stalling: Stalling) -> None:
    sums = sums_over(stalling, flush_s=0.0)
    stalling.may.set()
    assert sums.shown(30)["total"]["searches"] == 1
    stalling.may.clear()
    reader = beside(lambda: sums.shown(30))
    try:
        while stalling.asked < 2:
            time.sleep(0.01)
        assert sums.shown(30)["total"]["searches"] == 1
    finally:
        stalling.may.set()
        reader.join()


def test_a_bucket_of_counters_that_fails_is_not_asked_by_every_caller(stalling: Stalling) -> None:
    sums = sums_over(stalling)
    stalling.may.set()
    stalling.fails = True
    for _ in range(5):
        with pytest.raises(BucketError, match="away"):
            sums.shown(30)
    assert stalling.asked == 1


@pytest.mark.parametrize(
    "lie",
    [b'{"searches": 1' + b"0" * 4_000 + b"}", b'{"models": {"a": {"calls": 1, "tokens": 1, "cost_usd": 1e308}}}'],
    ids=["a number of 4,000 digits", "dollars that add up to infinity"],
)
def test_counters_too_large_to_be_true_are_left_out_and_told(tmp_path: Path, lie: bytes) -> None:
    settings = Settings(stats_url=tmp_path.as_uri())
    sums = Sums(settings, Recorder(settings))
    day = sums.shown(1)["generated_at"][:10]
    for instance in ("a", "b"):
        FileBucket(tmp_path.as_uri()).put(f"{day}/{instance}.json", lie)
    told = Sums(settings, Recorder(settings)).shown(30)
    assert [each["objects"] for each in told["notices"]] == [2]
    assert json.dumps(told, allow_nan=False)


def test_counters_of_days_to_come_are_no_days(tmp_path: Path) -> None:
    settings = Settings(stats_url=tmp_path.as_uri())
    for day in ("2999-01-01", "2026-99-99", "9999-12-31"):
        FileBucket(tmp_path.as_uri()).put(f"{day}/a.json", b'{"searches": 5}')
    assert Sums(settings, Recorder(settings)).shown(30)["days"] == {}


@pytest.mark.parametrize("direction", [socket.SO_RCVTIMEO, socket.SO_SNDTIMEO], ids=["sends no more", "reads nothing"])
def test_a_client_that_stops_in_the_middle_of_a_header_or_a_reply_is_given_up(direction: int) -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            seconds, _ = struct.unpack("ll", connection.getsockopt(socket.SOL_SOCKET, direction, 16))
    assert 0 < seconds <= 30
