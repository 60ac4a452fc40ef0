"""The sites' own MCP endpoints behind this one: their tools listed under the site's name, and calls passed on."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shared.edge.body import decode_json
from shared.edge.call import Call
from shared.edge.mcp.jsonrpc import INVALID_PARAMS
from shared.edge.mcp.toolbox import BadArguments, Json
from shared.errors import RequestError, SettingsError, SiteUnavailable
from shared.settings import Settings

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx import Response

# A site that is slow to say what it has must not keep a client from the tables; a call may take its time.
_LIST_TIMEOUT_S = 3.0
_LISTED_S = 300.0
# One that is away is asked again sooner, but not by every client in turn.
_AWAY_S = 30.0
_MOST_BYTES = 4_000_000
_HEADERS = {"Accept": "application/json", "MCP-Protocol-Version": "2025-11-25"}
_KIND = re.compile(r"[a-z][a-z0-9-]{0,30}", re.ASCII)


def site_urls(settings: Settings) -> dict[str, str]:
    """Kind → the URL of its MCP endpoint, from SITE_URLS. Raises SettingsError."""
    found: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in settings.site_urls.split(","))):
        kind, _, url = item.partition("=")
        if not _KIND.fullmatch(kind) or not _is_address(url) or kind in found:
            raise SettingsError(f"SITE_URLS has {item!r}: expected <kind>=<http or https URL>, each kind once")
        found[kind] = url if url.rstrip("/").endswith("/mcp") else f"{url.rstrip('/')}/mcp"
    return found


def _is_address(url: str) -> bool:
    """Whether a request could be sent to it."""
    try:
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and " " not in url
    except ValueError:
        return False


class Sites:
    """A toolbox of other endpoints' tools: `ask` of the site `recipes` is `recipes_ask` here.

    A site that does not answer keeps the tools it was last seen with, or stands in the list with its `ask`, which
    every site has; a call to it is an error that names it.
    """

    def __init__(self, urls: Mapping[str, str], timeout_s: float) -> None:
        self._urls = urls
        self._timeout_s = timeout_s
        self._seen: dict[str, list[Json]] = {}
        self._due: dict[str, float] = {}
        self._tls: SSLContext | None = None

    async def listed(self, call: Call) -> Sequence[Json]:
        """As `Toolbox` says. Sites are asked side by side, each once in five minutes."""
        import anyio

        async with anyio.create_task_group() as asking:
            for kind in self._urls:
                if time.monotonic() >= self._due.get(kind, 0.0):
                    asking.start_soon(self._look, kind, call)
        return [tool for kind in self._urls for tool in self._seen.get(kind, [_unseen(kind)])]

    async def called(self, name: str, arguments: Mapping[str, Any], call: Call) -> Json | None:
        """As `Toolbox` says. Raises SiteUnavailable."""
        kind, _, tool = name.partition("_")
        if kind not in self._urls or not tool:
            return None
        return await self._asked(kind, "tools/call", {"name": tool, "arguments": dict(arguments)}, call)

    async def _look(self, kind: str, call: Call) -> None:
        try:
            found = await self._asked(kind, "tools/list", {}, call, _LIST_TIMEOUT_S)
        except (SiteUnavailable, BadArguments):
            self._due[kind] = time.monotonic() + _AWAY_S
            return
        self._seen[kind] = [_named(kind, tool) for tool in _objects(found.get("tools"))]
        self._due[kind] = time.monotonic() + _LISTED_S

    async def _asked(self, kind: str, method: str, params: Json, call: Call, timeout_s: float | None = None) -> Json:
        """A method's result. Raises BadArguments for what the site says is the caller's mistake, else SiteUnavailable.

        It goes out in the handshake era's words, which a stateless server answers without a handshake.
        """
        import anyio
        import httpx

        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {**_HEADERS, "X-Request-Id": call.request_id}
        client = httpx.AsyncClient(verify=await self._context(), timeout=self._timeout_s, trust_env=False)
        try:
            with anyio.fail_after(timeout_s or self._timeout_s):  # httpx would wait as long for each piece
                async with client, client.stream("POST", self._urls[kind], json=message, headers=headers) as response:
                    answer = decode_json(await _content(response))
        except RequestError as error:
            raise _away(kind, "no JSON") from error
        except (httpx.HTTPError, ValueError, TimeoutError) as error:
            raise _away(kind, type(error).__name__) from error
        return _result(kind, answer)

    async def _context(self) -> SSLContext:
        """Certificates are read from disk, 20 ms, once and off the loop."""
        import httpx
        from anyio import to_thread

        if self._tls is None:
            self._tls = await to_thread.run_sync(lambda: httpx.create_ssl_context(trust_env=False))
        return self._tls


async def _content(response: Response) -> bytes:
    """A reply's body. Raises ValueError where it has no end in sight: it is held in memory whole."""
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > _MOST_BYTES:
            raise ValueError("too large")
    return bytes(content)


def _result(kind: str, answer: object) -> Json:
    given = answer if isinstance(answer, dict) else {}
    error = given.get("error")
    if isinstance(error, dict) and error.get("code") == INVALID_PARAMS:
        raise BadArguments(f"{kind}: {error.get('message')}")
    result = given.get("result")
    if not isinstance(result, dict):
        raise _away(kind, f"{error['message']}" if isinstance(error, dict) and "message" in error else "no result")
    return result


def _away(kind: str, because: str) -> SiteUnavailable:
    return SiteUnavailable(f"The site {kind!r} did not answer ({because})", detail={"site": kind})


def _objects(value: object) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _named(kind: str, tool: Json) -> Json:
    return {**tool, "name": f"{kind}_{tool.get('name')}", "description": f"[{kind}] {tool.get('description', '')}"}


def _unseen(kind: str) -> Json:
    """What stands for a site that was never seen: the tool every site has."""
    query = {"type": "string", "minLength": 1, "description": "What to find."}
    return {
        "name": f"{kind}_ask",
        "description": f"[{kind}] Find items of this site. It did not answer when it was asked for its tools.",
        "inputSchema": {"type": "object", "properties": {"query": query}, "required": ["query"]},
    }
