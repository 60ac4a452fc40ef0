"""Keyword questions beside bm25s, over the same documents and the same tokens.

Ours is asked twice: as it serves, BM25F over four fields, and over one field that holds all of a document's text,
with bm25s's own formula, so that like stands beside like. With `--items` the same for the items of a site: BM25F over
their three fields, their own tokens. Each engine maps its index in a fresh process a run, in
turns, and answers every question twice; the second time counts. Textbook BM25F in double precision says who is right.
"""

from __future__ import annotations

import json
import lzma
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from build_jobs.index import keyword_documents
from cli.bench.contest import (
    OURS,
    Contest,
    Engine,
    Lost,
    bar_line,
    chosen,
    growth,
    least_bar,
    most_bar,
    number,
    numbers,
    rows,
    running,
    script,
    spread,
)
from cli.bench.oracle import KeywordOracle, Keywords, share_found
from cli.bench.peers.protocol import Clock
from shared.errors import BuildError, SettingsError
from shared.index.item_lexical import ITEM_WEIGHTS, item_query_tokens, item_tokens
from shared.index.lexical import Weights, query_tokens, tokens, write_lexical
from shared.settings import Settings
from shared.tables.legs import KEYWORD_WEIGHTS

ONE_FIELD = f"{OURS}-one-field"
PEERS = {"bm25s": script("bm25s", "bm25s_mapped", "bm25s")}
ROWS = 118_703
TOP = 150
# The slow reference answers so many of the questions; it needs up to 0.1 s each.
JUDGED = 50
# Scores that differ by less are ties: single precision adds up the tokens in another order.
_TIE = 1e-5
LEAST_FOUND = 0.99
_WORDS = 30_000
_PARTS = ("p50", "p95", "p99")

Fields = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """How many made-up documents (None for a release's own), questions and runs, and which peers."""

    rows: int | None
    questions: int
    runs: int
    peers: tuple[str, ...]
    items: Path | None = None

    def check(self) -> None:
        """Raise SettingsError for a plan that measures nothing."""
        for flag, count in {"--rows": self.rows, "--questions": self.questions, "--runs": self.runs}.items():
            if count is not None and count < 1:
                raise SettingsError(f"bench lexical needs {flag} to be at least 1, not {count}")


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents, each the texts of its fields, questions about them, and how both are read.

    `name` says where they are from.
    """

    name: str
    documents: Sequence[Fields]
    questions: Sequence[str]
    weights: Weights = KEYWORD_WEIGHTS
    split: Callable[[str], Sequence[str]] = tokens
    split_question: Callable[[str], list[str]] = query_tokens

    @property
    def joined(self) -> Iterator[Fields]:
        """Each document as one field."""
        return ((" ".join(document),) for document in self.documents)


@dataclass(frozen=True, slots=True)
class Entrant:
    """An engine with its index made, and what it is held against."""

    engine: Engine
    task: Mapping[str, Any]
    keywords: Keywords
    index_s: float
    index_bytes: int
    version: str | None = None


@dataclass(slots=True)
class Result:
    """What was measured of an entrant, over all runs."""

    open_s: list[float] = field(default_factory=list)
    import_s: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)


def measure(settings: Settings, plan: Plan, peers: Mapping[str, Engine] = PEERS) -> dict[str, Any]:
    """Opening, questions and memory of every engine, the share of the best documents found, and the bars.

    Raises SettingsError for a wrong plan, what a release raises, BuildError where our own engine fails.
    """
    plan.check()
    others = chosen(peers, plan.peers)
    corpus = _corpus(settings, plan)
    contest = Contest()
    with tempfile.TemporaryDirectory() as folder:
        entrants = _entrants(corpus, others, Path(folder), contest)
        results = _run(entrants, [corpus.split_question(text) for text in corpus.questions], plan.runs, contest)
    measured = [_entry(each, results[each.engine.name]) for each in entrants if each.engine.name in results]
    _judge(measured, corpus, entrants, results)
    return {
        "plan": asdict(plan) | {"items": plan.items and plan.items.name},
        "documents": corpus.name,
        "rows": len(corpus.documents),
        "questions": len(corpus.questions),
        "top": min(TOP, len(corpus.documents)),
        "measured": measured,
        "absent": contest.absent,
        "ratios": _ratios(measured),
        "bars": _bars(measured, plan),
    }


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it."""
    yield (
        f"{report['rows']:,} documents ({report['documents']}), {report['questions']:,} questions, "
        f"the best {report['top']}, {report['plan']['runs']} interleaved runs"
    )
    heads = ("import ms", "open ms", "p50 ms", "p95 ms", "p99 ms", "own MB", "file MB", "index s", "found")
    yield f"{'':20}" + "".join(f"{head:>10}" for head in heads)
    for each in report["measured"]:
        yield _line(each)
    yield from (f"{name}: {why}" for name, why in report["absent"].items())
    yield from (f"one field, {name}: {ratio:.2f} x" for name, ratio in report["ratios"].items())
    yield from (bar_line(bar) for bar in report["bars"])


def _line(each: Mapping[str, Any]) -> str:
    own = "-" if each["own_bytes"] is None else f"{each['own_bytes'] / 1e6:.1f}"
    times = f"{each['import']['median_s'] * 1e3:10.0f}{each['open']['median_s'] * 1e3:10.2f}"
    asked = "".join(f"{each[name]:10.2f}" for name in ("p50_ms", "p95_ms", "p99_ms"))
    wrong = "" if each["found"] >= LEAST_FOUND else "  WRONG"
    rest = f"{own:>10}{each['index_bytes'] / 1e6:10.1f}{each['index_s']:10.1f}{each['found']:10.3f}"
    return f"{each['engine']:20}{times}{asked}{rest}{wrong}"


def _corpus(settings: Settings, plan: Plan) -> Corpus:
    if plan.items is not None:
        return _of_items(plan.items, plan.questions)
    if plan.rows is not None or not settings.bucket_url:
        return made_up(plan.rows or ROWS, plan.questions)
    return _of_release(settings, plan.questions)


def _of_release(settings: Settings, questions: int) -> Corpus:
    """The leaves of the current release, and questions that they say people ask."""
    from shared.bucket.base import open_bucket
    from shared.index.records import Records
    from shared.release.reader import fetch
    from shared.tables.catalogs import BUILT_IN

    bucket = open_bucket(settings.bucket_url, settings)
    with (
        closing(fetch(bucket, BUILT_IN, ["records"], Path(settings.cache_dir), kind="tables")) as release,
        closing(Records(release.paths["records"])) as records,
    ):
        leaves = records.leaves(range(release.manifest.rows))
        asked = sorted({text for leaf in leaves.values() for text in leaf.queries if text.strip()})
        random.Random(0).shuffle(asked)  # noqa: S311 - a draw, not a secret
        documents = list(keyword_documents([leaves[row] for row in sorted(leaves)]))
        return Corpus(f"release {release.id}", documents, asked[:questions])


def _of_items(path: Path, questions: int) -> Corpus:
    """Items from JSON Lines, and questions: names, in turns with 3 to 8 words of a description. Raises BuildError."""
    from shared.sites.fields import fields_of

    try:
        with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
            records = [json.loads(line) for line in file if line.strip()]
    except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise BuildError(f"--items {path}: no JSON Lines that can be read ({error})") from error
    if not records or not all(isinstance(record, dict) for record in records):
        raise BuildError(f"--items {path}: expected JSON objects, one a line")
    documents = [fields_of(record) for record in records]
    draw = random.Random(0)  # noqa: S311 - a draw, not a secret
    asked = [draw.choice(documents)[0] if at % 2 else _words_of(draw, documents) for at in range(questions)]
    return Corpus(f"items of {path.name}", documents, asked, ITEM_WEIGHTS, item_tokens, item_query_tokens)


def _words_of(draw: random.Random, documents: Sequence[Fields]) -> str:
    words: list[str] = []
    while not words:
        words = draw.choice(documents)[1].split()
    return " ".join(draw.sample(words, min(len(words), draw.randint(3, 8))))


def made_up(count: int, questions: int) -> Corpus:
    """Documents of 40 words as common as words are, always the same, and questions of 3 to 8 words of one of them."""
    draw = random.Random(0)  # noqa: S311 - a draw, not a secret
    words = [f"word{number:x}" for number in range(_WORDS)]
    # Zipf's law: the n-th commonest word is 1/n as common as the commonest.
    common = np.cumsum(1 / np.arange(1, _WORDS + 1)).tolist()
    texts = [draw.choices(words, cum_weights=common, k=40) for _ in range(count)]
    documents = [
        (" ".join(text[:6]), " ".join(text[6:20]), " ".join(text[20:]), f"V{row:06}") for row, text in enumerate(texts)
    ]
    asked = [" ".join(draw.sample(draw.choice(texts), draw.randint(3, 8))) for _ in range(questions)]
    return Corpus("made up", documents, asked)


def _entrants(corpus: Corpus, peers: Sequence[Engine], folder: Path, contest: Contest) -> list[Entrant]:
    served = Keywords(**structs.asdict(corpus.weights))
    one_field = Keywords((1.0,), served.k1, served.b)
    common: dict[str, Any] = {
        "k1": served.k1, "b": served.b, "threads": 1, "top": TOP, "rows": len(corpus.documents),
    }  # fmt: skip
    entrants = [
        _ours(corpus, corpus.documents, served, folder / OURS, common),
        _ours(corpus, corpus.joined, one_field, folder / ONE_FIELD, common),
    ]
    if peers:
        common |= {"documents": str(_write_tokens(folder / "tokens.jsonl", corpus))}
    for peer in peers:
        entrant = contest.attempt(peer.name, partial(_other, peer, one_field, folder / f"peer-{peer.name}", common))
        if entrant is not None:
            entrants.append(entrant)
    return entrants


def _ours(
    corpus: Corpus, documents: Iterable[Fields], keywords: Keywords, folder: Path, common: Mapping[str, Any]
) -> Entrant:
    """Ours, under the name of its folder."""
    folder.mkdir()
    clock = Clock()
    paths = {role: str(path) for role, path in write_lexical(folder, documents, corpus.split).items()}
    index_s = clock.read()
    formula = {"weights": keywords.fields, "scaled": keywords.scaled, "filled_only": keywords.filled_only}
    task = {**common, **formula, "paths": paths}
    return Entrant(script(folder.name, "askbucket_lexical"), task, keywords, index_s, _bytes(folder))


def _other(peer: Engine, keywords: Keywords, folder: Path, common: Mapping[str, Any]) -> Entrant:
    task = {**common, "index": str(folder)}
    with running(peer, {**task, "build": True}) as built:
        index_s = number(built.facts, "build_s")
    return Entrant(peer, task, keywords, index_s, _bytes(folder), built.facts.get("version"))


def _write_tokens(path: Path, corpus: Corpus) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(corpus.split(text)) + "\n" for (text,) in corpus.joined)
    return path


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _run(entrants: Sequence[Entrant], questions: Sequence[list[str]], runs: int, contest: Contest) -> dict[str, Result]:
    """Everybody's runs, interleaved, of those who lasted to the end."""
    results = {each.engine.name: Result() for each in entrants}
    for _ in range(runs):
        for each in entrants:
            contest.attempt(each.engine.name, partial(_once, each, questions, results[each.engine.name]))
    return {name: result for name, result in results.items() if name not in contest.absent}


def _once(entrant: Entrant, questions: Sequence[list[str]], result: Result) -> None:
    with running(entrant.engine, entrant.task) as engine:
        engine.ask({"questions": questions})
        reply = engine.ask({"questions": questions})
        seconds, named = numbers(reply, "seconds"), _answers(reply, len(questions))
        result.open_s.append(number(engine.facts, "open_s"))
        result.import_s.append(number(engine.facts, "import_s"))
    result.seconds += seconds
    result.rows = named
    result.memory += growth(reply)


def _answers(reply: Mapping[str, Any], count: int) -> list[list[int]]:
    answers = reply.get("rows")
    if not isinstance(answers, list) or len(answers) != count:
        raise Lost(f"answered without rows for each of the {count} questions")
    return [rows({"rows": answer}) for answer in answers]


def _entry(entrant: Entrant, result: Result) -> dict[str, Any]:
    p50, p95, p99 = np.percentile(np.array(result.seconds) * 1e3, [50, 95, 99]).tolist()
    return {
        "engine": entrant.engine.name,
        "version": entrant.version,
        "import": {"seconds": result.import_s, **spread(result.import_s)},
        "open": {"seconds": result.open_s, **spread(result.open_s)},
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "own_bytes": float(np.median(result.memory)) if result.memory else None,
        "index_bytes": entrant.index_bytes,
        "index_s": entrant.index_s,
    }


def _judge(
    measured: Sequence[dict[str, Any]], corpus: Corpus, entrants: Sequence[Entrant], results: Mapping[str, Result]
) -> None:
    """Say of each entry which share of the truly best documents it named, on average."""
    oracles: dict[Keywords, KeywordOracle] = {}
    judged = range(min(JUDGED, len(corpus.questions)))
    keywords = {each.engine.name: each.keywords for each in entrants}
    for entry in measured:
        own = keywords[entry["engine"]]
        if own not in oracles:
            split = corpus.documents if len(own.fields) > 1 else corpus.joined
            oracles[own] = KeywordOracle([[corpus.split(text) for text in document] for document in split], own)
        named = results[entry["engine"]].rows
        shares = [
            share_found(oracles[own].scores(corpus.split_question(corpus.questions[at])), named[at], TOP, _TIE)
            for at in judged
        ]
        entry["found"] = float(np.mean(shares))


def _ratios(measured: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Our one field's times as multiples of each peer's."""
    ours = next(each for each in measured if each["engine"] == ONE_FIELD)
    peers = [each for each in measured if not each["engine"].startswith(OURS)]
    return {f"{name} of {peer['engine']}": ours[f"{name}_ms"] / peer[f"{name}_ms"] for peer in peers for name in _PARTS}


def _bars(measured: Sequence[Mapping[str, Any]], plan: Plan) -> list[dict[str, Any]]:
    found = [each["found"] for each in measured if each["engine"].startswith(OURS)]
    bars = [least_bar("share of the best documents that askbucket names, at least", min(found), LEAST_FOUND)]
    if plan.items is not None:
        p50 = {each["engine"]: each["p50_ms"] for each in measured}
        bars += [
            most_bar(f"ms of a question over the items' fields, p50, at most {peer}'s over one", p50[OURS], p50[peer])
            for peer in p50
            if not peer.startswith(OURS)
        ]
    return bars
