"""`askbucket evaluate tables`: how well a release answers judged questions, and when it rightly says nothing.

Ranks are of the first right answer among the results as they go over the wire, so a right answer under the
threshold counts as missed. The pool is what the judge receives, in its order, before any cut: in process only.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from anyio import to_thread

from build_jobs.judged import JudgedQuestion, Target
from build_jobs.observe import baseline_ranks, judged_rows, observe
from build_jobs.progress import Progress, Told, silent
from shared.models.choice import Models
from shared.models.ledger import Ledger
from shared.settings import Settings
from shared.tables.request import parse_search
from shared.tables.search import search
from shared.tables.tables import Tables, open_tables

Reply = Mapping[str, Any]
Ask = Callable[[dict[str, Any]], Awaitable[Reply]]
Rank = int | None

_PAGE = 10
_DEEP = (60, 120)


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
        """From each question's rank, counted from 0, None for not found."""
        reciprocal = [1 / (rank + 1) if rank is not None and rank < _PAGE else 0.0 for rank in ranks]
        deeper = {f"recall_{depth}": _recall(ranks, depth) for depth in _DEEP} if deep else {}
        return cls(len(ranks), _recall(ranks, 1), _recall(ranks, 10), _mean(reciprocal), **deeper)


@dataclass(slots=True)
class Report:
    """Everything one evaluation measured. `hard` repeats a row on the questions a keyword engine fails at."""

    questions: int
    rows: dict[str, Metrics] = field(default_factory=dict)
    hard: dict[str, Metrics] = field(default_factory=dict)
    unknown_answers: int | None = None
    kept: float | None = None
    unanswerable: int = 0
    no_match: float | None = None
    answered_wrongly: list[str] = field(default_factory=list)
    p50_ms: float = 0.0
    p95_ms: float = 0.0

    def add(self, name: str, ranks: Sequence[Rank], questions: Sequence[JudgedQuestion], *, deep: bool) -> None:
        """A row, and its hard part where the questions know theirs."""
        self.rows[name] = Metrics.of(ranks, deep=deep)
        hard = [rank for rank, question in zip(ranks, questions, strict=True) if question.hard]
        if hard:
            self.hard[name] = Metrics.of(hard, deep=deep)


async def evaluate_here(
    settings: Settings,
    questions: Sequence[JudgedQuestion],
    *,
    unanswerable: Sequence[str] = (),
    baselines: bool = False,
    told: Told = silent,
) -> Report:
    """Measure the releases in the settings' bucket in this process, the pool included."""
    models = Models(settings)
    tables = open_tables(settings, models)
    try:
        report = await evaluate_by(_in_process(tables), questions, unanswerable=unanswerable, told=told)
        await _measure_pool(tables, questions, report, baselines=baselines)
    finally:
        tables.close()
        await to_thread.run_sync(models.close)
    return report


async def evaluate_by(
    ask: Ask, questions: Sequence[JudgedQuestion], *, unanswerable: Sequence[str] = (), told: Told = silent
) -> Report:
    """Measure whatever answers POST /search bodies. The pool cannot be seen from outside."""
    report = Report(questions=len(questions), unanswerable=len(unanswerable))
    by_score: list[Rank] = []
    by_default: list[Rank] = []
    kept, took_ms = [], []
    for done, question in enumerate(questions, start=1):
        started = time.perf_counter()
        reply = await ask(_body(question.text, "score"))
        took_ms.append((time.perf_counter() - started) * 1e3)
        by_score.append(rank_in(reply, question.targets))
        by_default.append(rank_in(await ask(_body(question.text, "source")), question.targets))
        kept.append(bool(reply["results"]))
        told(Progress("questions", done, len(questions)))
    report.add("score order", by_score, questions, deep=False)
    report.add("default order", by_default, questions, deep=False)
    report.kept = _mean(kept) if kept else None
    report.p50_ms, report.p95_ms = _quantile(took_ms, 0.5), _quantile(took_ms, 0.95)
    report.answered_wrongly = [text for text in unanswerable if (await ask(_body(text, "score")))["results"]]
    if unanswerable:
        report.no_match = 1 - len(report.answered_wrongly) / len(unanswerable)
    return report


def rank_in(reply: Reply, targets: Sequence[Target]) -> Rank:
    """Place of the first right answer among a reply's results, from 0."""
    return next(
        (place for place, entry in enumerate(reply["results"]) if any(t.is_entry(entry) for t in targets)), None
    )


def as_json(report: Report) -> dict[str, Any]:
    """The report for programs."""
    return asdict(report)


def as_text(report: Report) -> str:
    """The report for people: one table, then what is not a rank."""
    lines = [f"{report.questions} questions", "", _HEADER]
    for name, metrics in report.rows.items():
        lines.append(_line(name, metrics))
        if name in report.hard:
            lines.append(_line(f"  hard ({report.hard[name].questions})", report.hard[name]))
    lines.append("")
    if report.unknown_answers:
        lines.append(f"{report.unknown_answers} questions have no right answer among the documents")
    if report.kept is not None:
        lines.append(f"kept an eligible result   {report.kept:.1%}")
    if report.no_match is not None:
        lines.append(f"no match for unanswerable {report.no_match:.1%} of {report.unanswerable}")
        lines += [f"  answered: {text}" for text in report.answered_wrongly]
    lines.append(f"latency                   p50 {report.p50_ms:.0f} ms, p95 {report.p95_ms:.0f} ms")
    return "\n".join(lines)


_HEADER = f"{'':16}{'R@1':>8}{'R@10':>8}{'MRR@10':>8}{'R@60':>8}{'R@120':>8}"


def _line(name: str, metrics: Metrics) -> str:
    values = (metrics.recall_1, metrics.recall_10, metrics.mrr_10, metrics.recall_60, metrics.recall_120)
    return f"{name:16}" + "".join("" if value is None else f"{value:8.4f}" for value in values)


def _in_process(tables: Tables) -> Ask:
    async def ask(body: dict[str, Any]) -> Reply:
        return await search(parse_search(body), tables, Ledger())

    return ask


async def _measure_pool(
    tables: Tables, questions: Sequence[JudgedQuestion], report: Report, *, baselines: bool
) -> None:
    """The pool's recall, and the plain engines on the same questions and the same vectors."""
    asked = judged_rows(tables, questions)
    ranks: dict[str, list[Rank]] = {"pool": []}
    async for seen in observe(tables, asked):
        ranks["pool"].append(seen.pool_rank)
        for name, rank in baseline_ranks(seen).items() if baselines else ():
            ranks.setdefault(name, []).append(rank)
    report.unknown_answers = sum(not right for _, right in asked)
    for name, found in ranks.items():
        report.add(name, found, questions, deep=True)


def _body(text: str, order: str) -> dict[str, Any]:
    return {"query": {"text": text}, "pageSize": _PAGE, "order": order}


def _recall(ranks: Sequence[Rank], depth: int) -> float:
    return _mean([rank is not None and rank < depth for rank in ranks])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0.0
