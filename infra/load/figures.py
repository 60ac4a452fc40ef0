"""Figures of samples: percentiles, counts and bars, and the tables that people read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from infra.load.callers import Sample
from infra.load.processes import Served, Use, use_of

ALL = "all"


def percentile_ms(seconds: Sequence[float], percent: int) -> float:
    """The nearest-rank percentile, in milliseconds; 0 of nothing."""
    ordered = sorted(seconds)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] * 1e3 if ordered else 0.0


def failure(sample: Sample) -> str:
    """The status and the code of an answer that is none, or what is wrong with it; empty for a right one."""
    if sample.status != 200 or sample.code:
        return f"{sample.status} {sample.code or sample.wrong}".strip()
    return sample.wrong


def by_kind(samples: Sequence[Sample], seconds: float) -> dict[str, dict[str, Any]]:
    """Of each kind of request, and of all: how many, how fast, and what failed by its status."""
    kinds = {kind: [each for each in samples if each.kind == kind] for kind in sorted({s.kind for s in samples})}
    return {name: _of(own, seconds) for name, own in {**kinds, ALL: list(samples)}.items()}


def _of(samples: Sequence[Sample], seconds: float) -> dict[str, Any]:
    took = [each.seconds for each in samples]
    failed = Counter(f"{each.status} {each.code}".strip() for each in samples if each.status != 200 or each.code)
    return {
        "requests": len(samples),
        "per_second": len(samples) / seconds,
        **{f"p{percent}_ms": percentile_ms(took, percent) for percent in (50, 90, 99)},
        "max_ms": percentile_ms(took, 100),
        "first_byte_p50_ms": percentile_ms([each.first_s for each in samples], 50),
        "failed": dict(failed),
        "wrong": dict(Counter(each.wrong for each in samples if each.wrong)),
        "notices": dict(Counter(code for each in samples for code in each.notices)),
    }


def processes(
    served: Mapping[str, Served], before: Mapping[str, float], samples: Sequence[Sample]
) -> list[dict[str, Any]]:
    """Each process's memory, and each function's processor time a request since `before`."""
    rows: list[dict[str, Any]] = []
    for name, each in served.items():
        uses = use_of(each.pid)
        asked = sum(sample.function == name for sample in samples)
        spent_s = sum(use.cpu_s for use in uses) - before[name]
        for place, use in enumerate(uses):
            rows.append({"function": name, "process": "worker" if place else "master", **memory(use)})
        rows[-1]["cpu_ms_a_request"] = spent_s * 1e3 / asked if asked else 0.0
    return rows


def memory(use: Use) -> dict[str, int]:
    """What a process takes, as a report has it."""
    sizes = {"rss": use.rss, "pss": use.pss, "private": use.private, "own": use.own}
    return {**sizes, "threads": use.threads, "files": use.descriptors}


def bar(rule: str, found: float, most: float) -> dict[str, Any]:
    """A rule, what was found, and whether that is no more than it allows."""
    return {"rule": rule, "found": found, "most": most, "met": found <= most}


def kind_lines(kinds: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The table of `by_kind`."""
    yield f"  {'':24}{'requests':>9}{'a second':>10}{'p50 ms':>9}{'p90 ms':>9}{'p99 ms':>9}{'first ms':>10}  failed"
    for name, found in kinds.items():
        times = "".join(f"{found[key]:9.1f}" for key in ("p50_ms", "p90_ms", "p99_ms"))
        failed = ", ".join(f"{count} x {code}" for code, count in found["failed"].items()) or "-"
        counts = f"{found['requests']:9}{found['per_second']:10.1f}"
        yield f"  {name:24}{counts}{times}{found['first_byte_p50_ms']:10.1f}  {failed}"
    yield from (f"  WRONG {count} x {wrong}" for wrong, count in kinds[ALL]["wrong"].items())


def process_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The table of `processes`."""
    yield f"  {'':24}{'RSS MB':>9}{'private':>9}{'own':>9}{'threads':>9}{'files':>7}  CPU ms a request"
    for row in rows:
        sizes = "".join(f"{row[key] / 1e6:9.1f}" for key in ("rss", "private", "own"))
        cpu = f"  {row['cpu_ms_a_request']:.2f}" if "cpu_ms_a_request" in row else ""
        yield f"  {row['function'] + ', ' + row['process']:24}{sizes}{row['threads']:9}{row['files']:7}{cpu}"


def bar_lines(bars: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Each bar, and whether it was met."""
    for each in bars:
        yield f"{'ok  ' if each['met'] else 'OVER'} {each['rule']}: {each['found']:g} of {each['most']:g}"
