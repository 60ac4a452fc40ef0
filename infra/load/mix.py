"""A realistic mix at several levels of concurrency, against each function as the image starts it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.load.buckets import KEY
from infra.load.callers import Run
from infra.load.figures import bar, bar_lines, by_kind, kind_lines, process_lines, processes
from infra.load.known import Known
from infra.load.processes import Function, Served, cpu_s_of, serving
from infra.load.traffic import Traffic
from tests.fakes.openrouter import Latency

# As the service before us saw it: a search of about three calls took 1.84 s at the median and 3.98 s at the 95th
# percentile. One embedding, then up to five judges side by side, of which the slowest counts: with a log-normal of
# .4 the slowest of five is 1.6 times the median, so calls of 1,000 ms after one of 250 ms come to those two figures.
RECORDED = Latency(embed_ms=250.0, chat_ms=1_000.0, token_ms=2.0, sigma=0.4)
LEVELS = (1, 5, 20, 50)


@dataclass(frozen=True, slots=True)
class Plan:
    """So many callers at once, one level after the other, each for so long."""

    concurrency: Sequence[int] = LEVELS
    seconds: float = 60.0


def functions_of(
    known: Known, bucket_url: str, models_url: str, cache_dir: str, more: Mapping[str, str] | None = None
) -> list[Function]:
    """Every function that the traffic asks, over this bucket and these models."""
    settings = {
        "BUCKET_URL": bucket_url,
        "CACHE_DIR": cache_dir,
        "LLM_PROVIDER": "openrouter",
        "OPENROUTER_API_KEY": KEY,
        "OPENROUTER_BASE_URL": models_url,
        **(more or {}),
    }
    tables = [
        Function(name, f"functions/{name}/main.py", settings) for name in ("search", "variable", "registry", "stats")
    ]
    sites = [Function(kind, "functions/ask_site/main.py", {**settings, "SITE": kind}) for kind in known.items]
    return [*tables, *sites]


def measure(plan: Plan, known: Known, functions: Sequence[Function]) -> dict[str, Any]:
    """Serve, ask, and report each level."""
    traffic = Traffic(known)
    with serving(functions) as served:
        levels = [_level(callers, plan.seconds, traffic, served) for callers in plan.concurrency]
    wrong = sum(sum(level["kinds"]["all"]["wrong"].values()) for level in levels)
    failed = sum(sum(level["kinds"]["all"]["failed"].values()) for level in levels)
    return {
        "cores": len(os.sched_getaffinity(0)),
        "tables": len(known.leaves),
        "items": {kind: len(items) for kind, items in known.items.items()},
        "levels": levels,
        "bars": [
            bar("no failed request", failed, 0),
            bar("no wrong answer", wrong, 0),
            bar("no level without a request", sum(not level["kinds"]["all"]["requests"] for level in levels), 0),
        ],
    }


def _level(callers: int, seconds: float, traffic: Traffic, served: Mapping[str, Served]) -> dict[str, Any]:
    before = {name: cpu_s_of(each.pid) for name, each in served.items()}
    run = Run()
    timer = threading.Timer(seconds, run.stop.set)
    timer.start()
    try:
        # Each level asks other things than the one before, which would be answered from caches.
        run.ask(callers, traffic, served, first_seed=1_000 * callers)
    finally:
        timer.cancel()
    took = run.now()
    return {
        "callers": callers,
        "seconds": took,
        "kinds": by_kind(run.samples, took),
        "processes": processes(served, before, run.samples),
    }


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it."""
    items = ", ".join(f"{count:,} {kind}" for kind, count in report["items"].items())
    yield f"{report['tables']:,} tables, {items or 'no items'}; {report['cores']} cores"
    for level in report["levels"]:
        yield f"{level['callers']} at once, {level['seconds']:.0f} s"
        yield from kind_lines(level["kinds"])
        yield from process_lines(level["processes"])
    yield from bar_lines(report["bars"])
