"""Steady traffic while the release is swapped under it: what callers see, and what it leaves in memory.

`askbucket serve` runs over a copy of the catalog and its twin (twin.py). Each request is sent when it is due,
whether or not those before it were answered, and its time counts from then. Before the traffic begins every
request is answered once by each release; under way each reply must be the one or the other, whole.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from cli.bench.beside import ROOT
from cli.bench.twin import MARK, Pair, make_pair
from shared.errors import BuildError, SettingsError
from shared.settings import Settings

REFRESH_S = "1"
MOST_MEMORY_GROWTH = 1.10
# Of a route, so many requests out of a hundred; each asks one of so many different things.
SHARES = {"search": 45, "variable": 45, "judged": 10}
VARIETY = 60
# How many requests may wait for their answer at once before the sender itself falls behind.
_SENDERS = 96
_TIMEOUT_S = 30.0
_SETTLE_S = 5.0
_SAMPLE_S = 0.25


@dataclass(frozen=True, slots=True)
class Plan:
    """How much traffic, for how long, and how often the pointer moves."""

    rate: float
    seconds: float
    swap_every: float

    def swaps(self) -> list[float]:
        """Seconds from the start at which the pointer moves; the last stretch is as long as the others."""
        return [self.swap_every * number for number in range(1, round(self.seconds / self.swap_every))]


@dataclass(frozen=True, slots=True)
class Request:
    """One request, and which of the routes it counts for."""

    route: str
    method: str
    path: str
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """How a request went. `release` is 0 or 1, None for a reply that neither release gives or that failed."""

    route: str
    due_s: float
    seconds: float
    release: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Memory:
    """Of every process of the service together, in bytes, at a moment of the run.

    `own` is what no file backs; `pss` counts mapped release files too, shared pages by their share.
    """

    at_s: float
    own: int
    pss: int


def measure(settings: Settings, plan: Plan) -> dict[str, Any]:
    """Serve, swap and ask. Raises SettingsError for a plan that holds no swap."""
    if not settings.bucket_url:
        raise SettingsError("bench load needs a release: --bucket URL or BUCKET_URL")
    if plan.rate <= 0 or plan.swap_every <= 0 or not plan.swaps():
        raise SettingsError("bench load needs a rate, and time for a swap: --seconds at least twice --swap-every")
    with tempfile.TemporaryDirectory() as folder:
        pair = make_pair(settings, Path(folder))
        requests = _requests(pair)
        with serving(pair.bucket.url) as service:
            expected = service.learn(pair, requests)
            samples, memory, swapped_at = _run(service, pair, plan, requests, expected)
    return _report(plan, expected, samples, memory, swapped_at)


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it."""
    plan, told = report["plan"], report["told_apart"]
    yield f"{plan['rate']:g} requests a second for {plan['seconds']:g} s, {len(report['swapped_at_s'])} swaps"
    yield f"{'':10}{'requests':>9}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}{'p99 ms swapping':>17}"
    for route, found in report["routes"].items():
        times = "".join(f"{found[name]:9.1f}" for name in ("p50_ms", "p99_ms", "max_ms"))
        yield f"{route:10}{found['requests']:9}{times}{found['p99_swapping_ms']:17.1f}"
    yield f"replies of the first release {report['replies']['first']}, of its twin {report['replies']['twin']}"
    yield f"requests that the two releases answer differently: {told['different']} of {told['all']}"
    yield "new release seen after s: " + ", ".join(f"{seconds:.2f}" for seconds in report["seen_after_s"])
    for name, found in report["memory"].items():
        yield f"memory {name}: {found['own'] / 1e6:.1f} MB own, {found['pss'] / 1e6:.1f} MB with mapped files"
    for bar in report["bars"]:
        yield f"{'ok  ' if bar['met'] else 'OVER'} {bar['rule']}: {bar['found']:g}"
    yield from (f"     {count} x {error}" for error, count in report["errors"].items())


class Service:
    """A running `askbucket serve`."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self._process = process
        self._address = urlsplit(url).netloc

    def answer(self, request: Request) -> dict[str, Any]:
        """The reply without its usage, which tells times. Raises OSError, BuildError for another status than 200."""
        connection = http.client.HTTPConnection(self._address, timeout=_TIMEOUT_S)
        try:
            connection.request(request.method, request.path, request.body)
            response = connection.getresponse()
            content = response.read()
        except http.client.HTTPException as error:
            raise BuildError(f"{request.route}: {type(error).__name__}") from error
        finally:
            connection.close()
        if response.status != 200:
            raise BuildError(f"{request.route}: HTTP {response.status} {json.loads(content).get('code')}")
        reply: dict[str, Any] = json.loads(content)
        reply.pop("usage", None)
        return reply

    def learn(self, pair: Pair, requests: Sequence[Request]) -> dict[Request, tuple[dict[str, Any], ...]]:
        """What each release alone replies to each request; the first is current again at the end."""
        replies = []
        for release in (0, 1):
            pair.switch(release)
            self._until_serving(release, requests)
            replies.append([self.answer(request) for request in requests])
        pair.switch(0)
        self._until_serving(0, requests)
        return dict(zip(requests, zip(*replies, strict=True), strict=True))

    def _until_serving(self, release: int, requests: Sequence[Request]) -> None:
        """Each function swaps by itself: wait until one request of each route is answered by that release."""
        deadline = time.monotonic() + 60
        for request in {request.route: request for request in requests}.values():
            while _marked(self.answer(request)) != bool(release):
                if time.monotonic() > deadline:
                    raise BuildError(f"{request.route} did not take the release over within 60 s")
                time.sleep(0.05)

    def memory(self, at_s: float) -> Memory:
        """Every process of the service together."""
        found = [_smaps(pid) for pid in processes_of(self._process.pid)]
        return Memory(at_s, sum(each["Anonymous"] for each in found), sum(each["Pss"] for each in found))


@contextmanager
def serving(bucket_url: str) -> Iterator[Service]:
    """The service as a process of its own, ready. What is kept from one question to the next is off."""
    for name, value in {
        "REFRESH_S": REFRESH_S, "EMBED_CACHE_ENTRIES": "0", "VERDICT_CACHE_ENTRIES": "0", "PYTHONPATH": str(ROOT),
        "SEARCH_LIMIT_PER_DAY": "0",
    }.items():  # fmt: skip
        os.putenv(name, value)
    command = [sys.executable, "-m", "cli.main", "serve", "--bucket", bucket_url, "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    try:
        assert process.stdout is not None  # noqa: S101 - asked for above
        said = process.stdout.readline()
        if not said:
            raise BuildError("askbucket serve stopped before it was ready; it says why above")
        yield Service(process, json.loads(said)["ready"])
    finally:
        process.terminate()
        process.communicate(timeout=40)


def _requests(pair: Pair) -> list[Request]:
    """What is asked: questions and variables of the catalog's own documents, the same in every run."""
    leaves = random.Random(0).sample(pair.leaves, len(pair.leaves))  # noqa: S311 - a draw, not a secret
    asked = list(dict.fromkeys(leaf.queries[0] for leaf in leaves if leaf.queries))[:VARIETY]
    named = [leaf.front_matter.get("variable") for leaf in leaves]
    variables = list(dict.fromkeys(name for name in named if isinstance(name, str) and name))[:VARIETY]
    if not asked or not variables:
        raise BuildError("bench load needs a catalog whose documents have questions and variables")
    return [
        *(_search(text, rerank=False) for text in asked),
        *(Request("variable", "GET", f"/variable?id={quote(name, safe='')}") for name in variables),
        *(_search(text, rerank=True) for text in asked[: VARIETY // 3]),
    ]


def _search(text: str, rerank: bool) -> Request:
    body = json.dumps({"query": {"text": text}, "rerank": rerank}).encode()
    return Request("judged" if rerank else "search", "POST", "/search", body)


def _marked(reply: Mapping[str, Any]) -> bool:
    return any(result["displayName"].endswith(MARK) for result in reply["results"])


def _run(
    service: Service,
    pair: Pair,
    plan: Plan,
    requests: Sequence[Request],
    expected: Mapping[Request, tuple[dict[str, Any], ...]],
) -> tuple[list[Sample], list[Memory], list[float]]:
    """What became of the traffic, the memory beside it, and when the release was swapped, all by one clock."""
    began = time.monotonic()
    ended = threading.Event()
    memory: list[Memory] = []
    swapped_at: list[float] = []

    def watch() -> None:
        while not ended.wait(_SAMPLE_S):
            memory.append(service.memory(time.monotonic() - began))

    def swap() -> None:
        for number, at_s in enumerate(plan.swaps(), 1):
            if ended.wait(began + at_s - time.monotonic()):
                return
            pair.switch(number % 2)
            swapped_at.append(time.monotonic() - began)

    with _threads(watch, swap):
        samples = _send(service, plan, requests, expected, began)
        ended.set()
    return samples, memory, swapped_at


def _send(
    service: Service,
    plan: Plan,
    requests: Sequence[Request],
    expected: Mapping[Request, tuple[dict[str, Any], ...]],
    began: float,
) -> list[Sample]:
    """Each request when it is due, whatever became of those before it."""
    due = [number / plan.rate for number in range(round(plan.rate * plan.seconds))]
    pending = []
    with ThreadPoolExecutor(_SENDERS) as senders:
        for request, due_s in zip(_traffic(requests, len(due)), due, strict=True):
            time.sleep(max(0.0, began + due_s - time.monotonic()))
            pending.append(senders.submit(_sample, service, request, expected[request], began, due_s))
        return [each.result() for each in pending]


def _sample(
    service: Service, request: Request, expected: Sequence[Mapping[str, Any]], began: float, due_s: float
) -> Sample:
    """One request; it took from when it was due, not from when a sender was free for it."""
    error, release = None, None
    try:
        reply = service.answer(request)
    except (OSError, BuildError) as failure:
        error = str(failure) or type(failure).__name__
    seconds = time.monotonic() - began - due_s
    if error is None:
        release = _of_release(reply, expected)
    return Sample(request.route, due_s, seconds, release, error)


@contextmanager
def _threads(*targets: Callable[[], None]) -> Iterator[None]:
    threads = [threading.Thread(target=target, daemon=True) for target in targets]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()


def _traffic(requests: Sequence[Request], count: int) -> Iterator[Request]:
    draw = random.Random(1)  # noqa: S311 - a draw, not a secret
    by_route = {route: [request for request in requests if request.route == route] for route in SHARES}
    for route in draw.choices(list(SHARES), list(SHARES.values()), k=count):
        yield draw.choice(by_route[route])


def _of_release(reply: Mapping[str, Any], expected: Sequence[Mapping[str, Any]]) -> int | None:
    """Which release's reply it is; the first, where both give the same; None where neither does."""
    return next((number for number, whole in enumerate(expected) if reply == whole), None)


def _report(
    plan: Plan,
    expected: Mapping[Request, tuple[dict[str, Any], ...]],
    samples: Sequence[Sample],
    memory: Sequence[Memory],
    swapped_at: Sequence[float],
) -> dict[str, Any]:
    errors = Counter(sample.error for sample in samples if sample.error)
    mixed = sum(sample.error is None and sample.release is None for sample in samples)
    levels = _levels(memory, swapped_at, plan)
    growth = round(levels["after"]["own"] / levels["before"]["own"], 3)
    return {
        "plan": {"rate": plan.rate, "seconds": plan.seconds, "swap_every": plan.swap_every},
        "swapped_at_s": list(swapped_at),
        "seen_after_s": [_seen_after(samples, at_s, number % 2) for number, at_s in enumerate(swapped_at, 1)],
        "routes": {route: _route(samples, route, swapped_at) for route in SHARES},
        "replies": {name: sum(s.release == number for s in samples) for number, name in enumerate(("first", "twin"))},
        "told_apart": {"different": sum(one != other for one, other in expected.values()), "all": len(expected)},
        "memory": levels,
        "errors": dict(errors),
        "bars": [
            _bar("no error", sum(errors.values()), 0),
            _bar("no reply that is not wholly of one release", mixed, 0),
            _bar(f"own memory after the swaps at most {MOST_MEMORY_GROWTH} x before", growth, MOST_MEMORY_GROWTH),
        ],
    }


def _bar(rule: str, found: float, most: float) -> dict[str, Any]:
    return {"rule": rule, "found": found, "most": most, "met": found <= most}


def _seen_after(samples: Sequence[Sample], at_s: float, release: int) -> float:
    """Seconds from the pointer's move to the first reply of the release it names."""
    seen = [s.due_s + s.seconds for s in samples if s.release == release and s.due_s >= at_s]
    return min(seen, default=float("inf")) - at_s


def _route(samples: Sequence[Sample], route: str, swapped_at: Sequence[float]) -> dict[str, Any]:
    own = [sample for sample in samples if sample.route == route]
    swapping = [s for s in own if any(at_s <= s.due_s < at_s + _SETTLE_S for at_s in swapped_at)]
    return {
        "requests": len(own),
        "p50_ms": _percentile(own, 50),
        "p99_ms": _percentile(own, 99),
        "max_ms": _percentile(own, 100),
        "p99_swapping_ms": _percentile(swapping, 99),
    }


def _percentile(samples: Sequence[Sample], percent: int) -> float:
    ordered = sorted(sample.seconds * 1000 for sample in samples)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0.0


def _levels(memory: Sequence[Memory], swapped_at: Sequence[float], plan: Plan) -> dict[str, dict[str, float]]:
    """The median of the last seconds before each swap and before the end, and the most there was between."""
    ends = [*swapped_at, plan.seconds]
    names = ["before", *(f"after swap {number}" for number in range(1, len(swapped_at))), "after"]
    calm = [[each for each in memory if end - _SETTLE_S <= each.at_s < end] for end in ends]
    most = {"own": max(each.own for each in memory), "pss": max(each.pss for each in memory)}
    return {
        **{name: {key: statistics.median(getattr(each, key) for each in found) for key in ("own", "pss")}
           for name, found in zip(names, calm, strict=True)},
        "at most": most,
    }  # fmt: skip


def processes_of(pid: int) -> Iterator[int]:
    """A process and all that came from it."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            yield from processes_of(int(child))


def _smaps(pid: int) -> dict[str, int]:
    """Bytes by name, of all mappings of a process together."""
    rows = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows}
