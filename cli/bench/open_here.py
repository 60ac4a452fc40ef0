"""Opening what lies on a local disk, until the first question is answered, beside other ways to keep the same rows.

Every run is a fresh process with its files in the page cache. Import, opening and the first question (the ten nearest
rows and their entries) are timed apart, because an engine that opens lazily pays at the first question.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.bench.contest import OURS, Contest, Engine, Lost, growth, number, rows, running, script, spread

if TYPE_CHECKING:
    from cli.bench.oracle import Float64
    from shared.contracts.leaf import Leaf
    from shared.release.reader import Release

ASKBUCKET = script(OURS, "askbucket_open")
PEERS = {"json": script("json", "json_open"), "lancedb": script("lancedb", "lancedb_open", "lancedb")}
TOP = 10
LEAST_FOUND = 0.9
PARTS = ("import_s", "open_s", "first_s")


@dataclass(slots=True)
class Result:
    """What was measured of an engine, over all runs."""

    import_s: list[float] = field(default_factory=list)
    open_s: list[float] = field(default_factory=list)
    first_s: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    version: str | None = None

    @property
    def total_s(self) -> list[float]:
        """Import, opening and the first question together, a run."""
        return [sum(parts) for parts in zip(self.import_s, self.open_s, self.first_s, strict=True)]


def measure(release: Release, runs: int, peers: Sequence[Engine]) -> dict[str, Any]:
    """Seconds of every run of every part, ratios to ours, and the share of the nearest rows found.

    `release` has all its files here. Raises BuildError where our own engine fails.
    """
    from cli.bench.oracle import best_cosines
    from cli.bench.scan import phrasings
    from shared.index.scan import Vectors

    vectors = Vectors(release.paths["vectors"])
    query = phrasings(vectors.array, 1)
    contest = Contest()
    with tempfile.TemporaryDirectory() as folder:
        tasks = _tasks(release, peers, Path(folder), contest)
        results = _run(tasks, {"query": query[0].tolist()}, runs, contest)
    truth = best_cosines(vectors.array, query)
    ours = results[OURS].total_s
    return {
        "rows": vectors.rows,
        "dimension": vectors.dimension,
        "top": TOP,
        "measured": [_entry(name, result, ours, truth) for name, result in results.items()],
        "absent": contest.absent,
    }


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it."""
    yield f"A local copy of {report['rows']:,} rows until the first answer, medians of fresh processes, s"
    heads = ("import", "open", "first", "together", "x ours", "own MB", "found")
    yield f"{'':12}" + "".join(f"{head:>10}" for head in heads)
    for each in report["measured"]:
        parts = "".join(f"{each[name]['median_s']:10.4f}" for name in (*PARTS, "total_s"))
        own = "-" if each["own_bytes"] is None else f"{each['own_bytes'] / 1e6:.1f}"
        wrong = "" if each["found"] >= LEAST_FOUND else "  WRONG"
        yield f"{each['engine']:12}{parts}{each['times_ours']:10.1f}{own:>10}{each['found']:10.2f}{wrong}"
    yield from (f"{name}: {why}" for name, why in report["absent"].items())


def _tasks(
    release: Release, peers: Sequence[Engine], folder: Path, contest: Contest
) -> list[tuple[Engine, dict[str, Any]]]:
    """Each engine with its task; what a peer needs beside the release is made first, unmeasured."""
    common: dict[str, Any] = {
        "threads": 0, "top": min(TOP, release.manifest.rows), "rows": release.manifest.rows,
        "paths": {role: str(path) for role, path in release.paths.items()},
    }  # fmt: skip
    tasks = [(ASKBUCKET, common)]
    if not peers:
        return tasks
    entries = {**common, "entries": str(_write_entries(folder / "entries.json", release))}
    for peer in peers:
        own = {**entries, "database": str(folder / f"peer-{peer.name}")}
        if contest.attempt(peer.name, partial(_build, peer, own)):
            tasks.append((peer, own))
    return tasks


def _build(peer: Engine, task: Mapping[str, Any]) -> bool:
    with running(peer, {**task, "build": True}):
        return True


def _write_entries(path: Path, release: Release) -> Path:
    """All rows' entries without their bodies as one JSON list."""
    from shared.index.records import Records

    with closing(Records(release.paths["records"])) as records, path.open("w", encoding="utf-8") as file:
        leaves = records.leaves(range(release.manifest.rows))
        json.dump([_as_json(leaves[row]) for row in sorted(leaves)], file)
    return path


def _as_json(leaf: Leaf) -> dict[str, Any]:
    names = ("urn", "path", "family", "source", "publisher", "code", "title", "description", "queries", "tags", "scope")
    return {name: getattr(leaf, name) for name in names} | {"front_matter": dict(leaf.front_matter)}


def _run(
    tasks: Sequence[tuple[Engine, Mapping[str, Any]]], question: Mapping[str, Any], runs: int, contest: Contest
) -> dict[str, Result]:
    """Everybody's runs, interleaved, of those who lasted to the end."""
    results = {engine.name: Result() for engine, _ in tasks}
    for _ in range(runs):
        for engine, task in tasks:
            contest.attempt(engine.name, partial(_once, engine, task, question, results[engine.name]))
    return {name: result for name, result in results.items() if name not in contest.absent}


def _once(engine: Engine, task: Mapping[str, Any], question: Mapping[str, Any], result: Result) -> None:
    with running(engine, task) as opened:
        reply = opened.ask(question)
        named, identifiers = rows(reply), reply.get("identifiers")
        if not isinstance(identifiers, list) or len(identifiers) != len(named):
            raise Lost("answered without an identifier for each row")
        result.import_s.append(number(opened.facts, "import_s"))
        result.open_s.append(number(opened.facts, "open_s"))
        result.first_s.append(number(reply, "seconds"))
        result.version = opened.facts.get("version")
    result.rows = named
    result.memory += growth(reply)


def _entry(name: str, result: Result, ours: Sequence[float], truth: Float64) -> dict[str, Any]:
    import numpy as np

    from cli.bench.oracle import share_found

    parts = {part: getattr(result, part) for part in (*PARTS, "total_s")}
    return {
        "engine": name,
        "version": result.version,
        **{part: {"seconds": seconds, **spread(seconds)} for part, seconds in parts.items()},
        "times_ours": float(np.median(result.total_s) / np.median(ours)),
        "own_bytes": float(np.median(result.memory)) if result.memory else None,
        "found": share_found(truth, result.rows, TOP),
    }
