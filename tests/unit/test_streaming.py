"""A stream's body by itself: what starts, what is given back, and when the client counts as gone."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import anyio
import pytest
from werkzeug.test import create_environ

from shared.contracts.events import Begin, Complete, End, Event, Failed, Result, Said
from shared.edge import streaming
from shared.edge.app import App
from shared.edge.disconnect import has_left
from shared.edge.process import Hosted, ProcessLoop
from shared.edge.sse import HEARTBEAT, Frames
from shared.edge.stream import Stream
from shared.edge.streaming import Body, Running
from shared.errors import ModelUnavailable
from shared.settings import Settings


@pytest.fixture
def loop() -> Iterator[ProcessLoop]:
    loop = ProcessLoop()
    yield loop
    loop.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The server's end and the client's."""
    server, client = socket.socketpair()
    yield server, client
    server.close()
    client.close()


@dataclass
class Made:
    """A body over a pipeline, and what happened."""

    loop: ProcessLoop
    happened: list[str] = field(default_factory=list)

    def body(self, events: list[Event | float], connection: socket.socket | None = None, beat_s: float = 10) -> Body:
        async def pipeline() -> AsyncIterator[Event]:
            self.happened.append("started")
            try:
                for event in events:
                    if isinstance(event, float):
                        await anyio.sleep(event)
                    else:
                        yield event
            finally:
                self.happened.append("ended")

        self.running = Running(Stream(pipeline), lambda: self.loop.portal, connection, "id")
        return Body(
            self.running,
            Frames("q"),
            beat_s,
            on_end=lambda: self.happened.append("given back"),
            on_over=lambda: self.happened.append("over"),
        )


@pytest.fixture
def made(loop: ProcessLoop) -> Made:
    return Made(loop)


WHOLE: list[Event | float] = [Begin(), Result({"name": "a"}), Complete(), End()]


def kinds(frames: list[bytes]) -> list[str]:
    import json

    return [json.loads(frame[6:])["message_type"] for frame in frames]


def test_T01_a_body_that_is_closed_before_its_first_piece_starts_nothing_and_gives_all_back(made: Made):
    body = made.body(WHOLE)
    body.close()
    assert made.happened == ["given back", "over"]
    assert not made.running.began


def test_T01_a_client_that_left_before_the_first_piece_starts_nothing(made: Made, pair):
    server, client = pair
    body = made.body(WHOLE, server)
    client.close()
    assert list(body) == []
    body.close()
    assert made.happened == ["given back", "over"]


def test_nothing_is_started_by_making_a_body(made: Made):
    body = iter(made.body([Begin(), 60.0]))
    assert made.happened == []
    assert kinds([next(body)]) == ["begin-nlweb-response"]
    assert made.happened == ["started"]
    body.close()


def test_closing_twice_gives_back_once(made: Made):
    body = made.body(WHOLE)
    assert kinds(list(body)) == ["begin-nlweb-response", "result", "complete", "end-nlweb-response"]
    body.close()
    body.close()
    assert made.happened == ["started", "ended", "given back", "over"]
    assert made.running.outcome == "answered"


def test_T01_a_close_in_the_middle_cancels_the_pipeline_before_anything_is_given_back(made: Made):
    body = made.body([Begin(), 60.0])
    next(body)
    body.close()
    assert made.happened == ["started", "ended", "given back", "over"]
    assert made.running.outcome == "left"


def test_what_a_pipeline_reads_stays_open_until_it_is_over(made: Made, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(streaming, "CANCEL_S", 0.05)
    go_on = anyio.Event()

    async def stubborn() -> AsyncIterator[Event]:
        yield Begin()
        with anyio.CancelScope(shield=True):
            await go_on.wait()
        made.happened.append("ended")

    running = Running(Stream(stubborn), lambda: made.loop.portal, None, "id")
    happened = made.happened
    body = Body(
        running, Frames(), 10, on_end=lambda: happened.append("given back"), on_over=lambda: happened.append("over")
    )
    next(body)
    body.close()
    assert happened == ["given back"]
    made.loop.portal.call(go_on.set)
    deadline = time.monotonic() + 5
    while "over" not in happened and time.monotonic() < deadline:
        time.sleep(0.01)
    assert happened == ["given back", "ended", "over"]


def test_silence_is_filled_with_comments(made: Made):
    body = made.body([Begin(), 0.7, Complete(), End()], beat_s=0.1)
    frames = list(body)
    assert 1 <= frames.count(HEARTBEAT) <= 4
    assert kinds([frame for frame in frames if frame != HEARTBEAT])[-1] == "end-nlweb-response"
    body.close()


def test_an_error_we_know_is_said_in_its_own_words(made: Made):
    async def refuses() -> AsyncIterator[Event]:
        yield Begin()
        raise ModelUnavailable("no model can be had")

    running = Running(Stream(refuses), lambda: made.loop.portal, None, "id")
    events = [event for event in running.events() if event]
    assert events[1:] == [Failed("no model can be had", "model_unavailable"), Complete(), End()]
    assert running.outcome == "failed"


def test_the_end_is_added_only_where_it_is_missing(made: Made):
    body = made.body([Begin(), Said("x"), Complete()])
    assert kinds(list(body)) == [
        "begin-nlweb-response", "intermediate_message", "complete", "end-nlweb-response",
    ]  # fmt: skip
    body.close()


def test_a_loop_that_has_ended_ends_a_stream_in_good_order():
    class Ended:
        def start_task_soon(self, *_: object) -> None:
            raise RuntimeError("This portal is not running")

    running = Running(Stream(lambda: None), Ended, None, "id")  # type: ignore[arg-type,return-value]
    assert [event.message_type for event in running.events() if event] == ["error", "complete", "end-nlweb-response"]


def test_T04_no_more_than_64_events_wait_for_a_reader(made: Made, monkeypatch: pytest.MonkeyPatch):
    sent: list[int] = []

    async def endless() -> AsyncIterator[Event]:
        for number in range(10_000):
            sent.append(number)
            yield Said(str(number))

    running = Running(Stream(endless), lambda: made.loop.portal, None, "id")
    events = running.events()
    next(events)
    before = -1
    while before != len(sent):
        before = len(sent)
        time.sleep(0.1)
    assert len(sent) <= streaming.MOST_WAITING + 2
    assert running.close()


def test_T04_a_reader_that_takes_too_long_over_it_is_sent_the_end(made: Made, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(streaming, "DEADLINE_SLACK_S", 0.05)

    async def endless() -> AsyncIterator[Event]:
        for number in range(10_000):
            yield Said(str(number))

    running = Running(Stream(endless, deadline_s=0.1), lambda: made.loop.portal, None, "id")
    read = []
    for event in running.events():
        read.append(event)
        time.sleep(0.05)
    assert len(read) < 100
    assert [event.message_type for event in read[-3:] if event] == ["error", "complete", "end-nlweb-response"]


# The socket


def test_a_client_that_is_there_is_there_also_with_bytes_to_read(pair):
    server, client = pair
    assert not has_left(server)
    client.sendall(b"GET / HTTP/1.1\r\n")
    assert not has_left(server)
    assert server.recv(100) == b"GET / HTTP/1.1\r\n", "nothing was taken"


def test_a_client_that_closed_has_left_also_with_bytes_to_read(pair):
    server, client = pair
    client.sendall(b"x")
    client.close()
    assert has_left(server)


def test_a_connection_of_our_own_that_is_closed_has_left(pair):
    server, _ = pair
    server.close()
    assert has_left(server)


def test_a_server_that_shows_no_socket_never_says_so():
    assert not has_left(None)


def test_M10_an_answer_that_takes_many_times_as_long_as_one_frame_may_is_sent_whole(
    pair, loop: ProcessLoop, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(streaming, "SEND_S", 0.02)
    server, _ = pair

    async def slow() -> AsyncIterator[Event]:
        yield Begin()
        await anyio.sleep(0.5)
        yield Complete()
        yield End()

    hosted = Hosted(lambda _: 1, is_stale=lambda _: False, close=lambda _: None, refresh_s=60, loop=loop)
    assert hosted.wait(10)
    routes = {"/ask": {"GET": lambda call, loaded: Stream(slow)}}
    app = App(hosted, routes, describe=lambda _: {}, settings=Settings())
    environ = create_environ("/ask")
    environ["gunicorn.socket"] = server
    reply = app.wsgi(environ, lambda status, headers, exc=None: lambda _: None)
    frames = list(reply)
    reply.close()
    assert kinds(frames) == ["begin-nlweb-response", "complete", "end-nlweb-response"]
    assert server.gettimeout() is None, "the next request on it waits as long as ever"
    hosted.close()


# One loop for several


def test_those_who_share_a_loop_share_its_thread_and_do_not_end_it(loop: ProcessLoop):
    def hosted() -> Hosted[int]:
        return Hosted(lambda _: 1, is_stale=lambda _: False, close=lambda _: None, refresh_s=60, loop=loop)

    one, other = hosted(), hosted()
    assert one.wait(10)
    assert other.wait(10)
    assert one.portal is other.portal is loop.portal
    one.close()
    assert other.run(anyio.sleep, 0) is None
    other.close()
