"""Speaking JSON-RPC to a running /mcp, in the words of both eras."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from wire import Answer, Service

STATELESS = "2026-07-28"
_META = "io.modelcontextprotocol"


def request(method: str, params: Mapping[str, Any] | None = None, id: Any = 1) -> dict[str, Any]:
    """A request of the handshake era, which needs no handshake here."""
    return {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": dict(params)})}


def stateless(method: str, params: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, str]]:
    """A request of the stateless revision, and its headers."""
    client = {"name": "tests", "version": "1"}
    meta = {f"{_META}/protocolVersion": STATELESS, f"{_META}/clientInfo": client, f"{_META}/clientCapabilities": {}}
    given = dict(params or {})
    headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method}
    if "name" in given:
        headers["Mcp-Name"] = given["name"]
    return request(method, {**given, "_meta": meta}), headers


def send(service: Service, message: object, headers: Mapping[str, str] | None = None, path: str = "/mcp") -> Answer:
    """POST a message: bytes as they are, anything else as JSON."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return service.send("POST", path, body, headers)


def call(service: Service, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON-RPC response to a tool call."""
    response: dict[str, Any] = json.loads(
        send(service, request("tools/call", {"name": tool, "arguments": dict(arguments)})).content
    )
    return response
