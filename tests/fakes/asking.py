"""Asking a gateway the way a request does: on an event loop, within a deadline, with a ledger."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio

from fakes.openrouter import KEY, OpenRouter
from shared.contracts.usage import CallEvent
from shared.errors import AskbucketError, QueryCancelled
from shared.models.gateway import Gateway
from shared.models.judging import Candidate, Card, Question
from shared.models.ledger import Ledger
from shared.models.retry import Pace
from shared.settings import Settings

MODEL = "openai/text-embedding-3-small"
RERANK = "openai/gpt-oss-20b"
DIMENSION = 64
QUESTION = Question("rainfall in Kenya", ("rainfall in Kenya", "rainfall"), (False, True))

Work = Callable[[Gateway, Ledger], Awaitable[Any]]


@dataclass
class Clock:
    """A clock that stands still until it is moved. It never moves the event loop's own."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Asked:
    """What came of it: the result or the error, and the ledger's events."""

    result: Any
    error: AskbucketError | None
    ledger: Ledger

    @property
    def events(self) -> list[CallEvent]:
        return self.ledger.snapshot()["call_events"]

    @property
    def outcomes(self) -> list[str]:
        return [event["outcome"] for event in self.events]


def settings_for(fake: OpenRouter, **given: Any) -> Settings:
    """Settings of a gateway at the fake."""
    return Settings(**{"openrouter_api_key": KEY, "openrouter_base_url": fake.url, **given})


def gateway_for(fake: OpenRouter, pace: Pace | None = None, **given: Any) -> Gateway:
    """A gateway at the fake that backs off for a millisecond and never for more than 16."""
    return Gateway(settings_for(fake, **given), pace or Pace(back_off_s=0.001))


def ask(gateway: Gateway, work: Work, deadline_s: float = 20.0, ends: Callable[[], bool] | None = None) -> Asked:
    """Run the work; close its connections before the loop ends. A deadline that passes is a QueryCancelled.

    With `ends` the deadline passes when that has become true, however long it takes.
    """
    ledger = Ledger()
    gateway.client()

    async def run() -> Asked:
        try:
            with anyio.move_on_after(deadline_s if ends is None else math.inf) as scope:
                return Asked(await _ended(work(gateway, ledger), scope, ends), None, ledger)
            return Asked(None, QueryCancelled("the deadline passed"), ledger)
        except AskbucketError as error:
            return Asked(None, error, ledger)
        finally:
            await gateway.client().aclose()

    return anyio.run(run)


async def _ended(work: Awaitable[Any], scope: anyio.CancelScope, ends: Callable[[], bool] | None) -> Any:
    """The result of the work, with somebody beside it who looks whether it is to end."""
    if ends is None:
        return await work

    async def look() -> None:
        while not ends():
            await anyio.sleep(0.01)
        scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(look)
        result = await work
        group.cancel_scope.cancel()
    return result


def embedding(*texts: str, dimension: int = DIMENSION) -> Work:
    """Embed these texts."""
    return lambda gateway, ledger: gateway.embedder(MODEL, dimension).embed(texts, "query", ledger)


def judging(*titles: str, k: int = 10, question: Question = QUESTION) -> Work:
    """Judge cards with these titles."""
    return lambda gateway, ledger: gateway.judge().judge(question, candidates(*titles), k, ledger)


def candidates(*titles: str, queries: tuple[str, ...] = (), description: str = "") -> list[Candidate]:
    """One candidate a title."""
    return [
        candidate(row, Card(title, description, queries, scope="Place", geography="countries"))
        for row, title in enumerate(titles)
    ]


def candidate(row: int, card: Card) -> Candidate:
    return Candidate(
        row=row, family="datacommons", cosines=(0.5,), cosine=0.5, embed_rank=row, bm25=0.0,
        found_by=("embedding",), card=card,
    )  # fmt: skip
