"""The embedded writer: what a follow-up leaves unsaid, and a summary of words that are there."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.embedded_writer import EmbeddedWriter, leans
from shared.models.ledger import Ledger
from shared.models.provider import Evidence

DOUBT = "No record here says whether it meets all that was asked."


def rewritten(query: str, *previous: str) -> str:
    return anyio.run(EmbeddedWriter().rewrite, query, previous, (), Ledger())


def composed(*evidence: tuple[str, str], mode: str = "summarize") -> str:
    found = [Evidence(name, "", description, {}) for name, description in evidence]
    return anyio.run(EmbeddedWriter().compose, mode, "anything", found, Ledger())


@pytest.mark.parametrize(
    ("topic", "query", "whole"),
    [
        ("quick pasta dinners", "now only vegan ones", "quick pasta dinners, vegan"),
        ("easy trails with dogs", "what about with a waterfall?", "easy trails with dogs, with a waterfall"),
        ("4 bedroom house with a pool", "under $500k", "4 bedroom house with a pool, under $500k"),
        ("4 bedroom house with a pool", "cheaper", "4 bedroom house with a pool, cheaper"),
        ("robot vacuum for cats?", "which of those is quietest?", "robot vacuum for cats, which is quietest"),
        ("space movies", "the ones from the 80s", "space movies, from the 80s"),
        ("thai curry", "no nuts please", "thai curry, no nuts"),
        ("soup", "more", "soup"),
    ],
)  # fmt: skip
def test_a_follow_up_carries_the_topic_over(topic, query, whole):
    assert rewritten(query, topic) == whole


@pytest.mark.parametrize(
    "query",
    ["chocolate cake", "The Others", "It Happened One Night", "a soup with lentils and spinach", "crème brûlée"],
)
def test_a_query_that_stands_by_itself_is_left_as_typed(query):
    assert rewritten(query, "vegan lasagna") == query


def test_the_topic_is_the_last_turn_that_stood_by_itself():
    assert rewritten("only vegan ones", "cakes", "quick pasta dinners", "without nuts") == "quick pasta dinners, vegan"


def test_a_follow_up_to_nothing_is_not_rewritten():
    assert rewritten("only vegan ones") == ""
    assert rewritten("only vegan ones", "without nuts", "cheaper") == ""


@given(st.text(max_size=400), st.lists(st.text(max_size=400), max_size=5))
def test_a_rewrite_is_short_and_made_of_words_that_were_said(query, previous):
    whole = rewritten(query, *previous)
    assert whole == query or len(whole) <= 300
    said = "".join([query, *previous, ","]).split()
    assert all(any(word.strip(",") in each for each in said) for word in whole.split())


@given(st.text(max_size=200))
def test_the_same_query_always_leans_the_same_way(query):
    assert leans(query) == leans(query)


def test_a_summary_is_made_of_names_and_of_first_sentences():
    said = composed(("Dal", "Lentils and spinach. It freezes."), ("Borscht", "Beets"), ("Injera", ""))
    assert said == "Among the results are Dal, Borscht and Injera. Lentils and spinach. Beets."


def test_a_summary_of_one_result_says_so_and_of_none_says_nothing():
    assert composed(("Dal", "Lentils.")) == "One result: Dal. Lentils."
    assert composed() == ""


def test_at_most_four_names_and_three_sentences():
    said = composed(*((f"Soup {n}", f"It is number {n}. More.") for n in range(9)))
    assert said == (
        "Among the results are Soup 0, Soup 1, Soup 2 and Soup 3. It is number 0. It is number 1. It is number 2."
    )


def test_results_of_one_name_are_told_apart_by_their_years():
    films = [Evidence("Solaris", "", "", {"datePublished": year}) for year in ("1972-03-20", "2002", None)]
    said = anyio.run(EmbeddedWriter().compose, "summarize", "solaris", films, Ledger())
    assert said == "Among the results are Solaris (1972), Solaris (2002) and Solaris."


def test_the_writer_names_itself_in_the_ledger():
    ledger = Ledger()
    anyio.run(EmbeddedWriter().rewrite, "only vegan ones", ["pasta"], (), ledger)
    anyio.run(EmbeddedWriter().compose, "summarize", "pasta", [Evidence("Pasta", "", "", {})], ledger)
    assert set(ledger.snapshot()["by_stage"]) == {"pre_retrieval", "generation"}
    assert set(ledger.snapshot()["by_model"]) == {EmbeddedWriter.model}


def test_where_no_record_says_that_it_is_an_answer_the_summary_begins_with_that():
    open_, met = Evidence("Long Loop", "", "", {}, is_open=True), Evidence("Short Loop", "", "", {})
    compose = EmbeddedWriter().compose
    assert anyio.run(compose, "summarize", "loops", [open_], Ledger()) == f"{DOUBT} One result: Long Loop."
    assert anyio.run(compose, "summarize", "loops", [met, open_], Ledger()).startswith("Among the results are Sh")
