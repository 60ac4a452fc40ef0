"""T rows: what readers, servers and proxies do to a stream. Real functions, real sockets."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from stream_reader import read_all, reading, request_of, scripted, types, until
from wire import Service

LONG = "items=1000 pause=0.05"


@pytest.fixture(scope="module")
def running_service() -> Iterator[Service]:
    with scripted({"MAX_CONCURRENT": "4"}) as (service, _):
        yield service


@pytest.fixture
def service(running_service: Service) -> Iterator[Service]:
    """A site with four places. Whatever a test does to it, all four are free again afterwards."""
    yield running_service
    settled(running_service)
    until(lambda: four_are_let_in(running_service), bool)


def settled(service: Service) -> dict[str, Any]:
    """What is left when all that was started has ended."""
    found: dict[str, Any] = until(lambda: service.get("/seen").json, lambda seen: seen["started"] == seen["ended"])
    return found


def four_are_let_in(service: Service) -> bool:
    """Whether four streams at once are answered, each read to its end."""
    with ExitStack() as held:
        streams = [held.enter_context(reading(service, "items=1 first=0.2")) for _ in range(4)]
        if not all(" 200 OK" in stream.head for stream in streams):
            return False
        return all(types(list(stream.events()))[-1] == "end-nlweb-response" for stream in streams)


@pytest.mark.parametrize("after", [1, 2, 5])
def test_T01_a_reader_who_leaves_ends_the_pipeline_and_its_model_calls(service: Service, after: int):
    with reading(service, LONG) as stream:
        events = stream.events()
        for _ in range(after):
            next(events)
    calls = settled(service)["model_calls"]
    assert service.get("/seen").json["model_calls"] == calls


def test_T01_a_reader_who_leaves_during_a_silent_model_call_is_noticed_within_a_second(service: Service):
    before = settled(service)["ended"]
    with reading(service, "items=1 first=60") as stream:
        next(stream.events())
    until(lambda: service.get("/seen").json["ended"], lambda ended: ended == before + 1, seconds=1.0)


def test_T01_a_reset_is_noticed_as_a_close_is(service: Service):
    before = settled(service)["ended"]
    with reading(service, "items=1 first=60") as stream:
        next(stream.events())
        stream.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    until(lambda: service.get("/seen").json["ended"], lambda ended: ended == before + 1, seconds=1.0)


def test_T01_a_reader_who_leaves_after_the_last_event_had_all_of_it(service: Service):
    assert types(read_all(service, "items=3"))[-1] == "end-nlweb-response"
    settled(service)


def test_T01_connections_closed_before_the_first_event_leak_nothing(service: Service):
    for _ in range(12):
        with socket.create_connection(service.address) as connection:
            connection.sendall(request_of(LONG))
    settled(service)


def test_T01_streaming_false_is_cancelled_as_well(service: Service):
    before = settled(service)["ended"]
    with socket.create_connection(service.address) as connection:
        connection.sendall(request_of("items=1 first=60", streaming="false"))
        until(lambda: service.get("/seen").json, lambda seen: seen["started"] > seen["ended"])
    until(lambda: service.get("/seen").json["ended"], lambda ended: ended == before + 1, seconds=1.0)


def test_T01_a_head_starts_no_work_and_holds_no_place(service: Service):
    before = settled(service)["started"]
    for _ in range(8):
        answer = service.send("HEAD", "/ask?query=items%3D1")
        assert (answer.status, answer.content) == (200, b"")
    assert service.get("/seen").json["started"] == before


def test_T01_early_closes_leak_no_place_thread_or_descriptor(service: Service):
    read_all(service, "items=1")
    before = settled(service)
    for number in range(30):
        with reading(service, LONG) as stream:
            events = stream.events()
            for _ in range(number % 4 if " 200 OK" in stream.head else 0):
                next(events)
        settled(service)
    after = until(settled_at(service), lambda seen: seen["descriptors"] <= before["descriptors"])
    assert after["threads"] <= before["threads"] + 8, "gunicorn's own pool, at most"


def settled_at(service: Service) -> Any:
    return lambda: settled(service)


def test_T01_a_pipeline_that_will_not_be_cancelled_gives_its_place_back_all_the_same(service: Service):
    with ExitStack() as held:
        for _ in range(4):
            next(held.enter_context(reading(service, "items=1 first=60 stubborn=4")).events())
    until(lambda: service.get("/ask?query=items%3D1").status, lambda status: status == 200, seconds=3.0)
    seen = service.get("/seen").json
    assert seen["started"] > seen["ended"], "it is still at it"
    settled(service)


def test_T04_a_slow_reader_holds_the_pipeline_back_and_nobody_else():
    with scripted() as (service, _), reading(service, "items=2000 size=100000") as slow:
        next(slow.events())
        first = until(settling(service), lambda calls: calls[0] == calls[1], seconds=20.0)
        assert first[0] < 500, "200 MB would not have been held in memory"
        assert types(read_all(service, "items=3"))[-1] == "end-nlweb-response"
        assert service.get("/health").status == 200
        slow.connection.close()
        settled(service)


def settling(service: Service) -> Any:
    """How many model calls were made, now and a moment later."""

    def look() -> tuple[int, int]:
        one = service.get("/seen").json["model_calls"]
        with socket.socket() as never:
            never.settimeout(0.3)
            never.bind(("127.0.0.1", 0))
            never.listen()
            with pytest.raises(TimeoutError):
                never.accept()
        return one, service.get("/seen").json["model_calls"]

    return look


def test_T06_a_stream_under_way_when_the_server_is_told_to_stop_is_finished():
    with scripted() as (service, process), reading(service, "items=10 pause=0.2") as stream:
        events = stream.events()
        next(events)
        process.send_signal(signal.SIGTERM)
        assert types(list(events))[-2:] == ["complete", "end-nlweb-response"]
        assert process.wait(timeout=20) == 0


def test_T06_a_stream_that_takes_too_long_is_ended_in_good_order_within_ten_seconds():
    with scripted() as (service, process), reading(service, "items=1 first=120") as stream:
        events = stream.events()
        next(events)
        process.send_signal(signal.SIGTERM)
        last = list(events)
        assert types(last)[-3:] == ["error", "complete", "end-nlweb-response"]
        assert "stopped" in last[-3]["content"]
        assert process.wait(timeout=3) == 0


def test_T08_twenty_streams_on_twenty_threads_run_side_by_side():
    with scripted({"THREADS": "20", "MAX_CONCURRENT": "20"}) as (service, _), ExitStack() as held:
        streams = [held.enter_context(reading(service, "items=1000 pause=0.2")) for _ in range(20)]
        reads = [stream.events() for stream in streams]
        # Every one goes on while all others are open: none waits for another's end, since none ends.
        for _ in range(4):
            assert {next(events)["query_id"] for events in reads} != set()
        assert not any(stream.ended for stream in streams)
