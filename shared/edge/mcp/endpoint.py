"""The official MCP library, served without its web server: one endpoint on a process's event loop.

One URL speaks the stateless revision (2026-07-28) and those that begin with a handshake. A first call
takes 0.7-0.9 s, nearly all of it the library's import, so this module is imported by that call (tool_route.py)
and by nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from shared.edge import log
from shared.edge.mcp.jsonrpc import INVALID_PARAMS
from shared.edge.mcp.toolbox import BadArguments, Json, Toolbox, failed
from shared.edge.reply import Reply
from shared.errors import AskbucketError, Unavailable, error_body

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from shared.edge.call import Call

__all__ = ["Endpoint", "Server", "tool_server"]

Context = ServerRequestContext[Any, Any]
Message = MutableMapping[str, Any]

logger = logging.getLogger(__name__)

_JSON, _EVENTS = "application/json", "text/event-stream"
# A list of tools changes with a deployment, or with a site's.
_LISTED_MS = 300_000
_ASKED = "askbucket.asked"


class Asked:
    """One request on its way through the library: what the tools need, and what they leave for the log."""

    def __init__(self, call: Call, toolboxes: Sequence[Toolbox]) -> None:
        self.call = call
        self.toolboxes = toolboxes
        self.said: Mapping[str, Any] = {}


class Endpoint:
    """A server on an event loop, for as long as that runs. Safe between threads."""

    def __init__(self, portal: BlockingPortal, server: Server[Any]) -> None:
        self.portal = portal
        self._server = server
        self._managers = {as_events: self._manager(as_events) for as_events in (False, True)}

    def _manager(self, as_events: bool) -> StreamableHTTPSessionManager:
        """Keeps nothing between requests, so any instance can answer any of them."""
        made = self.portal.call(
            lambda: StreamableHTTPSessionManager(self._server, stateless=True, json_response=not as_events)
        )
        self.portal.wrap_async_context_manager(made.run()).__enter__()  # ends with the loop
        return made

    def answer(self, call: Call, toolboxes: Sequence[Toolbox] = (), instructions: str | None = None) -> Reply:
        """The reply to one POST. Blocks until it is complete: nothing of it runs on after that, whoever left.

        `instructions` take the place of those the server was made with, from here on.
        """
        if instructions is not None:
            self._server.instructions = instructions  # the library keeps one text for all requests
        asked = Asked(call, toolboxes)
        return self.portal.call(self._exchange, asked)

    async def _exchange(self, asked: Asked) -> Reply:
        """The library is an ASGI application: give it the request, gather what it sends."""
        accept = asked.call.headers.get("accept", "").lower()
        as_events = _EVENTS in accept
        sent: list[Message] = []
        body = [{"type": "http.request", "body": asked.call.raw, "more_body": False}]

        async def receive() -> Message:
            if not body:
                await anyio.sleep_forever()  # the client stays; who waits for its leaving is cancelled at the end
            return body.pop()

        async def send(message: Message) -> None:
            sent.append(message)

        await self._managers[as_events].handle_request(_scope(asked, as_events), receive, send)
        return _reply(sent, asked.said)


def tool_server(name: str, version: str, instructions: str | None = None) -> Server[Any]:
    """A server of the toolboxes that each request brings along."""

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        del params
        asked = _asked(ctx)
        found = [tool for box in asked.toolboxes for tool in await box.listed(asked.call)]
        return types.ListToolsResult(tools=[tool for each in found if (tool := _readable(each))])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        asked = _asked(ctx)
        result = await _called(asked, params.name, params.arguments or {})
        try:
            return types.CallToolResult.model_validate(result)
        except ValidationError:  # another endpoint's: ours are made here
            unread = Unavailable(f"{params.name!r} answered with what is no tool's result")
            return types.CallToolResult.model_validate(failed(unread, asked.call.request_id))

    hint = CacheHint(ttl_ms=_LISTED_MS, scope="public")
    return Server(
        name,
        version=version,
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        cache_hints={"tools/list": hint, "server/discover": hint},
    )


def _readable(tool: Json) -> types.Tool | None:
    """A tool as the library has it. Another endpoint's that is none is left out, and the log says so."""
    try:
        return types.Tool.model_validate(tool)
    except ValidationError as error:
        logger.warning("tool %r left out: %d faults in its description", tool.get("name"), error.error_count())
        return None


def _asked(ctx: Context) -> Asked:
    """What came along with the request that a handler is called for."""
    request: Any = ctx.request
    asked: Asked = request.scope[_ASKED]
    return asked


async def _called(asked: Asked, name: str, arguments: Mapping[str, Any]) -> Json:
    """A tool's result, or what failed as one. Raises MCPError for what the caller got wrong."""
    try:
        for box in asked.toolboxes:
            result = await box.called(name, arguments, asked.call)
            if result is not None:
                asked.said = _said(result.get("structuredContent"))
                return result
    except BadArguments as error:
        raise MCPError(INVALID_PARAMS, error.message, error_body(error, asked.call.request_id)) from error
    except AskbucketError as error:
        asked.said = {} if error.usage is None else {"usage": error.usage}
        return failed(error, asked.call.request_id)
    except Exception as error:  # noqa: BLE001 - the library would show the caller its text
        log.crash(error, asked.call.request_id)
        return failed(AskbucketError("Something went wrong here, not in the request"), asked.call.request_id)
    names = [tool["name"] for box in asked.toolboxes for tool in await box.listed(asked.call)]
    raise MCPError(INVALID_PARAMS, f"Unknown tool {name[:64]!r}; there are: {', '.join(names)}")


def _said(reply: object) -> Mapping[str, Any]:
    """What the log and the counters read of a reply. A site's notices are sentences; its usage has the typed ones."""
    given = reply if isinstance(reply, Mapping) else {}
    said = {key: given[key] for key in ("usage", "notices", "eligibility") if key in given}
    if any(isinstance(each, str) for each in said.get("notices", ())):
        said["notices"] = given.get("usage", {}).get("notices", ())
    return said


def _scope(asked: Asked, as_events: bool) -> Message:
    """The request as ASGI has it.

    Clients that send no Accept, or `*/*`, get JSON; the library would refuse them, or answer in events they do
    not read. It would also refuse a body that is not labelled as JSON, though it can be nothing else.
    """
    given = {
        **asked.call.headers,
        "accept": f"{_JSON}, {_EVENTS}" if as_events else _JSON,
        "content-type": _JSON,
        "content-length": str(len(asked.call.raw)),
    }
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in given.items()],
        _ASKED: asked,
    }


def _reply(sent: Sequence[Message], said: Mapping[str, Any]) -> Reply:
    started = next(message for message in sent if message["type"] == "http.response.start")
    body = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in started["headers"]}
    return Reply(started["status"], body or None, {}, headers.get("content-type", _JSON), said=said)
