"""Where the time of a request goes: milliseconds a stage, written down by the stages themselves.

    with recording() as timings:
        ...                                 # somewhere below, in any thread or task of it: with timed("scan"): ...
    timings.ms()                            # {"scan": 17.2, ...}

Where nobody records, `timed` does nothing (0.3 us). Stages of a request do not overlap, so they add up; the one
exception is MODEL, the waiting for a model gateway, which lies inside of whatever stage asks it. The load of a release
has stages too (process.py), of which `import` runs beside those of fetching, and `verify` beside `fetch` where files
come over a network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

MODEL = "model"


class Timings:
    """The stages of one request. Safe to share between the threads and tasks that serve it."""

    def __init__(self) -> None:
        self._spans: list[tuple[str, float, float]] = []

    def add(self, stage: str, began_s: float, ended_s: float) -> None:
        """One span of a stage, by the clock of time.perf_counter."""
        self._spans.append((stage, began_s, ended_s))

    def ms(self) -> dict[str, float]:
        """Stage → milliseconds in which it ran, in the order in which stages first ended.

        What ran side by side, such as the calls to a judge, counts once.
        """
        spans: dict[str, list[tuple[float, float]]] = {}
        for stage, began_s, ended_s in list(self._spans):
            spans.setdefault(stage, []).append((began_s, ended_s))
        return {stage: _covered_s(sorted(each)) * 1e3 for stage, each in spans.items()}


_recorder: ContextVar[Timings | None] = ContextVar("timings", default=None)


@contextmanager
def recording() -> Iterator[Timings]:
    """Write down the stages of what runs inside, also in tasks and worker threads started from there."""
    timings = Timings()
    token = _recorder.set(timings)
    try:
        yield timings
    finally:
        _recorder.reset(token)


class timed:  # noqa: N801 - read as `with timed("scan"):`
    """A stage: what runs inside is its time. It counts also where it raises."""

    __slots__ = ("_began_s", "_stage")

    def __init__(self, stage: str) -> None:
        self._stage = stage

    def __enter__(self) -> None:
        self._began_s = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        timings = _recorder.get()
        if timings is not None:
            timings.add(self._stage, self._began_s, time.perf_counter())


def carried(work: Callable[P, R]) -> Callable[P, R]:
    """`work` for a pool of plain threads, which know of no recorder: it writes into that of whoever asks here.

    Tasks and anyio's worker threads need none of this.
    """
    timings = _recorder.get()

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        token = _recorder.set(timings)
        try:
            return work(*args, **kwargs)
        finally:
            _recorder.reset(token)

    return run


def _covered_s(spans: list[tuple[float, float]]) -> float:
    """Seconds that spans, sorted by their begin, cover together."""
    covered, reached = 0.0, float("-inf")
    for began_s, ended_s in spans:
        covered += max(0.0, ended_s - max(began_s, reached))
        reached = max(reached, ended_s)
    return covered
