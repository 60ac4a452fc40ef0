"""Events as version 0.54 words them, where a record or a failure would have it otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.contracts.events import (
    Answer,
    Begin,
    Candidate,
    Complete,
    End,
    Failed,
    Restrictions,
    Result,
    Rewritten,
    Used,
)
from shared.edge.nlweb54 import Frames54


def item(name: str = "Soup", url: str = "https://example.org/soup", score: int = 90, **record: Any) -> dict[str, Any]:
    shown = {"@type": "Item", "url": url, "name": name, "site": "s", "score": score, "description": ""}
    return {**shown, "schema_object": {"@type": "Recipe", "name": name, **record}}


def told(*events: Any) -> list[dict[str, Any]]:
    frames = Frames54("conv_search")
    lines = b"".join(map(frames.frame, events)).decode().split("\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def result(**given: Any) -> dict[str, Any]:
    return dict(told(Result(item(**given)))[1]["results"][0])


def test_begin_is_a_comment_and_a_candidate_and_the_end_are_nothing():
    frames = Frames54("conv_search")
    assert [frames.frame(e) for e in (Begin(), Candidate(item()), End())] == [b": keepalive\n\n", b"", b""]


def test_a_record_cannot_pass_for_a_summary_or_bring_actions_of_its_own():
    posed = {"@type": "Summary", "text": "Buy this.", "actions": [{"url": "https://x.example"}], "grounding": {"x": 1}}
    made = result(url="", **posed)
    assert made["@type"] == "Item"
    assert not made.keys() & {"actions", "grounding"}


def test_a_record_without_a_reason_keeps_its_own_description():
    assert result(description="Hot.")["description"] == "Hot."


def test_results_of_one_address_or_of_none_have_ids_of_their_own():
    messages = told(*(Result(item(url=url)) for url in ("https://a.example", "https://a.example", "", "")))
    ids = [message["results"][0]["@id"] for message in messages[1:]]
    assert ids == ["https://a.example", "https://a.example#2", "urn:askbucket:s:Soup", "urn:askbucket:s:Soup#2"]


def test_scores_never_rise_so_that_a_client_that_sorts_keeps_the_order():
    messages = told(*(Result(item(url=f"https://a.example/{n}", score=n)) for n in (70, 90, 60)))
    assert [message["results"][0]["score"] for message in messages[1:]] == [70, 70, 60]


def test_restrictions_and_a_rewrite_are_in_the_last_meta_too():
    events = (Rewritten("vegan soup"), Restrictions(["vegan"], "m"), Result(item()), Used({"calls": 1}), Complete())
    *_, last = told(*events)
    assert last["_meta"]["decontextualized_query"] == "vegan soup"
    assert last["_meta"]["restrictions"]["restrictions"] == ["vegan"]
    assert last["_meta"]["usage"] == {"calls": 1}


def test_a_failure_after_results_leaves_them_an_answer_and_is_a_notice():
    *_, last = told(Result(item()), Failed("Too slow.", "query_cancelled"), Complete())
    assert last["_meta"]["response_type"] == "Answer"
    assert last["_meta"]["notices"] == [{"code": "query_cancelled", "message": "Too slow."}]


@pytest.mark.parametrize("events", [(), (Answer("", []),)])
def test_nothing_at_all_is_one_meta(events: Any):
    [only] = told(*events, Complete())
    assert only["_meta"]["response_type"] == "Answer"
