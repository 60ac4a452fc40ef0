"""What goes over the wire, what the ledger writes down, and what is never asked twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import numpy as np
import pytest
from fakes.asking import (
    DIMENSION,
    MODEL,
    QUESTION,
    RERANK,
    Clock,
    ask,
    candidate,
    candidates,
    embedding,
    gateway_for,
    judging,
)  # fmt: skip
from fakes.openrouter import KEY, OpenRouter, embed, empty, ranked, status, vectors

from shared.errors import BudgetExhausted, EmbeddingFailed
from shared.models.judging import Card, Question
from shared.models.ledger import Ledger
from shared.models.retry import Pace

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def fake() -> Iterator[OpenRouter]:
    with OpenRouter(dimension=DIMENSION, key=KEY) as server:
        yield server


def test_all_phrasings_go_in_one_call_and_come_back_as_unit_vectors_in_their_order(fake):
    asked = ask(gateway_for(fake), embedding("rain in Kenya", "gdp", "rain in Kenya"))
    assert [seen.body for seen in fake.seen] == [
        {"model": MODEL, "input": ["rain in Kenya", "gdp"], "encoding_format": "float"}
    ]
    expected = np.array([embed(text, DIMENSION) for text in ("rain in Kenya", "gdp", "rain in Kenya")])
    assert asked.result.dtype == np.float32
    np.testing.assert_allclose(asked.result, expected, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(asked.result, axis=1), 1, atol=1e-6)


def test_vectors_are_matched_by_index_and_normalised(fake):
    def backwards(_, reply):
        parsed = json.loads(reply.body)
        parsed["data"].reverse()
        return type(reply)(body=json.dumps(parsed).encode())

    fake.fail(backwards, on=1)
    fake.fail(vectors(lambda vector: [3 * value for value in vector]), on=2)
    gateway = gateway_for(fake, embed_cache_entries=0)
    straight, scaled = (ask(gateway, embedding("rain", "gdp")).result for _ in range(2))
    np.testing.assert_allclose(straight, [embed("rain", DIMENSION), embed("gdp", DIMENSION)], atol=1e-6)
    np.testing.assert_allclose(scaled, straight, atol=1e-6)


def test_no_texts_need_no_call(fake):
    assert ask(gateway_for(fake), embedding()).result.shape == (0, DIMENSION)
    assert fake.seen == []


def test_a_text_that_no_wire_can_carry_is_embedded_with_a_question_mark(fake):
    assert ask(gateway_for(fake), embedding("rain \ud800")).error is None
    assert fake.calls[0].body["input"] == ["rain ?"]


def test_the_model_may_come_back_without_its_vendor(fake):
    fake.fail(lambda _, reply: type(reply)(body=reply.body.replace(b"openai/text", b"text")))
    assert ask(gateway_for(fake), embedding("rain")).error is None


def test_a_judge_is_asked_in_json_mode_with_the_seeds_temperature_effort_routing_and_budget(fake):
    asked = ask(gateway_for(fake, llm_provider_order="Groq, Cerebras"), judging("Rainfall in Kenya", "GDP", k=12))
    body = fake.calls[0].body
    messages = body.pop("messages")
    assert body == {
        "model": RERANK,
        "temperature": 0,
        "response_format": {"type": "json_object"},
        "reasoning": {"effort": "low"},
        "provider": {"order": ["Groq", "Cerebras"], "sort": "throughput"},
        "usage": {"include": True},
        "max_tokens": 1_900,
    }
    assert [message["role"] for message in messages] == ["system", "user"]
    assert [(verdict.index, verdict.score) for verdict in asked.result.verdicts] == [(0, 100.0), (1, 0.0)]
    assert asked.result.skipped == 0


def test_what_is_left_empty_in_the_settings_is_not_sent(fake):
    ask(gateway_for(fake, llm_provider_sort="", rerank_reasoning_effort="", rerank_model=""), judging("Rainfall"))
    body = fake.calls[0].body
    assert body["model"] == "openai/gpt-oss-120b"
    assert not {"provider", "reasoning"} & set(body)


@pytest.mark.parametrize(("cards", "tokens"), [(1, 1_900), (6, 1_900), (7, 1_912), (60, 2_760), (120, 3_720)])
def test_the_budget_leaves_room_for_every_card_and_for_thinking(fake, cards, tokens):
    assert gateway_for(fake).judge().budget(cards) == tokens


def test_the_budget_never_passes_the_most_that_is_ever_asked_for(fake):
    assert gateway_for(fake).judge().budget(1_000) == 8_000


def test_the_judge_reads_the_question_as_asked_and_up_to_six_queries(fake):
    queries = tuple(f"query {number}" for number in range(6))
    question = Question('Find tables for: gdp. The user asked "What is India\'s GDP?".', ("gdp",), (False,))
    cards = [candidate(0, Card("GDP", "hidden", queries, "Place", "countries"))]
    ask(gateway_for(fake), lambda gateway, ledger: gateway.judge().judge(question, cards, 10, ledger))
    prompt = fake.calls[0].body["messages"][1]["content"]
    assert question.text in prompt
    assert prompt.count("people ask: ") == 6
    assert "hidden" not in prompt


def test_an_event_has_the_gateways_numbers_and_the_ledger_says_whose_cost_it_is(fake):
    asked = ask(gateway_for(fake), embedding("rain in Kenya"))
    [event] = asked.events
    assert {name: event[name] for name in ("target", "model", "stage", "outcome")} == {
        "target": "openrouter", "model": MODEL, "stage": "embed-query", "outcome": "success",
    }  # fmt: skip
    assert (event["prompt_tokens"], event["completion_tokens"], event["tokens"]) == (3, 0, 3)
    assert asked.ledger.snapshot()["cost_source"] == "provider"


@pytest.mark.parametrize("reports_cost", [True, False])
def test_a_judgement_costs_what_the_gateway_says_else_what_the_table_says(reports_cost):
    with OpenRouter(reports_cost=reports_cost) as fake:
        asked = ask(gateway_for(fake), judging("Rainfall", "GDP"))
    [event] = asked.events
    usage = asked.ledger.snapshot()
    assert event["cost_usd"] == pytest.approx(fake.spent_usd, abs=1e-6)
    assert event["cost_usd"] > 0
    assert usage["cost_source"] == ("provider" if reports_cost else "price-table")
    assert usage["by_stage"] == {"rerank": {"calls": 1, "tokens": event["tokens"], "cost_usd": event["cost_usd"]}}


@pytest.mark.parametrize("cost", [float("nan"), -1, True, "0.5", None, float("inf")])
def test_a_cost_that_is_no_cost_is_taken_from_the_table(fake, cost):
    def priced(_, reply):
        parsed = json.loads(reply.body)
        parsed["usage"] = {"prompt_tokens": 1_000_000, "completion_tokens": -3, "cost": cost}
        return type(reply)(body=json.dumps(parsed).encode())

    fake.fail(priced)
    asked = ask(gateway_for(fake), judging("Rainfall"))
    assert (asked.events[0]["cost_usd"], asked.events[0]["completion_tokens"]) == (0.04, 0)
    assert asked.ledger.snapshot()["cost_source"] == "price-table"


def test_a_retry_shows_in_the_events_and_not_in_the_calls(fake):
    fake.fail(status(503), on=1)
    asked = ask(gateway_for(fake), judging("Rainfall"))
    usage = asked.ledger.snapshot()
    assert asked.outcomes == ["error", "success"]
    assert (usage["llm_calls"], usage["chat_calls"]) == (1, 1)


def test_an_empty_completion_is_billed_and_asked_for_again_with_twice_the_room(fake):
    fake.fail(empty(), on=[1, 2])
    asked = ask(gateway_for(fake), judging("Rainfall"))
    assert [seen.body["max_tokens"] for seen in fake.calls] == [1_900, 3_800, 7_600]
    assert asked.outcomes == ["success"] * 3
    assert asked.ledger.snapshot()["llm_calls"] == 3
    assert asked.result.verdicts


def test_a_query_vector_is_asked_for_once_and_a_hit_makes_no_event(fake):
    gateway = gateway_for(fake)
    first = ask(gateway, embedding("rain", "gdp"))
    again = ask(gateway, embedding("gdp", "wages", "rain"))
    once_more = ask(gateway, embedding("wages"))
    assert [seen.body["input"] for seen in fake.calls] == [["rain", "gdp"], ["wages"]]
    np.testing.assert_array_equal(again.result[[2, 0]], first.result)
    assert once_more.events == []
    assert gateway.describe()["query_vectors"]["entries"] == 3


def test_documents_are_embedded_under_their_own_stage_and_take_no_room_in_the_cache(fake):
    gateway = gateway_for(fake)
    asked = ask(gateway, lambda gateway, ledger: gateway.embedder(MODEL, DIMENSION).embed(["leaf"], "document", ledger))
    assert [event["stage"] for event in asked.events] == ["embed-document"]
    assert gateway.describe()["query_vectors"]["entries"] == 0


def test_a_vector_handed_out_is_nobody_elses(fake):
    gateway = gateway_for(fake)
    first = ask(gateway, embedding("rain")).result
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(ask(gateway, embedding("rain")).result, kept)


def test_two_models_share_no_vector(fake):
    gateway = gateway_for(fake)
    ask(gateway, embedding("rain"))
    ask(gateway, lambda gateway, ledger: gateway.embedder(f"{MODEL}-2", DIMENSION).embed(["rain"], "query", ledger))
    assert len(fake.calls) == 2


def test_a_judgement_is_kept_and_any_other_question_card_or_k_is_another_one(fake):
    gateway = gateway_for(fake)
    first = ask(gateway, judging("Rainfall in Kenya", "GDP"))
    assert ask(gateway, judging("Rainfall in Kenya", "GDP")).result == first.result
    assert len(fake.calls) == 1
    for other in (
        judging("GDP", "Rainfall in Kenya"),
        judging("Rainfall in Kenya", "GDP", k=1),
        judging("Rainfall in Kenya", "GDP", question=Question("gdp of Kenya", QUESTION.phrasings, QUESTION.stripped)),
    ):
        ask(gateway, other)
    assert len(fake.calls) == 4


def test_a_judgement_of_which_something_was_skipped_is_not_kept(fake):
    fake.fail(ranked([{"i": 0, "score": 80}, {"i": 9, "score": 80}]))
    gateway = gateway_for(fake)
    for _ in range(2):
        assert ask(gateway, judging("Rainfall", "GDP")).result.skipped == 1
    assert len(fake.calls) == 2


def test_calls_share_the_connections_of_their_loop(fake):
    async def several(gateway, ledger: Ledger) -> None:
        embedder = gateway.embedder(MODEL, DIMENSION)
        for number in range(6):
            await embedder.embed([f"text {number}"], "query", ledger)

    gateway = gateway_for(fake)
    ask(gateway, several)
    assert len({seen.connection for seen in fake.calls}) == 1
    ask(gateway, embedding("on another loop"))
    assert len({seen.connection for seen in fake.calls}) == 2


def test_five_groups_are_judged_side_by_side(fake):
    """All five calls are at the gateway at once: none is answered before the last one came."""
    together = threading.Barrier(5, timeout=60)

    def wait_for_all(_, reply):
        together.wait()
        return reply

    fake.fail(wait_for_all)

    async def side_by_side(gateway, ledger: Ledger) -> None:
        judge = gateway.judge()
        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(judge.judge, QUESTION, candidates(f"Rainfall {number}"), 10, ledger)

    assert ask(gateway_for(fake), side_by_side).outcomes == ["success"] * 5


def test_the_connections_can_be_closed_from_another_thread_while_the_loop_runs(fake):
    from anyio.from_thread import start_blocking_portal

    gateway = gateway_for(fake)
    with start_blocking_portal() as portal:
        vectors = portal.call(gateway.embedder(MODEL, DIMENSION).embed, ["rain"], "query", Ledger())
        gateway.close()
    assert vectors.shape == (1, DIMENSION)
    gateway.close()


def test_the_budget_stops_the_next_attempt_and_what_is_cached_is_still_answered(fake):
    wall = Clock(1_793_448_000.0)
    gateway = gateway_for(fake, Pace(0.001, wall=wall), spend_limit_usd_per_day=1e-9)
    ask(gateway, embedding("rain"))
    refused = ask(gateway, judging("Rainfall"))
    assert isinstance(refused.error, BudgetExhausted)
    assert (refused.error.retry_after_s, refused.events) == (12 * 3600, [])
    assert ask(gateway, embedding("rain")).error is None
    wall.now += 86_400
    assert ask(gateway, judging("Rainfall")).error is None


def test_the_breaker_leaves_the_gateway_alone_and_tries_again_later(fake):
    clock = Clock()
    gateway = gateway_for(fake, Pace(0.001, monotonic=clock), llm_breaker_failures=2)
    fake.fail(status(500), when=lambda seen: not seen.is_chat)
    for _ in range(2):
        ask(gateway, embedding("rain"))
    assert len(fake.calls) == 8
    refused = ask(gateway, embedding("rain"))
    assert isinstance(refused.error, EmbeddingFailed)
    assert (refused.error.retry_after_s, refused.events, len(fake.calls)) == (15, [], 8)
    others = {"chat/completions": "closed", "alpha/decisions": "closed"}
    assert gateway.describe()["circuit"] == {"embeddings": "open", **others}
    assert ask(gateway, judging("Rainfall")).error is None, "what judges is another matter"
    fake.heal()
    clock.now += 15
    assert ask(gateway, embedding("rain")).error is None
    assert gateway.describe()["circuit"]["embeddings"] == "closed"


def test_the_gateway_is_told_who_asks_and_nothing_where_that_is_not_set(fake):
    ask(gateway_for(fake, app_url="https://ask.example"), embedding("rain"))
    ask(gateway_for(fake, app_title=""), embedding("rain"))
    told, untold = (seen.headers for seen in fake.seen)
    assert (told["x-openrouter-title"], told["http-referer"]) == ("Askbucket", "https://ask.example")
    assert untold.keys().isdisjoint({"x-openrouter-title", "http-referer"})


def test_a_refused_key_is_no_outage(fake):
    gateway = gateway_for(fake, llm_breaker_failures=1)
    fake.fail(status(401), on=1)
    assert isinstance(ask(gateway, embedding("rain")).error, EmbeddingFailed)
    assert ask(gateway, embedding("rain")).error is None


def test_no_candidates_need_no_call(fake):
    assert ask(gateway_for(fake), judging()).result.verdicts == ()
    assert fake.seen == []


def test_health_knows_what_was_spent_today(fake):
    gateway = gateway_for(fake)
    assert set(gateway.describe()) == {"query_vectors", "verdicts", "rankings"}
    ask(gateway, judging("Rainfall"))
    assert gateway.describe()["spent_usd_today"] == pytest.approx(fake.spent_usd, abs=1e-6)


def test_making_a_gateway_imports_no_http_client_no_numbers_and_no_loop():
    code = (
        "import sys; from shared.models.gateway import Gateway; from shared.settings import Settings;"
        "Gateway(Settings(openrouter_api_key='x')); print(*{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"httpx", "numpy", "anyio", "asyncio", "pydantic"}
