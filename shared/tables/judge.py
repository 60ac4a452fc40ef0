"""Judging the pool, and widening it where nothing qualifies."""

from __future__ import annotations

from collections.abc import Sequence

from anyio import CancelScope, create_task_group
from msgspec import Struct, field

from shared.contracts.notices import Notice, notice
from shared.errors import Unavailable
from shared.index.scan import Rows
from shared.models.judging import Candidate, Judge, Judgement, Question, Verdict
from shared.models.ledger import Ledger
from shared.settings import Settings
from shared.tables.candidates import candidates_of
from shared.tables.merge import Scored
from shared.tables.pool import Pool, Retrieved, spread, window
from shared.tables.tables import Tables
from shared.timed import timed
from shared.work import work


class Asked(Struct, frozen=True):
    """One search under way: the question, how many results it wants, and what it is answered from."""

    question: Question
    page: int
    tables: Tables
    ledger: Ledger


class Judged(Struct):
    """Every verdict so far, those that qualify, and what had to be said on the way."""

    settings: Settings
    scored: list[Scored] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    @property
    def eligible(self) -> list[Scored]:
        """Those whose score, as shown on the wire, reaches the threshold."""
        return [each for each in self.scored if round(each[1]) >= self.settings.min_rerank_score]

    @property
    def best(self) -> float | None:
        """The best score of all, eligible or not."""
        return max((score for _, score in self.scored), default=None)

    def take(self, candidates: Sequence[Candidate], judgement: Judgement) -> None:
        """Add a judgement of these candidates."""
        self.scored += [(candidates[verdict.index], verdict.score) for verdict in judgement.verdicts]
        if judgement.skipped:
            message = "Some of the judge's verdicts could not be read and were skipped."
            self.notices.append(notice("verdicts_skipped", message, verdicts=judgement.skipped))
        if candidates and not judgement.verdicts:
            message = "The judge gave no verdict on any of these candidates."
            self.notices.append(notice("verdicts_missing", message, candidates=len(candidates)))


async def judge_pool(judge: Judge, asked: Asked, found: Retrieved, pool: Pool) -> Judged:
    """Verdicts on the pool; where nothing qualifies and the embedding cannot tell good from bad, on what lies deeper.

    Only a judge that reads can find more there: one that scores by retrieval sees only worse of what it has judged.
    A wide spread of embedding scores means that the head already stands apart, and the answer is "no match".
    """
    judged, settings = Judged(asked.tables.settings), asked.tables.settings
    candidates = await _shown(found, pool, pool.positions, asked)
    if judge.wants_groups:
        await _judge_by_family(judge, candidates, asked, judged)
    else:
        judged.take(candidates, await _judged(judge, asked, candidates, asked.page))
    seen, last = len(pool.head), pool.head
    while judge.wants_groups and not judged.eligible and seen < settings.prefilter_examined_max:
        if spread(found, last) >= settings.prefilter_narrow_std:
            message = "The best candidates already stand apart, so no deeper ones were judged."
            judged.notices.append(notice("widening_stopped", message, examined=len(judged.scored)))
            break
        last = window(found, pool, seen, settings)
        seen += settings.prefilter_slice
        if len(last) == 0:
            continue
        candidates = await _shown(found, pool, last, asked)
        judged.take(candidates, await _judged(judge, asked, candidates, asked.page))
    return judged


async def _judged(judge: Judge, asked: Asked, candidates: Sequence[Candidate], k: int) -> Judgement:
    with timed("judge"):
        return await judge.judge(asked.question, candidates, k, asked.ledger)


async def _shown(found: Retrieved, pool: Pool, positions: Rows, asked: Asked) -> list[Candidate]:
    return await work(lambda: candidates_of(found, pool, positions, asked.tables))


async def _judge_by_family(judge: Judge, candidates: Sequence[Candidate], asked: Asked, judged: Judged) -> None:
    """One call a source family, in parallel, for the first families of the pool.

    The first family is judged alone; each other one is shown together with the first one's best candidates as
    anchors: a source with nothing good in it then has something good beside it. The anchors' own scores are not
    used there.
    """
    groups = list(_families(candidates).items())
    chosen, rest = groups[: judged.settings.result_sources], groups[judged.settings.result_sources :]
    anchors = chosen[0][1][: judged.settings.source_anchors] if chosen else []
    calls = [
        _Call(family, group, anchors if place else [], leading=place == 0)
        for place, (family, group) in enumerate(chosen)
    ]
    async with create_task_group() as tasks:
        for call in calls:
            tasks.start_soon(call.ask, judge, asked, tasks.cancel_scope)
    for call in calls:
        call.settle(judged)
    if rest:
        first = f"{len(chosen)} sources of the pool are" if len(chosen) > 1 else "source of the pool is"
        message = f"Only the first {first} judged."
        judged.notices.append(notice("source_not_scored", message, sources=[family for family, _ in rest]))


def _families(candidates: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    """Candidates by source family, in the order in which each family first appears."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.family, []).append(candidate)
    return groups


class _Call(Struct):
    """One family's call: what is shown, and what came of it."""

    family: str
    group: Sequence[Candidate]
    anchors: Sequence[Candidate]
    leading: bool
    judgement: Judgement | None = None
    failure: Unavailable | None = None

    async def ask(self, judge: Judge, asked: Asked, calls: CancelScope) -> None:
        """Ask for the page and the anchors beside it.

        A failure is kept, so that it does not end the other families' calls; the leading one's ends the search,
        and with it calls that would be paid for in vain.
        """
        shown = [*self.anchors, *self.group]
        try:
            self.judgement = await _judged(judge, asked, shown, asked.page + len(self.anchors))
        except Unavailable as failure:
            self.failure = failure
            if self.leading:
                calls.cancel()

    def settle(self, judged: Judged) -> None:
        """Take the verdicts on the family's own candidates. The leading family's failure is the search's."""
        if self.failure is not None:
            if self.leading:
                raise self.failure
            message = f"The judge failed on {self.family}; its tables are missing here."
            judged.notices.append(notice("source_failed", message, source=self.family, reason=self.failure.code))
        elif self.judgement is not None:
            skip = len(self.anchors)
            own = tuple(Verdict(v.index - skip, v.score) for v in self.judgement.verdicts if v.index >= skip)
            judged.take(self.group, Judgement(own, self.judgement.skipped))
