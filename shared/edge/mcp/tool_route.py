"""POST /mcp as a route of an App: tools for MCP clients, whatever revision of the protocol they speak."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from msgspec.structs import replace

from shared.edge.call import Call
from shared.edge.cors import ANY_ORIGIN, MCP_HEADERS
from shared.edge.mcp.jsonrpc import Malformed, read_message
from shared.edge.mcp.toolbox import Toolbox
from shared.edge.process import Hosted
from shared.edge.reply import Reply
from shared.edge.route import Route
from shared.errors import RequestError
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.edge.mcp.endpoint import Endpoint, Server

T = TypeVar("T")

CORS = replace(ANY_ORIGIN, request_headers=(*ANY_ORIGIN.request_headers, *MCP_HEADERS))

_HERE = {"localhost", "127.0.0.1", "::1"}


def tool_route(
    hosted: Hosted[T],
    make_server: Callable[[], Server[Any]],
    toolboxes: Callable[[T], Sequence[Toolbox]],
    settings: Settings,
    instructions: Callable[[T], str] | None = None,
) -> Route[T]:
    """The handler of POST /mcp for what an app hosts. `make_server` runs once an event loop, on its first call.

    `instructions` says what a client is told of the server, where that changes with what is hosted.
    """
    doors = _Doors(hosted, make_server)

    def post(call: Call, loaded: T) -> Reply:
        refuse_rebinding(call, settings)
        try:
            read_message(call.raw)
        except Malformed as error:
            return error.reply
        return doors.endpoint().answer(call, toolboxes(loaded), instructions(loaded) if instructions else None)

    return Route(post, raw_body=True)


def refuse_rebinding(call: Call, settings: Settings) -> None:
    """A request from this machine must name it: else a page made its own name resolve to it (DNS rebinding).

    Raises RequestError. A proxy on the same machine passes with AGENT_FINDER_SELF or TRUST_PROXY; a function on
    Google's platform has no such neighbours.
    """
    if settings.k_service or not call.client.startswith(("127.", "::/")):
        return
    host = _name(f"//{call.headers.get('host', '')}")
    if host not in _HERE | {_name(settings.self_url)}:
        raise RequestError(f"Host {host!r} is not this server: call it localhost, or set AGENT_FINDER_SELF to its URL")


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


class _Doors:
    """The endpoint of the event loop that runs: made by the first call, and anew where the loop is a new one."""

    def __init__(self, hosted: Hosted[Any], make_server: Callable[[], Server[Any]]) -> None:
        self._hosted = hosted
        self._make_server = make_server
        self._lock = threading.Lock()
        self._endpoint: Endpoint | None = None

    def endpoint(self) -> Endpoint:
        portal = self._hosted.portal
        with self._lock:
            if self._endpoint is None or self._endpoint.portal is not portal:
                from shared.edge.mcp.endpoint import Endpoint

                self._endpoint = Endpoint(portal, self._make_server())
            return self._endpoint
