"""Sites as they are served: the function alone, all of them behind one port, the command, and MCP."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from building import build_tiny
from fakes.openrouter import KEY, OpenRouter, content, stall
from rpc import request, send
from stream_reader import SCRIPTED, reading, types, until
from wire import ROOT, Service, deployed, function, ready_url, running, serving

from cli.main import main

NO_MODEL = {"LLM_PROVIDER": "none"}
TRAILS = ROOT / "demo" / "items" / "trails.jsonl"
RECIPES = ROOT / "demo" / "items" / "recipes.jsonl"


def build(kind: str, items: Path, bucket: str) -> None:
    assert (
        main(["build", "items", "--site", kind, "--items", str(items), "--bucket", bucket, "--embedder", "embedded"])
        == 0
    )


@pytest.fixture(scope="module")
def sites_bucket(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A bucket with two sites and no tables."""
    bucket = tmp_path_factory.mktemp("sites").as_uri()
    build("trails", TRAILS, bucket)
    build("recipes", RECIPES, bucket)
    return bucket


@pytest.fixture(scope="module")
def sites(sites_bucket: str) -> Iterator[Service]:
    """Everything that bucket has, behind one port, without a chat model."""
    with serving(sites_bucket, NO_MODEL) as service:
        yield service


def read(service: Service, path: str, **values: str) -> list[dict[str, Any]]:
    """A stream's messages from a path of the gateway."""
    answer = service.get(f"{path}?{urlencode(values)}")
    assert answer.status == 200, answer.content
    assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    return [json.loads(line[6:]) for line in answer.content.decode("ascii").split("\n") if line.startswith("data: ")]


def names(events: list[dict[str, Any]], message_type: str = "result") -> list[str]:
    return [event["content"][0]["name"] for event in events if event["message_type"] == message_type]


# Behind one port


def test_every_site_with_a_release_is_served_under_its_kind(sites: Service):
    for kind, query in (("trails", "waterfall"), ("recipes", "soup")):
        events = read(sites, f"/sites/{kind}/ask", query=query, mode="list")
        assert types(events)[0] == "begin-nlweb-response"
        assert types(events)[-3:] == ["usage", "complete", "end-nlweb-response"]
        assert names(events)
        assert {e["content"][0]["site"] for e in events if e["message_type"] == "result"} == set(
            sites.get(f"/sites/{kind}/health").json["sites"]
        )


def test_of_a_question_that_is_longer_than_is_read_that_is_said_and_its_beginning_holds(sites: Service):
    events = read(sites, "/sites/trails/ask", query="easy walks under 5 km " + "with a view " * 60, mode="list")
    [said] = [
        notice for event in events if event["message_type"] == "usage" for notice in event["content"]["notices"]
        if notice["code"] == "constraints_unread"
    ]  # fmt: skip
    assert said["reason"] == "question_too_long"
    [stated] = [event["content"] for event in events if event["message_type"] == "restrictions"]
    assert {each["field"] for each in stated["constraints"]} >= {"difficulty", "length_km"}


def test_of_a_director_whom_nothing_here_names_that_is_said(demo_gateway: Service):
    events = read(demo_gateway, "/sites/movies/ask", query="a musical not directed by Stanley Donen", mode="list")
    [said] = [
        notice for event in events if event["message_type"] == "usage" for notice in event["content"]["notices"]
        if notice["code"] == "constraints_unread"
    ]  # fmt: skip
    assert (said["reason"], said["texts"]) == ("name_unknown", ["not directed by Stanley Donen"])
    [stated] = [event["content"] for event in events if event["message_type"] == "restrictions"]
    assert [each["value"] for each in stated["constraints"]] == ["musical"]


def test_a_site_answers_at_a_trailing_slash_too(sites: Service):
    assert names(read(sites, "/sites/trails/ask/", query="waterfall"))


@pytest.mark.parametrize("path", ["/sites/homes/ask", "/sites/trails", "/sites//ask", "/sites/trails/nothing"])
def test_what_is_no_site_is_a_404_in_json(sites: Service, path: str):
    answer = sites.get(path)
    assert (answer.status, answer.json["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/sites/movies/ask", "/sites/nothing/ask", "/sites/movies", "/sites//who"])
def test_a_site_that_is_not_there_is_a_404_that_names_those_that_are(sites: Service, path: str):
    for answer in (sites.get(path), sites.post(path, {"query": "x"})):
        assert (answer.status, answer.json["code"]) == (404, "not_found")
        assert "recipes, trails" in answer.json["error"]
        assert answer.json["requestId"] == answer.headers["X-Request-Id"]


def test_where_no_site_is_served_that_is_said(tiny_bucket: str):
    with serving(tiny_bucket, NO_MODEL) as service:
        answer = service.get("/sites/movies/ask?query=x")
    assert (answer.status, answer.json["error"]) == (404, "No site 'movies' here: no site is served")


def test_health_of_a_site_is_what_the_wake_page_reads(sites: Service):
    health = sites.get("/sites/trails/health")
    assert (health.status, health.json["status"]) == (200, "ok")
    body = health.json
    assert body["items"] == body["collections"]["trails"] == body["corpus"]["items"] > 50
    assert body["sites"] == ["demo-trails"]
    assert body["corpus"]["snapshot_id"] == body["release"]
    assert body["embedding_cache_hit"] is True
    assert set(body["sources"]) == {
        "last_check", "last_change", "checks", "rebuilds", "sources", "refreshed", "failures",
    }  # fmt: skip


def test_a_bucket_with_sites_alone_is_healthy_and_has_no_tables(sites: Service):
    assert sites.get("/health").status == 200
    assert sites.post("/search", {"query": {"text": "rent"}}).status == 404
    assert sites.get("/stats.json").status == 200


def test_one_bucket_may_have_both_tables_and_sites(tmp_path: Path):
    bucket = build_tiny(tmp_path)
    build("trails", TRAILS, bucket)
    with serving(bucket, NO_MODEL) as service:
        assert service.get("/health").json["entries"] == 15
        assert service.post("/search", {"query": {"text": "income"}, "rerank": False}).json["results"]
        assert names(read(service, "/sites/trails/ask", query="waterfall"))


def test_serve_lists_the_sites_under_the_address(sites_bucket: str):
    command = [sys.executable, "-m", "cli.main", "serve", "--bucket", sites_bucket, "--port", "0", "--only", "ask_site"]
    with running(command, NO_MODEL) as (process, log):
        url = ready_url(process, log)
        assert process.stdout
        said = [process.stdout.readline().split() for _ in range(2)]
    assert said == [["recipes:", f"{url}/sites/recipes/ask"], ["trails:", f"{url}/sites/trails/ask"]]


def test_serve_refuses_to_serve_only_sites_where_there_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["serve", "--bucket", tmp_path.as_uri(), "--port", "0", "--only", "ask_site"]) == 1
    assert "no site has a release" in capsys.readouterr().err


# Parameters that only a site knows


def test_a_ranking_model_nobody_lists_is_refused_with_those_there_are(sites: Service):
    answer = sites.get("/sites/trails/ask?query=x&ranking_model=a%2Fb")
    assert (answer.status, answer.json["code"]) == (400, "unknown_name")
    assert "openai/gpt-oss-20b" in answer.json["valid"]


def test_a_ranking_model_that_cannot_be_had_is_said_in_the_stream(sites: Service):
    events = read(sites, "/sites/trails/ask", query="waterfall", mode="list", ranking_model="openai/gpt-oss-20b")
    assert names(events)
    said = [
        notice["code"] for event in events if event["message_type"] == "usage" for notice in event["content"]["notices"]
    ]
    assert "ranking_model_ignored" in said


def test_usage_names_the_stream_it_belongs_to(sites: Service):
    for given in ({}, {"query_id": "q-9"}):
        events = read(sites, "/sites/trails/ask", query="waterfall", mode="list", **given)
        [used] = [event for event in events if event["message_type"] == "usage"]
        assert (
            {event["query_id"] for event in events}
            == {used["content"]["query_id"]}
            == set(given.values() or [used["query_id"]])
        )
    whole = sites.get("/sites/trails/ask?query=waterfall&mode=list&streaming=false").json
    assert whole["usage"]["query_id"] == whole["query_id"] != ""


def test_what_sites_are_asked_counts_by_site_and_so_do_calls_of_their_tool(sites_bucket: str):
    with serving(sites_bucket, {"LLM_PROVIDER": "embedded"}) as service:
        for _ in range(2):
            assert service.get("/sites/trails/ask?query=waterfall&mode=list").status == 200
        assert service.get("/sites/recipes/ask?query=soup&streaming=false").status == 200
        assert service.get("/sites/recipes/ask?query=soup&mode=sing").status == 400
        assert rpc(service, "tools/call", name="ask", arguments={"query": "waterfall", "mode": "list"})["result"]
        told = service.get("/stats.json").json
    assert {kind: each["asks"] for kind, each in told["total"]["sites"].items()} == {"recipes": 1, "trails": 3}
    assert told["total"]["sites"]["trails"]["latency_seconds"]["median"] > 0
    assert sum(each["calls"] for each in told["models"].values()) >= 4, "the question was embedded each time"
    assert all(each["latency_seconds"]["median"] is not None for each in told["models"].values())
    assert told["total"]["searches"] == 0


def test_limits_of_one_site_are_not_anothers(sites_bucket: str):
    with serving(sites_bucket, {**NO_MODEL, "RATE_LIMIT_PER_MINUTE": "1"}) as service:
        assert [service.get("/sites/trails/ask?query=x").status for _ in range(2)] == [200, 429]
        assert service.get("/sites/recipes/ask?query=x").status == 200


# The function alone


def test_the_function_alone_serves_the_site_that_SITE_names(sites_bucket: str):
    with function("ask_site", {**NO_MODEL, "BUCKET_URL": sites_bucket, "SITE": "trails"}) as service:
        assert service.until_ready().json["collections"].keys() == {"trails"}
        with reading(service, "waterfall", mode="list") as stream:
            assert names(list(stream.events()))
        assert service.send("HEAD", "/ask?query=x").status == 200


@pytest.mark.parametrize("site", ["", "nothing"])
def test_a_function_without_a_site_stops_and_says_which_there_are(sites_bucket: str, site: str):
    command, env = deployed("ask_site")
    environ = {**env, **NO_MODEL, "BUCKET_URL": sites_bucket, "SITE": site, "PORT": "0"}
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "expected one of recipes, movies, reviews, trails, homes" in done.stderr


def test_a_site_without_a_release_keeps_its_port_open_and_says_so(sites_bucket: str):
    with function("ask_site", {**NO_MODEL, "BUCKET_URL": sites_bucket, "SITE": "homes"}) as service:
        health = service.until_ready()
        assert (health.status, health.json["code"]) == (503, "release_missing")
        assert service.get("/ask?query=x").status == 503


def test_M09_a_site_told_to_use_the_gateway_without_its_key_serves_and_says_so(sites_bucket: str):
    settings = {"LLM_PROVIDER": "openrouter", "BUCKET_URL": sites_bucket, "SITE": "trails"}
    with function("ask_site", settings) as service:
        assert service.until_ready().status == 200
        with reading(service, "waterfall", mode="list") as stream:
            events = list(stream.events())
    assert names(events)
    assert "No language model is configured; results use retrieval scores." in [
        event["content"] for event in events if event["message_type"] == "intermediate_message"
    ]


# With a chat model


@pytest.fixture(scope="module")
def fake() -> Iterator[OpenRouter]:
    with OpenRouter(key=KEY) as fake:
        yield fake


@pytest.fixture(scope="module")
def chatting(sites_bucket: str, fake: OpenRouter) -> Iterator[Service]:
    gateway = {"OPENROUTER_API_KEY": KEY, "OPENROUTER_BASE_URL": fake.url, "LLM_BREAKER_FAILURES": "0"}
    with function("ask_site", {**gateway, "BUCKET_URL": sites_bucket, "SITE": "trails"}) as service:
        assert service.until_ready().status == 200
        yield service


def test_with_a_chat_model_each_result_was_a_candidate_first(chatting: Service):
    with reading(chatting, "a waterfall walk for my dog") as stream:
        events = list(stream.events())
    assert set(names(events)) <= set(names(events, "candidate"))
    assert names(events)
    assert "nlws" in types(events)


def test_T01_a_reader_who_leaves_takes_the_model_calls_with_it(chatting: Service, fake: OpenRouter):
    fake.fail(stall(60), when=lambda seen: seen.is_chat)
    before = len(fake.seen)
    try:
        with reading(chatting, "a waterfall walk") as stream:
            next(stream.events())
            until(lambda: [seen for seen in fake.seen[before:] if seen.is_chat], len)
        until(lambda: [s.abandoned for s in fake.seen[before:] if s.is_chat], lambda left: left and all(left), 1.5)
    finally:
        fake.heal()
    calls = len(fake.seen)
    assert chatting.get("/health").status == 200
    assert len(fake.seen) == calls


# Beside searches


def test_T08_twenty_searches_wait_for_none_of_twenty_streams(tiny_bucket: str):
    command = [sys.executable, "-m", "tests.fakes.scripted.gateway"]
    settings = {**SCRIPTED, "BUCKET_URL": tiny_bucket, "LLM_PROVIDER": "none", "MAX_CONCURRENT": "20"}
    with running(command, settings) as (process, log), ExitStack() as held:
        service = Service(ready_url(process, log), log)
        streams = [held.enter_context(stream_of(service)) for _ in range(20)]
        reads = [stream.events() for stream in streams]
        for events in reads:
            next(events)
        with ThreadPoolExecutor(20) as threads:
            answers = list(threads.map(lambda _: service.post("/search", {"query": {"text": "income"}}), range(20)))
        assert [answer.status for answer in answers] == [200] * 20
        for events in reads:
            next(events)
        assert not any(stream.ended for stream in streams), "every stream is still under way"


def stream_of(service: Service) -> Any:
    return reading(service, "items=1000 pause=0.5", path="/sites/recipes/ask")


# The command


def test_the_command_prints_cards_as_they_arrive_from_a_service(sites: Service, capsys: pytest.CaptureFixture[str]):
    assert main(["ask", "trails", "waterfall", "walk", "--url", sites.url, "--max-results", "3"]) == 0
    said = capsys.readouterr().out.splitlines()
    provisional = [line for line in said if line.startswith("  + ")]
    assert len(provisional) == 3
    assert said.index(provisional[-1]) < next(i for i, line in enumerate(said) if line.startswith("  1. "))
    assert any("https://example.org/" in line for line in said)


def test_the_command_asks_in_this_process_over_a_bucket(
    sites_bucket: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("LLM_PROVIDER", "none")
    assert main(["ask", "trails", "waterfall", "--bucket", sites_bucket, "--json"]) == 0
    messages = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert types(messages)[-1] == "end-nlweb-response"
    assert names(messages)
    assert {message["query_id"] for message in messages} == {messages[-3]["content"]["query_id"]}


def test_the_command_says_what_is_wrong(sites: Service, sites_bucket: str, capsys: pytest.CaptureFixture[str]):
    assert main(["ask", "nothing", "x", "--bucket", sites_bucket]) == 1
    assert main(["ask", "trails", "x", "--url", sites.url, "--model", "a/b"]) == 1
    assert main(["ask", "homes", "x", "--url", sites.url]) == 1
    said = capsys.readouterr().err.splitlines()
    assert ["expected one of recipes" in said[0], "a/b" in said[1], "recipes, trails" in said[2]] == [True] * 3


# MCP


def rpc(service: Service, method: str, **params: Any) -> dict[str, Any]:
    response: dict[str, Any] = json.loads(send(service, request(method, params), path="/sites/trails/mcp").content)
    return response


def test_a_sites_tools_are_ask_and_list_sites(sites: Service):
    tools = {tool["name"]: tool for tool in rpc(sites, "tools/list")["result"]["tools"]}
    assert set(tools) == {"ask", "list_sites"}
    assert tools["ask"]["inputSchema"]["required"] == ["query"]


def test_list_sites_says_what_there_is(sites: Service):
    found = rpc(sites, "tools/call", name="list_sites", arguments={})["result"]["structuredContent"]
    assert (found["sites"], found["ranking_models"], found["default_ranking_model"]) == (["demo-trails"], [], None)
    assert found["items"] > 50


def test_list_sites_names_the_ranking_models_where_one_can_be_chosen(chatting: Service):
    message = request("tools/call", {"name": "list_sites", "arguments": {}})
    found = json.loads(send(chatting, message).content)["result"]["structuredContent"]
    assert found["default_ranking_model"] in {model["id"] for model in found["ranking_models"]}


def test_no_results_asked_for_is_ten_of_the_tool_and_a_mistake_at_the_route(sites: Service):
    for most in (0, None):
        arguments = {"query": "trail", "mode": "list", "max_results": most}
        reply = rpc(sites, "tools/call", name="ask", arguments=arguments)["result"]["structuredContent"]
        assert len(reply["items"]) == 10
    refused = sites.get("/sites/trails/ask?query=trail&max_results=0")
    assert (refused.status, refused.json["error"]) == (400, "max_results must be from 1 to 200, found 0")


def test_the_tool_drains_an_answer_into_one_object(sites: Service):
    result = rpc(sites, "tools/call", name="ask", arguments={"query": "waterfall", "mode": "list", "max_results": 0})
    reply = result["result"]["structuredContent"]
    assert (reply["query"], reply["effective_query"]) == ("waterfall", "waterfall")
    assert all(item["schema_object"] for item in reply["items"])
    assert "No language model is configured; results use retrieval scores." in reply["notices"]
    assert "answer" not in reply
    assert json.loads(result["result"]["content"][0]["text"]) == reply


def test_M03_half_characters_of_a_model_do_not_end_the_tools_reply(chatting: Service, fake: OpenRouter):
    halves = '{"results": [{"i": 0, "m": "strong", "why": "a\\ud83d b"}], "summary": "c\\ud83d d"}'
    fake.fail(content(halves), when=lambda seen: seen.is_chat)
    message = request("tools/call", {"name": "ask", "arguments": {"query": "waterfall"}})
    answer = send(chatting, message)
    fake.heal()
    reply = json.loads(answer.content)["result"]["structuredContent"]
    assert reply["answer"] == "c d"
    assert {item["description"] for item in reply["items"]} == {"A b"}


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": ""},
        {"query": "x", "mode": "y"},
        {"query": "x", "min_score": 3},
        {"query": "x", "max_results": False},
        {"query": "x", "max_results": -1},
    ],
)
def test_arguments_that_are_wrong_are_the_callers_mistake(sites: Service, arguments: dict[str, Any]):
    assert rpc(sites, "tools/call", name="ask", arguments=arguments)["error"]["code"] == -32602


def test_a_call_of_the_tool_counts_like_an_ask_and_listing_does_not(sites_bucket: str):
    with serving(sites_bucket, {**NO_MODEL, "RATE_LIMIT_PER_MINUTE": "1"}) as service:
        for _ in range(3):
            assert "result" in rpc(service, "tools/list")
        assert not rpc(service, "tools/call", name="ask", arguments={"query": "x"})["result"]["isError"]
        refused = rpc(service, "tools/call", name="ask", arguments={"query": "x"})["result"]
        assert refused["isError"]
        assert "Rate limit exceeded" in refused["content"][0]["text"]


def test_the_tables_endpoint_forwards_a_sites_tools(sites: Service, tiny_bucket: str):
    forwarding = {**NO_MODEL, "BUCKET_URL": tiny_bucket, "SITE_URLS": f"trails={sites.url}/sites/trails"}
    with function("mcp", forwarding) as service:
        assert service.until_ready().status == 200
        listed = json.loads(send(service, request("tools/list")).content)["result"]["tools"]
        assert {"trails_ask", "trails_list_sites"} <= {tool["name"] for tool in listed}
        message = request("tools/call", {"name": "trails_ask", "arguments": {"query": "waterfall"}})
        assert json.loads(send(service, message).content)["result"]["structuredContent"]["items"]
