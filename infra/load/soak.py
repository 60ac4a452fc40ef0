"""Steady traffic for a long while, with releases swapped and models and storage failing under it."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.load.buckets import Swapping, make_swapping
from infra.load.callers import Run
from infra.load.figures import bar_lines, by_kind, kind_lines
from infra.load.known import read
from infra.load.mix import functions_of
from infra.load.models import CALM, PHASES, Script
from infra.load.processes import Served, serving, use_of
from infra.load.traffic import Traffic
from infra.load.verdict import Vitals, Window, bars, missing, unannounced
from shared.errors import SettingsError
from shared.settings import Settings

STORAGE = "storage"
# How long the pointers are away: a few looks of every function.
AWAY_S = 4.0
# After its window a fault may still be felt: a breaker that is open, a call that is made once more.
GRACE_S = 12.0
_LOOK_S = 2.0
_TICK_S = 0.2

# Faults are met and got over within seconds, so that a run of minutes holds many; caches off, so that models are
# asked at all. The image's own settings wait longer.
IMPATIENT = {
    "REFRESH_S": "1",
    "LLM_READ_TIMEOUT": "2",
    "LLM_BREAKER_OPEN": "2",
    "EMBED_CACHE_ENTRIES": "0",
    "VERDICT_CACHE_ENTRIES": "0",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How long, from how many callers, and how often releases are swapped and faults change."""

    seconds: float
    callers: int = 8
    swap_every_s: float = 20.0
    phase_s: float = 25.0

    def phases(self) -> list[str]:
        """Each fault once, a calm stretch before it; over and over."""
        faults = [*(phase for phase in PHASES if phase != CALM), STORAGE]
        return [each for fault in faults for each in (CALM, fault)]


@dataclass(slots=True)
class Director:
    """What is done to the service while it is asked: phases and swaps, by the clock of the run."""

    plan: Plan
    models: Script
    swapping: Swapping
    run: Run
    faults: list[Window] = field(default_factory=list)
    swaps: list[Window] = field(default_factory=list)

    def direct(self) -> None:
        """Until the run stops, one thing after the other; what was taken away is back at the end."""
        current = 0
        for phase in itertools.cycle(self.plan.phases()):
            started_s = self.run.now()
            self._begin(phase)
            while self.run.now() < started_s + self.plan.phase_s:
                if self.run.stop.wait(_TICK_S):
                    self.models.begin(CALM)
                    return
                if self.run.now() - self._last_swap_s >= self.plan.swap_every_s:
                    current = 1 - current
                    self._swap(current)

    @property
    def _last_swap_s(self) -> float:
        return self.swaps[-1].start_s if self.swaps else 0.0

    def _begin(self, phase: str) -> None:
        if phase == STORAGE:
            self.models.begin(CALM)
            self.swapping.hide()
            self.run.stop.wait(AWAY_S)
            self.swapping.show()
            return
        self.models.begin(phase)
        if phase != CALM:
            now_s = self.run.now()
            self.faults.append(Window(phase, now_s, now_s + self.plan.phase_s + GRACE_S))

    def _swap(self, to: int) -> None:
        now_s = self.run.now()
        self.swapping.switch(to)
        self.swaps.append(Window("swap", now_s, now_s + GRACE_S))


def measure(plan: Plan, settings: Settings, models: Script, folder: Path) -> dict[str, Any]:
    """Serve a copy of the bucket, ask, swap and fail; then say what came of it. The bucket itself is only read.

    Raises SettingsError for a plan that holds no swap.
    """
    if plan.swap_every_s <= 0 or plan.phase_s <= 0 or plan.seconds <= plan.swap_every_s:
        raise SettingsError("a soak needs time for a swap: --minutes above --swap-every")
    folder.mkdir(parents=True, exist_ok=True)
    swapping = make_swapping(settings, folder)
    found = read(swapping.bucket, settings)
    functions = functions_of(found, swapping.bucket.url, models.url, settings.cache_dir, IMPATIENT)
    with serving(functions) as served:
        run = Run()
        director = Director(plan, models, swapping, run)
        vitals = _soaked(plan, run, director, Traffic(found), served)
    return _report(plan, run, director, vitals, tuple(served))


def _soaked(plan: Plan, run: Run, director: Director, traffic: Traffic, served: Mapping[str, Served]) -> list[Vitals]:
    vitals: list[Vitals] = []

    def watch() -> None:
        while not run.stop.wait(_LOOK_S):
            vitals.extend(_looked(served, run.now()))

    timer = threading.Timer(plan.seconds, run.stop.set)
    timer.start()
    with ThreadPoolExecutor(2, "soak") as beside:
        both = [beside.submit(task) for task in (watch, director.direct)]
        try:
            run.ask(plan.callers, traffic, served)
        finally:
            run.stop.set()
            timer.cancel()
        for each in both:  # a run in which nothing was watched or done any more has shown nothing
            each.result()
    return vitals


def _looked(served: Mapping[str, Served], at_s: float) -> Iterator[Vitals]:
    """Each function's worker, the last of its processes; none while it is only the master."""
    for name, each in served.items():
        if len(uses := use_of(each.pid)) > 1:
            worker = uses[-1]
            yield Vitals(name, at_s, worker.own, worker.rss, worker.descriptors, worker.threads)


def _report(
    plan: Plan, run: Run, director: Director, vitals: Sequence[Vitals], functions: Sequence[str]
) -> dict[str, Any]:
    complaints = unannounced(run.samples, director.faults, director.swaps)
    return {
        "seconds": run.now(),
        "callers": plan.callers,
        "swaps": len(director.swaps),
        "phases": dict(Counter(window.name for window in director.faults)),
        "kinds": by_kind(run.samples, run.now()),
        "unannounced": dict(complaints),
        "vitals": [_told(each) for each in vitals],
        "bars": [
            *bars(run.samples, vitals, complaints),
            *missing(functions, vitals, run.now(), len(director.swaps), plan.seconds / plan.swap_every_s),
        ],
    }


def _told(vitals: Vitals) -> dict[str, Any]:
    return {name: getattr(vitals, name) for name in ("name", "at_s", "own", "rss", "descriptors", "threads")}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it; the vitals themselves are in the JSON."""
    phases = ", ".join(f"{count} x {name}" for name, count in report["phases"].items())
    yield f"{report['seconds']:.0f} s, {report['callers']} callers, {report['swaps']} swaps, faults: {phases or 'none'}"
    yield from kind_lines(report["kinds"])
    notices = report["kinds"]["all"]["notices"]
    yield "  notices: " + (", ".join(f"{count} x {code}" for code, count in sorted(notices.items())) or "none")
    for name in dict.fromkeys(each["name"] for each in report["vitals"]):
        own = [each for each in report["vitals"] if each["name"] == name]
        shown = ", ".join(f"{each['own'] / 1e6:.1f}" for each in _spread(own))
        ended = f"{own[-1]['descriptors']} files, {own[-1]['threads']} threads at the end"
        yield f"  {name}: own memory {shown} MB; {ended}"
    yield from (f"  UNANNOUNCED {count} x {said}" for said, count in report["unannounced"].items())
    yield from bar_lines(report["bars"])


def _spread(values: Sequence[Any], most: int = 9) -> list[Any]:
    """A few of a list, from its first to its last, evenly."""
    if len(values) <= most:
        return list(values)
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]
