"""A site's tools behind POST /mcp."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from shared.edge.call import Call
from shared.edge.exchange import Answered, Observer, spent
from shared.edge.mcp.toolbox import BadArguments, Json, paying, text_block
from shared.edge.stats.recorder import ASKED
from shared.errors import AskbucketError, QueryCancelled, RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from shared.contracts.ask import AskRequest
    from shared.contracts.events import Event
    from shared.sites.site import Site

Answer: TypeAlias = "Callable[[AskRequest, Site], AsyncIterator[Event]]"

# The pipeline ends itself at its deadline, with what it has; this much later it is cut off.
_SLACK_S = 5.0


class SiteToolbox:
    """`ask` and `list_sites` of one open site, with the quota and the deadline of its /ask.

    `observer` is told of every call of `ask`: those are the questions among the calls.
    """

    def __init__(self, site: Site, answer: Answer, observer: Observer, *, chooses: bool) -> None:
        self._site = site
        self._answer = answer
        self._observer = observer
        self._chooses = chooses

    async def listed(self, call: Call) -> Sequence[Json]:
        """As `Toolbox` says."""
        from shared.sites.tools import listed

        del call
        return listed(self._site)

    async def called(self, name: str, arguments: Mapping[str, Any], call: Call) -> Json | None:
        """As `Toolbox` says. A call of `ask` is charged before its arguments are looked at, as /ask is."""
        from shared.sites.tools import sites_reply

        if name == "list_sites":
            return _result(sites_reply(self._site, self._site.settings, chooses=self._chooses))
        if name != "ask":
            return None
        began = time.perf_counter()
        try:
            async with paying(call):
                reply = await self._asked(arguments)
        except AskbucketError as error:
            self._tell(call, began, error.status, "failed" if error.status >= 500 else "refused", {})
            raise
        self._tell(call, began, 200, "answered" if reply["items"] else "no_match", reply.get("usage", {}))
        return _result(reply)

    def _tell(self, call: Call, began: float, status: int, outcome: str, usage: Json) -> None:
        elapsed_s, notices = time.perf_counter() - began, usage.get("notices", ())
        self._observer(Answered(ASKED, "POST", status, outcome, elapsed_s, call.client, spent(usage), notices))

    async def _asked(self, arguments: Mapping[str, Any]) -> Json:
        from anyio import move_on_after, to_thread

        from shared.sites.tools import drained, parse_call

        settings = self._site.settings
        try:
            request = parse_call(arguments, settings)
        except RequestError as error:
            raise BadArguments(error.message) from error
        made = await to_thread.run_sync(self._answer, request, self._site)
        with move_on_after(settings.ask_timeout_s + _SLACK_S):
            async with aclosing(cast("AsyncGenerator[Event, None]", made)) as events:
                return await drained(request.query, events)
        raise QueryCancelled(f"The question was stopped after {settings.ask_timeout_s:g} s")


def _result(reply: Json) -> Json:
    return {"content": [text_block(json.dumps(reply, ensure_ascii=False))], "structuredContent": reply}
