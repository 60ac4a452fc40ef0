"""POST /mcp on the wire: both eras on one URL, the replies Accept asks for, and the same answers as the routes."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from rpc import STATELESS, call, request, send, stateless
from wire import ROOT, Service

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS = {"search", "variable", "variables", "entry", "publishers"}
HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
RAINFALL = "sources/datacommons/mean-rainfall.md"
EVENTS = {"Accept": "application/json, text/event-stream"}


def result(answer: Any) -> dict[str, Any]:
    assert answer.status == 200, answer.content
    found: dict[str, Any] = json.loads(answer.content)["result"]
    return found


@pytest.mark.parametrize("version", HANDSHAKES)
def test_a_handshake_of_any_revision_is_answered_in_it(gateway: Service, version: str) -> None:
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    said = result(send(gateway, request("initialize", hello)))
    assert said["protocolVersion"] == version
    assert said["serverInfo"] == {"name": "askbucket", "version": PROJECT["version"]}
    assert set(said["capabilities"]) == {"tools"}
    listed = result(send(gateway, request("tools/list"), {"MCP-Protocol-Version": version}))
    assert {tool["name"] for tool in listed["tools"]} == TOOLS


def test_a_handshake_in_a_revision_of_the_future_is_answered_in_one_we_have(gateway: Service) -> None:
    hello = {"protocolVersion": "2031-01-01", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    assert result(send(gateway, request("initialize", hello)))["protocolVersion"] in HANDSHAKES


def test_the_stateless_revision_is_discovered_listed_and_called_without_a_handshake(gateway: Service) -> None:
    assert STATELESS in result(send(gateway, *stateless("server/discover")))["supportedVersions"]
    listed = result(send(gateway, *stateless("tools/list")))
    assert {tool["name"] for tool in listed["tools"]} == TOOLS
    assert listed["ttlMs"] > 0
    called = result(send(gateway, *stateless("tools/call", {"name": "publishers", "arguments": {}})))
    assert called["structuredContent"]["total"] == len(called["structuredContent"]["publishers"])


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "application/json, text/plain, */*", "text/html"])
def test_without_a_wish_for_events_the_reply_is_json(gateway: Service, accept: str | None) -> None:
    answer = send(gateway, request("ping"), {"Accept": accept} if accept else None)
    assert answer.headers["Content-Type"].startswith("application/json")
    assert json.loads(answer.content) == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("accept", ["application/json, text/event-stream", "text/event-stream"])
def test_a_client_that_wants_events_gets_the_same_reply_as_an_event(gateway: Service, accept: str) -> None:
    answer = send(gateway, request("tools/call", {"name": "publishers"}), {"Accept": accept})
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    [data] = [line for line in answer.content.decode().splitlines() if line.startswith("data: ")]
    assert json.loads(data[6:]) == call(gateway, "publishers", {})


def test_a_trailing_slash_answers_the_same_and_does_not_redirect(gateway: Service) -> None:
    assert result(send(gateway, request("ping"), path="/mcp/")) == {}


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
def test_other_methods_are_refused_in_json(gateway: Service, method: str) -> None:
    answer = gateway.send(method, "/mcp", headers=EVENTS)
    assert answer.status == 405
    assert answer.headers["Allow"] == "POST, OPTIONS"
    assert method == "HEAD" or answer.json["code"] == "method_not_allowed"


def test_a_page_of_any_origin_may_send_the_headers_of_the_protocol(gateway: Service) -> None:
    answer = gateway.send("OPTIONS", "/mcp", headers={"Origin": "https://example.org"})
    assert answer.status == 204
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    allowed = {name.strip().lower() for name in answer.headers["Access-Control-Allow-Headers"].split(",")}
    assert {"content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"} <= allowed


def test_a_search_answers_the_envelope_of_the_search_route(gateway: Service) -> None:
    asked = {"query": "average rainfall in Kenya", "pageSize": 2, "sources": ["datacommons", "worldbank"]}
    called = call(gateway, "search", asked)["result"]
    by_route = gateway.post("/ask", asked).json
    assert called["isError"] is False
    assert called["structuredContent"].keys() == by_route.keys()
    assert called["structuredContent"]["results"] == by_route["results"]
    assert by_route["results"][0]["identifier"] in called["content"][0]["text"]


def test_a_search_that_finds_nothing_is_an_answer_and_says_why(gateway: Service) -> None:
    called = call(gateway, "search", {"query": "recipes with saffron", "sources": ["census"]})["result"]
    assert called["isError"] is False
    assert called["structuredContent"]["eligibility"]["status"] == "no_match"
    assert "No published table matches" in called["content"][0]["text"]


@pytest.mark.parametrize(
    ("tool", "arguments", "path"),
    [
        ("variable", {"id": "Mean_Rainfall"}, "/variable?id=Mean_Rainfall"),
        ("publishers", {}, "/publishers"),
        ("entry", {"id": RAINFALL}, f"/agents/entry?id={RAINFALL}"),
        (
            "variables",
            {"populationType": "Person", "measuredProperty": "count", "statType": "measuredValue", "constraints": []},
            "/variables?populationType=Person&measuredProperty=count&statType=measuredValue&constraints=",
        ),
    ],
)  # fmt: skip
def test_a_tool_answers_what_its_route_does(gateway: Service, tool: str, arguments: dict[str, Any], path: str) -> None:
    assert call(gateway, tool, arguments)["result"]["structuredContent"] == gateway.get(path).json


@pytest.mark.parametrize("size", [-1, 0, 1, 100, 101, "10", 10**9, True, "many", 1.5])
def test_Q08_a_page_size_is_clamped_or_refused_as_the_routes_do(gateway: Service, size: Any) -> None:
    called = call(gateway, "search", {"query": "rainfall", "pageSize": size})
    posted = gateway.post("/search", {"query": {"text": "rainfall"}, "pageSize": size})
    if posted.status == 400:
        assert called["error"]["code"] == -32602
        assert called["error"]["message"] == posted.json["error"]
        return
    found = called["result"]["structuredContent"]
    assert found["notices"] == posted.json["notices"]
    assert [each["identifier"] for each in found["results"]] == [each["identifier"] for each in posted.json["results"]]


def test_an_unknown_name_is_a_result_that_names_the_valid_ones(gateway: Service) -> None:
    called = call(gateway, "search", {"query": "rainfall", "sources": ["nowhere"]})["result"]
    assert called["isError"] is True
    assert "structuredContent" not in called
    assert "datacommons" in called["content"][0]["text"]
    assert called["_meta"]["error"]["valid"] == ["census", "datacommons", "worldbank"]


def test_an_entry_that_is_not_there_is_a_result_that_says_so(gateway: Service) -> None:
    called = call(gateway, "entry", {"id": "urn:air:example.org:okf:a.b"})["result"]
    assert called["isError"] is True
    assert called["_meta"]["error"]["code"] == "not_found"


def test_wrong_arguments_and_unknown_tools_are_invalid_params(gateway: Service) -> None:
    assert call(gateway, "search", {"query": "x" * 401})["error"]["code"] == -32602
    unknown = call(gateway, "guess", {})["error"]
    assert unknown["code"] == -32602
    assert all(name in unknown["message"] for name in TOOLS)


@pytest.mark.parametrize(
    ("tool", "good"),
    [("search", {"query": "rainfall"}), ("variable", {"id": "Mean_Rainfall"}), ("entry", {"id": RAINFALL}),
     ("variables", {"populationType": "Person", "measuredProperty": "count", "statType": "measuredValue"})],
)  # fmt: skip
@pytest.mark.parametrize("unknown", ["pagesize", "limit", "k", "q", "catalogs", "x" * 500])
def test_an_argument_that_the_schema_does_not_name_is_refused_with_those_it_does(
    gateway: Service, tool: str, good: dict[str, Any], unknown: str
) -> None:
    """A misspelled one that is passed over would be answered as if it had been meant otherwise."""
    error = call(gateway, tool, {**good, unknown: 3})["error"]
    assert error["code"] == -32602
    assert error["message"].startswith(f"unknown argument {unknown[:64]!r}; {tool} takes ")
    assert all(name in error["message"] for name in good)
    assert len(error["message"]) < 250


def test_a_tool_without_arguments_says_so(gateway: Service) -> None:
    error = call(gateway, "publishers", {"page": 2})["error"]
    assert (error["code"], error["message"]) == (-32602, "unknown argument 'page'; publishers takes none")
