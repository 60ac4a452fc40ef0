"""The ledger: one event an attempt, and only what succeeded is billed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from shared.models.ledger import MAX_EVENTS, Ledger


def test_a_retry_shows_in_the_events_but_is_not_billed():
    ledger = Ledger()
    ledger.record(target="chat", model="m", stage="rerank", elapsed_ms=12.6, outcome="rate_limited")
    ledger.record(
        target="chat", model="m", stage="rerank", elapsed_ms=40, prompt_tokens=100, completion_tokens=20, cost_usd=0.001
    )
    usage = ledger.snapshot()
    assert [event["outcome"] for event in usage["call_events"]] == ["rate_limited", "success"]
    assert (usage["llm_calls"], usage["chat_calls"], usage["embed_calls"]) == (1, 1, 0)
    assert usage["total_tokens"] == 120
    assert usage["call_events"][0]["elapsed_ms"] == 13


def test_embedding_calls_are_told_apart_by_their_stage():
    ledger = Ledger()
    ledger.record(target="embedded", model="bge", stage="embed-query", elapsed_ms=4, prompt_tokens=9)
    ledger.record(target="embedded", model="ranker", stage="rerank", elapsed_ms=5)
    usage = ledger.snapshot()
    assert (usage["embed_calls"], usage["embed_tokens"], usage["chat_calls"]) == (1, 9, 1)
    assert usage["by_stage"]["embed-query"] == {"calls": 1, "tokens": 9, "cost_usd": 0.0}
    assert set(usage["by_model"]) == {"bge", "ranker"}


def test_every_number_of_an_empty_ledger_is_a_number():
    usage = Ledger().snapshot()
    numbers = ("llm_calls", "total_tokens", "cost_usd", "call_events_dropped")
    assert [usage[name] for name in numbers] == [0, 0, 0, 0]  # type: ignore[literal-required]
    assert usage["cost_source"] == "price-table"


def test_events_beyond_the_limit_are_counted_and_still_billed():
    ledger = Ledger()
    for _ in range(MAX_EVENTS + 3):
        ledger.record(target="chat", model="m", stage="rerank", elapsed_ms=1, prompt_tokens=1)
    usage = ledger.snapshot()
    assert len(usage["call_events"]) == MAX_EVENTS
    assert usage["call_events_dropped"] == 3
    assert usage["llm_calls"] == MAX_EVENTS + 3


def test_threads_that_record_at_once_lose_nothing():
    ledger = Ledger()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(100):
            pool.submit(ledger.record, target="t", model="m", stage="rerank", elapsed_ms=1, completion_tokens=2)
    assert ledger.snapshot()["completion_tokens"] == 200


def test_a_provider_that_reports_its_cost_is_named_as_the_source():
    ledger = Ledger()
    ledger.record(target="chat", model="m", stage="rerank", elapsed_ms=1, cost_usd=0.5, cost_reported=True)
    assert ledger.snapshot()["cost_source"] == "provider"
