"""Verdicts that are known are said again; nothing else is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fakes.openrouter import OpenRouter, Seen, content
from fakes.site import DIMENSION, Here, site_here
from msgspec.structs import replace


@pytest.fixture
def fake() -> Iterator[OpenRouter]:
    with OpenRouter(dimension=DIMENSION) as server:
        yield server


@pytest.fixture
def here(fake: OpenRouter) -> Iterator[Here]:
    with site_here(fake, expands=False, verdict_cache_entries=4_096) as site:
        yield site


def rankings(fake: OpenRouter) -> int:
    """How often a ranker was asked."""
    return sum(is_ranking(seen) for seen in fake.chats)


def is_ranking(seen: Seen) -> bool:
    return seen.is_chat and "relevance filter" in seen.body["messages"][0]["content"]


def asked_of(here: Here, fake: OpenRouter, query: str = "space", **given: object) -> tuple[list[str], int]:
    """The names of the results, and how many rankings they took."""
    before = rankings(fake)
    asked = here.ask(query, mode="list", **given)  # type: ignore[arg-type]
    assert asked.error is None
    return asked.names, rankings(fake) - before


def test_the_same_question_is_answered_again_without_a_ranking(here, fake):
    first, calls = asked_of(here, fake)
    again, more = asked_of(here, fake)
    assert (calls, more) == (3, 0)
    assert again == first != []
    assert here.gateway.describe()["rankings"]["hits"] == 3


def test_a_known_verdict_is_a_candidate_and_a_result_as_a_new_one_is(here):
    first, again = here.ask("space"), here.ask("space")
    assert sorted(again.candidates, key=str) == sorted(first.candidates, key=str) != []
    assert again.results == first.results


@pytest.mark.parametrize("given", [{"query": "space crew"}, {"include_excluded": True}])
def test_another_question_or_task_is_ranked(here, fake, given):
    asked_of(here, fake)
    assert asked_of(here, fake, **given)[1] > 0


def test_another_model_is_asked_for_its_own_verdicts(here, fake):
    asked_of(here, fake)
    here.panel = replace(here.panel, ranker=here.gateway.ranker("openai/gpt-oss-120b"))
    assert asked_of(here, fake)[1] == 3


def test_other_items_are_ranked_though_their_question_is_the_same(here, fake):
    asked_of(here, fake)
    assert asked_of(here, fake, retrieval_count=5)[1] == 3


def test_an_answer_that_something_had_to_be_said_about_is_not_kept(here, fake):
    fake.fail(content('{"results":[{"i":0,"m":"strong"},{"i":99,"m":"strong"}]}'), when=is_ranking, times=1)
    assert here.ask("space", mode="list").codes == ["verdicts_skipped"]
    before = rankings(fake)
    assert here.ask("space", mode="list").codes == []
    assert rankings(fake) - before == 1, "the other two batches were answered well"


def test_without_room_for_it_everything_is_asked_again(fake):
    with site_here(fake, expands=False, verdict_cache_entries=0) as here:
        assert asked_of(here, fake) == asked_of(here, fake)
