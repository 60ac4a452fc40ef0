"""Answers that are sent while they come about: a pipeline that runs, and the body that a server sends of it.

The pipeline runs on the process's event loop, the server's thread hands on what it says. It is started by the server
asking for the first piece, and ended by `close()`, which every server calls: a HEAD, or a client that left before the
first piece, starts nothing and holds nothing.
"""

from __future__ import annotations

import logging
import queue
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import aclosing, contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, cast

from shared.contracts.events import Complete, End, Event, Failed, Used
from shared.edge import log
from shared.edge.disconnect import LOOK_S, has_left
from shared.edge.sse import HEARTBEAT, Renderer
from shared.edge.stream import Stream
from shared.errors import AskbucketError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.from_thread import BlockingPortal

logger = logging.getLogger(__name__)

# Events that wait for a slow reader; then the pipeline waits, too.
MOST_WAITING = 64
FULL_S = 0.02
# How long one frame may take to be sent. A reader slower than that is cut off: it holds a thread and a place.
SEND_S = 30.0
# How long `close` waits for a cancelled pipeline before it gives the place back all the same.
CANCEL_S = 1.0
# A server told to stop has 10 s on Google's platform; what still runs after this long is ended in good order.
STOP_S = 7.0
# The pipeline ends itself at its deadline, with what it has; this much later it is cut off.
DEADLINE_SLACK_S = 5.0


class Running:
    """One pipeline on an event loop, read from one thread. `events` may be called once, `close` as often as wanted."""

    def __init__(
        self, stream: Stream, portal: Callable[[], BlockingPortal], connection: socket.socket | None, request_id: str
    ) -> None:
        self._stream = stream
        self._portal = portal
        self._connection = connection
        self._request_id = request_id
        self._said: queue.Queue[Event] = queue.Queue(MOST_WAITING)
        self._over = threading.Event()
        self._task: Future[None] | None = None
        self._failed = Failed("The answer was not finished")
        self._left = False
        self.used: Mapping[str, Any] = {}
        self.calls: Sequence[Mapping[str, Any]] = ()
        self.outcome = "left"
        self._kept = self._broken = False
        # What the request's stages are written down in.
        self._context = copy_context()

    @property
    def began(self) -> bool:
        """Whether anything was started."""
        return self._task is not None

    def events(self) -> Iterator[Event | None]:
        """What the pipeline says, with None each 0.2 s in which it says nothing. Starts it.

        Ends early, with nothing more, when the client has left. Otherwise `complete` and the end event always come:
        from the pipeline, or from here after an `error` where that failed, ran late or had to stop.
        """
        if self._client_left():
            return
        self._start()
        said = set()
        for event in self._until_over():
            if event is not None:
                said.add(event.message_type)
                self._note(event)
            yield event
        if self._left or End.message_type in said:
            return
        for event in (End(),) if Complete.message_type in said else (self._failed, Complete(), End()):
            if event.message_type not in said:
                self._note(event)
                yield event

    def close(self) -> bool:
        """Cancel the pipeline where it still runs. False where it has not ended within a second."""
        if self._task is None:
            return True
        self._task.cancel()
        return self.wait(CANCEL_S)

    def wait(self, seconds: float | None) -> bool:
        """Whether the pipeline has ended by then."""
        return self._task is None or self._over.wait(seconds)

    def _start(self) -> None:
        try:
            self._task = self._context.run(self._portal().start_task_soon, self._run)
        except RuntimeError:  # the loop has ended: so has this process, very soon
            self._over.set()
            self._failed = Failed("The server is being stopped", "stopping")

    def _until_over(self) -> Iterator[Event | None]:
        # A reader that takes its time with each frame holds a thread and a place no longer than the slowest pipeline.
        stop_at, stopping = time.monotonic() + self._stream.deadline_s + 2 * DEADLINE_SLACK_S, False
        while not self._client_left() and time.monotonic() < stop_at:
            event = self._next()
            if event is None and self._over.is_set() and self._said.empty():
                return
            yield event
            if isinstance(event, End):
                return
            if not stopping and server_is_stopping():
                stopping, stop_at = True, min(stop_at, time.monotonic() + STOP_S)
                self._failed = Failed("The server is being stopped; ask again", "stopping")

    def _next(self) -> Event | None:
        try:
            return self._said.get(timeout=LOOK_S)
        except queue.Empty:
            return None

    def _client_left(self) -> bool:
        self._left = self._left or has_left(self._connection)
        return self._left

    def _note(self, event: Event) -> None:
        """What the log and the counters are told: `left` until `complete` was read, then what came of it."""
        match event.message_type:
            case "result":
                self._kept = True
            case "error":
                self._broken = True
            case "usage":
                self.used = cast("Mapping[str, Any]", event.content)
                self.calls = event.calls if isinstance(event, Used) else ()
            case Complete.message_type:
                self.outcome = "failed" if self._broken else "answered" if self._kept else "no_match"

    async def _run(self) -> None:
        """The pipeline's task."""
        import anyio
        from anyio.lowlevel import checkpoint

        try:
            await checkpoint()  # one that was cancelled before it began ends here
            with anyio.move_on_after(self._stream.deadline_s + DEADLINE_SLACK_S):
                async with aclosing(cast("AsyncGenerator[Event, None]", self._stream.events())) as events:
                    async for event in events:
                        await self._put(event)
                return
            self._failed = Failed(f"No answer within {self._stream.deadline_s:g} s", "query_cancelled")
        except AskbucketError as error:
            self._failed = Failed(error.message, error.code)
        except Exception as error:  # noqa: BLE001 - whatever a pipeline raises, the reader gets an end
            log.crash(error, self._request_id)
            self._failed = Failed("Something went wrong here, not in the request")
        finally:
            self._over.set()

    async def _put(self, event: Event) -> None:
        from anyio import sleep

        while True:
            try:
                return self._said.put_nowait(event)
            except queue.Full:
                await sleep(FULL_S)


class Body:
    """The WSGI iterable of a stream: frames as they come, a comment after each `heartbeat_s` of silence.

    `on_end` is called once, at the latest a second after `close`; `on_over` once the pipeline is over, which may be
    later where it would not be cancelled: until then what it reads must stay open.
    """

    def __init__(
        self,
        running: Running,
        frames: Renderer,
        heartbeat_s: float,
        *,
        on_end: Callable[[], None],
        on_over: Callable[[], None],
    ) -> None:
        self._running = running
        self._frames = frames
        self._events = running.events()
        self._heartbeat_s = heartbeat_s
        self._on_end: Callable[[], None] | None = on_end
        self._on_over = on_over
        self._sent_at = time.monotonic()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        for event in self._events:
            if event is not None and (frame := self._frames.frame(event)):
                return self._sending(frame)
            if time.monotonic() - self._sent_at >= self._heartbeat_s:
                return self._sending(HEARTBEAT)
        raise StopIteration

    def _sending(self, frame: bytes) -> bytes:
        self._sent_at = time.monotonic()
        return frame

    def close(self) -> None:
        """End the pipeline and give everything back. Called by the server, whatever became of the stream."""
        on_end, self._on_end = self._on_end, None
        if on_end is None:
            return
        try:
            over = self._running.close()
            on_end()
        finally:
            when_over(self._running, over, self._on_over)


@contextmanager
def sending(connection: socket.socket | None) -> Iterator[None]:
    """Wait no longer than SEND_S for each frame to be taken, where the server shows us its socket.

    There is no bound on the whole: a slow model's answer takes minutes. The bound that reading a body has ends by
    shutting the socket for reading, which is what a client that has left looks like.
    """
    before = connection.gettimeout() if connection else None
    if connection:
        connection.settimeout(SEND_S)
    try:
        yield
    finally:
        if connection and connection.fileno() >= 0:
            connection.settimeout(before)


def when_over(running: Running, over: bool, then: Callable[[], None]) -> None:
    """Call `then` as soon as the pipeline has ended: now, or from a thread that waits for it."""
    if over:
        then()
        return
    logger.warning("a pipeline did not end within %g s of being cancelled", CANCEL_S)

    def late() -> None:
        running.wait(None)
        then()

    threading.Thread(target=late, name="late", daemon=True).start()


def server_is_stopping() -> bool:
    """Whether gunicorn's worker was told to stop. There is no hook for it under functions-framework.

    Its handler of SIGTERM is a method of the worker, whose `alive` says so; any other server's is no such method.
    """
    worker = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return getattr(worker, "alive", True) is False
