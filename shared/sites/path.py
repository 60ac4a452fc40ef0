"""The main path over one wording of a question: retrieve, rank, and rank what a model proposes beside it.

It may begin before anybody knows that this wording is the one: what it has to say is then held back until it is.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from shared.contracts.ask import AskRequest
from shared.contracts.events import Candidate
from shared.contracts.notices import Notice, notice
from shared.errors import AskbucketError
from shared.models.ledger import Ledger
from shared.models.provider import ItemVerdict, Need, Proposed, Ranker, SiteQuestion, Triaged
from shared.settings import Settings
from shared.sites.aim import Aim, reads_whole
from shared.sites.bands import Card, in_order, is_shown, retrieved, selected
from shared.sites.describe import MOST_DESCRIBED
from shared.sites.expand import Proposal, propose, unexpanded, widened
from shared.sites.judged import all_relevant, judged
from shared.sites.panel import Panel
from shared.sites.rank import Ranking, card_of, own_words
from shared.sites.retrieve import Found, Plan, retrieve
from shared.sites.said import code_of, noted
from shared.sites.settled import ended, settled, started
from shared.sites.site import Site
from shared.work import work

NO_MODEL = "No language model is configured; results use retrieval scores."
NO_DECISION = "Decision ranking unavailable; results use retrieval scores."
UNRANKED_CHARS = 240
# As many as one of the three calls has of 40 candidates.
CALL_SIZE = 14


class Means(Struct, frozen=True):
    """What every run of one answer works with. `deadline` is a time of the loop's clock."""

    request: AskRequest
    site: Site
    settings: Settings
    panel: Panel
    ledger: Ledger
    deadline: float


class Path(Struct):
    """One run: what it has come to, and the events it may not send yet.

    `triaged` is set before `release`; whoever expands waits for that where the kind is triaged. `failure` is set where
    there is no result that anybody judged, or the deadline passed.
    """

    means: Means
    aim: Aim
    send: Callable[[Candidate], None]
    expands: bool = True
    triaged: Triaged | None = None
    found: list[Found] = field(default_factory=list)
    verdicts: list[ItemVerdict] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    failure: AskbucketError | None = None
    _held: list[Candidate] = field(default_factory=list)
    _released: anyio.Event = field(default_factory=anyio.Event)

    def release(self) -> None:
        """From now on its events are sent as they come."""
        held, self._held = self._held, []
        self._released.set()
        for candidate in held:
            self.send(candidate)

    async def run(self) -> None:
        """Retrieve, rank, and put what was kept in its final order. Raises what nobody foresaw."""
        if self.aim.emptied:
            return
        ranker = self.means.panel.ranker
        proposing = started(self._proposed, self.means.deadline) if self._may_expand() else None
        try:
            self.found += await self._retrieved()
            if ranker is None:
                await self._by_retrieval(NO_MODEL)
            elif self.found and self.aim.needs_no(ranker):
                self._settle(all_relevant(self.found))
            else:
                await self._ranked(ranker, proposing)
        finally:
            if proposing is not None:
                await ended(proposing)

    def cut_short(self) -> None:
        """The deadline passed: what was kept until then is what there is."""
        self._order()

    # Retrieval

    async def _retrieved(self) -> list[Found]:
        """The candidates, BM25's before those of the vectors."""
        request, settings = self.means.request, self.means.settings
        words = request.retrieval_count or settings.ask_bm25_count
        vectors = request.retrieval_count or settings.ask_vector_count
        plan = Plan(request.retrieval, words, vectors)
        found, notices = await retrieve(self.aim, self.means.site, plan, self.means.ledger)
        self.notices += notices
        return found[: request.ranking_count]

    async def _by_retrieval(self, said: str) -> None:
        own = await work(lambda: [own_words(each, UNRANKED_CHARS) for each in self.found])
        self.cards = retrieved(self.found, self.means.request, own)
        self.notices.append(notice("retrieval_order", said))
        for card in self.cards:
            self._say(Candidate(card.wire))

    # Ranking

    async def _ranked(self, ranker: Ranker, proposing: asyncio.Task[Proposal] | None) -> None:
        async with anyio.create_task_group() as group:
            if proposing is not None:
                group.start_soon(self._widened, ranker, proposing)
            ranking = await self._judged(ranker, list(self.found), 0)
        if self.verdicts or not ranking.came_to_nothing:
            self._order()
        elif ranker.explains or self.means.panel.fallback is not None:
            self.failure = ranking.failures[0]
        else:
            await self._by_retrieval(NO_DECISION)

    async def _judged(self, ranker: Ranker, found: Sequence[Found], first: int) -> Ranking:
        """The verdicts on a part of the candidates, which begins at this place among all."""
        means, kind = self.means, self.means.site.kind
        question = SiteQuestion(
            self.aim.ranked_as(ranker), kind.name, kind.says_why, means.request.include_excluded, means.request.query_id
        )
        ranking = await judged(
            ranker,
            means.panel.fallback,
            question,
            found,
            lambda verdict: self._keep(replace(verdict, index=first + verdict.index)),
            kind=kind,
            settings=means.settings if not first else replace(means.settings, ranking_batches=calls_for(len(found))),
            ledger=means.ledger,
        )
        self.notices += ranking.notices
        return ranking

    def _keep(self, verdict: ItemVerdict) -> None:
        self.verdicts.append(verdict)
        card = card_of(self.found, verdict)
        if is_shown(card, self.means.request):
            self._say(Candidate(card.wire))

    def _settle(self, verdicts: Sequence[ItemVerdict]) -> None:
        """Take verdicts that no model gave; only what will be shown is a candidate, since nothing tells them apart."""
        self.verdicts += verdicts
        self._order()
        for card in self.cards:
            self._say(Candidate(card.wire))

    def _order(self) -> None:
        ranker, most = self.means.panel.ranker, None
        softly = ranker is not None and not reads_whole(ranker)
        if self.is_described or self.is_simple:
            most = MOST_DESCRIBED
        ordered = in_order(self.verdicts, self.found, softly)
        self.cards = selected([card_of(self.found, verdict) for verdict in ordered], self.means.request, most)

    @property
    def is_simple(self) -> bool:
        """Whether triage found that what is asked for can be shown as it is."""
        return self.triaged is not None and self.triaged.tier == "simple"

    @property
    def is_described(self) -> bool:
        """Whether a describer writes what is shown: where a chat model ranks and the kind's ranker writes nothing."""
        panel = self.means.panel
        chats = panel.ranker is not None and panel.ranker.wants_batches
        return chats and panel.describer is not None and not self.means.site.kind.says_why and not self.is_simple

    @property
    def restrictions(self) -> Sequence[str]:
        """Diets and the like that results are held to: as a model read them, else as the question's words say them."""
        if self.triaged is not None and self.triaged.restrictions:
            return self.triaged.restrictions
        diets = self.means.site.kind.diets
        return list(dict.fromkeys(each.text for each in self.aim.reading.hard if each.field in diets))

    # What a model proposes

    def _may_expand(self) -> bool:
        panel = self.means.panel
        if panel.advisor is None or panel.ranker is None or not (self.expands and self.means.settings.expands):
            return False
        # An evaluation is of the candidates that retrieval finds.
        return not (self.means.request.include_excluded or self.aim.needs_no(panel.ranker))

    @property
    def _needs(self) -> Sequence[Need]:
        return self.triaged.needs if self.triaged else ()

    async def _proposed(self) -> Proposal:
        """What a model proposes, asked at once; a kind that is triaged waits for its tier: a simple one pays none."""
        means = self.means
        if means.site.kind.triages:
            await self._released.wait()
        if means.panel.advisor is None or self.is_simple:
            return Proposal(Proposed())
        kind, timeout_s = means.site.kind.name, means.settings.expansion_timeout_s
        return await propose(self.aim, kind, self._needs, means.panel.advisor, timeout_s=timeout_s, ledger=means.ledger)

    async def _widened(self, ranker: Ranker, proposing: asyncio.Task[Proposal]) -> None:
        """Rank what was proposed and is here. Whatever fails of it, what was found directly stands."""
        error = await settled(started(lambda: self._widen(ranker, proposing), self.means.deadline))
        if error is not None:
            noted(error, "expand")
            self.notices += unexpanded(code_of(error))

    async def _widen(self, ranker: Ranker, proposing: asyncio.Task[Proposal]) -> None:
        proposal = await proposing
        self.notices += proposal.notices
        seen = {each.row for each in self.found}
        site = self.means.site
        more = await work(lambda: widened(proposal.proposed, self.aim, self._needs, site, seen))
        first = len(self.found)
        self.found += more
        if more:
            await self._judged(ranker, more, first)

    # Events

    def _say(self, candidate: Candidate) -> None:
        if self._released.is_set():
            self.send(candidate)
        else:
            self._held.append(candidate)


def calls_for(candidates: int) -> int:
    """Ranking calls for what was proposed: as few as have no more candidates each than the others have."""
    return max(1, math.ceil(candidates / CALL_SIZE))
