"""Real clients against the demo: the official Python one in both eras, and the inspector."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from mcp.client import Client
from node import INSPECTOR, needs_node, node
from wire import Service

CALLS: dict[str, dict[str, Any]] = {
    "search": {"query": "life expectancy in Japan", "pageSize": 2},
    "variable": {"id": "LifeExpectancy_Person"},
    "variables": {"populationType": "Person", "measuredProperty": "count", "statType": "measuredValue"},
    "entry": {"id": "sources/worldbank/_access.md"},
    "publishers": {},
}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_lists_and_calls_every_tool(demo_gateway: Service, mode: Any) -> None:
    """It checks each structured result against the schema that its tool declares."""

    async def run() -> None:
        async with Client(f"{demo_gateway.url}/mcp", mode=mode) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == CALLS.keys()
            for name, arguments in CALLS.items():
                result = await client.call_tool(name, arguments)
                assert not result.is_error, result
                assert result.structured_content
            wrong = await client.call_tool("search", {"query": "rain", "sources": ["nowhere"]})
            assert wrong.is_error

    anyio.run(run)


def inspect(url: str, *arguments: str) -> dict[str, Any]:
    done = node(INSPECTOR, "--cli", f"{url}/mcp", "--transport", "http", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@needs_node
def test_the_inspector_lists_and_calls_every_tool(demo_gateway: Service) -> None:
    listed = inspect(demo_gateway.url, "--method", "tools/list")
    assert {tool["name"] for tool in listed["tools"]} == CALLS.keys()
    for name, arguments in CALLS.items():
        given = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={value}")]
        called = inspect(demo_gateway.url, "--method", "tools/call", "--tool-name", name, *given)
        assert not called.get("isError"), called
        assert called["structuredContent"]
