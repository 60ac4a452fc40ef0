"""Fits the embedded ranker's numbers: shared/models/item_ranker.json, on items asked what their own fields answer.

    python -m build_jobs.fit_item_ranker --items KIND FILE [--items …] [--judged CORPUS QUESTIONS QRELS]
                                         --off-topic KIND,… FILE [--off-topic …] [--to shared/models/item_ranker.json]

Right items are compared with wrong ones of the same question, and with the nearest items of off-topic questions.

*Least*: the logit that no more than one in twenty off-topic questions reaches with any item, in the collection where
it lies highest but one: one whose texts have a little of everything would silence all others.

*Strong*: the logit from which on four in five items are right; of the collections, the one in the middle.

*Span*: how far below the best item right ones lie, but for one in ten, in the collection where they lie deepest.

The report's figures are of the collection that was left out of the fit. It also says how well other orders do.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import random
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import anyio
import numpy as np
import numpy.typing as npt
from msgspec.structs import asdict

from build_jobs.item_questions import ItemQuestion, described, predicates
from build_jobs.judged import read_texts, sample
from shared.contracts.items import Json
from shared.models.cross_encoder import CrossEncoder
from shared.models.embedded import EmbeddedEmbedder
from shared.models.embedded_ranker_of_items import Fitted
from shared.models.ledger import Ledger
from shared.sites.fields import fields_of
from shared.sites.kinds import KINDS

Float = npt.NDArray[np.float64]

_ITEMS = 400
_QUESTIONS = 20
_OFF_TOPIC = 40
_POOL = 40
# Of an off-topic question only the best item matters, and it is hardly ever further down.
_OFF_TOPIC_POOL = 5
_PASSING = 1 / 20
_STRONG_RIGHT = 0.8
_LOST = 1 / 10


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and its pool, for the fit: the vector scores, the logits, and which items are right."""

    group: str
    text: str
    on_topic: bool
    vector: Float
    logit: Float
    right: npt.NDArray[np.bool_]
    found: int


@dataclass(frozen=True, slots=True)
class Collection:
    """The card text of each item, and their vectors, one matrix a field."""

    name: str
    cards: Sequence[str]
    matrices: Sequence[npt.NDArray[np.float32]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, write the file, and show the report."""
    options = _options(arguments)
    data = anyio.run(_fit_from, options)
    options.to.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(data["report"], indent=1) + "\n")
    return 0


def fit(asked: Sequence[Asked]) -> dict[str, Any]:
    """What item_ranker.json holds: the bands, and the report of the fit."""
    return {"bands": asdict(bands_of(asked)), "report": _report(asked)}


def bands_of(asked: Sequence[Asked]) -> Fitted:
    """The numbers that these questions give."""
    groups = [[each for each in asked if each.group == group] for group in sorted({each.group for each in asked})]
    least = sorted(float(np.quantile(_best_of_off_topic(own), 1 - _PASSING)) for own in groups)[-2:][0]
    strong = float(np.median([_trusted(_useful(own)) for own in groups]))
    span = max(float(np.quantile(_below_best(_useful(own)), 1 - _LOST)) for own in groups)
    return Fitted(strong=round(strong, 4), least=round(least, 4), span=round(span, 4))


def _useful(own: Sequence[Asked]) -> list[Asked]:
    return [each for each in own if each.right.any()]


def _best_of_off_topic(own: Sequence[Asked]) -> list[float]:
    return [float(each.logit.max()) for each in own if not each.on_topic]


def _below_best(useful: Sequence[Asked]) -> Float:
    return np.concatenate([each.logit.max() - each.logit[each.right] for each in useful])


def _trusted(useful: Sequence[Asked]) -> float:
    """The least logit from which on four in five are right."""
    logits, right = np.concatenate([e.logit for e in useful]), np.concatenate([e.right for e in useful])
    order = np.argsort(-logits)
    share = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    trusted = np.flatnonzero(share >= _STRONG_RIGHT)
    return float(logits[order][trusted[-1]] if len(trusted) else logits.max())


def _report(asked: Sequence[Asked]) -> dict[str, Any]:
    report = {}
    for group in sorted({each.group for each in asked}):
        own = [each for each in asked if each.group == group]
        bands = bands_of([each for each in asked if each.group != group] or own)
        report[group] = {"bands": asdict(bands), "nDCG@10": _orders(_useful(own)), **_figures(own, bands)}
    return report


def _orders(useful: Sequence[Asked]) -> dict[str, float]:
    orders: dict[str, Callable[[Asked], Float]] = {
        "vectors": lambda each: each.vector,
        "logit": lambda each: each.logit,
        "zSum": lambda each: _z(each.vector) + _z(each.logit),
    }
    return {name: _mean([_ndcg(order(each), each) for each in useful]) for name, order in orders.items()}


def _figures(own: Sequence[Asked], bands: Fitted) -> dict[str, Any]:
    useful = _useful(own)
    shown = [each.logit >= min(bands.strong, max(bands.least, each.logit.max() - bands.span)) for each in useful]
    strong = [each.logit >= bands.strong for each in useful]
    return {
        "questions": sum(each.on_topic for each in own),
        "withARightItemInThePool": len(useful),
        "rightShown": _mean([float(s[each.right].mean()) for s, each in zip(shown, useful, strict=True)]),
        "shownRight": _rightness(shown, useful),
        "strongRight": _rightness(strong, useful),
        "offTopic": len(_best_of_off_topic(own)),
        "offTopicShown": _mean([float(best >= bands.least) for best in _best_of_off_topic(own)]),
    }


def _rightness(chosen: Sequence[npt.NDArray[np.bool_]], useful: Sequence[Asked]) -> float:
    """Of the chosen items, the share that is right."""
    right = [each.right[those] for those, each in zip(chosen, useful, strict=True)]
    return _mean(np.concatenate(right).astype(float).tolist())


def _z(scores: Float) -> Float:
    return np.asarray((scores - scores.mean()) / (scores.std() + 1e-9), dtype=np.float64)


def _ndcg(order: Float, each: Asked) -> float:
    gains = each.right[np.argsort(-order, kind="stable")][:10]
    discounts = 1 / np.log2(np.arange(2, 12))
    ideal = discounts[: min(10, int(each.right.sum()))].sum()
    return float((gains * discounts[: len(gains)]).sum() / ideal)


def _mean(figures: Sequence[float]) -> float:
    return round(float(np.mean(figures)), 4) if figures else 0.0


async def _fit_from(options: argparse.Namespace) -> dict[str, Any]:
    embedder, encoder = EmbeddedEmbedder(), CrossEncoder()
    off_topic = {kind: path for kinds, path in options.off_topic for kind in kinds.split(",")}
    asked: list[Asked] = []
    for collection, questions in [each async for each in _collections(options, embedder)]:
        other = sample(read_texts(Path(off_topic[collection.name])), _OFF_TOPIC)
        asked += await _ask(collection, questions, embedder, encoder)
        asked += await _ask(collection, [ItemQuestion(each, frozenset()) for each in other], embedder, encoder)
    return fit(asked)


async def _collections(
    options: argparse.Namespace, embedder: EmbeddedEmbedder
) -> AsyncIterator[tuple[Collection, list[ItemQuestion]]]:
    for kind, path in options.items:
        records = _some(list(_json_lines(Path(path))))
        questions = predicates(kind, records, _QUESTIONS) + described(records, _QUESTIONS)
        yield await _collection(kind, kind, records, embedder), questions
    for corpus, questions_path, qrels in options.judged:
        records, judged = _judged(Path(corpus), Path(questions_path), Path(qrels))
        yield await _collection("judged", "reviews", records, embedder), judged


async def _collection(name: str, kind: str, records: Sequence[Json], embedder: EmbeddedEmbedder) -> Collection:
    cards = [KINDS[kind].card_text(each) for each in records]
    fields = zip(*(fields_of(each) for each in records), strict=True)
    matrices = [await _embedded(texts, embedder) for texts in fields]
    sys.stderr.write(f"{name}: {len(cards)} items embedded\n")
    return Collection(name, cards, matrices)


async def _embedded(texts: Sequence[str], embedder: EmbeddedEmbedder) -> npt.NDArray[np.float32]:
    """A unit vector a text, zeros for an empty one."""
    matrix = np.zeros((len(texts), embedder.dimension), dtype=np.float32)
    told = [place for place, each in enumerate(texts) if each]
    if told:
        said = [texts[place][: embedder.max_chars] for place in told]
        matrix[told] = await embedder.embed(said, "document", Ledger())
    return matrix


async def _ask(
    collection: Collection, questions: Sequence[ItemQuestion], embedder: EmbeddedEmbedder, encoder: CrossEncoder
) -> list[Asked]:
    vectors = await embedder.embed([each.text for each in questions], "query", Ledger())
    scores = sum(matrix @ vectors.T for matrix in collection.matrices)
    read = partial(_read, collection, encoder)
    with ThreadPoolExecutor(encoder.threads) as threads:
        return list(threads.map(read, questions, np.asarray(scores).T))


def _read(collection: Collection, encoder: CrossEncoder, question: ItemQuestion, scores: Float) -> Asked:
    pool = np.argsort(-scores, kind="stable")[: _POOL if question.right else _OFF_TOPIC_POOL]
    logits = [encoder.read(question.text, collection.cards[row]).logit for row in pool.tolist()]
    return Asked(
        group=collection.name,
        text=question.text,
        on_topic=bool(question.right),
        vector=np.asarray(scores[pool], dtype=np.float64),
        logit=np.array(logits),
        right=np.array([row in question.right for row in pool.tolist()]),
        found=len(question.right),
    )


def _judged(corpus: Path, questions: Path, qrels: Path) -> tuple[list[Json], list[ItemQuestion]]:
    """Documents as records, and judged questions, as many of both as of a kind's."""
    documents = {each["_id"]: each for each in _json_lines(corpus)}
    right: dict[str, list[str]] = {}
    with _opened(qrels) as file:
        for row in csv.DictReader(file, delimiter="\t"):
            right.setdefault(row["query-id"], []).append(row["corpus-id"])
    asked = [each for each in _json_lines(questions) if each["_id"] in right][: 2 * _QUESTIONS]
    wanted = dict.fromkeys(found for each in asked for found in right[each["_id"]])
    chosen = list(wanted) + _some([key for key in documents if key not in wanted])[: _ITEMS - len(wanted)]
    place = {key: n for n, key in enumerate(chosen)}
    records = [{"@type": "Article", "name": documents[k]["title"], "description": documents[k]["text"]} for k in chosen]
    return records, [ItemQuestion(e["text"], frozenset(place[k] for k in right[e["_id"]])) for e in asked]


def _some(of: Sequence[Any]) -> list[Any]:
    return random.Random(0).sample(of, min(_ITEMS, len(of)))  # noqa: S311 - no secret


def _json_lines(path: Path) -> Iterator[Json]:
    with _opened(path) as file:
        for line in file:
            yield json.loads(line)


def _opened(path: Path) -> IO[str]:
    return lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m build_jobs.fit_item_ranker", description=__doc__)
    parser.add_argument("--items", required=True, nargs=2, action="append", metavar=("KIND", "FILE"))
    parser.add_argument("--judged", nargs=3, action="append", default=[], metavar=("CORPUS", "QUESTIONS", "QRELS"))
    parser.add_argument("--off-topic", required=True, nargs=2, action="append", metavar=("KIND,…", "FILE"))
    parser.add_argument("--to", type=Path, default=Path("shared/models/item_ranker.json"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
