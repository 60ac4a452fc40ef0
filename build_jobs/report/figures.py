"""What one evaluation measured: an outcome a question, and the figures that they add up to.

Ranks count from 0 inside, and None is "not found"; what a person or another program reads counts from 1.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from build_jobs.judged import JudgedQuestion, Target

Rank = int | None

PAGE = 10
DEPTH = 120
SCORE_ORDER, DEFAULT_ORDER = "score order", "default order"
MOST_MISSES = 50
SCORE_BIN = 5

_DEEP = (60, DEPTH)
_REPLIES = (SCORE_ORDER, DEFAULT_ORDER)
_LATENCY_BINS = 20

_ONLY_HERE = (
    "A running service does not show what its judge receives: the pool, recall at 60 and 120, the plain engines and "
    "which answers are among the documents are measured in process only (--bucket)."
)
_NO_HARD_PART = "The questions do not say at which of them a keyword engine fails (bm25Rank): there is no hard part."


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """The judged questions of one pair of files. `of` is how many the files hold, before any sampling."""

    name: str
    questions: Sequence[JudgedQuestion]
    of: int


@dataclass(frozen=True, slots=True)
class Subject:
    """What was asked, as far as that is known: None is not known from where it was asked.

    `releases` and `documents` are by catalog; `settings` are those of the search, by environment name.
    """

    where: str
    releases: Mapping[str, str] | None = None
    documents: Mapping[str, int] | None = None
    embedder: str | None = None
    judge: str | None = None
    settings: Mapping[str, bool | int | float | str] | None = None
    threshold: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One result as a person recognises it. `score` is 0-100."""

    title: str
    code: str | None
    source: str
    score: int


@dataclass(slots=True)
class Outcome:
    """What one judged question came to. `right_score` is None where no right answer is among the results.

    `answerable` is whether any right answer is among the documents, None where that cannot be seen.
    """

    set: str
    question: JudgedQuestion
    ranks: dict[str, Rank]
    took_ms: float
    first: Found | None = None
    right_score: int | None = None
    answerable: bool | None = None
    expected_title: str | None = None


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """What a question came to that no table answers. `best` is the best score of all, under the threshold or not."""

    text: str
    answered: bool
    best: int | None


@dataclass(frozen=True, slots=True)
class Metrics:
    """Recall at 1 and 10 and the mean reciprocal rank within 10; and recall deeper, where that was measured."""

    questions: int
    recall_1: float
    recall_10: float
    mrr_10: float
    recall_60: float | None = None
    recall_120: float | None = None

    @classmethod
    def of(cls, ranks: Sequence[Rank], *, deep: bool = False) -> Metrics:
        """From each question's rank."""
        reciprocal = [1 / (rank + 1) if rank is not None and rank < PAGE else 0.0 for rank in ranks]
        deeper = {f"recall_{depth}": _recall(ranks, depth) for depth in _DEEP} if deep else {}
        return cls(len(ranks), _recall(ranks, 1), _recall(ranks, PAGE), _mean(reciprocal), **deeper)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One set's figures, or those of all sets together.

    `hard` repeats a row on the questions a keyword engine fails at; `curves` are recall at 1, 2, … as deep as the
    row was read. `of` is how many questions there were before sampling; `kept` is the share with any result.
    """

    questions: int
    of: int
    rows: dict[str, Metrics]
    hard: dict[str, Metrics]
    curves: dict[str, list[float]]
    unknown_answers: int | None
    kept: float | None
    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Bin:
    """How many questions took `from_ms` or more and less than `to_ms`; None is no upper end."""

    from_ms: float
    to_ms: float | None
    questions: int


@dataclass(frozen=True, slots=True)
class Scores:
    """Counts by score in steps of `step` from 0, a score of 100 in the last: of the best right answer among the
    results, and of the best document for each question that nothing answers.
    """

    step: int
    right: list[int]
    right_not_returned: int
    unanswerable: list[int]
    unanswerable_unscored: int
    threshold: int | None


@dataclass(frozen=True, slots=True)
class Miss:
    """A question whose right answer does not come first. Ranks count from 1; None is not found there."""

    set: str
    id: str
    question: str
    hard: bool | None
    expected: list[str]
    expected_title: str | None
    rank: Rank
    pool_rank: Rank
    first: Found | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Figures):
    """Everything one evaluation measured: the figures of all sets together, of each, and what is told once."""

    sets: dict[str, Figures]
    subject: Subject
    latency: list[Bin]
    scores: Scores
    unanswered: list[str]
    unanswerable: int
    no_match: float | None
    answered_wrongly: list[str]
    misses: list[Miss]
    notes: list[str] = field(default_factory=list)

    @property
    def parts(self) -> dict[str, Figures]:
        """The sets by name, and all together behind them where there are several."""
        return dict(self.sets) if len(self.sets) == 1 else {**self.sets, "all sets together": self}


def report_of(
    sets: Sequence[JudgedSet], outcomes: Sequence[Outcome], nothing: Sequence[Unanswerable], subject: Subject
) -> Report:
    """Add it up. The same outcomes give the same report, whatever order the questions of a set were asked in."""
    own = {each.name: [outcome for outcome in outcomes if outcome.set == each.name] for each in sets}
    figures = {each.name: _figures(own[each.name], each.of) for each in sets}
    answered = [each.text for each in nothing if each.answered]
    return Report(
        **_figures_by_name(_figures(outcomes, sum(each.of for each in sets))),
        sets=figures,
        subject=subject,
        latency=latency_bins([outcome.took_ms for outcome in outcomes]),
        scores=_scores(outcomes, nothing, subject.threshold),
        unanswered=[outcome.question.text for outcome in outcomes if outcome.first is None],
        unanswerable=len(nothing),
        no_match=1 - len(answered) / len(nothing) if nothing else None,
        answered_wrongly=answered,
        misses=worst_misses(outcomes),
        notes=_notes(outcomes, nothing),
    )


def as_json(report: Report) -> dict[str, Any]:
    """The report for programs."""
    return asdict(report)


def latency_bins(took_ms: Sequence[float]) -> list[Bin]:
    """Equal steps of 1, 2 or 5 times a power of ten, up to the 99th percentile; what took longer is the last bin."""
    if not took_ms:
        return []
    slow = quantile(took_ms, 0.99)
    step = _round_step(slow / _LATENCY_BINS)
    edges = [round(at * step, 6) for at in range(int(slow // step) + 2)]
    counts = Counter(bisect_right(edges, each) - 1 for each in took_ms)
    closed = [Bin(*ends, counts[at]) for at, ends in enumerate(pairwise(edges))]
    return [*closed, Bin(edges[-1], None, counts[len(edges) - 1])]


def worst_misses(outcomes: Sequence[Outcome]) -> list[Miss]:
    """The questions whose right answer comes latest, at most 50, those where it does not come at all first.

    Questions that no document could answer are left out: they say nothing of the order. Equals are in the order of
    a digest, so that where there are too many to show, every set has its share.
    """
    missed = [each for each in outcomes if each.ranks[SCORE_ORDER] != 0 and each.answerable is not False]
    return [_miss(each) for each in sorted(missed, key=_badness)[:MOST_MISSES]]


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies; 0 for none."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0.0


def _figures(outcomes: Sequence[Outcome], of: int) -> Figures:
    names = list(outcomes[0].ranks) if outcomes else []
    ranks = {name: [outcome.ranks[name] for outcome in outcomes] for name in names}
    hard = [at for at, outcome in enumerate(outcomes) if outcome.question.hard]
    took_ms = [outcome.took_ms for outcome in outcomes]
    return Figures(
        questions=len(outcomes),
        of=of,
        rows={name: Metrics.of(each, deep=_is_deep(name)) for name, each in ranks.items()},
        hard={name: Metrics.of([each[at] for at in hard], deep=_is_deep(name)) for name, each in ranks.items() if hard},
        curves={name: curve(each, DEPTH if _is_deep(name) else PAGE) for name, each in ranks.items()},
        unknown_answers=_unknown(outcomes),
        kept=_mean([outcome.first is not None for outcome in outcomes]) if outcomes else None,
        p50_ms=quantile(took_ms, 0.5),
        p95_ms=quantile(took_ms, 0.95),
        p99_ms=quantile(took_ms, 0.99),
    )


def _figures_by_name(figures: Figures) -> dict[str, Any]:
    return {name: getattr(figures, name) for name in Figures.__slots__}


def curve(ranks: Sequence[Rank], depth: int) -> list[float]:
    """Recall at 1, 2, … `depth`."""
    found = sorted(rank for rank in ranks if rank is not None)
    return [bisect_right(found, at) / len(ranks) if ranks else 0.0 for at in range(depth)]


def _is_deep(row: str) -> bool:
    """Whether a row was read to 120: a reply ends at its page."""
    return row not in _REPLIES


def _unknown(outcomes: Sequence[Outcome]) -> int | None:
    known = [outcome.answerable for outcome in outcomes if outcome.answerable is not None]
    return known.count(False) if known else None


def _scores(outcomes: Sequence[Outcome], nothing: Sequence[Unanswerable], threshold: int | None) -> Scores:
    right = [outcome.right_score for outcome in outcomes]
    best = [each.best for each in nothing]
    counts = (_score_bins(right), right.count(None), _score_bins(best), best.count(None))
    return Scores(SCORE_BIN, *counts, threshold)


def _score_bins(scores: Sequence[int | None]) -> list[int]:
    counts = [0] * (100 // SCORE_BIN)
    for score in scores:
        if score is not None:
            counts[min(score // SCORE_BIN, len(counts) - 1)] += 1
    return counts


def _badness(outcome: Outcome) -> tuple[int, str]:
    rank = outcome.ranks[SCORE_ORDER]
    digest = hashlib.sha256(f"{outcome.set}\n{outcome.question.id}".encode("utf-8", "replace")).hexdigest()
    return (-PAGE if rank is None else -rank, digest)


def _miss(outcome: Outcome) -> Miss:
    question = outcome.question
    return Miss(
        set=outcome.set,
        id=question.id,
        question=question.text,
        hard=question.hard,
        expected=[_named(target) for target in question.targets],
        expected_title=outcome.expected_title,
        rank=_from_1(outcome.ranks[SCORE_ORDER]),
        pool_rank=_from_1(outcome.ranks.get("pool")),
        first=outcome.first,
    )


def _named(target: Target) -> str:
    return target.code if target.family is None else f"{target.family}:{target.code}"


def _from_1(rank: Rank) -> Rank:
    return None if rank is None else rank + 1


def _notes(outcomes: Sequence[Outcome], nothing: Sequence[Unanswerable]) -> list[str]:
    """Why something is not in the report, one sentence each."""
    if not outcomes:
        return ["No judged question was asked: there are no figures."]
    rows = outcomes[0].ranks
    notes = {
        _ONLY_HERE: "pool" not in rows,
        "The plain engines were not measured: --baselines adds them.": "pool" in rows and "bm25" not in rows,
        _NO_HARD_PART: all(outcome.question.hard is None for outcome in outcomes),
        "No questions that nothing answers were asked: --unanswerable adds them.": not nothing,
        "A reply was asked for ten results: score order and default order are known to rank 10.": True,
    }
    return [note for note, applies in notes.items() if applies]


def _round_step(least: float) -> float:
    """The smallest of 0.1, 0.2, 0.5, 1, 2, 5, 10 … that is no less."""
    scale = 0.1
    while scale * 10 < least:
        scale *= 10
    return next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= least or factor == 10)


def _recall(ranks: Sequence[Rank], depth: int) -> float:
    return _mean([rank is not None and rank < depth for rank in ranks])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
