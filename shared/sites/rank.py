"""Ranking the candidates: dealt into batches, asked for side by side, each verdict passed on as it comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from anyio import create_task_group
from msgspec import Struct, field
from msgspec.structs import replace

from shared.contracts.notices import Notice, notice
from shared.errors import Unavailable
from shared.models.ledger import Ledger
from shared.models.provider import ItemVerdict, Ranker, Shown, SiteQuestion
from shared.settings import Settings
from shared.sites.aim import reads_whole
from shared.sites.bands import OWN_CHARS, SCORES, Card
from shared.sites.grounding import Checked, checked, clipped
from shared.sites.kinds import Kind
from shared.sites.projection import project
from shared.sites.retrieve import Found
from shared.sites.values import texts
from shared.timed import timed
from shared.work import work

# Where every item gets a verdict: of 33 records a model shortlists some whatever is asked, 10 it labels.
EVERY_BATCH = 10


class Ranking(Struct):
    """What the ranker made of the candidates: verdicts by their place among them, and what has to be said."""

    found: Sequence[Found]
    batches: int = 0
    verdicts: list[ItemVerdict] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    failures: list[Unavailable] = field(default_factory=list)

    @property
    def came_to_nothing(self) -> bool:
        """Whether every call failed without one verdict: then an empty list says nothing about the question."""
        return bool(self.failures) and len(self.failures) == self.batches and not self.verdicts

    @property
    def kept(self) -> list[ItemVerdict]:
        """The verdicts that keep their item."""
        return [verdict for verdict in self.verdicts if verdict.band != "exclude"]


async def rank(
    ranker: Ranker,
    question: SiteQuestion,
    found: Sequence[Found],
    say: Callable[[ItemVerdict], None],
    *,
    kind: Kind,
    settings: Settings,
    ledger: Ledger,
) -> Ranking:
    """Every batch's verdicts, `say` called with each as it comes.

    A batch that fails costs its own verdicts only, and a notice says so.
    """
    ranking = Ranking(found)
    if not found:
        return ranking
    shown = await work(lambda: [shown_of(each, kind, with_card=not reads_whole(ranker)) for each in found])
    dealt = settings.ranking_batches if ranker.wants_batches else 1
    batches = deal(len(found), dealt, question.every and ranker.wants_batches)
    ranking.batches = len(batches)

    def take(verdict: ItemVerdict) -> None:
        ranking.verdicts.append(verdict)
        say(verdict)

    with timed("rank"):
        async with create_task_group() as tasks:
            for places in batches:
                batch = _Batch(places, [shown[place] for place in places], ranking, take, question.text)
                tasks.start_soon(batch.ask, ranker, question, ledger)
    return ranking


class _Batch(Struct):
    """One call: what it is shown, and the places of that among all candidates."""

    places: Sequence[int]
    shown: Sequence[Shown]
    ranking: Ranking
    take: Callable[[ItemVerdict], None]
    question: str

    async def ask(self, ranker: Ranker, question: SiteQuestion, ledger: Ledger) -> None:
        """Ask for verdicts; a failure is kept, so that it does not end the other calls."""
        # What the embedded ranker says is a sentence of the record.
        say = self._pass if ranker.provider == "embedded" else self._check
        try:
            self.ranking.notices += await ranker.rank(question, self.shown, say, ledger)
        except Unavailable as failure:
            self.ranking.failures.append(failure)
            message = "A part of the candidates could not be ranked; what was kept of it before is shown."
            said = notice("batch_failed", message, candidates=len(self.shown), reason=failure.code)
            self.ranking.notices.append(said)

    def _check(self, verdict: ItemVerdict) -> None:
        """Pass a verdict on with as much of its reason as the record supports."""
        said = grounded(verdict.why, self.ranking.found[self.places[verdict.index]], self.question)
        self.ranking.notices += said.notices
        self._pass(replace(verdict, why=said.text))

    def _pass(self, verdict: ItemVerdict) -> None:
        self.take(replace(verdict, index=self.places[verdict.index]))


def deal(candidates: int, batches: int, every: bool = False) -> list[list[int]]:
    """Round-robin: candidate i goes to batch i mod n, so each batch gets of the best. 0 batches: one each."""
    count = math.ceil(candidates / EVERY_BATCH) if every else min(batches or candidates, candidates)
    return [list(range(start, candidates, count)) for start in range(count)]


def shown_of(found: Found, kind: Kind, *, with_card: bool = False) -> Shown:
    """A candidate as a ranker sees it; its card text costs 0.15 ms, so only where the ranker reads that."""
    record = found.item.record
    card = kind.card_text(record) if with_card else ""
    return Shown(found.item, project(record, kind), found.vector_score, found.bm25_score, found.source, card)


def card_of(found: Sequence[Found], verdict: ItemVerdict) -> Card:
    """The card of a verdict, with the ranker's reason, else the beginning of the item's own description."""
    each = found[verdict.index]
    said = verdict.why or own_words(each)
    return Card(verdict.index, each, SCORES[verdict.band], verdict.band, said)


def grounded(said: str, found: Found, question: str = "") -> Checked:
    """What a model said of one item, without sentences that name what its record does not hold."""
    return checked(said, [found.item.record, found.item.url], question) if said else Checked("")


def own_words(found: Found, most: int = OWN_CHARS) -> str:
    """What the item says of itself."""
    return clipped(" ".join(texts(found.item.record.get("description"))[:1]), most)
