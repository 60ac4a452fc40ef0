"""One table search, stage by stage: what Askbucket itself costs beside the models it asks.

The search runs in this process, on an event loop in a thread of its own and asked from as many threads as there
are callers, as in the function: the stages write themselves down on the request (shared/timed.py), and HTTP adds
the same millisecond to every one. Memory is another matter: it is that of `askbucket serve --only search` over the
same release, started anew, asked the same questions, with everything but the release's own mapped files counted.

Models are not what is measured. The fake gateway of the tests stands for them, at 0 ms, unless OPENROUTER_BASE_URL
names another; nothing that was asked before is answered from a cache. What a search spends outside of model calls
is all of its time but that between sending a request to the gateway and having its reply.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from cli.bench.beside import FAKE_KEY, fake_gateway, process
from cli.bench.load import processes_of
from shared.bucket.base import open_bucket
from shared.contracts.release import Manifest
from shared.errors import BuildError, SettingsError
from shared.release.reader import current, read_manifest
from shared.settings import Settings
from shared.tables.catalogs import BUILT_IN
from shared.timed import MODEL, recording, timed

if TYPE_CHECKING:
    from shared.tables.tables import Tables

MOST_OUTSIDE_MS = 40.0
MOST_TIMES_THE_SCAN = 1.6
MOST_TIMES_CONCURRENT = 12
MOST_PRIVATE_BYTES = 200_000_000
MOST_EMBEDDED_MS = 150.0
PHRASINGS = 8
VARIETY = 60
_WARM_UP = 4
_SCANS = 15
_TIMEOUT_S = 60.0
# A place in each text, so that its twin without the place makes two phrasings of it.
_ASIDES = (" in Kenya", " over time in New Zealand", " by age in Texas", " by sex in California")

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """How many callers at once, one level after the other; how many searches each; and who judges."""

    concurrency: tuple[int, ...] = (1, 10)
    requests: int = 200
    judge: str = "fake"

    def check(self) -> None:
        """Raises SettingsError for a plan that measures nothing."""
        if not self.concurrency or min(self.concurrency) < 1 or self.requests < max(self.concurrency):
            raise SettingsError("bench search needs --concurrency of 1 or more, and --requests no fewer than that")


@dataclass(frozen=True, slots=True)
class Sample:
    """One search: all of it, and each stage, in milliseconds."""

    whole_ms: float
    stages_ms: Mapping[str, float]

    @property
    def outside_ms(self) -> float:
        """All but the waiting for the gateway."""
        return self.whole_ms - self.stages_ms.get(MODEL, 0.0)


def measure(settings: Settings, plan: Plan) -> dict[str, Any]:
    """Percentiles of every stage at each level, the scan's own time in between, private memory, and the bars.

    Without a bucket, over a release of production's shape that is made for the purpose and removed again.
    """
    plan.check()
    with ExitStack() as ends:
        if not settings.bucket_url:
            settings = ends.enter_context(_made(settings))
        manifest = _manifest(settings)
        settings = ends.enter_context(_modelled(settings, manifest, plan.judge))
        levels, scans, asked = _in_process(settings, plan)
        memory = _memory(settings, plan, manifest, asked)
    return _report(plan, manifest, levels, scans, memory)


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it."""
    shape = f"{report['rows']:,} x {report['dimension']:,}, {report['phrasings']} phrasings, {report['judge']} judge"
    yield f"{shape}; the scan alone {report['scan_ms']:.1f} ms; {report['cores']} cores"
    for level in report["levels"]:
        yield f"{level['concurrency']} at once, {level['requests']} searches, {level['per_second']:.1f} a second"
        yield f"  {'ms':16}{'p50':>9}{'p90':>9}{'p99':>9}"
        for name, found in level["ms"].items():
            yield f"  {name:16}" + "".join(f"{found[key]:9.2f}" for key in ("p50", "p90", "p99"))
    memory = report["memory"]
    yield f"memory: {memory['private'] / 1e6:.1f} MB private, {memory['release'] / 1e6:.1f} MB of the release mapped"
    for bar in report["bars"]:
        yield f"{'ok  ' if bar['met'] else 'OVER'} {bar['rule']}: {bar['found']:.1f} of {bar['most']:.1f}"


def questions_of(tables: Tables) -> list[Body]:
    """Searches of eight phrasings each, drawn from the questions of the catalog's own documents, always the same."""
    rows = random.Random(0).sample(range(tables.rows), min(tables.rows, 3 * VARIETY))  # noqa: S311 - no secret
    hits = tables.hits(rows)
    asked = [hits[row].leaf.queries[0].rstrip("?") for row in rows if hits[row].leaf.queries]
    if not asked:
        raise BuildError("bench search needs a catalog whose documents have questions")
    texts = [[text + aside for aside in _ASIDES] for text in dict.fromkeys(asked)]
    return [{"query": {"text": each[0], "texts": each}} for each in texts[:VARIETY]]


@contextmanager
def _made(settings: Settings) -> Iterator[Settings]:
    from cli.bench.made_release import publish

    with tempfile.TemporaryDirectory() as folder:
        url = (Path(folder) / "bucket").as_uri()
        files = Path(folder) / "files"
        files.mkdir()
        publish(open_bucket(url), files)
        yield replace(settings, bucket_url=url)


def _manifest(settings: Settings) -> Manifest:
    bucket = open_bucket(settings.bucket_url, settings)
    return read_manifest(bucket, BUILT_IN, current(bucket, BUILT_IN).release, "tables")


@contextmanager
def _modelled(settings: Settings, manifest: Manifest, judge: str) -> Iterator[Settings]:
    """The settings with the judge chosen and a gateway to ask, which is the fake one where no other is named."""
    chosen = replace(settings, llm_provider="openrouter" if judge == "fake" else "embedded")
    if judge == "embedded" and manifest.embedder.provider == "embedded":
        yield chosen
    elif settings.openrouter_base_url != Settings().openrouter_base_url:
        yield replace(chosen, openrouter_api_key=settings.openrouter_api_key or FAKE_KEY)
    else:
        with fake_gateway(manifest.embedder.dimension) as url:
            yield replace(chosen, openrouter_api_key=FAKE_KEY, openrouter_base_url=url)


def _in_process(settings: Settings, plan: Plan) -> tuple[list[dict[str, Any]], list[float], list[Body]]:
    """Each level's figures, the times of scans alone, and what was asked."""
    from anyio.from_thread import start_blocking_portal

    from shared.models.choice import Models
    from shared.tables.tables import open_tables

    uncached = replace(settings, embed_cache_entries=0, verdict_cache_entries=0)
    with (
        start_blocking_portal() as portal,
        closing(Models(uncached)) as models,
        closing(open_tables(uncached, models)) as tables,
    ):
        asked = questions_of(tables)

        def ask(number: int) -> Sample:
            return _searched(asked[number % len(asked)], tables, portal)

        for number in range(_WARM_UP):
            ask(number)
        levels, scans = [], _scans(tables)
        for concurrency in plan.concurrency:
            levels.append(_level(ask, concurrency, plan.requests))
            scans += _scans(tables)
    return levels, scans, asked


def _searched(body: Body, tables: Tables, portal: Any) -> Sample:
    """One search as the function does it, from the parsed body to the reply's bytes."""
    from shared.edge.deadline import run_within
    from shared.edge.reply import encoded
    from shared.tables.request import parse_search
    from shared.tables.search import search

    began = time.perf_counter()
    with recording() as timings:
        request = parse_search(body)
        seconds = tables.settings.query_timeout_s
        reply = run_within(seconds, portal, lambda ledger: search(request, tables, ledger))
        with timed("json"):
            encoded(reply)
        whole_ms = (time.perf_counter() - began) * 1e3
    return Sample(whole_ms, timings.ms())


def _level(ask: Callable[[int], Sample], concurrency: int, requests: int) -> dict[str, Any]:
    """So many callers, each asking again as soon as it is answered."""
    began = time.perf_counter()
    with ThreadPoolExecutor(concurrency) as callers:
        samples = list(callers.map(ask, range(requests)))
    seconds = time.perf_counter() - began
    stages = dict.fromkeys(stage for sample in samples for stage in sample.stages_ms if stage != MODEL)
    columns = {stage: [sample.stages_ms.get(stage, 0.0) for sample in samples] for stage in stages}
    columns["model calls"] = [sample.stages_ms.get(MODEL, 0.0) for sample in samples]
    columns["outside models"] = [sample.outside_ms for sample in samples]
    columns["whole"] = [sample.whole_ms for sample in samples]
    return {
        "concurrency": concurrency,
        "requests": requests,
        "per_second": requests / seconds,
        "ms": {name: _percentiles(found) for name, found in columns.items()},
    }


def _scans(tables: Tables) -> list[float]:
    """Milliseconds of scans alone, with as many phrasings as the searches have."""
    import numpy as np

    legs = tables.searched_with
    drawn = np.random.default_rng(1).standard_normal((PHRASINGS, legs.vectors[0].dimension), dtype=np.float32)
    queries = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    found = []
    for _ in range(_SCANS):
        began = time.perf_counter()
        legs.cosines(queries, None)
        found.append((time.perf_counter() - began) * 1e3)
    return found


def _memory(settings: Settings, plan: Plan, manifest: Manifest, asked: Sequence[Body]) -> dict[str, int]:
    """Of a search function of its own, warm: bytes of its processes that nobody shares, and of the mapped release."""
    with _serving(settings) as (pid, url):
        with ThreadPoolExecutor(max(plan.concurrency)) as callers:
            list(callers.map(lambda number: _post(url, asked[number % len(asked)]), range(plan.requests)))
        files = {file.sha256 for file in manifest.files}
        found = [_mapped(each, files) for each in processes_of(pid)]
    return {"private": sum(own for own, _ in found), "release": max(release for _, release in found)}


@contextmanager
def _serving(settings: Settings) -> Iterator[tuple[int, str]]:
    for name, value in {
        "LLM_PROVIDER": settings.llm_provider, "OPENROUTER_API_KEY": settings.openrouter_api_key,
        "OPENROUTER_BASE_URL": settings.openrouter_base_url, "CACHE_DIR": settings.cache_dir,
        "MALLOC_TRIM_THRESHOLD_": "131072",  # as the image sets it
        "SEARCH_LIMIT_PER_DAY": "0",
    }.items():  # fmt: skip
        os.putenv(name, value)
    command = [sys.executable, "-m", "cli.main", "serve", "--only", "search", "--port", "0", "--json"]
    with process([*command, "--bucket", settings.bucket_url], "askbucket serve") as (pid, said):
        yield pid, json.loads(said)["ready"]


def _post(url: str, body: Body) -> None:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_TIMEOUT_S)
    try:
        connection.request("POST", "/search", json.dumps(body).encode())
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    if response.status != 200:
        raise BuildError(f"/search: HTTP {response.status} {json.loads(content).get('code')}")


def _mapped(pid: int, release_files: set[str]) -> tuple[int, int]:
    """Bytes of a process that no other has, without the release's files; and what of those files is in memory.

    The pages of the release are the page cache's: the system takes them back without writing a byte.
    """
    own, resident, file = 0, dict.fromkeys(release_files, 0), ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):  # a mapping begins: addresses, rights, offset, device, inode, path
            file = words[-1].rpartition("/")[2]
        elif file in resident and words[0] == "Rss:":  # each connection of SQLite maps the records anew
            resident[file] = max(resident[file], int(words[1]) * 1024)
        elif file not in resident and words[0] in ("Private_Clean:", "Private_Dirty:"):
            own += int(words[1]) * 1024
    return own, sum(resident.values())


def _report(
    plan: Plan, manifest: Manifest, levels: list[dict[str, Any]], scans: Sequence[float], memory: Mapping[str, int]
) -> dict[str, Any]:
    scan_ms = statistics.median(scans)
    return {
        "rows": manifest.rows,
        "dimension": manifest.embedder.dimension,
        "phrasings": PHRASINGS,
        "judge": plan.judge,
        "cores": len(os.sched_getaffinity(0)),
        "scan_ms": scan_ms,
        "levels": levels,
        "memory": dict(memory),
        "bars": _bars(plan, levels, scan_ms, memory),
    }


def _bars(
    plan: Plan, levels: Sequence[Mapping[str, Any]], scan_ms: float, memory: Mapping[str, int]
) -> list[dict[str, Any]]:
    if plan.judge == "embedded":
        least = min(levels, key=lambda level: int(level["concurrency"]))
        return [_bar("p50 of the whole search, ms, on one core", least["ms"]["whole"]["p50"], MOST_EMBEDDED_MS)]
    most_ms = max(MOST_OUTSIDE_MS, MOST_TIMES_THE_SCAN * scan_ms)
    bars = []
    for level in levels:
        found = level["ms"]["outside models"]
        if level["concurrency"] == 1:
            rule = f"p50 outside models, ms ({MOST_OUTSIDE_MS:g}, or {MOST_TIMES_THE_SCAN} x the scan if more)"
            bars.append(_bar(rule, found["p50"], most_ms))
        else:
            rule = f"p99 outside models, {level['concurrency']} at once, ms ({MOST_TIMES_CONCURRENT} x that)"
            bars.append(_bar(rule, found["p99"], MOST_TIMES_CONCURRENT * most_ms))
    return [*bars, _bar("private memory of a warm instance, MB", memory["private"] / 1e6, MOST_PRIVATE_BYTES / 1e6)]


def _bar(rule: str, found: float, most: float) -> dict[str, Any]:
    return {"rule": rule, "found": found, "most": most, "met": found <= most}


def _percentiles(found: Sequence[float]) -> dict[str, float]:
    ordered = sorted(found)
    return {f"p{percent}": ordered[max(0, -(-len(ordered) * percent // 100) - 1)] for percent in (50, 90, 99)}
