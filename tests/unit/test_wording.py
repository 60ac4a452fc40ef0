"""What every table could be called by goes from the ends of a question, and nothing else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.tables.wording import MAX_CHARS, plain

PLAINER = {
    "population data": "population",
    "population data?": "population?",
    "data on population": "population",
    "statistics on median household income": "median household income",
    "table of numbers for gdp": "gdp",
    "show me the latest data on median income": "median income",
    "Can you provide statistics about crime in Texas?": "crime in Texas?",
    "data and statistics on asthma": "asthma",
    "asthma data and statistics": "asthma",
}

KEPT = (
    *("data", "statistics", "table of numbers", "total data statistics", "the data", ""),
    *("access to information", "number of people", "total population", "data centers", "internet data usage"),
    *("water table", "health information", "spending on information", "table salt consumption"),
)


@pytest.mark.parametrize(("question", "left"), PLAINER.items())
def test_words_that_fit_every_table_go(question: str, left: str) -> None:
    assert plain(question) == left


@pytest.mark.parametrize("question", KEPT)
def test_what_is_asked_about_stays_and_so_does_a_question_of_nothing_else(question: str) -> None:
    assert plain(question) == question


@given(st.lists(st.sampled_from("data on of the statistics tables income and ? ,".split()), max_size=9))
def test_nothing_is_added_and_something_is_left(words: list[str]) -> None:
    text = " ".join(words)
    left = plain(text)
    assert len(left) <= len(text)
    assert left in text
    assert bool(left) == bool(text)


@pytest.mark.parametrize("piece", ["data and ", "data of ", "data, ", "statistics ", "a", "the ", " data?", "?"])
def test_of_a_long_text_of_one_piece_no_more_is_left_than_was_there(piece: str) -> None:
    text = piece * (MAX_CHARS // len(piece))
    assert len(plain(text)) <= len(text)
