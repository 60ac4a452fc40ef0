"""The root endpoint passes the sites' tools on: a site is any MCP endpoint, here the suite's server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from everything import app as site
from everything import served, serving_wsgi
from werkzeug.test import Client
from wire import free_port

from functions.mcp.service import create
from shared.edge.app import App
from shared.edge.mcp.sites import site_urls
from shared.errors import SettingsError
from shared.settings import Settings


@pytest.fixture(scope="module")
def root(tiny_bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App[Any]]:
    """The function with one site that answers and one that does not."""
    with served(site()) as url:
        urls = f"recipes={url.removesuffix('/mcp')}/, trails=http://127.0.0.1:{free_port()}"
        with rooted(tiny_bucket, tmp_path_factory.mktemp("cache"), urls) as made:
            yield made


@contextmanager
def rooted(bucket: str, cache: Path, urls: str) -> Iterator[App[Any]]:
    made = create(Settings(bucket_url=bucket, llm_provider="embedded", cache_dir=str(cache), site_urls=urls))
    with closing(made.hosted):
        assert made.hosted.wait(60)
        yield made


def ask(root: App[Any], method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    response: dict[str, Any] = json.loads(Client(root.wsgi).post("/mcp", data=json.dumps(message)).get_data())
    return response


def test_a_sites_tools_are_listed_under_its_name_beside_the_tables(root: App[Any]) -> None:
    tools = {tool["name"]: tool for tool in ask(root, "tools/list")["result"]["tools"]}
    assert {"search", "recipes_test_simple_text", "recipes_test_error_handling"} <= tools.keys()
    assert tools["recipes_test_simple_text"]["description"].startswith("[recipes] ")


def test_a_call_is_passed_on_and_its_result_comes_back_as_it_is(root: App[Any]) -> None:
    called = ask(root, "tools/call", {"name": "recipes_test_simple_text", "arguments": {}})["result"]
    assert called["content"][0]["text"] == "This is a simple text response for testing."
    failed = ask(root, "tools/call", {"name": "recipes_test_error_handling"})["result"]
    assert failed["isError"] is True
    assert failed["content"][0]["text"] == "This tool intentionally returns an error for testing"


def test_a_site_that_is_away_stands_in_the_list_and_says_so(root: App[Any]) -> None:
    tools = {tool["name"]: tool for tool in ask(root, "tools/list")["result"]["tools"]}
    assert "did not answer" in tools["trails_ask"]["description"]


def test_a_call_to_a_site_that_is_away_is_an_error_that_names_it(root: App[Any]) -> None:
    called = ask(root, "tools/call", {"name": "trails_ask", "arguments": {"query": "a lake"}})["result"]
    assert called["isError"] is True
    assert "'trails'" in called["content"][0]["text"]
    assert called["_meta"]["error"]["code"] == "site_unavailable"
    assert ask(root, "tools/call", {"name": "publishers"})["result"]["isError"] is False


def test_a_tool_that_a_site_does_not_have_is_invalid_params_and_names_the_site(root: App[Any]) -> None:
    error = ask(root, "tools/call", {"name": "recipes_guess"})["error"]
    assert error["code"] == -32602
    assert error["message"].startswith("recipes: ")


def test_a_name_of_no_site_is_an_unknown_tool(root: App[Any]) -> None:
    assert ask(root, "tools/call", {"name": "movies_ask"})["error"]["code"] == -32602


TOOLS_LISTED = {"result": {"tools": [7, {"name": "ask", "inputSchema": {"type": "object"}}, {"name": "broken"}]}}


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (502, b"<html>Bad Gateway</html>"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"result": []}'),
        (200, b'{"result": {"content": "none"}}'),
        (200, b'{"error": {"code": -32603, "message": "inside"}}'),
        (503, b'{"error": "Service is starting", "code": "starting"}'),
        (200, b"[" * 100_000),
        (200, b'{"result": {"content": [{"type": "text", "text": "' + b"a" * 5_000_000 + b'"}]}}'),
        (200, b'{"result": {"content": [{"type": "text", "text": "\\ud800"}]}}'),
        (200, b'{"result": {"content": [], "structuredContent": {"a": NaN}}}'),
    ],
)
def test_a_site_that_answers_nonsense_is_an_error_of_its_own_tools(
    tiny_bucket: str, tmp_path: Path, status: int, answer: bytes
) -> None:
    def nonsense(environ: Any, start_response: Any) -> list[bytes]:
        asked = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        start_response(f"{status} .", [("Content-Type", "application/json")])
        return [answer if asked["method"] == "tools/call" else json.dumps(TOOLS_LISTED).encode()]

    with serving_wsgi(nonsense) as port, rooted(tiny_bucket, tmp_path, f"movies=http://127.0.0.1:{port}") as root:
        names = {tool["name"] for tool in ask(root, "tools/list")["result"]["tools"]}
        assert {name for name in names if name.startswith("movies")} == {"movies_ask"}
        called = ask(root, "tools/call", {"name": "movies_ask", "arguments": {}})["result"]
        assert called["isError"] is True
        assert "movies" in called["content"][0]["text"]
        assert "search" in names


@pytest.mark.parametrize(
    "wrong",
    ["recipes", "recipes=", "recipes=ftp://example.org", "Recipes=http://a", "a_b=http://a", "a=http://a,a=http://b", "a=http://[::1",
     "a=http://", "a=http://b:99999", "a=http://b c", "a=http://b..c"],
)  # fmt: skip
def test_a_setting_that_names_no_site_is_refused_at_start(wrong: str) -> None:
    with pytest.raises(SettingsError, match="SITE_URLS"):
        site_urls(Settings(site_urls=wrong))


def test_a_site_may_be_named_by_its_address_or_by_its_endpoint() -> None:
    given = Settings(site_urls="a=https://example.org/sites/a/, b=https://example.org/b/mcp")
    assert site_urls(given) == {"a": "https://example.org/sites/a/mcp", "b": "https://example.org/b/mcp"}
