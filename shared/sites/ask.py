"""One answer of a site, told top to bottom: find real items, and say which fit as soon as that is known.

begin → rewrite beside the fast track → retrieve → rank, each verdict an event → results → prose → what has to be
said → usage, complete, end. The last three always come, and so does a word on whatever went wrong before them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from shared.contracts.ask import AskRequest
from shared.contracts.events import (
    Answer,
    Begin,
    Candidate,
    Complete,
    End,
    Event,
    Failed,
    Result,
    Rewritten,
    Said,
    Used,
)
from shared.contracts.notices import Notice, notice
from shared.errors import AskbucketError, QueryCancelled
from shared.models.ledger import Ledger
from shared.models.provider import ItemVerdict, Ranker, SiteQuestion, Writer
from shared.settings import Settings
from shared.sites.bands import Card, in_order, is_shown, retrieved, selected
from shared.sites.compose import Composed, compose, unavailable
from shared.sites.rank import card_of, own_words, rank
from shared.sites.retrieve import Found, Plan, retrieve
from shared.sites.rewrite import Rewrite, kept_as_typed, rewrite
from shared.sites.settled import ended, foreseen, settled, started
from shared.sites.site import Site
from shared.sites.usage import usage_of
from shared.work import work

LOG = logging.getLogger(__name__)

NO_QUERY = "No query provided."
NO_RESULTS = "No matching results found."
NO_MODEL = "No language model is configured; results use retrieval scores."
BROKEN = "The search failed; it can be tried again."
UNRANKED_CHARS = 240


async def ask(
    request: AskRequest, site: Site, settings: Settings, ranker: Ranker | None, writer: Writer | None
) -> AsyncIterator[Event]:
    """The events of one answer. Nothing starts before the first is taken; `aclose` cancels what is under way.

    It raises nothing of its own: what went wrong is an event. Without a ranker items come in retrieval order;
    without a writer follow-ups are searched as typed and no prose is written.
    """
    yield Begin()
    answering = _Answering(request, site, settings, ranker, writer)
    task = asyncio.ensure_future(answering.run())
    task.add_done_callback(lambda _: answering.events.put_nowait(None))
    try:
        while (event := await answering.events.get()) is not None:
            yield event
    finally:
        await ended(task)
    for event in answering.closing(None if task.cancelled() else task.exception()):
        yield event


@dataclass(slots=True)
class _Path:
    """One run of the main path over one wording: what it has come to, and the events it may not send yet."""

    text: str
    held: list[Candidate] | None = None
    found: Sequence[Found] = ()
    said: list[ItemVerdict] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    failure: AskbucketError | None = None


class _Answering:
    """One request on its way. What is awaited here is cancelled with it."""

    def __init__(
        self, request: AskRequest, site: Site, settings: Settings, ranker: Ranker | None, writer: Writer | None
    ) -> None:
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        self.ledger = Ledger()
        self._request, self._site, self._settings = request, site, settings
        self._ranker, self._writer = ranker, writer
        self._deadline = anyio.current_time() + settings.ask_timeout_s
        self._notices: list[Notice] = []
        self._failure: Failed | None = None
        self._sent: set[str] = set()

    async def run(self) -> None:
        """Everything between begin and what has to be said."""
        if not self._request.query:
            self._failure = Failed(NO_QUERY, "invalid_request")
            return
        if not is_of(self._request.site, self._site):
            self._notices.append(notice("no_results", NO_RESULTS, candidates=0))
            return
        self._notices += unheeded(self._request, self._ranker)
        path = await self._found()
        if path is None:
            return
        self._notices += path.notices
        for card in path.cards:
            self.events.put_nowait(Result(card.wire))
        if path.failure is not None:
            self._failure = failure_of(path.failure)
        elif not path.cards:
            self._notices.append(notice("no_results", NO_RESULTS, candidates=len(path.found)))
        elif self._request.mode != "list":
            await self._answer(path)

    def closing(self, error: BaseException | None) -> Iterator[Event]:
        """The last events: what has to be said, at most one failure, what was spent, and the end."""
        for each in merged(self._notices):
            yield Said(each["message"], each)
        if self._failure is None and error is not None:
            self._failure = failure_of(error)
        if self._failure is not None:
            yield self._failure
        yield Used(usage_of(self.ledger, merged(self._notices), self._request.query_id))
        yield Complete()
        yield End()

    # What is searched

    async def _found(self) -> _Path | None:
        """The main path over the query that stands by itself; None where it failed for good."""
        request = self._request
        if request.standalone_query:
            return await self._ranked(self._announced(request.standalone_query))
        if not request.previous_queries:
            return await self._ranked(_Path(request.query))
        if not self._settings.fast_track:
            rewritten = await self._rewritten()
            return await self._ranked(self._announced(rewritten.text))
        return await self._fast_tracked()

    async def _fast_tracked(self) -> _Path | None:
        """Rank the query as typed while it is rewritten; that run counts where the rewrite changes nothing."""
        path = _Path(self._request.query, held=[])
        early = started(lambda: self._run(path), self._deadline)
        try:
            rewritten = await self._rewritten()
            if rewritten.text == self._request.query:
                self._release(path)
                return await self._settle(path, early)
            early.cancel()  # its end is waited for below, beside the run that takes its place
            return await self._ranked(self._announced(rewritten.text))
        finally:
            await ended(early)

    async def _rewritten(self) -> Rewrite:
        timeout_s = self._settings.rewrite_timeout_s
        task = started(lambda: rewrite(self._request, self._writer, timeout_s, self.ledger), self._deadline)
        error = await settled(task)
        if error is not None:
            noted(error, "rewrite")
        rewritten = kept_as_typed(self._request, _code(error)) if error is not None else task.result()
        self._notices += rewritten.notices
        return rewritten

    def _announced(self, text: str) -> _Path:
        if text != self._request.query:
            self.events.put_nowait(Rewritten(text))
        return _Path(text)

    # Retrieval and ranking

    async def _ranked(self, path: _Path) -> _Path | None:
        return await self._settle(path, started(lambda: self._run(path), self._deadline))

    async def _settle(self, path: _Path, task: asyncio.Task[None]) -> _Path | None:
        """The path once it is done. What nobody foresaw is tried once more; then it is a failure."""
        error = await settled(task)
        if error is None:
            return path
        noted(error, "ranking")
        if isinstance(error, QueryCancelled):
            return self._cut_short(path)
        again = _Path(path.text)
        error = await settled(started(lambda: self._run(again), self._deadline))
        if error is None:
            again.notices.append(notice("ranking_restarted", "The search failed once and was begun anew."))
            return again
        noted(error, "ranking")
        if isinstance(error, QueryCancelled):
            return self._cut_short(again)
        self._failure = failure_of(error)
        return None

    def _cut_short(self, path: _Path) -> _Path:
        """The deadline passed: what was kept until then is shown, and said to be no more than that."""
        path.cards = selected([card_of(path.found, verdict) for verdict in in_order(path.said)], self._request)
        allowed_s = self._settings.ask_timeout_s
        kept = f"{len(path.cards)} results were found until then"
        path.failure = QueryCancelled(f"The search was stopped after {allowed_s:g} s; {kept}.")
        return path

    async def _run(self, path: _Path) -> None:
        """Retrieve, and rank."""
        path.found = found = await self._retrieved(path)
        if self._ranker is None:
            await self._unranked(path, found)
            return

        def say(verdict: ItemVerdict) -> None:
            path.said.append(verdict)
            card = card_of(found, verdict)
            if is_shown(card, self._request):
                self._send(path, Candidate(card.wire))

        question, kind = self._question(path), self._site.kind
        ranking = await rank(self._ranker, question, found, say, kind=kind, settings=self._settings, ledger=self.ledger)
        path.cards = selected(ranking.cards, self._request)
        path.notices += ranking.notices
        path.failure = ranking.failures[0] if ranking.came_to_nothing else None

    async def _retrieved(self, path: _Path) -> list[Found]:
        """The candidates, BM25's before those of the vectors."""
        found, notices = await retrieve(path.text, self._site, self._plan(), self.ledger)
        path.notices += notices
        return found[: self._request.ranking_count]

    def _plan(self) -> Plan:
        request, settings = self._request, self._settings
        words = request.retrieval_count or settings.ask_bm25_count
        vectors = request.retrieval_count or settings.ask_vector_count
        return Plan(request.retrieval, words, vectors)

    def _question(self, path: _Path) -> SiteQuestion:
        kind = self._site.kind
        return SiteQuestion(
            path.text, kind.name, kind.says_why, self._request.include_excluded, self._request.query_id
        )  # fmt: skip

    async def _unranked(self, path: _Path, found: Sequence[Found]) -> None:
        path.cards = await work(
            lambda: retrieved(found, self._request, [own_words(each, UNRANKED_CHARS) for each in found])
        )
        path.notices.append(notice("retrieval_order", NO_MODEL))
        for card in path.cards:
            self._send(path, Candidate(card.wire))

    # Prose

    async def _answer(self, path: _Path) -> None:
        def writing() -> Coroutine[Any, Any, Composed]:
            return compose(self._request, path.text, path.cards, self._writer, self.ledger)

        task = started(writing, self._deadline)
        error = await settled(task)
        if error is not None:
            noted(error, "compose")
        composed = self._uncomposed(error) if error is not None else task.result()
        self._notices += composed.notices
        if composed.text:
            self.events.put_nowait(Answer(composed.text, [card.wire for card in path.cards]))

    def _uncomposed(self, error: BaseException) -> Composed:
        known = foreseen(error)
        return unavailable(known.message if known else "something went wrong", _code(error))

    # Events

    def _send(self, path: _Path, candidate: Candidate) -> None:
        if path.held is not None:
            path.held.append(candidate)
        elif (key := _key_of(candidate)) not in self._sent:
            self._sent.add(key)
            self.events.put_nowait(candidate)

    def _release(self, path: _Path) -> None:
        """From now on the path's events are sent as they come."""
        held, path.held = path.held or [], None
        for candidate in held:
            self._send(path, candidate)


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


def merged(notices: Sequence[Notice]) -> list[Notice]:
    """Each notice once: what several calls counted is added up, what they said alike is said once."""
    by_text: dict[tuple[str, str, str], Notice] = {}
    for each in notices:
        key = (each["code"], each["message"], str(each.get("reason", "")))
        known = by_text.get(key)
        by_text[key] = dict(each) if known is None else {**known, **_sums(known, each)}
    return list(by_text.values())


def _sums(one: Notice, other: Notice) -> dict[str, int]:
    return {
        name: one[name] + value
        for name, value in other.items()
        if type(value) is int and type(one.get(name)) is int and name in ("verdicts", "candidates")
    }


def failure_of(error: BaseException) -> Failed:
    """What a caller is told of a failure: our own words for what we foresaw, else that it failed."""
    known = foreseen(error)
    return Failed(known.message, known.code) if known else Failed(BROKEN, AskbucketError.code)


def noted(error: BaseException, step: str) -> None:
    """Write what nobody foresaw to the log: its type and where it rose, nothing that it may quote."""
    if foreseen(error) is not None:
        return
    where = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
        for frame in traceback.extract_tb(_leaf(error).__traceback__)
    ]
    LOG.error("crash", extra={"fields": {"step": step, "type": type(_leaf(error)).__name__, "where": where[-5:]}})


def _key_of(candidate: Candidate) -> str:
    """What a second run would send again."""
    item = candidate.item
    return json.dumps([item["site"], item["url"], item["name"], item["relevance"]])


def _leaf(error: BaseException) -> BaseException:
    return _leaf(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _code(error: BaseException | None) -> str:
    known = foreseen(error)
    return known.code if known else AskbucketError.code
