"""What an MCP endpoint offers, without the MCP library: tools that are listed and called, and the tables' own."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from shared.edge.call import Call
from shared.edge.deadline import within
from shared.edge.exchange import Answered, Observer
from shared.errors import AskbucketError, RequestError, error_body

if TYPE_CHECKING:
    from shared.tables.tables import Tables
    from shared.tables.tools import Tool

Json = dict[str, Any]


class BadArguments(RequestError):
    """The arguments are not what a tool takes: its caller's mistake, and a JSON-RPC error."""


class Toolbox(Protocol):
    """Tools as the wire has them. Both methods run on the event loop and must not hold it up."""

    async def listed(self, call: Call) -> Sequence[Json]:
        """The tools: `name`, `description`, `inputSchema`, `outputSchema` … Never raises for a part that is away."""

    async def called(self, name: str, arguments: Mapping[str, Any], call: Call) -> Json | None:
        """A tool's result: `content`, and `structuredContent` or `isError`. None for a tool that is not here.

        Raises BadArguments; any other AskbucketError becomes a result that says what failed.
        """


class TablesToolbox:
    """The tools of tables/tools.py over one set of open tables, with the quota and the deadline of POST /search.

    `observer` is told of every call of a paid tool: those are the searches among the calls.
    """

    def __init__(self, tables: Tables, observer: Observer) -> None:
        self._tables = tables
        self._observer = observer

    async def listed(self, call: Call) -> Sequence[Json]:
        """As `Toolbox` says."""
        from shared.tables.tools import TOOLS

        del call
        return [tool.listed() for tool in TOOLS.values()]

    async def called(self, name: str, arguments: Mapping[str, Any], call: Call) -> Json | None:
        """As `Toolbox` says."""
        from shared.tables.tools import TOOLS

        tool = TOOLS.get(name)
        if tool is None:
            return None
        reply = await (self._paid if tool.paid else self._run)(tool, arguments, call)
        return {"content": [text_block(tool.as_text(reply))], "structuredContent": reply}

    async def _paid(self, tool: Tool, arguments: Mapping[str, Any], call: Call) -> Json:
        """Charged before its arguments are looked at, as POST /search is."""
        began = time.perf_counter()
        try:
            async with paying(call):
                reply = await self._run(tool, arguments, call)
        except AskbucketError as error:
            outcome = "failed" if error.status >= 500 else "refused"
            self._tell(call, began, error.status, outcome, {"usage": error.usage})
            raise
        self._tell(call, began, 200, "no_match" if "eligibility" in reply else "answered", reply)
        return reply

    async def _run(self, tool: Tool, arguments: Mapping[str, Any], call: Call) -> Json:
        try:
            ask = tool.ask(arguments)
        except RequestError as error:
            raise BadArguments(error.message) from error
        tables = self._tables
        return await within(tables.settings.query_timeout_s, lambda ledger: ask(tables, ledger, call.base_url))

    def _tell(self, call: Call, began: float, status: int, outcome: str, said: Json) -> None:
        elapsed_s, usage, notices = time.perf_counter() - began, said.get("usage"), said.get("notices", ())
        self._observer(Answered("/mcp", "POST", status, outcome, elapsed_s, call.client, usage, notices))


def failed(error: AskbucketError, request_id: str) -> Json:
    """An error as a tool's result: a sentence for the model, and the body that HTTP would have as `_meta.error`."""
    wait = "" if error.retry_after_s is None else f"; try again in {error.retry_after_s} s"
    return {
        "content": [text_block(f"{error.code}: {error.message}{wait}")],
        "isError": True,
        "_meta": {"error": error_body(error, request_id)},
    }


def text_block(text: str) -> Json:
    """A piece of a result that is read as it stands."""
    return {"type": "text", "text": text}


@asynccontextmanager
async def paying(call: Call) -> AsyncIterator[None]:
    """`call.paying` without holding up the loop: counts may lie in a Redis that takes its time."""
    from anyio import CancelScope, to_thread

    lease = call.paying()
    await to_thread.run_sync(lease.__enter__)
    try:
        yield
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(lease.__exit__, None, None, None)
