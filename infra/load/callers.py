"""Callers that ask, wait, and ask again; and what became of each request."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from infra.load.processes import Served
from infra.load.traffic import Answer, Ask, Traffic

TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Sample:
    """How one request went.

    `at_s` is when it was sent and `first_s` when the first byte of its body came, both from the start of the run;
    `status` is 0 where the connection failed. `code` is the error's, on the wire or in the stream; `wrong` says what
    is wrong with the answer, and is empty for a right one and for an error that says so.
    """

    kind: str
    function: str
    at_s: float
    seconds: float
    first_s: float
    status: int
    code: str = ""
    wrong: str = ""
    notices: tuple[str, ...] = ()


@dataclass(slots=True)
class Run:
    """The requests of several callers, by one clock; `stop` ends it when each has its answer."""

    began: float = field(default_factory=time.monotonic)
    stop: threading.Event = field(default_factory=threading.Event)
    samples: list[Sample] = field(default_factory=list)

    def now(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    def ask(self, callers: int, traffic: Traffic, served: Mapping[str, Served], first_seed: int = 0) -> None:
        """Ask from so many callers until `stop` is set."""
        with ThreadPoolExecutor(callers, thread_name_prefix="caller") as threads:
            calls = [threads.submit(self._call, traffic, served, first_seed + number) for number in range(callers)]
            wait(calls, return_when=FIRST_EXCEPTION)
            self.stop.set()  # where one of them raised, which is a fault of the load's own
            for call in calls:
                call.result()

    def _call(self, traffic: Traffic, served: Mapping[str, Served], seed: int) -> None:
        answer: Answer | None = None
        for following in traffic.of_caller(seed):
            if self.stop.is_set():
                return
            ask = following(answer)
            answer, sample = sent(ask, served[ask.function].url, self.now)
            self.samples.append(sample)


def sent(ask: Ask, url: str, now: Callable[[], float]) -> tuple[Answer | None, Sample]:
    """Send a request on a connection of its own; the answer is None where the connection failed."""
    at_s = now()
    try:
        answer, first_s = _exchanged(ask, url, now)
    except (OSError, http.client.HTTPException) as error:
        failed = f"{type(error).__name__} {error}".strip()
        return None, Sample(ask.kind, ask.function, at_s, now() - at_s, now() - at_s, 0, wrong=failed)
    seconds = now() - at_s
    told = ask.read(answer)
    return answer, Sample(
        ask.kind, ask.function, at_s, seconds, first_s - at_s, answer.status, told.code, told.wrong, told.notices
    )


def _exchanged(ask: Ask, url: str, now: Callable[[], float]) -> tuple[Answer, float]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_S)
    try:
        connection.request(ask.method, ask.path, None if ask.body is None else json.dumps(ask.body).encode())
        response = connection.getresponse()
        first = response.read1(1)
        first_s = now()
        return Answer(response.status, first + response.read()), first_s
    finally:
        connection.close()
