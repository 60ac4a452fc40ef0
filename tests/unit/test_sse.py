"""Frames and the one JSON in their place."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.events import Answer, Begin, Candidate, Complete, End, Failed, Result, Said
from shared.edge.cors import site_cors
from shared.edge.sse import Frames

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_T03_any_record_is_one_line_of_ascii_and_comes_back_as_it_was(record):
    frame = Frames("q", "typed").frame(Result(record))
    assert frame.isascii()
    assert frame.startswith(b"data: ")
    assert frame.endswith(b"\n\n")
    assert len(frame[:-2].splitlines()) == 1
    assert json.loads(frame[6:])["content"] == [record]


def test_numbers_that_json_has_not_become_null():
    frame = Frames().frame(Result({"a": float("nan"), "b": [float("inf"), -0.5]}))
    assert json.loads(frame[6:])["content"] == [{"a": None, "b": [None, -0.5]}]


def test_the_whole_has_the_final_items_once_and_sentences_in_a_row():
    events = [
        Begin(), Candidate({"n": 1}), Result({"n": 1}), Result({"n": 2}), Answer("both", [{"n": 1}]), Said("a"),
        Said("b"), Failed("c"), Complete(), End(),
    ]  # fmt: skip
    assert Frames("q").whole(events) == {
        "query_id": "q",
        "results": [{"n": 1}, {"n": 2}],
        "nlws": {"answer": "both", "items": [{"n": 1}]},
        "intermediate_message": {"message": "a b"},
        "error": {"message": "c"},
    }


def test_a_sites_origins_are_those_that_are_named():
    assert site_cors("https://a.example, https://b.example/").origins == ("https://a.example", "https://b.example")
    assert site_cors("*").on_every_reply("https://x.example")["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Origin" not in site_cors("").on_every_reply("https://x.example")
    assert "Mcp-Session-Id" in site_cors("https://a.example").exposed
