"""One answer of a site, told top to bottom: find real items, and say which fit as soon as that is known.

begin → rewrite beside the fast track → triage beside the main path → results, described → prose → what has to be
said → usage, complete, end. The last three always come, and so does a word on whatever went wrong before them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import anyio

from shared.contracts.ask import AskRequest
from shared.contracts.events import (
    Answer,
    Begin,
    Complete,
    End,
    Event,
    Failed,
    Result,
    Said,
    Used,
)
from shared.contracts.notices import Notice, notice
from shared.models.ledger import Ledger
from shared.models.provider import Ranker
from shared.settings import Settings
from shared.sites.bands import Card
from shared.sites.compose import Composed, compose, supported, unavailable
from shared.sites.panel import Panel
from shared.sites.path import Means, Path
from shared.sites.plan import Planned
from shared.sites.said import code_of, failure_of, merged, noted
from shared.sites.settled import ended, foreseen, settled, started
from shared.sites.shown import Shown, shown
from shared.sites.site import Site
from shared.sites.usage import calls_of, usage_of
from shared.work import work

NO_QUERY = "No query provided."
NO_RESULTS = "No matching results found."


async def ask(request: AskRequest, site: Site, settings: Settings, panel: Panel) -> AsyncIterator[Event]:
    """The events of one answer. Nothing starts before the first is taken; `aclose` cancels what is under way.

    It raises nothing of its own: what went wrong is an event. Without a ranker items come in retrieval order;
    without a writer follow-ups are searched as typed and no prose is written.
    """
    yield Begin()
    deadline = anyio.current_time() + settings.ask_timeout_s
    answering = _Answering(Means(request, site, settings, panel, Ledger(), deadline))
    task = asyncio.ensure_future(answering.run())
    task.add_done_callback(lambda _: answering.events.put_nowait(None))
    try:
        while (event := await answering.events.get()) is not None:
            yield event
    finally:
        await ended(task)
    for event in answering.closing(None if task.cancelled() else task.exception()):
        yield event


class _Answering:
    """One request on its way. What is awaited here is cancelled with it."""

    def __init__(self, means: Means) -> None:
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._means, self._request, self._panel = means, means.request, means.panel
        self._notices: list[Notice] = []
        self._failure: Failed | None = None

    async def run(self) -> None:
        """Everything between begin and what has to be said."""
        if not self._request.query:
            self._failure = Failed(NO_QUERY, "invalid_request")
            return
        if not is_of(self._request.site, self._means.site):
            self._notices.append(notice("no_results", NO_RESULTS, candidates=0))
            return
        self._notices += unheeded(self._request, self._panel.ranker)
        planned = Planned(self._means, self.events.put_nowait, self._notices)
        path = await planned.found()
        self._failure = planned.failure
        if path is None:
            return
        self._notices += path.notices
        results = await shown(path, self._show)
        self._notices += results.notices
        if path.failure is not None:
            self._failure = failure_of(path.failure)
        elif not results.cards:
            nothing = notice("no_results", NO_RESULTS, candidates=len(path.found))
            self._notices += path.aim.emptied or [nothing]
        elif self._request.mode != "list":
            await self._answer(path, results)

    def closing(self, error: BaseException | None) -> Iterator[Event]:
        """The last events: what has to be said, at most one failure, what was spent, and the end."""
        for each in merged(self._notices):
            yield Said(each["message"], each)
        if self._failure is None and error is not None:
            self._failure = failure_of(error)
        if self._failure is not None:
            yield self._failure
        ledger = self._means.ledger
        yield Used(usage_of(ledger, merged(self._notices), self._request.query_id), calls_of(ledger))
        yield Complete()
        yield End()

    # Prose

    async def _answer(self, path: Path, results: Shown) -> None:
        composed = await self._composed(path, results)
        self._notices += composed.notices
        if composed.text:
            self.events.put_nowait(Answer(composed.text, [card.wire for card in results.cards]))

    async def _composed(self, path: Path, results: Shown) -> Composed:
        """The describer's summary where it wrote one, else a writer's: the small one's where the tier is simple."""
        sums_up = self._request.mode == "summarize"
        if sums_up and results.summary:
            return await work(lambda: supported(results.summary, path.aim.query, results.cards))
        lite = self._panel.lite_writer if sums_up and path.is_simple else None
        writer, means = lite or self._panel.writer, self._means
        task = started(
            lambda: compose(self._request, path.aim.query, results.cards, writer, means.ledger), means.deadline
        )
        error = await settled(task)
        if error is None:
            return task.result()
        noted(error, "compose")
        known = foreseen(error)
        return unavailable(known.message if known else "something went wrong", code_of(error))

    # Events

    def _show(self, card: Card) -> None:
        self.events.put_nowait(Result(card.wire))


def is_of(asked: str, site: Site) -> bool:
    """Whether a request's `site` is this one: by its kind, by its collection's name, or not said at all."""
    names = {name.strip().casefold() for name in asked.split(",")} - {""}
    return not names or not names.isdisjoint({site.kind.name.casefold(), site.collection.casefold()})


def unheeded(request: AskRequest, ranker: Ranker | None) -> list[Notice]:
    """What has to be said of a ranking model that was asked for, where another ranks or none does."""
    asked = request.ranking_model
    if not asked or (ranker is not None and ranker.model == asked):
        return []
    said = f"No chat model serves here, so the ranking model {asked} was not used."
    return [notice("ranking_model_ignored", said, ranking_model=asked)]
