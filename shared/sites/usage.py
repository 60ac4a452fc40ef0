"""What an answer cost: by model, with the phases it was asked in, as the page's cost dialog reads it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from shared.contracts.notices import Notice
from shared.models.ledger import Attempt, Ledger, Searched

COUNTED = ("prompt_tokens", "completion_tokens", "total_tokens", "reasoning_tokens", "cached_tokens")
_PAID = "openrouter"


def usage_of(ledger: Ledger, notices: Sequence[Notice], query_id: str = "") -> dict[str, Any]:
    """The block of the `usage` event.

    A call counts where it was answered or given up on (`cancelled_calls`: what it cost is unknown, so it is unpriced
    too); one that failed counts in `failed_calls` only. `rejected` are verdicts that could not be used.
    """
    by_model: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in ledger.attempts():
        by_model[attempt.event["model"]].append(attempt)
    models = [{"model": model, **_spent(attempts)} for model, attempts in sorted(by_model.items())]
    rejected = sum(each.get("verdicts", 0) for each in notices if each["code"] == "verdicts_skipped")
    whole = _spent(ledger.attempts())
    usage = {"query_id": query_id, **whole, "models": models, "rejected": rejected, "notices": list(notices)}
    return {**usage, **_stores(ledger.searches())}


def _stores(searches: Sequence[Searched]) -> dict[str, Any]:
    """What searches cost the accounts of stores, where any does."""
    by_store: dict[str, list[Searched]] = defaultdict(list)
    for each in searches:
        by_store[each.store].append(each)
    return {"stores": [_store(name, them) for name, them in sorted(by_store.items())]} if by_store else {}


def _store(name: str, searches: Sequence[Searched]) -> dict[str, Any]:
    return {
        "store": name,
        "searches": len(searches),
        "failed_searches": sum(each.outcome != "success" for each in searches),
        "requests": sum(each.requests for each in searches),
        "request_units": round(sum(each.units for each in searches), 2),
        "latency_ms": round(sum(each.elapsed_ms for each in searches)),
    }


def calls_of(ledger: Ledger) -> list[dict[str, Any]]:
    """Every attempt, and how long it took."""
    return [{"model": each.event["model"], "elapsed_ms": each.event["elapsed_ms"]} for each in ledger.attempts()]


def _spent(attempts: Sequence[Attempt]) -> dict[str, Any]:
    counted = [each for each in attempts if each.event["outcome"] in ("success", "cancelled")]
    cancelled = sum(each.event["outcome"] == "cancelled" for each in counted)
    tokens = {name: sum(_tokens(each)[name] for each in counted) for name in COUNTED}
    return {
        "calls": len(counted),
        **tokens,
        "cost": round(sum(each.cost_usd for each in counted if each.cost_reported), 12),
        "unpriced_calls": sum(_is_unpriced(each) for each in counted),
        "cancelled_calls": cancelled,
        "failed_calls": len(attempts) - len(counted),
        "latency_ms": sum(each.event["elapsed_ms"] for each in counted),
        "phases": dict(sorted(Counter(_phase(each.event["stage"]) for each in counted).items())),
    }


def _phase(stage: str) -> str:
    """A stage by the name that the page knows."""
    return "query_embedding" if stage.startswith("embed") else stage


def _tokens(attempt: Attempt) -> dict[str, int]:
    event = attempt.event
    return {
        "prompt_tokens": event["prompt_tokens"],
        "completion_tokens": event["completion_tokens"],
        "total_tokens": event["tokens"],
        "reasoning_tokens": attempt.reasoning_tokens,
        "cached_tokens": attempt.cached_tokens,
    }


def _is_unpriced(attempt: Attempt) -> bool:
    """An embedded model costs nothing, so nobody has to say what."""
    return attempt.event["target"] == _PAID and not attempt.cost_reported
