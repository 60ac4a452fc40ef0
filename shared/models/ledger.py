"""The ledger: what a request asked of models, one event an attempt, with tokens, time and dollars."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from shared.contracts.usage import CallEvent, Outcome, Spent, Usage
from shared.errors import AskbucketError
from shared.index.item_vectors import Charge, Store

MAX_EVENTS = 200


class Attempt(Struct, frozen=True):
    """One attempt as it was recorded, beside what its event on the wire has no room for."""

    event: CallEvent
    cost_usd: float
    cost_reported: bool
    reasoning_tokens: int
    cached_tokens: int


class Searched(Struct, frozen=True):
    """One search of a store that charges for it: `outcome` is `success`, an error's code or `cancelled`."""

    store: Store
    units: float
    requests: int
    elapsed_ms: float
    outcome: str


class Ledger:
    """Counts the attempts of one request. Safe to share between the threads and tasks that serve it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: list[CallEvent] = []
        self._dropped = 0
        self._billed: list[CallEvent] = []
        self._attempts: list[Attempt] = []
        self._provider_cost = False
        self._searches: list[Searched] = []

    @contextmanager
    def store(self, name: Store) -> Iterator[Charge]:
        """Around a search of a store, which says in `Charge` what it cost. What is in memory costs nothing and is not
        written down."""
        charge, outcome, began_s = Charge(), "cancelled", time.perf_counter()
        try:
            yield charge
            outcome = "success"
        except AskbucketError as error:
            outcome = error.code
            raise
        finally:
            if name != "memory":
                elapsed_ms = (time.perf_counter() - began_s) * 1e3
                with self._lock:
                    self._searches.append(Searched(name, charge.units, charge.requests, elapsed_ms, outcome))

    def searches(self) -> list[Searched]:
        """Every search of a store that charges, in the order in which they ended."""
        with self._lock:
            return list(self._searches)

    def record(
        self,
        *,
        target: str,
        model: str,
        stage: str,
        elapsed_ms: float,
        outcome: Outcome = "success",
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
        cost_usd: float = 0.0,
        cost_reported: bool = False,
        reasoning_tokens: int = 0,
        cached_tokens: int = 0,
    ) -> None:
        """Write down one attempt. Only a success is billed: a retry shows in the events, not in the calls."""
        event = CallEvent(
            target=target,
            model=model,
            stage=stage,
            elapsed_ms=round(elapsed_ms),
            outcome=outcome,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            tokens=prompt_tokens + completion_tokens,
            cost_usd=round(cost_usd, 6),
        )
        with self._lock:
            if len(self._events) < MAX_EVENTS:
                self._events.append(event)
            else:
                self._dropped += 1
            self._attempts.append(Attempt(event, cost_usd, cost_reported, reasoning_tokens, cached_tokens))
            if outcome == "success":
                self._billed.append(event)
            self._provider_cost = self._provider_cost or cost_reported

    def attempts(self) -> list[Attempt]:
        """Every attempt so far, in the order in which they ended."""
        with self._lock:
            return list(self._attempts)

    def snapshot(self) -> Usage:
        """The `usage` block as it stands now."""
        with self._lock:
            billed, events, dropped = list(self._billed), list(self._events), self._dropped
            provider_cost = self._provider_cost
        embeds = [event for event in billed if event["stage"].startswith("embed")]
        chats = [event for event in billed if not event["stage"].startswith("embed")]
        return Usage(
            llm_calls=len(billed),
            chat_calls=len(chats),
            embed_calls=len(embeds),
            prompt_tokens=sum(event["prompt_tokens"] for event in chats),
            completion_tokens=sum(event["completion_tokens"] for event in chats),
            embed_tokens=sum(event["tokens"] for event in embeds),
            total_tokens=sum(event["tokens"] for event in billed),
            cost_usd=round(sum(event["cost_usd"] for event in billed), 6),
            cost_source="provider" if provider_cost else "price-table",
            by_model=_spent_by(billed, "model"),
            by_stage=_spent_by(billed, "stage"),
            call_events=events,
            call_events_dropped=dropped,
        )


def _spent_by(events: list[CallEvent], key: str) -> dict[str, Spent]:
    totals: dict[str, Spent] = defaultdict(lambda: Spent(calls=0, tokens=0, cost_usd=0.0))
    for event in events:
        name = event["model"] if key == "model" else event["stage"]
        spent = totals[name]
        spent["calls"] += 1
        spent["tokens"] += event["tokens"]
        spent["cost_usd"] = round(spent["cost_usd"] + event["cost_usd"], 6)
    return dict(totals)
