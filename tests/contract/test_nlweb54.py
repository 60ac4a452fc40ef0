"""NLWeb's version 0.54 and its first one, read by clients written to those, on real functions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from fakes.openrouter import KEY, OpenRouter, status
from fakes.scripted.script import NASTY
from fakes.site import Here, movies, publish, site_here
from nlweb_clients import Client54, EventSource
from stream_reader import scripted
from wire import Service, function

from shared.sites.kinds import KINDS


@pytest.fixture(scope="module")
def script() -> Iterator[Service]:
    """A site whose pipeline is written in its question."""
    with scripted({"MAX_CONCURRENT": "20"}) as (service, _):
        yield service


@pytest.fixture(scope="module")
def fake() -> Iterator[OpenRouter]:
    with OpenRouter(key=KEY) as fake:
        yield fake


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, fake: OpenRouter) -> Iterator[Service]:
    """A site of films with a chat model."""
    url = publish(tmp_path_factory.mktemp("films"), movies(), KINDS["movies"])
    gateway = {"OPENROUTER_API_KEY": KEY, "OPENROUTER_BASE_URL": fake.url, "LLM_BREAKER_FAILURES": "0"}
    unlimited = {f"RATE_LIMIT_PER_{each}": "0" for each in ("MINUTE", "HOUR", "DAY")}
    with function("ask_site", {**gateway, **unlimited, "BUCKET_URL": url, "SITE": "movies"}) as service:
        assert service.until_ready().status == 200
        yield service


@pytest.fixture(scope="module")
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The same films without any model: order is retrieval's, so every page of it can be known."""
    url = publish(tmp_path_factory.mktemp("films"), movies(), KINDS["movies"])
    unlimited = {f"RATE_LIMIT_PER_{each}": "0" for each in ("MINUTE", "HOUR", "DAY")}
    settings = {"LLM_PROVIDER": "none", **unlimited, "BUCKET_URL": url, "SITE": "movies"}
    with function("ask_site", settings) as service:
        assert service.until_ready().status == 200
        yield service


# What a client of 0.54 reads


def test_a_client_of_0_54_reads_results_a_summary_and_what_was_searched(script: Service):
    client = Client54(script).ask("items=3", prefer={"mode": "list, summarize"})
    first, *between, last = client.messages
    assert first == {"_meta": first["_meta"]}
    assert first["_meta"]["response_type"] == "Answer"
    assert (first["_meta"]["response_format"], first["_meta"]["version"]) == ("conv_search", "0.54")
    assert first["_meta"]["decontextualized_query"] == "standalone"
    assert [list(message) for message in between] == [["results"]] * 4
    assert [each["name"] for each in client.kept.values()] == ["Item 0", "Item 1", "Item 2"]
    assert client.summary == "All of them."
    assert list(last) == ["_meta"]
    assert last["_meta"].items() >= first["_meta"].items()
    assert last["_meta"]["usage"]["total_tokens"] == 7


def test_each_result_is_its_record_with_an_id_a_score_and_where_it_is_from(site: Service):
    client = Client54(site).ask("space story")
    assert client.results
    for each in client.results:
        assert each["@type"] == "Movie"
        assert each["@id"] == each["url"] == each["grounding"]["source_urls"][0]
        assert each["score"] in (70, 90)
        assert each["site"] == "imdb"
        assert "schema_object" not in each
        assert "vector_score" not in each
    assert any("datePublished" in each for each in client.results)
    assert len(client.kept) == sum(len(message.get("results", ())) for message in client.messages)


def test_sorted_by_score_results_are_in_the_order_that_was_meant(wordy: Service):
    ours = wordy.post("/ask", {"query": "space submarine crew", "mode": "list", "streaming": False, "max_results": 20})
    scores = [each["score"] for each in ours.json["results"]]
    client = Client54(wordy).ask("space submarine crew", {"max_results": 20})
    assert client.names == [each["name"] for each in ours.json["results"]]
    assert len(client.names) == len(scores) > 9


def test_notices_reach_a_client_of_0_54(wordy: Service, script: Service):
    assert "retrieval_order" in Client54(wordy).ask("space").codes
    told = Client54(script).ask("items=1").meta["notices"]
    assert {"message": "One notice."} in told
    assert {"code": "batch_failed"} in told


def test_what_was_not_used_of_a_question_is_said(wordy: Service):
    context: dict[str, Any] = {"@type": "ConversationalContext", "text": "I am vegan", "memory": ["no nuts"]}
    client = Client54(wordy).ask("space", {"num_results": 900}, context=context)
    [unused] = [each for each in client.meta["notices"] if each["code"] == "context_ignored"]
    assert unused["names"] == ["context.text", "context.memory"]
    [limited] = [each for each in client.meta["notices"] if each["code"] == "candidates_limited"]
    assert (limited["asked"], limited["candidates"]) == (900, 200)


def test_the_session_comes_back_as_it_was_sent(script: Service):
    session = {"conversation_id": "c-1", "state_token": "t-1"}
    client = Client54(script).ask("items=1", meta={"session_context": session})
    assert [m["_meta"]["session_context"] for m in client.messages if "_meta" in m] == [session] * 2


def test_nothing_found_is_an_answer_that_says_so(wordy: Service):
    client = Client54(wordy).ask("zyzzyva")
    assert (client.meta["response_type"], client.results, client.error) == ("Answer", [], None)
    assert "no_results" in client.codes


def test_the_format_of_the_app_has_texts_and_structured_data(script: Service):
    client = Client54(script).ask("items=2", prefer={"response_format": "chatgpt_app"})
    assert client.meta["response_format"] == "chatgpt_app"
    assert [each["name"] for each in client.kept.values()] == ["Item 0", "Item 1"]
    assert client.texts[-1] == "All of them."
    assert client.texts[0].startswith("Item 0: ")
    assert not any("results" in message for message in client.messages)


@pytest.mark.parametrize(
    ("form", "keys"), [("conv_search", ["results"]), ("chatgpt_app", ["content", "structuredData"])]
)
def test_without_streaming_it_is_one_object_of_the_same(script: Service, form: str, keys: list[str]):
    body = {"query": {"text": "items=2"}, "prefer": {"streaming": False, "response_format": form}}
    answer = script.post("/ask", body)
    whole = answer.json
    assert list(whole) == ["_meta", *keys]
    client = Client54(script).ask("items=2", prefer={"response_format": form})
    for key in keys:
        assert whole[key] == [each for message in client.messages for each in message.get(key, ())]
    assert whole["_meta"]["notices"] == client.meta["notices"]


def test_T03_nothing_in_a_record_breaks_a_line_of_0_54(script: Service):
    client = Client54(script).ask("items=2 nasty=1")
    assert [each["description"] for each in client.kept.values()] == [NASTY, NASTY]
    assert [each["rating"] for each in client.kept.values()] == [None, None], "NaN is no JSON"


# Failures


def test_a_wrong_question_is_a_failure_with_status_200(site: Service):
    before = site.get("/health").json["asks"]["total"]
    for query, says in (
        ({"max_results": 101}, "query.max_results must be from 1 to 100, found 101"),
        ({"max_results": 0}, "query.max_results must be from 1 to 100, found 0"),
        ({"num_results": 1_001}, "query.num_results must be from 1 to 1000, found 1001"),
        ({"min_score": -1}, "query.min_score must be from 0 to 100, found -1"),
        ({"min_score": "high"}, "query.min_score must be an integer"),
        ({"colour": "blue"}, "query.colour is not known; there are: text, site,"),
        ({"text": 7}, "query must be a string"),
    ):
        client = Client54(site).ask("space", query)
        [only] = client.messages
        assert only["_meta"] == {"response_type": "Failure", "response_format": "conv_search", "version": "0.54"}
        assert only["error"]["code"] == "invalid_request"
        assert says in only["error"]["message"]
    assert site.get("/health").json["asks"]["total"] == before, "a caller's mistake is not counted as an answer"


@pytest.mark.parametrize(
    ("part", "value", "says"),
    [
        (
            "prefer",
            {"response_format": "xml"},
            "prefer.response_format must be conv_search or chatgpt_app, found 'xml'",
        ),
        ("prefer", {"mode": "dance"}, "mode must be list, summarize, or generate"),
        ("prefer", {"streaming": "perhaps"}, "streaming must be true or false"),
        ("meta", {"start_num": -1}, "start_num must be from 0"),
    ],
)
def test_every_part_of_a_wrong_question_is_named(site: Service, part: str, value: dict[str, Any], says: str):
    client = Client54(site).ask("space", **{part: value})
    assert client.error is not None
    assert says in client.error["message"]


def test_a_context_that_is_no_object_is_named(site: Service):
    prefer = {"response_format": "conv_search", "streaming": False}
    answer = site.post("/ask", {"query": {"text": "x"}, "context": "ctx", "prefer": prefer})
    assert (answer.status, answer.json["error"]["message"]) == (200, "context must be an object")


def test_a_question_without_words_is_a_failure(site: Service):
    client = Client54(site).ask(" ")
    assert client.messages[0]["_meta"]["response_type"] == client.meta["response_type"] == "Failure"
    assert client.error == {"code": "invalid_request", "message": "No query provided."}


def test_M02_a_pipeline_that_raises_before_any_result_is_a_failure(script: Service):
    client = Client54(script).ask("items=3 crash=1")
    assert client.meta["response_type"] == "Failure"
    assert client.error == {"code": "internal_error", "message": "Something went wrong here, not in the request"}


def test_M01_every_model_call_failing_is_told_to_a_client_of_0_54(site: Service, fake: OpenRouter):
    fake.fail(status(500))
    try:
        client = Client54(site).ask("a heist that nobody has asked about yet", prefer={"mode": "list, summarize"})
    finally:
        fake.heal()
    assert client.meta["response_type"] == "Failure" or client.codes
    assert list(client.messages[-1]) == ["_meta"]


def test_a_limit_stays_a_429_and_broken_json_a_400(script: Service):
    assert script.post("/ask", b'{"query": {').status == 400
    with scripted({"RATE_LIMIT_PER_MINUTE": "1"}) as (service, _):
        Client54(service).ask("items=1")
        assert service.post("/ask", {"query": {"text": "items=1"}, "meta": {"api_version": "0.54"}}).status == 429


# Who is answered so

OURS, THEIRS = {"Content-Type": "application/json"}, {"Accept": "text/event-stream; profile=conv_search"}


@pytest.mark.parametrize(
    ("body", "headers", "is_54"),
    [
        ({"query": "items=1"}, OURS, False),
        ({"query": {"text": "items=1"}}, OURS, False),
        ({"query": "items=1", "meta": {"api_version": "0.54"}}, OURS, False),
        ({"query": {"text": "items=1"}, "prefer": {"mode": "list"}}, OURS, False),
        ({"query": {"text": "items=1"}, "meta": {"api_version": "0.54"}}, OURS, True),
        ({"query": {"text": "items=1"}, "prefer": {"response_format": "conv_search"}}, OURS, True),
        ({"query": "items=1", "prefer": {"response_format": "chatgpt_app"}}, OURS, True),
        ({"query": "items=1"}, THEIRS, True),
    ],
)
def test_a_reply_of_0_54_is_for_those_who_ask_for_one(script: Service, body: Any, headers: dict[str, str], is_54: bool):
    answer = script.send("POST", "/ask", json.dumps(body).encode(), headers)
    first = next(line for line in answer.content.decode().split("\n") if line.startswith("data: "))
    assert ("_meta" in json.loads(first[6:])) is is_54


def test_it_may_be_asked_by_query_string_too(script: Service):
    values = {"query": '{"text": "items=1"}', "meta": '{"api_version": "0.54"}', "prefer": '{"streaming": false}'}
    whole = script.get(f"/ask?{urlencode(values)}").json
    assert [each["name"] for each in whole["results"][:1]] == ["Item 0"]


# Paging


@pytest.mark.parametrize("size", [1, 3, 7, 40])
def test_pages_by_start_num_are_the_whole_list_without_gap_or_overlap(wordy: Service, size: int):
    whole = [each["@id"] for each in Client54(wordy).ask("space story crew", {"max_results": 100}).kept.values()]
    assert len(whole) > 20
    paged: list[str] = []
    for start in range(0, len(whole) + size, size):
        page = Client54(wordy).ask("space story crew", {"max_results": size}, meta={"start_num": start})
        paged += page.kept
    assert paged == whole


@pytest.fixture(scope="module")
def here(fake: OpenRouter) -> Iterator[Here]:
    with site_here(fake) as here:
        yield here


@pytest.mark.parametrize("size", [1, 2, 4])
def test_pages_of_ranked_results_are_the_ranked_list(here: Here, size: int):
    whole = here.ask("a space story", mode="list", max_results=100).names
    assert len(whole) > 3
    pages = [here.ask("a space story", mode="list", max_results=size, start_num=n).names for n in range(0, 12, size)]
    assert [name for page in pages for name in page] == whole


# NLWeb as first published


def test_an_eventsource_of_the_first_version_draws_every_result_and_closes(site: Service):
    client = EventSource(site).ask("space story")
    assert client.closed
    assert client.drawn
    assert client.answer
    assert all({"url", "name", "site", "score", "description", "schema_object"} <= set(each) for each in client.drawn)


@pytest.mark.parametrize("query", ["items=3 crash=1", "items=3 stop=1", "items=0"])
def test_an_eventsource_is_closed_after_a_failure_too(script: Service, query: str):
    assert EventSource(script).ask(query).closed


def test_a_question_without_words_closes_an_eventsource(site: Service):
    client = EventSource(site).ask(" ")
    assert client.closed
    assert "No query provided." in client.said
