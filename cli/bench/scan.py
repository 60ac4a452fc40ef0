"""The exact scan beside other engines: several phrasings in, the rows with the best maximum out.

Every engine does the same work on the same float16 file: it scores all rows against all phrasings and names the best
rows of the maximum. Each runs in a process of its own with a fixed number of threads, is asked once unmeasured, and
then in turns, so that a busy minute of the machine falls on all of them alike. The best rows in double precision
say who is right.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.bench.contest import (
    OURS,
    Contest,
    Engine,
    Running,
    bar_line,
    chosen,
    least_bar,
    most_bar,
    number,
    rows,
    running,
    script,
    spread,
)
from cli.bench.made_vectors import unit, unit_blocks
from shared.errors import SettingsError

if TYPE_CHECKING:
    from cli.bench.oracle import Float64
    from shared.index.scan import Float16, Float32

ASKBUCKET = script(OURS, "askbucket_scan")
PEERS = {
    "numpy-blocks": script("numpy-blocks", "numpy_blocks"),
    "numpy-f32": script("numpy-f32", "numpy_f32"),
    "faiss": script("faiss", "faiss_fp16", "faiss"),
    "usearch": script("usearch", "usearch_f16", "usearch"),
}
FLOAT_SPEED = script("float-speed", "float_speed")
TOP = 150
MOST_OF_FAISS, MOST_OF_NUMPY = 0.50, 0.25
# Twice the threads in half the time would be linear; a fifth of that may go to what one thread does alone.
MOST_OF_ONE_THREAD = 0.60
# float16 rounds the phrasings too, which swaps rows that lie closer together than that: 1 or 2 of 150.
LEAST_FOUND = 0.98
# Numeric libraries keep idle threads spinning for tens of milliseconds, in the next one's way.
_PAUSE_S = 0.1
_PROBES = 7


@dataclass(frozen=True, slots=True)
class Plan:
    """What is scanned, by whom and how often. `vectors` is a float16 `.npy` of unit rows, None for made-up ones."""

    rows: int
    dimension: int
    phrasings: int
    runs: int
    threads: tuple[int, ...]
    peers: tuple[str, ...]
    vectors: Path | None = None
    clustered: bool = False

    def check(self) -> None:
        """Raise SettingsError for a plan that measures nothing."""
        counts = {"--rows": self.rows, "--dimension": self.dimension, "--phrasings": self.phrasings}
        counts |= {"--runs": self.runs, "--threads": min(self.threads, default=0)}
        for flag, count in counts.items():
            if count < 1:
                raise SettingsError(f"bench scan needs {flag} to be at least 1, not {count}")


@dataclass(frozen=True, slots=True)
class Entrant:
    """An engine with so many threads."""

    engine: Engine
    threads: int

    @property
    def name(self) -> str:
        """What it is called where something is said about it."""
        return f"{self.engine.name}, {self.threads} thread" + ("s" if self.threads > 1 else "")


def measure(plan: Plan, peers: Mapping[str, Engine] = PEERS) -> dict[str, Any]:
    """Seconds of every run with medians, ratios to ours, the share of the best rows found, and the bars.

    Raises SettingsError for a wrong plan, ReleaseIncompatible for a wrong `vectors`, BuildError where our own fails.
    """
    plan.check()
    entrants = [
        Entrant(engine, threads) for threads in plan.threads for engine in (ASKBUCKET, *chosen(peers, plan.peers))
    ]
    with tempfile.TemporaryDirectory() as folder:
        return _measure(plan, entrants, Path(folder))


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it."""
    plan = report["plan"]
    clusters = " in clusters" if plan["clustered"] else ""
    yield (
        f"{report['rows']:,} x {report['dimension']:,} float16{clusters}, {plan['phrasings']} phrasings, "
        f"the best {report['top']} of the maximum, {plan['runs']} interleaved runs"
    )
    yield f"{'':16}{'threads':>8}{'median ms':>11}{'least':>8}{'most':>8}{'x ours':>8}{'found':>8}"
    for each in report["measured"]:
        times = f"{each['median_s'] * 1e3:11.1f}{each['least_s'] * 1e3:8.1f}{each['most_s'] * 1e3:8.1f}"
        wrong = "" if each["found"] >= LEAST_FOUND else "  WRONG"
        yield f"{each['engine']:16}{each['threads']:8}{times}{each['times_ours']:8.2f}{each['found']:8.3f}{wrong}"
    yield from (f"{name}: {why}" for name, why in report["absent"].items())
    yield from (bar_line(bar) for bar in report["bars"])
    if report["two_of_one"] is not None:
        yield f"2 threads do float32 products in {report['two_of_one']:.2f} of the time of 1 on this machine"


def _measure(plan: Plan, entrants: Sequence[Entrant], folder: Path) -> dict[str, Any]:
    import numpy as np

    from cli.bench.oracle import best_cosines
    from shared.index.scan import Vectors

    vectors = Vectors(plan.vectors or _made_vectors(folder / "vectors.npy", plan))
    queries = phrasings(vectors.array, plan.phrasings)
    np.save(folder / "queries.npy", queries)
    top = min(TOP, vectors.rows)
    task = {"vectors": str(plan.vectors or folder / "vectors.npy"), "queries": str(folder / "queries.npy"), "top": top}
    truth = best_cosines(vectors.array, queries)
    contest = Contest()
    results = _run(entrants, task, plan.runs, contest)
    measured = _with_ratios([result.entry(truth) for result in results])
    return {
        "plan": asdict(plan) | {"vectors": str(plan.vectors) if plan.vectors else None},
        "rows": vectors.rows,
        "dimension": vectors.dimension,
        "top": top,
        "measured": measured,
        "two_of_one": contest.attempt("float-speed", two_of_one),
        "absent": contest.absent,
        "bars": _bars(measured),
    }


def two_of_one() -> float:
    """The time two threads need for a work of float32 products, as a share of the time of one: 0.5 on two cores."""
    task = {"threads": 1, "products": 100}
    with running(FLOAT_SPEED, task) as one, running(FLOAT_SPEED, task) as other, ThreadPoolExecutor(2) as both:
        alone = min(number(one.ask({}), "seconds") for _ in range(_PROBES))
        pairs = [list(both.map(lambda each: number(each.ask({}), "seconds"), (one, other))) for _ in range(_PROBES)]
    return min(max(pair) for pair in pairs) / (2 * alone)


def _made_vectors(path: Path, plan: Plan) -> Path:
    """Write the rows of the plan, block by block."""
    import numpy as np

    out = np.lib.format.open_memmap(path, mode="w+", dtype="<f2", shape=(plan.rows, plan.dimension))
    for start, block in unit_blocks(plan.rows, plan.dimension, clustered=plan.clustered):
        out[start : start + len(block)] = block
    out.flush()
    return path


def phrasings(vectors: Float16, count: int) -> Float32:
    """Unit queries, always the same: rows from all over the matrix, each with as much noise as itself."""
    import numpy as np

    random = np.random.default_rng(1)
    rows = vectors[np.sort(random.integers(0, len(vectors), count))].astype(np.float32)
    return unit(rows + unit(random.standard_normal(rows.shape, dtype=np.float32)))


@dataclass(frozen=True, slots=True)
class Result:
    """How an entrant did that lasted to the end."""

    entrant: Entrant
    seconds: tuple[float, ...]
    rows: tuple[int, ...]
    facts: Mapping[str, Any]

    def entry(self, truth: Float64) -> dict[str, Any]:
        """What the report says of it, beside the ratio to ours."""
        from cli.bench.oracle import share_found

        return {
            "engine": self.entrant.engine.name,
            "threads": self.entrant.threads,
            "version": self.facts.get("version"),
            "seconds": list(self.seconds),
            **spread(self.seconds),
            "found": share_found(truth, self.rows, min(TOP, len(truth))),
        }


def _run(entrants: Sequence[Entrant], task: Mapping[str, Any], runs: int, contest: Contest) -> list[Result]:
    """Everybody's turns, interleaved. The first turn of each reads the pages and is not counted."""
    turns: dict[Entrant, list[tuple[float, list[int]]]] = {each: [] for each in entrants}
    with ExitStack() as stack:
        there: dict[Entrant, Running] = {}
        for each in entrants:
            start = running(each.engine, {**task, "threads": each.threads})
            engine = contest.attempt(each.name, partial(stack.enter_context, start))
            if engine is not None:
                there[each] = engine
        for _ in range(runs + 1):
            for each, engine in there.items():
                turn = contest.attempt(each.name, partial(_turn, engine))
                if turn is not None:
                    turns[each].append(turn)
    lasted = [each for each in there if each.name not in contest.absent]
    return [
        Result(each, tuple(s for s, _ in turns[each][1:]), tuple(turns[each][-1][1]), there[each].facts)
        for each in lasted
    ]


def _turn(engine: Running) -> tuple[float, list[int]]:
    time.sleep(_PAUSE_S)
    reply = engine.ask({})
    return number(reply, "seconds"), rows(reply)


def _with_ratios(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each entry with its median as a multiple of ours with as many threads."""
    ours = {entry["threads"]: entry["median_s"] for entry in entries if entry["engine"] == OURS}
    return [entry | {"times_ours": entry["median_s"] / ours[entry["threads"]]} for entry in entries]


def _bars(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    medians = {(entry["engine"], entry["threads"]): entry["median_s"] for entry in entries}

    def ratio(one: tuple[str, int], other: tuple[str, int]) -> float | None:
        return medians[one] / medians[other] if one in medians and other in medians else None

    ours = (OURS, 1)
    found = [entry["found"] for entry in entries if entry["engine"] == OURS]
    return [
        most_bar("of faiss's time, 1 thread each, at most", ratio(ours, ("faiss", 1)), MOST_OF_FAISS),
        most_bar("of numpy-blocks' time, 1 thread each, at most", ratio(ours, ("numpy-blocks", 1)), MOST_OF_NUMPY),
        most_bar("2 threads, of the time of 1, at most", ratio((OURS, 2), ours), MOST_OF_ONE_THREAD),
        least_bar("share of the best rows that askbucket names, at least", min(found), LEAST_FOUND),
    ]
