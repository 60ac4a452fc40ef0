"""What a site's /ask takes for a question, from three kinds of client, and what it says of anything else."""

from __future__ import annotations

import pytest

from shared.contracts.ask import AskRequest
from shared.errors import RequestError, UnknownName
from shared.sites.request import parse_ask

MODELS = ("openai/gpt-oss-20b", "microsoft/phi-4")


def asked(**values: object) -> AskRequest:
    return parse_ask({"query": "soup", **values}, MODELS)


def refused(**values: object) -> str:
    with pytest.raises(RequestError) as caught:
        asked(**values)
    return caught.value.message


def test_the_defaults_are_those_of_the_page():
    assert asked() == AskRequest("soup", mode="summarize", max_results=10, min_score=70, retrieval="compare")


def test_what_the_page_sends_is_read():
    request = asked(site="recipes", previous_queries=["a", "b"], previous_results=["Ragù"], ranking_model=MODELS[1])
    assert (request.site, request.previous_queries, request.previous_results) == ("recipes", ("a", "b"), ("Ragù",))
    assert request.ranking_model == MODELS[1]


def test_no_query_at_all_is_a_question_that_the_stream_answers():
    assert parse_ask({}).query == parse_ask({"query": " \n"}).query == parse_ask({"query": None}).query == ""


@pytest.mark.parametrize("value", [7, ["soup"], True, {"text": 3}])
def test_a_query_that_is_no_text_is_named(value):
    assert "query must be a string" in refused(query=value)


def test_Q06_a_query_is_taken_in_one_normal_form_and_up_to_8000_characters():
    assert asked(query="  cafe\u0301\x00 \u200bau\tlait\ud800 ").query == "café au lait"
    assert len(asked(query="x" * 8_000).query) == 8_000
    assert "at most 8000 characters, found 8001" in refused(query="x" * 8_001)


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        ({"mode": "list"}, "list"),
        ({"generate_mode": "none"}, "list"),
        ({"generate_mode": "generate"}, "generate"),
        ({"prefer": {"mode": "list, summarize"}}, "summarize"),
        ({"mode": "list,generate"}, "generate"),
        ({"prefer": {"mode": "list"}, "mode": "generate"}, "list"),
        ({"mode": " LIST "}, "list"),
        ({"mode": ""}, "summarize"),
        ({"mode": None, "generate_mode": "list"}, "list"),
        ({"mode": ["list", "summarize"]}, "summarize"),
    ],
)
def test_modes_of_every_client_come_to_one_of_ours(given, mode):
    assert asked(**given).mode == mode


@pytest.mark.parametrize("value", ["foo", "list, foo", ",", 3, {}])
def test_another_mode_is_refused_with_those_there_are(value):
    assert refused(mode=value).startswith("mode must be list, summarize, or generate, found ")


@pytest.mark.parametrize(
    ("given", "queries"),
    [
        ({"prev": ""}, ()),
        ({"prev": "[]"}, ()),
        ({"previous_queries": ["", " "]}, ()),
        ({"prev": '["one", "two"]'}, ("one", "two")),
        ({"prev": "one"}, ("one",)),
        ({"prev": "[one"}, ("[one",)),
        ({"context": {"prev": ["one"]}}, ("one",)),
        ({"context": '{"prev": ["one"]}'}, ("one",)),
        ({"previous_queries": [{"text": "one"}]}, ("one",)),
        ({"previous_queries": list("abcdefg")}, tuple("cdefg")),
    ],
)
def test_history_is_the_last_five_queries_that_say_something(given, queries):
    assert asked(**given).previous_queries == queries


def test_L04_history_is_capped_in_number_and_length():
    request = asked(previous_queries=["x" * 9_000] * 1_000, previous_results=["y" * 9_000] * 1_000)
    assert [len(text) for text in request.previous_queries] == [1_000] * 5
    assert [len(text) for text in request.previous_results] == [1_000] * 10


def test_a_history_of_numbers_is_refused():
    assert refused(previous_queries=[1]) == "previous_queries must be a list of strings"
    assert refused(previous_results=[{"id": 1}]) == "previous_results must be a list of strings"


def test_results_last_shown_may_come_as_nlweb_sends_them():
    assert asked(last_ans='[{"title": "Ragù", "url": "u"}, {"url": "u2"}]').previous_results == ("Ragù", "u2")


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("max_results", 0, "max_results must be from 1 to 200, found 0"),
        ("max_results", -3, "max_results must be from 1 to 200, found -3"),
        ("max_results", "ten", "max_results must be an integer"),
        ("max_results", True, "max_results must be an integer"),
        ("max_results", 1.5, "max_results must be an integer"),
        ("min_score", 101, "min_score must be from 0 to 100, found 101"),
        ("min_score", "-1", "min_score must be from 0 to 100, found -1"),
        ("retrieval_count", "x", "retrieval_count must be an integer"),
        ("retrieval_count", 0, "retrieval_count must be at least 1"),
        ("ranking_count", 0, "ranking_count must be at least 1"),
        ("retrieval", "magic", "retrieval must be vector, bm25, or compare"),
        ("include_excluded", "maybe", "include_excluded must be true or false"),
        ("streaming", "maybe", "streaming must be true or false"),
        ("site", 3, "site must be the name of a site, or several with commas between them"),
        ("query_id", {"a": 1}, "query_id must be a string of at most 200 printable characters"),
        ("query_id", "a\nb", "query_id must be a string of at most 200 printable characters"),
    ],
)
def test_a_value_out_of_range_is_named_with_what_is_valid(name, value, sentence):
    assert refused(**{name: value}) == sentence


def test_Q08_numbers_may_be_spelled_as_a_query_string_does():
    request = asked(max_results="3", min_score="0", retrieval_count="999", ranking_count=10.0)
    assert (request.max_results, request.min_score, request.retrieval_count, request.ranking_count) == (3, 0, 200, 10)


@pytest.mark.parametrize(
    ("value", "switch"), [("false", False), ("0", False), ("False", False), ("true", True), (1, True), (False, False)]
)
def test_switches_mean_what_they_say_and_not_that_they_are_there(value, switch):
    assert asked(include_excluded=value).include_excluded is asked(streaming=value).streaming is switch


def test_an_unknown_model_is_refused_with_the_whole_list():
    with pytest.raises(UnknownName) as caught:
        asked(ranking_model="gpt-9")
    assert caught.value.valid == list(MODELS)
    assert all(model in caught.value.message for model in MODELS)
    assert asked(ranking_model="").ranking_model == ""


def test_a_client_of_version_0_54_is_read():
    request = parse_ask(
        {
            "query": {"text": "soup", "site": "all", "num_results": 50, "max_results": 9, "min_score": 51},
            "context": {"@type": "ConversationalContext", "prev": ["stew"]},
            "prefer": {"streaming": False, "mode": "list, summarize"},
            "meta": {"api_version": "0.54", "start_num": 9},
        }
    )
    assert (request.query, request.site, request.retrieval_count, request.max_results) == ("soup", "", 50, 9)
    assert (request.min_score, request.previous_queries, request.streaming, request.start_num) == (
        51,
        ("stew",),
        False,
        9,
    )


def test_a_rewrite_of_the_caller_and_its_id_are_kept():
    request = asked(decontextualized_query="vegan soup", query_id=17)
    assert (request.standalone_query, request.query_id) == ("vegan soup", "17")


@pytest.mark.parametrize(
    ("value", "site"), [("all", ""), ("", ""), ("recipes, movies", "recipes,movies"), (["imdb"], "imdb")]
)
def test_a_site_is_a_name_or_several(value, site):
    assert asked(site=value).site == site


def test_unknown_names_are_ignored():
    assert asked(oauth_id="x", db="y", prefer="z", context=3) == asked()
