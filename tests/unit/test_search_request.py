"""What a search request may be, and the sentence for each way to be wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.tables import OKF_NAMESPACES, SOURCE_DIRECTORY
from shared.errors import RequestError
from shared.settings import Settings
from shared.tables.request import parse_search


def body(**changes):
    return {"query": {"text": "gdp"}, **changes}


def query(**changes):
    return {"query": {"text": "gdp", **changes}}


def test_a_bare_question_gets_every_default():
    request = parse_search(body())
    assert (request.page, request.rerank, request.order) == (10, True, "source")
    assert request.query.phrasings == ("gdp",)
    assert request.sources == request.exclude_sources == request.catalogs == ()


@pytest.mark.parametrize(
    ("size", "page"), [(-1, 1), (0, 1), (1, 1), (100, 100), (101, 100), ("10", 10), (1e9, 100), (7.0, 7), (None, 10)]
)
def test_Q08_a_page_size_out_of_range_is_clamped(size, page):
    assert parse_search(body(pageSize=size)).page == page
    assert parse_search(body(limit=size)).page == page


def test_null_is_not_given_and_page_size_wins_over_its_alias():
    assert parse_search(body(pageSize=None, limit=5)).page == 5
    assert parse_search(body(pageSize=7, limit=5)).page == 7


@pytest.mark.parametrize("size", [True, "ten", "", 2.5, [], {}, float("inf"), "1_0", "٣"])
def test_Q08_a_page_size_that_is_no_integer_is_refused(size):
    with pytest.raises(RequestError, match=r"^pageSize must be an integer$"):
        parse_search(body(pageSize=size))


@pytest.mark.parametrize("missing", [{}, {"query": None}, {"query": "gdp"}, {"query": []}, {"query": {}}])
def test_a_missing_question_is_refused(missing):
    with pytest.raises(RequestError, match=r"^query\.text must be a non-empty string$"):
        parse_search(missing)


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b\u200d", "\x00", "\ud800", 5, None, ["gdp"]])
def test_Q06_a_text_with_nothing_in_it_is_refused(text):
    with pytest.raises(RequestError, match=r"^query\.text must be a non-empty string$"):
        parse_search(query(text=text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  gdp\tof\n India ", "gdp of India"), ("g\u200bdp", "gdp"), ("gdp\x00india", "gdp india"),
        ("cafe\u0301", "café"), ("a\ud800b", "ab"), ("ناتج", "ناتج"), ("📈 gdp", "📈 gdp"),
    ],
)  # fmt: skip
def test_Q06_a_text_has_one_normal_form(text, shown):
    assert parse_search(query(text=text)).query.text == shown


@given(st.text(st.characters(), min_size=1))
def test_Q06_any_text_is_taken_or_refused_in_one_sentence(text):
    try:
        cleaned = parse_search(query(text=text)).query.text
    except RequestError as error:
        assert error.message == "query.text must be a non-empty string"
    else:
        assert cleaned.encode()
        assert parse_search(query(text=cleaned)).query.text == cleaned


def test_Q06_a_flood_of_combining_marks_is_thinned_before_it_is_put_in_order():
    flooded = "a" + "\u0345" * 16_000 + "\u0334" * 16_000
    assert len(parse_search(query(text=flooded)).query.text) <= 13
    assert parse_search(query(text="cafe\u200b\u0301")).query.text == "café"
    assert parse_search(query(text="Việt Nam")).query.text == "Việt Nam"


@pytest.mark.parametrize("texts", [[], ["a", "b", "c", "d", "e"], "gdp", {"a": 1}, 3])
def test_Q07_texts_are_one_to_four(texts):
    with pytest.raises(RequestError, match=r"^query\.texts must be a list of 1 to 4 non-empty strings$"):
        parse_search(query(texts=texts))


@pytest.mark.parametrize("texts", [["a", 1], ["a", " "], [None]])
def test_Q07_each_of_texts_is_a_string_that_says_something(texts):
    with pytest.raises(RequestError, match=r"^each of query\.texts must be a non-empty string$"):
        parse_search(query(texts=texts))


def test_Q07_equal_phrasings_are_searched_once():
    assert parse_search(query(texts=["gdp", " gdp ", "gdp\n", "income"])).query.phrasings == ("gdp", "income")


def test_text_is_not_a_phrasing_where_texts_are_given():
    assert parse_search(query(texts=["income"])).query.phrasings == ("income",)
    assert parse_search(query(texts=None)).query.phrasings == ("gdp",)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rerank": "yes"}, "rerank must be true or false"),
        ({"order": "best"}, "order must be one of source, score"),
        ({"federation": "all"}, "federation must be one of auto, referrals, none"),
        ({"sources": "census"}, "sources must be a list of strings"),
        ({"excludeSources": [1]}, "excludeSources must be a list of strings"),
        ({"catalogs": [["a"]]}, "catalogs must be a list of strings"),
        ({"sources": [str(n) for n in range(51)]}, "sources may hold at most 50 names, found 51"),
        ({"pageToken": "x"}, "pageToken was not issued by this registry: a search answers in one page"),
        ({"query": {"text": "gdp", "filter": []}}, "query.filter must be an object"),
        ({"query": {"text": "gdp", "filter": {"tags": [1]}}},
         "query.filter.tags must be a string or a list of non-empty strings"),
    ],
)  # fmt: skip
def test_each_wrong_field_is_named_in_one_sentence(changes, sentence):
    with pytest.raises(RequestError) as caught:
        parse_search({**body(), **changes})
    assert caught.value.message == sentence


def test_null_means_not_given_and_unknown_root_keys_are_ignored():
    request = parse_search(body(sources=None, excludeSources=None, catalogs=None, pageToken=None, colour="red"))
    assert request.sources == ()


def test_a_scalar_filter_is_a_list_of_one_and_unknown_keys_are_kept_to_be_reported():
    request = parse_search(query(filter={"tags": "country", "colour": {"any": "thing"}}))
    assert request.query.filter == {"tags": ("country",), "colour": ()}


def test_a_source_directory_is_one_key_in_all_its_spellings():
    spelled = {"okf:sourceDirectory": "census", "https://openknowledgeformat.org/ns#sourceDirectory": ["bls"]}
    request = parse_search(query(filter=spelled))
    assert request.query.filter == {SOURCE_DIRECTORY: ("census", "bls")}


def test_the_prefix_of_a_filter_key_stands_for_the_namespace_of_the_settings_unless_the_context_says_otherwise():
    spelled = {"okf:sourceDirectory": "census", "https://example.org/ns#sourceDirectory": "bls"}
    own = parse_search(query(filter=spelled), "https://example.org/ns#").query.filter
    assert own == {SOURCE_DIRECTORY: ("census", "bls")}
    request = parse_search(query(**{"@context": {"okf": "https://example.org/other#"}, "filter": spelled}))
    assert request.query.filter == dict.fromkeys(spelled, ())
    assert Settings().okf_namespace in OKF_NAMESPACES


def test_a_context_that_binds_a_scheme_changes_no_iri():
    spelled = {SOURCE_DIRECTORY: "census"}
    request = parse_search(query(**{"@context": {"https": "urn:x"}, "filter": spelled}))
    assert request.query.filter == {SOURCE_DIRECTORY: ("census",)}


@pytest.mark.parametrize("value", [3, "", [""], None, {"any": "thing"}])
def test_a_source_directory_that_is_no_name_is_refused_in_the_callers_spelling(value):
    with pytest.raises(RequestError, match=r"query\.filter\.okf:sourceDirectory must be a string"):
        parse_search(query(filter={"okf:sourceDirectory": value}))
