"""Whether a service came through a soak: what failed without a reason that was announced, and what leaked."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.load.callers import Sample
from infra.load.figures import bar
from infra.load.traffic import NEXT_PAGE, STREAM_FAILED

# What a caller is told where a model cannot be had, and what an answer says that had to do without one.
ANNOUNCED = frozenset(
    {"embedding_failed", "relevance_scoring_failed", "model_unavailable", "query_cancelled", STREAM_FAILED}
)
DEGRADED = frozenset(
    """answer_failed answer_from_names batch_failed describer_failed expansion_failed ranker_fell_back ranking_restarted
    retrieval_order rewrite_failed source_failed triage_failed vector_unusable vectors_partial vectors_unavailable
    verdicts_missing verdicts_skipped leaf_unreadable""".split()
)
# Own memory may grow by so much in the second half of a run: what a cache or a pool still fills, and no leak of a
# whole run's length. Ten minutes of 1 KB a request would be 6 MB at ten a second, and 5 % of a worker is 4.
MOST_GROWTH = 0.05
LEAST_GROWTH_BYTES = 4_000_000
# Descriptors and threads follow what is under way, and connections to models are kept for half a minute, so medians of
# a quarter of the run are compared. A descriptor lost at every swap would be 30 of them from one to the other.
MOST_MORE_DESCRIPTORS = 8
MOST_MORE_THREADS = 6


@dataclass(frozen=True, slots=True)
class Window:
    """From when to when something was being done to the service, in seconds of the run."""

    name: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Vitals:
    """One worker at a moment of the run."""

    name: str
    at_s: float
    own: int
    rss: int
    descriptors: int
    threads: int


def unannounced(samples: Iterable[Sample], faults: Sequence[Window], swaps: Sequence[Window]) -> Counter[str]:
    """What went wrong in a way that no caller was told to expect: by kind, with how often.

    A failure or a degradation has to be one that is announced, and to overlap a window in which models failed; a
    walk over pages may be told to begin again by a release that was swapped in. A broken connection and a wrong
    answer are never excused.
    """
    return Counter(said for each in samples if (said := _complaint(each, faults, swaps)))


def _complaint(sample: Sample, faults: Sequence[Window], swaps: Sequence[Window]) -> str:
    if sample.wrong:
        return f"{sample.kind}: {sample.wrong}"
    if sample.code in ANNOUNCED and _overlaps(sample, faults):
        return ""
    if sample.kind == NEXT_PAGE and sample.code == "invalid_request" and _overlaps(sample, swaps):
        return ""
    if sample.code or sample.status != 200:
        return f"{sample.kind}: {sample.status} {sample.code}"
    degraded = sorted(DEGRADED.intersection(sample.notices))
    if degraded and not _overlaps(sample, faults):
        return f"{sample.kind}: {', '.join(degraded)} while nothing failed"
    return ""


def _overlaps(sample: Sample, windows: Sequence[Window]) -> bool:
    return any(each.start_s <= sample.at_s + sample.seconds and sample.at_s <= each.end_s for each in windows)


def leaks(vitals: Sequence[Vitals]) -> list[dict[str, Any]]:
    """The bars of each worker: own memory over the last half, descriptors and threads. Needs some moments of each."""
    return [
        each for name in dict.fromkeys(v.name for v in vitals) for each in _bars([v for v in vitals if v.name == name])
    ]


def _bars(vitals: Sequence[Vitals]) -> list[dict[str, Any]]:
    name, last = vitals[0].name, vitals[len(vitals) // 2 :]
    before, after = vitals[len(vitals) // 4 : len(vitals) // 2], vitals[-max(len(vitals) // 4, 1) :]
    allowed = max(MOST_GROWTH * statistics.median(each.own for each in last), LEAST_GROWTH_BYTES)
    grown = slope([(each.at_s, each.own) for each in last]) * (last[-1].at_s - last[0].at_s)
    return [
        bar(f"{name}: own memory grown in the last half, MB", round(grown / 1e6, 2), round(allowed / 1e6, 2)),
        bar(f"{name}: more descriptors than before", _more(before, after, "descriptors"), MOST_MORE_DESCRIPTORS),
        bar(f"{name}: more threads than before", _more(before, after, "threads"), MOST_MORE_THREADS),
    ]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The median of the slopes of all pairs: a request that is under way at a moment moves it no further."""
    slopes = [
        (later - value) / (after - at)
        for place, (at, value) in enumerate(points)
        for after, later in points[place + 1 :]
        if after > at
    ]
    return statistics.median(slopes) if slopes else 0.0


def _more(before: Sequence[Vitals], after: Sequence[Vitals], what: str) -> float:
    if not before:
        return 0.0
    earlier, later = ([float(getattr(each, what)) for each in quarter] for quarter in (before, after))
    return statistics.median(later) - statistics.median(earlier)


def bars(samples: Sequence[Sample], vitals: Sequence[Vitals], complaints: Mapping[str, int]) -> list[dict[str, Any]]:
    """The verdict: no failure that nobody announced, no request without any answer, and no leak."""
    if not samples:
        return [bar("runs in which nothing was asked", 1, 0)]
    return [bar("failures that were not announced, and wrong answers", sum(complaints.values()), 0), *leaks(vitals)]


def missing(
    functions: Sequence[str], vitals: Sequence[Vitals], seconds: float, swaps: int, wanted: float
) -> list[dict[str, Any]]:
    """What a run has to hold to show anything: every worker was looked at until near its end, and releases moved.

    Half of the swaps that the plan has room for are enough: a phase in which storage is away holds none.
    """
    seen = {each.name for each in vitals if each.at_s > seconds / 2}
    return [
        bar("workers that were not looked at in the last half", len(set(functions) - seen), 0),
        bar("swaps too few", max(0, int(wanted / 2) - swaps), 0),
    ]
