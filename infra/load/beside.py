"""Our search beside the plain way of the same, in one run: throughput, the slowest, processor time and memory.

Each is one function of functions-framework with the same threads, over the same release; models answer at once. The
plain way stands there twice: with vectors alone, and with a keyword leg as ours has one, which then finds the same.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.bench.made_release import DIMENSION, publish
from infra.load.buckets import KEY
from infra.load.callers import Sample, sent
from infra.load.figures import bar, bar_lines, failure, memory, percentile_ms
from infra.load.known import Known, read
from infra.load.models import scripted
from infra.load.processes import Function, Served, cpu_s_of, serving, use_of
from infra.load.seeds_way.export import export
from infra.load.traffic import Answer, Ask, Told
from shared.bucket.base import open_bucket
from shared.errors import BuildError, SettingsError
from shared.settings import Settings

OURS, PLAIN, PLAIN_KEYWORDS = "askbucket", "plain", "plain, keywords"
VARIETY = 60
# float16 rounds a cosine by up to 5e-4, so where two lie closer the two ways may order them otherwise.
MOST_DIFFERENT = 0.05
_WARM_UP = 4
# A place in each text, so that its twin without the place makes two phrasings of it: eight in all.
_ASIDES = (" in Kenya", " over time in New Zealand", " by age in Texas", " by sex in California")


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows of the release that is made where none is named, callers at once, requests of each in a round, rounds."""

    rows: int = 118_703
    callers: int = 20
    requests: int = 200
    rounds: int = 5

    def check(self) -> None:
        """Raises SettingsError for a plan that measures nothing."""
        if self.callers < 1 or self.rounds < 1 or self.requests < self.callers or self.rows < 200:
            raise SettingsError("beside needs --callers, --rounds, no fewer --requests than callers, 200 --rows")


@dataclass(slots=True)
class Measured:
    """What became of one contestant, a round an entry, and all of its requests."""

    per_second: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    models_cpu_ms: list[float] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)


def measure(plan: Plan, bucket_url: str = "") -> dict[str, Any]:
    """Serve all three, ask them in turns, and compare. Without a bucket, over a release of random vectors."""
    plan.check()
    with tempfile.TemporaryDirectory() as name, scripted() as models:
        folder = Path(name)
        settings = Settings(bucket_url=bucket_url or _made(plan.rows, folder), cache_dir=str(folder / "cache"))
        found = read(open_bucket(settings.bucket_url, settings), settings)
        export(settings, folder / "plain")
        with serving(_contestants(settings, models.url, folder / "plain")) as served:
            asks = _asks(found)[: plan.requests]
            same = _same(asks, served)
            measured = {name: Measured() for name in served}
            for number in range(plan.rounds):
                names = list(served)
                for each in names[number % len(names) :] + names[: number % len(names)]:
                    _round(plan, asks, served[each], models.process.pid, measured[each])
            sizes = {each: [memory(use) for use in use_of(one.pid)] for each, one in served.items()}
    vectors = "of the release" if bucket_url else "random"
    return {"rows": len(found.leaves), "vectors": vectors, "same_answers": same, **_report(plan, measured, sizes, same)}


def _made(rows: int, folder: Path) -> str:
    url, files = (folder / "bucket").as_uri(), folder / "files"
    files.mkdir()
    publish(open_bucket(url), files, rows, DIMENSION)
    return url


def _contestants(settings: Settings, models_url: str, plain: Path) -> list[Function]:
    given = {
        "BUCKET_URL": settings.bucket_url,
        "LLM_PROVIDER": "openrouter",
        "OPENROUTER_API_KEY": KEY,
        "OPENROUTER_BASE_URL": models_url,
        # Nothing that was asked before is answered from memory.
        "EMBED_CACHE_ENTRIES": "0",
        "VERDICT_CACHE_ENTRIES": "0",
    }
    plainly = "infra/load/seeds_way/main.py"
    return [
        Function(OURS, "functions/search/main.py", {**given, "CACHE_DIR": settings.cache_dir}),
        Function(PLAIN, plainly, {**given, "CACHE_DIR": str(plain), "ARD_LEXICAL_POOL": "0"}),
        Function(PLAIN_KEYWORDS, plainly, {**given, "CACHE_DIR": str(plain)}),
    ]


def _asks(found: Known) -> list[Ask]:
    """Searches of eight phrasings, drawn from the documents' own questions, the same in every run."""
    draw = random.Random(0)  # noqa: S311 - a draw, not a secret
    asked = [leaf.queries[0].rstrip("?") for leaf in draw.sample(found.leaves, len(found.leaves)) if leaf.queries]
    bodies = []
    for text in list(dict.fromkeys(asked))[:VARIETY]:
        texts = [text + aside for aside in _ASIDES]
        bodies.append({"query": {"text": texts[0], "texts": texts}})
    return [Ask("search", OURS, "POST", "/search", _read, body) for body in bodies]


def _read(answer: Answer) -> Told:
    """Nothing but that it is an answer: all of it is read before the clock starts, and here the cores are wanted."""
    return Told("" if answer.content.startswith(b"{") else "no JSON")


def _same(asks: Sequence[Ask], served: Mapping[str, Served]) -> float:
    """The share of questions to which ours and the plain way with keywords name the same tables."""
    same = 0
    for ask in asks:
        ours, theirs = (_named(ask, served[name]) for name in (OURS, PLAIN_KEYWORDS))
        same += ours == theirs
    return same / len(asks)


def _named(ask: Ask, served: Served) -> set[str]:
    answer, sample = sent(ask, served.url, time.monotonic)
    if answer is None or answer.status != 200:
        raise BuildError(f"{served.name} did not answer: {sample.wrong or sample.status}")
    return {result["identifier"] for result in answer.json["results"]}


def _round(plan: Plan, asks: Sequence[Ask], served: Served, models_pid: int, measured: Measured) -> None:
    """So many callers, each asking again as soon as it is answered."""
    for ask in asks[:_WARM_UP]:
        sent(ask, served.url, time.monotonic)
    cpu_s, models_s, began = cpu_s_of(served.pid), cpu_s_of(models_pid), time.monotonic()
    with ThreadPoolExecutor(plan.callers) as callers:
        numbers = range(plan.requests)
        found = callers.map(lambda number: sent(asks[number % len(asks)], served.url, time.monotonic)[1], numbers)
        measured.samples += found
    measured.per_second.append(plan.requests / (time.monotonic() - began))
    measured.cpu_ms.append((cpu_s_of(served.pid) - cpu_s) * 1e3 / plan.requests)
    measured.models_cpu_ms.append((cpu_s_of(models_pid) - models_s) * 1e3 / plan.requests)


def _report(
    plan: Plan,
    measured: Mapping[str, Measured],
    sizes: Mapping[str, Sequence[Mapping[str, int]]],
    same: float,
) -> dict[str, Any]:
    ways = {name: _way(each, sizes[name]) for name, each in measured.items()}
    ours = ways[OURS]
    failed = sum(sum(way["failed"].values()) for way in ways.values())
    compared = [
        bar(f"{what} beside {name}", ours[key] / ways[name][key], 1.0)
        for name in (PLAIN, PLAIN_KEYWORDS)
        for what, key in (("p99", "p99_ms"), ("processor time", "cpu_ms"))
    ]
    faster = [
        bar(f"throughput of {name} beside ours", ways[name]["per_second"] / ours["per_second"], 1.0)
        for name in (PLAIN, PLAIN_KEYWORDS)
    ]
    return {
        "cores": len(os.sched_getaffinity(0)),
        "callers": plan.callers,
        "requests": plan.requests,
        "rounds": plan.rounds,
        "ways": ways,
        "bars": [
            bar("failed requests", failed, 0),
            bar("questions answered with other tables", 1 - same, MOST_DIFFERENT),
            *faster,
            *compared,
        ],
    }


def _way(measured: Measured, sizes: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    took = [each.seconds for each in measured.samples]
    return {
        "per_second": statistics.median(measured.per_second),
        "per_second_of_each_round": measured.per_second,
        **{f"p{percent}_ms": percentile_ms(took, percent) for percent in (50, 90, 99)},
        "cpu_ms": statistics.median(measured.cpu_ms),
        "models_cpu_ms": statistics.median(measured.models_cpu_ms),
        # The plain way's master has the index too, before it forks: pages that both have count once.
        "pss": sum(each["pss"] for each in sizes),
        "private": sum(each["private"] for each in sizes),
        "failed": dict(Counter(said for each in measured.samples if (said := failure(each)))),
    }


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it."""
    yield (
        f"{report['rows']:,} tables, vectors {report['vectors']}; {report['callers']} callers, "
        f"{report['rounds']} rounds of {report['requests']} searches each; {report['cores']} cores"
    )
    yield (
        f"  {'':18}{'a second':>10}{'p50 ms':>9}{'p90 ms':>9}{'p99 ms':>9}{'CPU ms':>9}{'models':>9}"
        f"{'PSS MB':>9}{'private':>9}"
    )
    for name, way in report["ways"].items():
        times = "".join(f"{way[key]:9.1f}" for key in ("p50_ms", "p90_ms", "p99_ms", "cpu_ms", "models_cpu_ms"))
        sizes = "".join(f"{way[key] / 1e6:9.1f}" for key in ("pss", "private"))
        yield f"  {name:18}{way['per_second']:10.1f}{times}{sizes}"
        yield from (f"    {count} x {said}" for said, count in way["failed"].items())
    yield f"  the same tables: {report['same_answers']:.0%} of the questions"
    yield from bar_lines(report["bars"])
