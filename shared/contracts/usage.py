"""What a request spent: the `usage` block of every search reply, also of a 503 and a 504."""

from __future__ import annotations

from typing import Literal, TypedDict

Outcome = Literal["success", "rate_limited", "cancelled", "timeout", "error"]


class CallEvent(TypedDict):
    """One provider attempt. Numbers are always numbers: the page adds them up."""

    target: str
    model: str
    stage: str
    elapsed_ms: int
    outcome: Outcome
    prompt_tokens: int
    completion_tokens: int
    tokens: int
    cost_usd: float


class Spent(TypedDict):
    """Billed calls of one model or one stage."""

    calls: int
    tokens: int
    cost_usd: float


class Usage(TypedDict):
    """The ledger's snapshot."""

    llm_calls: int
    chat_calls: int
    embed_calls: int
    prompt_tokens: int
    completion_tokens: int
    embed_tokens: int
    total_tokens: int
    cost_usd: float
    cost_source: Literal["provider", "price-table"]
    by_model: dict[str, Spent]
    by_stage: dict[str, Spent]
    call_events: list[CallEvent]
    call_events_dropped: int
