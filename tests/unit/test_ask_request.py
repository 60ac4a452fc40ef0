"""From the parameters of a plain question to a search."""

from __future__ import annotations

import pytest

from shared.contracts.tables import SearchQuery, SearchRequest
from shared.errors import RequestError
from shared.tables.request import parse_ask


def refusal(*given: dict[str, object]) -> str:
    with pytest.raises(RequestError) as raised:
        parse_ask(*given)
    assert "\n" not in raised.value.message
    return raised.value.message


def test_a_question_alone_is_a_search_with_the_defaults():
    assert parse_ask({"query": " rain  in\tKenya "}) == SearchRequest(query=SearchQuery(text="rain in Kenya"))


@pytest.mark.parametrize("name", ["query", "question", "q", "text"])
def test_the_question_has_four_names(name):
    assert parse_ask({name: "rain"}).query.text == "rain"


def test_a_query_string_and_json_spell_the_same_search():
    spelled = {
        "query": "rain",
        "pageSize": "3",
        "sources": "census, worldbank",
        "excludeSources": "sec",
        "rerank": "FALSE",
        "order": "score",
    }
    plain = {
        "query": "rain",
        "pageSize": 3,
        "sources": ["census", "worldbank"],
        "excludeSources": ["sec"],
        "rerank": False,
        "order": "score",
    }
    assert parse_ask(spelled) == parse_ask(plain) == parse_ask(spelled, plain)
    assert parse_ask(plain).sources == ("census", "worldbank")


@pytest.mark.parametrize("name", ["pageSize", "limit", "k", "max_results"])
@pytest.mark.parametrize(("size", "page"), [("3", 3), (3, 3), ("0", 1), ("-1", 1), (101, 100), ("1000000000", 100)])
def test_Q08_a_page_size_is_clamped_as_on_search(name, size, page):
    assert parse_ask({"q": "rain", name: size}).page == page


@pytest.mark.parametrize("size", ["ten", "", "1.5", 1.5, True, "true", [3]])
def test_Q08_a_page_size_that_is_no_integer_is_refused(size):
    assert "k must be an integer" in refusal({"q": "rain", "k": size})


def test_the_cap_is_400_characters_as_they_are_searched():
    assert len(parse_ask({"query": "x" * 400}).query.text) == 400
    assert len(parse_ask({"query": " " + "x" * 400 + " \n"}).query.text) == 400
    assert parse_ask({"query": "🌧" * 400}).query.text
    message = refusal({"query": "x" * 401})
    assert "400 characters" in message
    assert "found 401" in message


@pytest.mark.parametrize("given", [{}, {"query": None}, {"search": "rain"}])
def test_a_missing_question_is_refused_with_the_names_it_could_have(given):
    message = refusal(given)
    assert message.startswith("query is missing")
    assert "question, q or text" in message


@pytest.mark.parametrize("value", ["", "  ", "\u200b", 7, ["rain"], {"text": "rain"}, True])
def test_Q06_a_question_that_is_blank_or_no_text_is_refused(value):
    assert refusal({"question": value}) == "question must be a non-empty string"


def test_given_twice_it_has_to_say_the_same():
    assert parse_ask({"query": "rain", "limit": "3"}, {"question": " rain", "pageSize": 3}).page_size == 3
    assert refusal({"query": "rain"}, {"query": "snow"}) == "query must not be given twice with different values"
    assert refusal({"q": "rain", "text": "snow"}) == "q and text must not be given twice with different values"
    assert refusal({"q": "rain", "k": "3"}, {"limit": 4}).startswith("k and limit ")
    assert refusal({"q": "rain", "rerank": "true"}, {"rerank": False}).startswith("rerank ")
    assert refusal({"q": "rain", "rerank": "1"}, {"rerank": 1}) == "rerank must be true or false"


@pytest.mark.parametrize(
    "wrong",
    [{"rerank": "maybe"}, {"rerank": ""}, {"order": "best"}, {"sources": 7}, {"sources": [7]},
     {"sources": ",".join(map(str, range(51)))}],
)  # fmt: skip
def test_Q09_what_else_is_wrong_is_refused_by_name(wrong):
    [name] = wrong
    assert refusal({"q": "rain", **wrong}).startswith(f"{name} m")


def test_null_and_an_empty_list_are_not_given_and_unknown_names_are_ignored():
    given = {"q": "rain", "sources": "", "excludeSources": [], "catalogs": None, "streaming": "1", "site": "all"}
    assert parse_ask(given) == SearchRequest(query=SearchQuery(text="rain"))
