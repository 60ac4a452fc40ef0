"""`askbucket evaluate items`: whether what a site shows is what was asked for, as the items' own records tell it.

A question's conditions (build_jobs/predicates.py) are held against the records of the results as they go over the
wire. With `--bucket` every record of the collection is held against them as well: so it is known which questions have
an answer, and which one of all is the cheapest. Over HTTP a question has one unless its suite says `none`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from anyio import to_thread

from build_jobs.predicates import Asked, Suite
from build_jobs.progress import Meter, Told, silent
from build_jobs.report.item_figures import PAGE, ItemReport, Outcome, Shown, item_report
from shared.contracts.events import Event
from shared.contracts.items import Json
from shared.models.choice import Models
from shared.settings import Settings
from shared.sites.answer import answer
from shared.sites.kinds import KINDS
from shared.sites.request import parse_ask
from shared.sites.site import Site, open_site

Message = Mapping[str, Any]
Ask = Callable[[str, dict[str, Any]], Awaitable[Sequence[Message]]]

# Records are read and held against the conditions by so many.
_ROWS = 500


@dataclass(slots=True)
class Known:
    """What a collection holds for a question: how many right answers, and the best value among them."""

    right: int = 0
    best: float | None = None

    def add(self, asked: Asked, record: Json) -> None:
        """Count a record."""
        if not asked.answers(record):
            return
        self.right += 1
        if asked.first and (value := asked.first.value(record)) is not None:
            known = [value] if self.best is None else [self.best, value]
            self.best = max(known) if asked.first.descending else min(known)


@dataclass(slots=True)
class _Run:
    """Questions on their way through one way of asking."""

    ask: Ask
    meter: Meter
    outcomes: list[Outcome] = field(default_factory=list)

    async def put(self, suite: Suite, known: Sequence[Known | None]) -> None:
        for asked, has in zip(suite.questions, known, strict=True):
            self.outcomes.append(await outcome(self.ask, suite.kind, asked, has))
            self.meter.advance(1)


async def evaluate_items_here(settings: Settings, suites: Sequence[Suite], told: Told = silent) -> ItemReport:
    """Put the suites to the sites' releases in the settings' bucket, in this process."""
    models = Models(settings, may_lack_a_key=True)
    where: dict[str, str] = {}
    try:
        run = _Run(_nobody, _meter(suites, told))
        for suite in suites:
            with closing(open_site(settings, KINDS[suite.kind], models)) as site:
                run.ask = _in_process(site, models)
                where[suite.kind] = f"{site.release.id}, {site.count:,} items"
                await run.put(suite, await to_thread.run_sync(known_of, suite, site))
        return item_report(run.outcomes, where)
    finally:
        await to_thread.run_sync(models.close)


async def evaluate_items_by(ask: Ask, suites: Sequence[Suite], where: str, told: Told = silent) -> ItemReport:
    """Put the suites to whatever answers `ask(kind, body)` with a stream's messages."""
    run = _Run(ask, _meter(suites, told))
    for suite in suites:
        await run.put(suite, [None] * len(suite.questions))
    return item_report(run.outcomes, {suite.kind: where for suite in suites})


def known_of(suite: Suite, site: Site) -> list[Known]:
    """What the collection holds for each question of the suite."""
    known = [Known() for _ in suite.questions]
    for record in records_of(site):
        for asked, has in zip(suite.questions, known, strict=True):
            has.add(asked, record)
    return known


def records_of(site: Site) -> Iterator[Json]:
    """Every record of a site's release, in row order."""
    for start in range(0, site.count, _ROWS):
        yield from (item.record for item in site.items(range(start, min(start + _ROWS, site.count))))


async def outcome(ask: Ask, kind: str, asked: Asked, known: Known | None) -> Outcome:
    """Ask, and hold the results against the conditions. What nobody knows of the collection is None."""
    started = time.perf_counter()
    messages = await ask(kind, {"query": asked.text, "mode": "list", "max_results": PAGE})
    took_ms = (time.perf_counter() - started) * 1e3
    shown = [
        shown_of(asked, item)
        for message in messages
        if message["message_type"] == "result"
        for item in message["content"]
    ]
    return Outcome(
        kind=kind,
        question=asked.text,
        states=asked.where is not None,
        is_answerable=not asked.none if known is None else known.right > 0,
        right=None if known is None else known.right,
        shown=shown,
        is_best_first=_is_best_first(asked, shown, known),
        read=_read(messages),
        said=[str(each["content"]) for each in messages if each["message_type"] in ("intermediate_message", "error")],
        failed=any(each["message_type"] == "error" for each in messages),
        took_ms=took_ms,
    )


def shown_of(asked: Asked, item: Mapping[str, Any]) -> Shown:
    """One result: what the service says of it, and what its record says."""
    record = item["schema_object"]
    return Shown(
        name=str(item["name"]),
        url=str(item["url"]),
        marked=item.get("constraints_met"),
        states=asked.states(record),
        answers=asked.answers(record),
        value=asked.first.value(record) if asked.first else None,
    )


def _is_best_first(asked: Asked, shown: Sequence[Shown], known: Known | None) -> bool | None:
    """Whether the first result is the least or most of all right ones; None where that is not asked or not known."""
    if asked.first is None or known is None or known.best is None:
        return None
    return bool(shown) and shown[0].answers and shown[0].value == known.best


def _read(messages: Sequence[Message]) -> list[str] | None:
    """The conditions and the order that the service says it read from the question; None where it says nothing."""
    said = next((each["content"] for each in messages if each["message_type"] == "restrictions"), None)
    if said is None:
        return None
    conditions = [f"{c['field']} {c['op']} {c['value']}{'' if c['hard'] else '?'}" for c in said.get("constraints", ())]
    order = said.get("order")
    ordered = [f"{order['field']} {'descending' if order['descending'] else 'ascending'}"] if order else []
    return [*map(str, said.get("restrictions", ())), *conditions, *ordered]


def _meter(suites: Sequence[Suite], told: Told) -> Meter:
    return Meter("questions", sum(len(suite.questions) for suite in suites), told)


def _in_process(site: Site, models: Models) -> Ask:
    async def ask(_: str, body: dict[str, Any]) -> Sequence[Message]:
        events: AsyncIterator[Event] = await to_thread.run_sync(answer, parse_ask(body), site, models)
        return [{"message_type": event.message_type, "content": event.content} async for event in events]

    return ask


async def _nobody(kind: str, _: dict[str, Any]) -> Sequence[Message]:
    raise LookupError(kind)
