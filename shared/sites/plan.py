"""Which wording of a question is searched, and what it is held to: the main path runs while both are found out.

A run over the query as typed begins at once. It counts where the rewrite is the same text, and is given up where it is
another one; nothing of a run is published before its question was triaged.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from msgspec.structs import asdict

from shared.contracts.constraints import Reading
from shared.contracts.events import Candidate, Event, Failed, Restrictions, Rewritten, Triage
from shared.contracts.notices import Notice, notice
from shared.errors import QueryCancelled
from shared.models.provider import Triaged
from shared.sites.aim import Aim, aimed, unread_notices
from shared.sites.path import Means, Path
from shared.sites.rewrite import Rewrite, kept_as_typed, rewrite
from shared.sites.said import code_of, failure_of, noted
from shared.sites.settled import ended, settled, started
from shared.sites.triage import taken_as_hard, triage
from shared.work import work


class Planned:
    """The main path of one request, from the query as typed to the path that is shown.

    `emit` is given each event the moment it may be sent. What has to be said is added to `notices`; `failure` is set
    where there is no path to show.
    """

    def __init__(self, means: Means, emit: Callable[[Event], None], notices: list[Notice]) -> None:
        self.notices = notices
        self.failure: Failed | None = None
        self._means, self._request, self._panel = means, means.request, means.panel
        self._emit = emit
        self._sent: set[str] = set()

    async def found(self) -> Path | None:
        """The main path over the query that stands by itself; None where it failed for good."""
        request = self._request
        if request.standalone_query:
            return await self._searched(self._announced(request.standalone_query))
        if not request.previous_queries:
            return await self._searched(request.query)
        if not self._means.settings.fast_track:
            return await self._searched(self._announced((await self._rewritten()).text))
        return await self._fast_tracked()

    async def _fast_tracked(self) -> Path | None:
        """Search the query as typed while it is rewritten; that run counts where the rewrite changes nothing."""
        async with self._begun(self._request.query) as (path, early):
            rewritten = await self._rewritten()
            if rewritten.text == self._request.query:
                return await self._checked(path, early)
            early.cancel()  # its end is waited for on the way out, beside the run that takes its place
            return await self._searched(self._announced(rewritten.text))

    async def _rewritten(self) -> Rewrite:
        means, timeout_s = self._means, self._means.settings.rewrite_timeout_s
        task = started(lambda: rewrite(self._request, self._panel.writer, timeout_s, means.ledger), means.deadline)
        error = await settled(task)
        if error is not None:
            noted(error, "rewrite")
        rewritten = kept_as_typed(self._request, code_of(error)) if error is not None else task.result()
        self.notices += rewritten.notices
        return rewritten

    def _announced(self, text: str) -> str:
        if text != self._request.query:
            self._emit(Rewritten(text))
        return text

    # What it demands, and the main path beside

    async def _searched(self, text: str) -> Path | None:
        async with self._begun(text) as (path, task):
            return await self._checked(path, task)

    @asynccontextmanager
    async def _begun(self, text: str) -> AsyncIterator[tuple[Path, asyncio.Task[None]]]:
        """A run of the main path over a wording; nothing of it is published before it is released."""
        path = Path(self._means, await self._aimed(text), self._send)
        task = started(path.run, self._means.deadline)
        try:
            yield path, task
        finally:
            await ended(task)

    async def _aimed(self, text: str) -> Aim:
        task = started(lambda: work(lambda: aimed(text, self._means.site)), self._means.deadline)
        error = await settled(task)
        if error is None:
            return task.result()
        noted(error, "constraints")
        return Aim(text, Reading(text), unread=code_of(error))

    async def _checked(self, path: Path, task: asyncio.Task[None]) -> Path | None:
        """The path once its question was triaged, its events were released, and it is done."""
        path.triaged = await self._triaged(path.aim)
        self._announce(path)
        path.release()
        return await self._settle(path, task)

    async def _triaged(self, aim: Aim) -> Triaged | None:
        """What a model read that the question demands; None where the kind is not triaged, or nobody can."""
        means, kind, advisor = self._means, self._means.site.kind, self._panel.advisor
        if advisor is None or not kind.triages:
            return None
        timeout_s = means.settings.triage_timeout_s
        task = started(lambda: triage(aim.query, kind.name, advisor, timeout_s, means.ledger), means.deadline)
        error = await settled(task)
        if error is not None:
            noted(error, "triage")
        triaged, notices = taken_as_hard(code_of(error)) if error is not None else task.result()
        self.notices += notices
        return triaged

    def _announce(self, path: Path) -> None:
        """Say what results are held to, before the first of them, and what of the question was not read."""
        reading = path.aim.reading
        self.notices += unread_notices(path.aim)
        if path.triaged is not None:
            self._emit(Triage(path.triaged.tier, [asdict(need) for need in path.triaged.needs]))
        if path.restrictions or reading.says_anything:
            model = self._panel.ranker.model if self._panel.ranker else ""
            order = reading.order.wire() if reading.order else None
            self._emit(Restrictions(path.restrictions, model, [each.wire() for each in reading.constraints], order))

    async def _settle(self, path: Path, task: asyncio.Task[None]) -> Path | None:
        """The path once it is done. What nobody foresaw is tried once more, not widened; then it is a failure."""
        error = await settled(task)
        if error is None:
            return path
        noted(error, "ranking")
        if isinstance(error, QueryCancelled):
            return self._cut_short(path)
        again = Path(self._means, path.aim, self._send, expands=False, triaged=path.triaged)
        again.release()
        error = await settled(started(again.run, self._means.deadline))
        if error is None:
            again.notices.append(notice("ranking_restarted", "The search failed once and was begun anew."))
            return again
        noted(error, "ranking")
        if isinstance(error, QueryCancelled):
            return self._cut_short(again)
        self.failure = failure_of(error)
        return None

    def _cut_short(self, path: Path) -> Path:
        """The deadline passed: what was kept until then is shown, and said to be no more than that."""
        path.cut_short()
        allowed_s = self._means.settings.ask_timeout_s
        kept = f"{len(path.cards)} results were found until then"
        path.failure = QueryCancelled(f"The search was stopped after {allowed_s:g} s; {kept}.")
        return path

    # Events

    def _send(self, candidate: Candidate) -> None:
        if (key := _key_of(candidate)) not in self._sent:
            self._sent.add(key)
            self._emit(candidate)


def _key_of(candidate: Candidate) -> str:
    """What a second run would send again."""
    item = candidate.item
    return json.dumps([item["site"], item["url"], item["name"], item["relevance"]])
