"""`askbucket evaluate tables`: how well a release answers judged questions, and when it rightly says nothing.

Ranks are of the first right answer among the results as they go over the wire, so a right answer under the
threshold counts as missed. The pool is what the judge receives, in its order, before any cut: in process only.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from anyio import to_thread

from build_jobs.judged import JudgedQuestion, Target
from build_jobs.observe import baseline_ranks, judged_rows, observe
from build_jobs.progress import Meter, Told, silent
from build_jobs.report.figures import (
    DEFAULT_ORDER,
    PAGE,
    SCORE_ORDER,
    Found,
    JudgedSet,
    Outcome,
    Rank,
    Report,
    Subject,
    Unanswerable,
    report_of,
)
from shared.contracts.leaf import code_of
from shared.models.choice import Models
from shared.models.ledger import Ledger
from shared.settings import ROWS, Settings
from shared.tables.request import parse_search
from shared.tables.search import search
from shared.tables.tables import Tables, open_tables

Reply = Mapping[str, Any]
Ask = Callable[[dict[str, Any]], Awaitable[Reply]]

# The settings a search depends on share this beginning; the catalogs are told as releases.
_SEARCH_SETTINGS = "ARD_"
_OTHERWISE_TOLD = frozenset({"ARD_CATALOGS"})


async def evaluate_here(
    settings: Settings,
    sets: Sequence[JudgedSet],
    *,
    unanswerable: Sequence[str] = (),
    baselines: bool = False,
    told: Told = silent,
) -> Report:
    """Measure the releases in the settings' bucket in this process, the pool included."""
    models = Models(settings)
    tables = open_tables(settings, models)
    try:
        ask = _in_process(tables)
        outcomes = await _outcomes(ask, sets, told)
        nothing = await _asked_for_nothing(ask, unanswerable)
        await _measure_pool(tables, _questions(sets), outcomes, baselines=baselines, told=told)
        _name_what_was_missed(tables, outcomes)
        return report_of(sets, outcomes, nothing, subject_of(tables))
    finally:
        tables.close()
        await to_thread.run_sync(models.close)


async def evaluate_by(
    ask: Ask,
    sets: Sequence[JudgedSet],
    *,
    subject: Subject,
    unanswerable: Sequence[str] = (),
    told: Told = silent,
) -> Report:
    """Measure whatever answers POST /search bodies. The pool cannot be seen from outside, and the report says so."""
    outcomes = await _outcomes(ask, sets, told)
    return report_of(sets, outcomes, await _asked_for_nothing(ask, unanswerable), subject)


def rank_in(reply: Reply, targets: Sequence[Target]) -> Rank:
    """Place of the first right answer among a reply's results, from 0."""
    return next(
        (place for place, entry in enumerate(reply["results"]) if any(t.is_entry(entry) for t in targets)), None
    )


def subject_of(tables: Tables) -> Subject:
    """What is searched in this process."""
    settings, legs = tables.settings, tables.searched_with
    return Subject(
        where="in this process",
        releases={catalog.name: catalog.release.id for catalog in tables.catalogs},
        documents={catalog.name: catalog.rows for catalog in tables.catalogs},
        embedder=f"{legs.embedder.model} ({legs.embedder.provider}, {legs.embedder.dimension} dimensions)",
        judge=f"{legs.judge.model} ({legs.judge.provider})" if legs.judge and settings.rerank else "none",
        settings=_search_settings(settings),
        threshold=settings.min_rerank_score,
    )


def subject_over(url: str, health: Mapping[str, Any]) -> Subject:
    """What a running service says of itself: its /health, of which nothing is taken for granted."""
    releases, documents, models = (health.get(key) for key in ("releases", "catalogs", "models"))
    return Subject(
        where=f"over HTTP at {url}",
        releases=dict(releases) if isinstance(releases, Mapping) else None,
        documents=dict(documents) if isinstance(documents, Mapping) else None,
        judge=str(models["judge"]) if isinstance(models, Mapping) and "judge" in models else None,
    )


def _search_settings(settings: Settings) -> dict[str, bool | int | float | str]:
    return {
        row.name: getattr(settings, field)
        for field, row in ROWS.items()
        if row.name.startswith(_SEARCH_SETTINGS) and row.name not in _OTHERWISE_TOLD
    }


def _in_process(tables: Tables) -> Ask:
    async def ask(body: dict[str, Any]) -> Reply:
        return await search(parse_search(body), tables, Ledger())

    return ask


def _questions(sets: Sequence[JudgedSet]) -> list[JudgedQuestion]:
    return [question for each in sets for question in each.questions]


async def _outcomes(ask: Ask, sets: Sequence[JudgedSet], told: Told) -> list[Outcome]:
    """Each question's outcome, in the order of the sets and their questions."""
    meter = Meter("questions", len(_questions(sets)), told)
    outcomes = []
    for each in sets:
        for question in each.questions:
            outcomes.append(await _outcome(ask, each.name, question))
            meter.advance(1)
    return outcomes


async def _outcome(ask: Ask, name: str, question: JudgedQuestion) -> Outcome:
    """Both orders of the reply; the time is that of the first, which no cache has seen."""
    started = time.perf_counter()
    reply = await ask(_body(question.text, "score"))
    took_ms = (time.perf_counter() - started) * 1e3
    by_default = await ask(_body(question.text, "source"))
    rank = rank_in(reply, question.targets)
    results = reply["results"]
    return Outcome(
        set=name,
        question=question,
        ranks={SCORE_ORDER: rank, DEFAULT_ORDER: rank_in(by_default, question.targets)},
        took_ms=took_ms,
        first=_found(results[0]) if results else None,
        right_score=None if rank is None else int(results[rank]["score"]),
    )


async def _asked_for_nothing(ask: Ask, texts: Sequence[str]) -> list[Unanswerable]:
    replies = [(text, await ask(_body(text, "score"))) for text in texts]
    return [Unanswerable(text, bool(reply["results"]), _best_score(reply)) for text, reply in replies]


def _best_score(reply: Reply) -> int | None:
    """The best document's score: the first result's, or what `eligibility` tells of those under the threshold."""
    best = reply["results"][0]["score"] if reply["results"] else (reply.get("eligibility") or {}).get("topScore")
    return None if best is None else int(best)


def _found(entry: Mapping[str, Any]) -> Found:
    return Found(
        title=str(entry.get("displayName", "")),
        code=code_of(entry, "okf:"),
        source=str(entry.get("okf:sourceDirectory", "")),
        score=int(entry.get("score", 0)),
    )


async def _measure_pool(
    tables: Tables, questions: Sequence[JudgedQuestion], outcomes: Sequence[Outcome], *, baselines: bool, told: Told
) -> None:
    """Each question's rank in the pool, and by the plain engines on the same vectors."""
    meter = Meter("pool", len(questions), told)
    at = 0
    async for seen in observe(tables, judged_rows(tables, questions)):
        outcomes[at].ranks.update({"pool": seen.pool_rank, **(baseline_ranks(seen) if baselines else {})})
        outcomes[at].answerable = bool(seen.right)
        at += 1
        meter.advance(1)


def _name_what_was_missed(tables: Tables, outcomes: Sequence[Outcome]) -> None:
    """The titles of right answers that do not come first: a code alone tells a reader little."""
    missed = [outcome for outcome in outcomes if outcome.answerable and outcome.ranks[SCORE_ORDER] != 0]
    rows = [min(right) for _, right in judged_rows(tables, [outcome.question for outcome in missed])]
    hits = tables.hits(rows)
    for outcome, row in zip(missed, rows, strict=True):
        outcome.expected_title = hits[row].leaf.title


def _body(text: str, order: str) -> dict[str, Any]:
    return {"query": {"text": text}, "pageSize": PAGE, "order": order}
