"""Fits the embedded judge's numbers: shared/models/ranker.json, on judged questions run through the real search.

    python -m build_jobs.fit_ranker --bucket URL --judged QUESTIONS QRELS [--judged …] --off-topic FILE…
                                    [--to shared/models/ranker.json]

*Order*: a conditional logit. Of the candidates of one question the right one is chosen with a probability that
grows with the weighted sum of its features; the weights that make the judgements likeliest are found by Newton's
method. Every set counts the same, however many questions it has. What the judgements say too little of has its weight
from PRIORS, and the others are fitted beside it. The report's figures are cross-validated by question: each is ordered
by weights that never saw it.

*Gate*: a logistic regression on the nearness (see shared/models/ranker.py) of judged questions against off-topic
ones, and then the line that one in twenty off-topic questions reaches.

*Span*: how far below the best a right answer may be ordered, so that of two hundred right answers in the pool one
falls under 50, in the set where they lie deepest. Siblings of an answer are kept that way, about nine a question.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import numpy.typing as npt
from anyio import to_thread
from msgspec import to_builtins
from msgspec.structs import replace

from build_jobs.judged import read_judged, read_texts, sample
from build_jobs.observe import Observed, judged_rows, observe
from build_jobs.report.figures import Metrics
from shared.contracts.release import NullBank
from shared.models.choice import Models, combine_null_banks
from shared.models.features import FEATURES, measure
from shared.models.ranker import nearness
from shared.settings import Settings
from shared.tables.tables import Tables, open_tables

Float = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

# Weights that are not fitted, and why each is what it is.
PRIORS: Mapping[str, tuple[float, str]] = {
    "elsewhere": (
        -4.0,
        "Of the judged questions' right tables hardly one cannot reach the place that is asked about, so any weight "
        "far below 0 fits alike, and the ridge alone would choose it (-1.9). At -4 such a table stands below one that "
        "is .07 less near, and stays eligible where nothing else measures the quantity.",
    ),
    "split": (
        2.0,
        "Hardly a judged question asks for a split by name. Without it the first ten for 'population by sex' were "
        "totals, and ages from tables called 'sex and age'.",
    ),
}

_FOLDS = 5
_RIDGE = 1.0
_OFF_TOPIC_OF_A_FILE = 200
_PASSING = 1 / 20
_CUT = 1 / 200
_STEPS = 30


@dataclass(frozen=True, slots=True)
class Sample:
    """One question for the fit: its candidates' features `(n, len(FEATURES))`, which are right, and its nearness.

    Nothing else of it is kept: what was retrieved for 7,862 questions took 5 GB.
    """

    group: str
    hard: bool
    features: Float
    right: Bool
    nearness: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, write the file, and show the report."""
    options = _options(arguments)
    data = anyio.run(_fit_from, options)
    options.to.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(data["report"], indent=1) + "\n")
    return 0


def fit(samples: Sequence[Sample], off_topic: Sequence[Sample], bank: NullBank) -> dict[str, Any]:
    """What ranker.json holds: the weights, the gate, the span, and the report of the fit."""
    useful = [each for each in samples if each.right.any()]
    weights = fit_order(useful)
    values = _cross_validated(samples)
    gate = fit_gate(samples, off_topic)
    span = _span(samples, values)
    return {
        "order": dict(zip(FEATURES, np.round(weights, 4).tolist(), strict=True)),
        "notFitted": {name: reason for name, (_, reason) in PRIORS.items()},
        "gate": gate,
        "score": {"span": round(span, 4)},
        "report": {
            "questions": _counts(samples),
            "offTopic": len(off_topic),
            "nullBank": to_builtins(bank),
            "crossValidated": _report(samples, values),
        },
    }


def fit_order(samples: Sequence[Sample], priors: Mapping[str, tuple[float, str]] = PRIORS) -> Float:
    """The weights of the conditional logit, those of `priors` as given.

    Samples without a right answer teach nothing and must be left out.
    """
    features: Float = np.concatenate([each.features for each in samples])
    solved = np.array([priors[name][0] if name in priors else 0.0 for name in FEATURES])
    free = [place for place, name in enumerate(FEATURES) if name not in priors]
    scale = features[:, free].std(axis=0) + 1e-9
    problem = _Choices(
        features[:, free] / scale,
        features @ solved,
        np.concatenate([each.right for each in samples]),
        np.cumsum([0, *(len(each.right) for each in samples)])[:-1],
        _equal_shares([each.group for each in samples]),
    )
    solved[free] = _solved(problem) / scale
    return solved


def _solved(problem: _Choices) -> Float:
    weights = np.zeros(problem.features.shape[1])
    for _ in range(_STEPS):
        improved = problem.step(weights)
        if np.abs(improved - weights).max() < 1e-3:
            break
        weights = improved
    return weights


@dataclass(frozen=True, slots=True)
class _Choices:
    """All candidates one below the other; `starts` are where each question begins, `shares` what it counts.

    `given` is the part of each candidate's value that is not fitted.
    """

    features: Float
    given: Float
    right: Bool
    starts: npt.NDArray[np.int64]
    shares: Float

    def step(self, weights: Float) -> Float:
        """One Newton step, halved until the likelihood does not fall."""
        direction = self._direction(weights)
        now = self._likelihood(weights)
        size = 1.0
        while size > 1e-4 and self._likelihood(weights + size * direction) < now:
            size /= 2
        stepped: Float = weights + size * direction
        return stepped

    def _direction(self, weights: Float) -> Float:
        values = self.features @ weights + self.given
        chosen, wanted = self._soft(values), self._soft(np.where(self.right, values, -np.inf))
        each = self._spread(self.shares)
        gradient = self.features.T @ ((wanted - chosen) * each) - _RIDGE * weights
        mean: Float = np.add.reduceat(self.features * chosen[:, None], self.starts)
        within = (self.features * (chosen * each)[:, None]).T @ self.features
        between = (mean * self.shares[:, None]).T @ mean
        solved = np.linalg.solve(within - between + _RIDGE * np.eye(len(weights)), gradient)
        return np.asarray(solved, dtype=np.float64)

    def _likelihood(self, weights: Float) -> float:
        values = self.features @ weights + self.given
        right = self._log_sum(np.where(self.right, values, -np.inf))
        return float((self.shares * (right - self._log_sum(values))).sum() - _RIDGE * weights @ weights / 2)

    def _soft(self, values: Float) -> Float:
        soft: Float = np.exp(values - self._spread(self._log_sum(values)))
        return soft

    def _log_sum(self, values: Float) -> Float:
        most = np.maximum.reduceat(values, self.starts)
        total: Float = most + np.log(np.add.reduceat(np.exp(values - self._spread(most)), self.starts))
        return total

    def _spread(self, of_questions: Float) -> Float:
        sizes = np.diff([*self.starts, len(self.features)])
        return np.repeat(of_questions, sizes)


def fit_gate(samples: Sequence[Sample], off_topic: Sequence[Sample]) -> dict[str, float]:
    """The gate's slope, and the nearness that one in twenty off-topic questions reaches."""
    positive = np.array([each.nearness for each in samples])
    negative = np.array([each.nearness for each in off_topic])
    shares = np.concatenate([_equal_shares([each.group for each in part]) for part in (samples, off_topic)])
    shares[: len(positive)] *= len(negative) / len(positive)
    labels = np.repeat([1.0, 0.0], [len(positive), len(negative)])
    slope = _logistic(np.concatenate([positive, negative]), labels, shares)
    return {"slope": round(slope, 4), "line": round(float(np.quantile(negative, 1 - _PASSING)), 4)}


def _logistic(feature: Float, labels: Float, shares: Float) -> float:
    """The slope of a logistic regression on one number, by Newton's method with a small ridge."""
    columns = np.c_[feature, np.ones(len(feature))]
    ridge = np.diag([_RIDGE, 0.0])
    weights = np.zeros(2)
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-columns @ weights))
        gradient = columns.T @ (shares * (labels - chance)) - ridge @ weights
        curvature = (columns * (shares * chance * (1 - chance))[:, None]).T @ columns + ridge
        weights = weights + np.linalg.solve(curvature, gradient)
    return float(weights[0])


def _cross_validated(samples: Sequence[Sample]) -> list[Float]:
    """Each question's order values by weights that never saw it."""
    folds = np.random.default_rng(0).integers(0, _FOLDS, len(samples))
    values: list[Float] = [np.empty(0)] * len(samples)
    for fold in range(_FOLDS):
        weights = fit_order([each for each, f in zip(samples, folds, strict=True) if f != fold and each.right.any()])
        for place in np.flatnonzero(folds == fold).tolist():
            values[place] = samples[place].features @ weights
    return values


def _rank(each: Sample, values: Float) -> int | None:
    return int((values > values[each.right].max()).sum()) if each.right.any() else None


def _span(samples: Sequence[Sample], values: Sequence[Float]) -> float:
    """How far below the best a right answer lies, at most but for one in two hundred of the set where it is worst."""
    below: dict[str, list[float]] = {}
    for each, value in zip(samples, values, strict=True):
        if each.right.any():
            below.setdefault(each.group, []).append(float(value.max() - value[each.right].max()))
    return max(float(np.quantile(distances, 1 - _CUT)) for distances in below.values())


def _report(samples: Sequence[Sample], values: Sequence[Float]) -> dict[str, Any]:
    ranked = [(each, _rank(each, value)) for each, value in zip(samples, values, strict=True)]
    report = {}
    for group in sorted({each.group for each in samples}):
        own = [(each.hard, rank) for each, rank in ranked if each.group == group]
        report[group] = {
            "all": _figures([rank for _, rank in own]),
            "hard": _figures([rank for hard, rank in own if hard]),
        }
    return report


def _figures(ranks: Sequence[int | None]) -> dict[str, float]:
    metrics = Metrics.of(ranks)
    return {
        "questions": metrics.questions,
        "R@1": round(metrics.recall_1, 4),
        "R@10": round(metrics.recall_10, 4),
        "MRR@10": round(metrics.mrr_10, 4),
    }


def _equal_shares(groups: Sequence[str]) -> Float:
    """A weight for each question, so that every group counts the same; 1 on average."""
    counts = {group: groups.count(group) for group in set(groups)}
    return np.array([len(groups) / len(counts) / counts[group] for group in groups], dtype=np.float64)


def _counts(samples: Sequence[Sample]) -> Mapping[str, int]:
    groups = [each.group for each in samples]
    return {group: groups.count(group) for group in sorted(set(groups))}


async def _fit_from(options: argparse.Namespace) -> dict[str, Any]:
    # The pool is that of the judge whose weights are fitted; nothing is judged, so those that ship are not read.
    settings = replace(Settings.from_env(), bucket_url=options.bucket, llm_provider="embedded")
    models = Models(settings)
    tables = open_tables(settings, models)
    try:
        samples = [each for pair in options.judged for each in await _judged(tables, *map(Path, pair))]
        off_topic = [each for path in options.off_topic for each in await _off_topic(tables, path)]
    finally:
        tables.close()
        await to_thread.run_sync(models.close)
    return fit(samples, off_topic, _bank(tables))


async def _judged(tables: Tables, questions: Path, qrels: Path) -> list[Sample]:
    judged = read_judged(questions, qrels)
    name = questions.name.partition("-queries")[0].removeprefix("judged-")
    asked = judged_rows(tables, judged)
    hard = iter([bool(question.hard) for question in judged])
    bank = _bank(tables)
    return [_sample(name, next(hard), each, bank) async for each in observe(tables, asked)]


async def _off_topic(tables: Tables, path: Path) -> list[Sample]:
    texts = sample(read_texts(path), _OFF_TOPIC_OF_A_FILE)
    bank = _bank(tables)
    return [_sample(path.name, False, each, bank) async for each in observe(tables, [(t, frozenset()) for t in texts])]


def _sample(group: str, hard: bool, seen: Observed, bank: NullBank) -> Sample:
    features = np.array(measure(seen.question, seen.candidates))
    right = np.array([each.row in seen.right for each in seen.candidates])
    return Sample(group, hard, features, right, nearness(seen.candidates, bank))


def _bank(tables: Tables) -> NullBank:
    return combine_null_banks([bank for c in tables.catalogs if (bank := c.release.manifest.null_bank) is not None])


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m build_jobs.fit_ranker", description=__doc__)
    parser.add_argument("--bucket", required=True, help="where the release lies whose questions are judged")
    parser.add_argument("--judged", required=True, nargs=2, action="append", metavar=("QUESTIONS", "QRELS"))
    parser.add_argument("--off-topic", required=True, nargs="+", type=Path, help="questions or names nothing answers")
    parser.add_argument("--to", type=Path, default=Path("shared/models/ranker.json"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
