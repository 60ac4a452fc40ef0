"""What a process loads and keeps: one value, opened after the fork, swapped without dropping a request.

functions-framework imports a function in the gunicorn master and forks the worker from it, and a thread
started in the master does not exist in the worker. So nothing is started at import: the hook after the fork
starts the loader, and so does the first request, for servers that do not fork.

Nothing relies on a timer, because an instance has no processor between requests: what is due is noticed when
a request begins and done beside it.

This module is imported before the port opens; it imports nothing that is not in memory by then
(measured: 0.4 ms of its own; anyio and numpy wait for the loader thread).
"""

from __future__ import annotations

# Imported for its own hook after the fork, which must be registered, and so run, before ours: it makes anew a
# lock that is held across the fork, and a loader that already waits for that lock waits for ever (seen).
import concurrent.futures.thread  # noqa: F401
import logging
import os
import signal
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar, TypeVarTuple

from shared.errors import AskbucketError, Starting, Stopping, Unavailable
from shared.garbage import no_search_for_cycles
from shared.timed import recording

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from shared.release.reader import Progress

T = TypeVar("T")
R = TypeVar("R")
Args = TypeVarTuple("Args")

log = logging.getLogger(__name__)

# What every thread pool says once the interpreter has begun to end; there is no other sign of it in public.
_AT_THE_END = "cannot schedule new futures after"


class Hosted(Generic[T]):
    """Holds one `T` for all threads of a process.

    `open_` makes it and reports (bytes done, bytes in all); `is_stale` says whether a newer one could be
    opened; `close` ends one that nobody uses any more; `fits` says whether memory has room for a second one
    beside the first. All four run outside of any lock, and never two of them at once in one process, except
    `close`, which the last borrower of a replaced value calls. Expected failures are AskbucketErrors. With
    `needs_loop` it has an event loop of its own; `loop` is one that others use, too, and that it does not end.
    """

    def __init__(
        self,
        open_: Callable[[Progress], T],
        *,
        is_stale: Callable[[T], bool],
        close: Callable[[T], None],
        refresh_s: float,
        needs_loop: bool = False,
        loop: ProcessLoop | None = None,
        fits: Callable[[], bool] = lambda: True,
    ) -> None:
        self._open = open_
        self._is_stale = is_stale
        self._close = close
        self._fits = fits
        self._refresh_s = refresh_s
        self._shared_loop = loop
        self._own_loop = ProcessLoop() if needs_loop and loop is None else None
        self._inherited: list[object] = []
        self._reset()
        _all.add(self)

    def _reset(self) -> None:
        """The state of a process in which nothing was loaded yet."""
        self._changed = threading.Condition(threading.Lock())
        self._slot: _Slot[T] | None = None
        self._refusal: AskbucketError | None = None
        self._refresh_error: AskbucketError | None = None
        self._pending = False
        self._progress = (0, 0)
        self._busy = self._awaited = False
        self._checked_at = 0.0
        self._generation = 0

    def ensure(self) -> None:
        """Start what is due in a helper thread: the first load, another try after a refusal, a look for a newer one.

        Returns at once. To be called when a request begins, from any thread, as often as wanted.
        """
        if not self._is_due():
            return
        with self._changed:
            if not self._is_due():
                return
            if self._busy:
                self._awaited = True
                return
            self._busy = True
            generation = self._generation
        try:
            threading.Thread(target=self._work, args=(generation,), name="hosted", daemon=True).start()
        except RuntimeError as error:  # no thread to be had now; a later request tries again
            self._settle(generation, Unavailable(f"No thread could be started: {error}"))

    @contextmanager
    def borrow(self) -> Iterator[T]:
        """The value, the same and open until the block ends, whatever is swapped in meanwhile.

        Raises Starting while it loads, and what refused it where it could not be opened.
        """
        self.ensure()
        slot = self._lend()
        try:
            yield slot.value
        finally:
            self._return(slot)

    def state(self) -> dict[str, Any]:
        """What /health says, from memory.

        `state` is `starting` (with `done_bytes`, `total_bytes`), `ready` (with `release_pending` and
        `refresh_error`, which is None or `code` and `message`) or `refused` (with `code` and `message`).
        """
        with self._changed:
            if self._slot is not None:
                error = _public(self._refresh_error) if self._refresh_error else None
                return {"state": "ready", "release_pending": self._pending, "refresh_error": error}
            if self._refusal is not None:
                return {"state": "refused", **_public(self._refusal)}
            return {"state": "starting", "done_bytes": self._progress[0], "total_bytes": self._progress[1]}

    def wait(self, timeout_s: float) -> bool:
        """Load, and wait until that ended. True where the value is ready; `state` says what else."""
        self.ensure()
        with self._changed:
            self._changed.wait_for(lambda: self._slot is not None or self._refusal is not None, timeout_s)
            return self._slot is not None

    def close(self) -> None:
        """Let go of the value (its last borrower closes it) and end the event loop. A later request loads anew."""
        with self._changed:
            slot, self._slot = self._slot, None
            self._generation += 1
            self._awaited = False
            self._refusal = self._refresh_error = None
            self._pending = False
        self._retire(slot)
        if self._own_loop is not None:
            self._own_loop.close()

    @property
    def portal(self) -> BlockingPortal:
        """The way into this process's one event loop, which runs in a thread of its own from the first use."""
        loop = self._loop
        if loop is None:
            raise RuntimeError("this function runs no event loop: give Hosted needs_loop=True")
        return loop.portal

    @property
    def _loop(self) -> ProcessLoop | None:
        return self._shared_loop or self._own_loop

    def run(self, async_fn: Callable[[*Args], Awaitable[R]], *args: *Args) -> R:
        """Run an async function on the event loop and wait for its result, from any other thread."""
        return self.portal.call(async_fn, *args)

    def _after_fork(self) -> None:
        # What the parent had opened stays referenced and is never closed here: a SQLite connection that another
        # process also has must not be touched, not even by its destructor.
        self._inherited.append(self._slot)
        self._reset()
        self.ensure()

    def _is_due(self) -> bool:
        if self._slot is None and self._refusal is None:
            return True
        return time.monotonic() - self._checked_at >= self._refresh_s

    def _lend(self) -> _Slot[T]:
        with self._changed:
            if self._slot is not None:
                self._slot.borrowers += 1
                return self._slot
            if self._refusal is not None:
                raise _fresh(self._refusal)
            done, total = self._progress
        raise Starting("Service is starting", detail={"done_bytes": done, "total_bytes": total}, retry_after_s=1)

    def _return(self, slot: _Slot[T]) -> None:
        with self._changed:
            slot.borrowers -= 1
            last = slot.retired and slot.borrowers == 0
        if last:
            self._close(slot.value)

    def _retire(self, slot: _Slot[T] | None) -> None:
        if slot is None:
            return
        with self._changed:
            slot.retired = True
            unused = slot.borrowers == 0
        if unused:
            self._close(slot.value)

    def _work(self, generation: int) -> None:
        """The helper thread. What nobody foresaw is a refusal too, and goes on to the thread's excepthook: the log."""
        error: AskbucketError | None = Unavailable("The release could not be opened; the log says why")
        try:
            with no_search_for_cycles():  # imports make many objects: 40 of 540 ms to a first answer
                self._look(generation)
            error = None
        except AskbucketError as expected:
            error = expected
        except RuntimeError as unexpected:
            if _AT_THE_END not in str(unexpected):
                raise
            error = Stopping("The process is being stopped")
        finally:
            self._settle(generation, error)

    def _look(self, generation: int) -> None:
        """Load where nothing is loaded; else load the newer one, if there is one and memory has room for both."""
        if self._slot is not None:
            slot = self._lend()
            try:
                self._pending = self._is_stale(slot.value)
            finally:
                self._return(slot)
            if not self._pending or not self._fits():
                return
        self._load(generation)

    def _load(self, generation: int) -> None:
        began = time.perf_counter()
        with recording() as timings:
            value = self._open(self._report)
            if self._loop is not None:
                _ = self.portal  # started here, so that no request pays for it
        loaded_ms = (time.perf_counter() - began) * 1e3
        with self._changed:
            replaced: _Slot[T] | None = _Slot(value)
            if generation == self._generation:  # else `close` came first, and the value has no use
                replaced, self._slot = self._slot, replaced
                self._pending = False
        stages = {stage: round(ms, 1) for stage, ms in timings.ms().items()}
        log.info("loaded", extra={"fields": {"ms": round(loaded_ms, 1), "stages": stages}})
        self._retire(replaced)

    def _settle(self, generation: int, error: AskbucketError | None) -> None:
        if error is not None:
            log.warning("release not loaded: %s: %s", error.code, error.message)
        with self._changed:
            is_over = generation != self._generation  # `close` came first; whoever has asked since waits for another
            again, self._busy, self._awaited = is_over and self._awaited, False, False
            if not is_over:
                self._told(error)
        if again:
            self.ensure()

    def _told(self, error: AskbucketError | None) -> None:
        """How the helper thread's look ended, for whoever waits; under the lock."""
        self._checked_at = time.monotonic()
        self._refresh_error = error
        self._refusal = error if self._slot is None else None
        self._changed.notify_all()

    def _report(self, done_bytes: int, total_bytes: int) -> None:
        self._progress = (done_bytes, total_bytes)


class ProcessLoop:
    """A process's event loop, started when it is first asked for, for one Hosted or several.

    What connections hang on is made on it, so those who share connections share their loop.
    """

    def __init__(self) -> None:
        self._inherited: list[object] = []
        self._reset()
        _loops.add(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._running: _Loop | None = None

    @property
    def portal(self) -> BlockingPortal:
        """The way in, from any other thread."""
        with self._lock:
            if self._running is None:
                self._running = _Loop()
            return self._running.portal

    def close(self) -> None:
        """Cancel what runs and end the loop. It is started anew when asked for again."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.close()

    def _after_fork(self) -> None:
        # Kept, never closed: its thread runs in the parent.
        self._inherited.append(self._running)
        self._reset()


class _Slot(Generic[T]):
    """A value and how many borrow it. `retired` once another one took its place."""

    __slots__ = ("borrowers", "retired", "value")

    def __init__(self, value: T) -> None:
        self.value = value
        self.borrowers = 0
        self.retired = False


class _Loop:
    """An event loop in a daemon thread.

    anyio's own start_blocking_portal is a generator, and one that is collected (at exit, or in a forked
    child) waits for a loop that no longer runs. This one is only ended by `close`.
    """

    def __init__(self) -> None:
        from concurrent.futures import Future

        import anyio
        from anyio.from_thread import BlockingPortal

        started: Future[BlockingPortal] = Future()

        async def serve() -> None:
            async with BlockingPortal() as portal:
                started.set_result(portal)
                await portal.sleep_until_stopped()

        self._thread = threading.Thread(target=anyio.run, args=(serve,), name="loop", daemon=True)
        self._thread.start()
        self.portal = started.result()

    def close(self) -> None:
        """Cancel what runs and end the thread. Not to be called from the loop itself."""
        self.portal.call(self.portal.stop, True)
        self._thread.join()


def _public(error: AskbucketError) -> dict[str, str]:
    return {"code": error.code, "message": error.message}


def _fresh(error: AskbucketError) -> AskbucketError:
    """The same error anew: one that many threads raise collects all of their frames, and keeps them alive."""
    again = type(error).__new__(type(error), *error.args)
    again.__dict__.update(error.__dict__)
    return again


# One hook for all: a hook can never be taken back, so one for each Hosted would keep every one of them.
_all: weakref.WeakSet[Hosted[Any]] = weakref.WeakSet()
_loops: weakref.WeakSet[ProcessLoop] = weakref.WeakSet()


# A worker that is told to stop before it has handlers of its own would put it on the list of the master it was copied
# from, and the master waits 30 s for it: seen for 4 of 48 stops in the quarter of a second around a fork. So where a
# process has such a handler, stops are held while it forks, and end the child until it has one itself.
_STOPS = ("SIGINT", "SIGQUIT", "SIGTERM")
_held = threading.local()


def _hold_stops() -> None:
    _held.mask = None
    if callable(signal.getsignal(signal.SIGTERM)):
        # Asked for before it is changed: changing it runs the handlers of what is pending, and they may raise.
        _held.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        signal.pthread_sigmask(signal.SIG_BLOCK, [getattr(signal, name) for name in _STOPS])


def _release_stops() -> None:
    if _held.mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _held.mask)


def _load_in_child() -> None:
    if _held.mask is not None:
        for number in (getattr(signal, name) for name in _STOPS):
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
    _release_stops()
    for loop in list(_loops):
        loop._after_fork()
    for hosted in list(_all):
        hosted._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_stops, after_in_parent=_release_stops, after_in_child=_load_in_child)
