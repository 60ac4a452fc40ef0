"""Who ranks: the ranker that was asked for, another in its place where it comes to nothing, or the columns alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shared.contracts.notices import notice
from shared.models.ledger import Ledger
from shared.models.provider import ItemVerdict, Ranker, SiteQuestion
from shared.settings import Settings
from shared.sites.kinds import Kind
from shared.sites.rank import Ranking, rank
from shared.sites.retrieve import Found


async def judged(
    ranker: Ranker,
    fallback: Ranker | None,
    question: SiteQuestion,
    found: Sequence[Found],
    say: Callable[[ItemVerdict], None],
    *,
    kind: Kind,
    settings: Settings,
    ledger: Ledger,
) -> Ranking:
    """The ranker's verdicts; the fallback's, with a notice, where one that explains nothing fails or keeps nothing."""
    ranking = await rank(ranker, question, found, say, kind=kind, settings=settings, ledger=ledger)
    if ranker.explains or fallback is None or ranking.kept or not found or (question.every and ranking.verdicts):
        return ranking
    reason = ranking.failures[0].code if ranking.failures else "kept_nothing"
    message = f"{ranker.model} kept none of the candidates; {fallback.model} ranked them."
    fell_back = notice("ranker_fell_back", message, reason=reason, ranking_model=fallback.model)
    again = await rank(fallback, question, found, say, kind=kind, settings=settings, ledger=ledger)
    # What failed before is no loss any more: every candidate was ranked after all.
    before = [each for each in ranking.notices if each["code"] != "batch_failed"]
    again.notices[:0] = [*before, fell_back]
    return again


def all_relevant(found: Sequence[Found]) -> list[ItemVerdict]:
    """The verdict of the columns: whatever was not ruled out is an answer, and none is a better one."""
    return [ItemVerdict(place, "relevant") for place in range(len(found))]
