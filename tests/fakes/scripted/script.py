"""The scripted site. A query is words such as `items=5 pause=0.1`:

items=N     N candidates, each after a model call, then N results (default 3)
pause=S     how long a model call takes (default 0)
size=N      characters of text in each record (default 10)
first=S     silence between `begin` and the first model call
crash=N     raise after N candidates; `stop=N` ends there without a closing event
stubborn=S  keep on for so long after being cancelled
nasty=1     records that would break a frame
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import anyio

from shared.contracts.ask import AskRequest
from shared.contracts.events import Answer, Begin, Candidate, Complete, End, Event, Result, Rewritten, Said, Used
from shared.edge.app import App
from shared.edge.asking import ask_routes
from shared.edge.call import Call
from shared.edge.cors import site_cors
from shared.edge.limits import Policy
from shared.edge.process import Hosted
from shared.errors import RequestError
from shared.settings import Settings
from shared.sites.request import wants_stream
from shared.timed import timed

NASTY = "a\nb\r\nc\rdata: x\n\nevent: y\u2028\u2029\x00\x85 é 日本 \U0001f600 \ud800 </script>"


class Script:
    """What was started, asked and ended so far."""

    def __init__(self) -> None:
        self.started = self.ended = self.model_calls = 0
        self.closed = False

    def seen(self) -> dict[str, Any]:
        return {
            "started": self.started,
            "ended": self.ended,
            "model_calls": self.model_calls,
            "threads": threading.active_count(),
            "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        }

    async def model(self, seconds: float) -> None:
        self.model_calls += 1
        with timed("model"):
            await anyio.sleep(seconds)


def item(number: int, text: str) -> dict[str, Any]:
    record = {"@type": "Recipe", "name": f"Item {number}", "description": text, "rating": float("nan")}
    return {"@type": "Item", "url": f"https://example.org/{number}", "name": f"Item {number}", "schema_object": record}


async def answer(request: AskRequest, script: Script) -> AsyncIterator[Event]:
    plan = {name: float(value) for name, _, value in (word.partition("=") for word in request.query.split()) if value}
    text = NASTY if "nasty" in plan else "x" * int(plan.get("size", 10))
    items = [item(number, text) for number in range(int(plan.get("items", 3)))]
    script.started += 1
    try:
        yield Begin()
        yield Rewritten("standalone")
        await anyio.sleep(plan.get("first", 0))
        for number, each in enumerate(items):
            await script.model(plan.get("pause", 0))
            if number == plan.get("crash"):
                raise ValueError(f"a secret: {request.query}")
            if number == plan.get("stop"):
                return
            yield Candidate(each)
        for each in items:
            yield Result(each)
        yield Answer("All of them.", items)
        yield Said("One notice.")
        yield Said("Another.")
        yield Used({"calls": script.model_calls, "total_tokens": 7, "cost": 0.5, "notices": [{"code": "batch_failed"}]})
        yield Complete()
        yield End()
    finally:
        if "stubborn" in plan:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(plan["stubborn"])
        script.ended += 1


def parse(values: Mapping[str, Any]) -> AskRequest:
    if "bad" in values:
        raise RequestError("bad is not a parameter")
    query, query_id = str(values.get("query", "")), str(values.get("query_id", ""))
    return AskRequest(query, query_id=query_id, streaming=wants_stream(values))


def seen(call: Call, script: Script) -> dict[str, Any]:
    return script.seen()


def create(settings: Settings, budget: str = "scripted") -> App[Script]:
    def close(script: Script) -> None:
        script.closed = True

    hosted = Hosted(
        lambda _: Script(),
        is_stale=lambda _: False,
        close=close,
        refresh_s=settings.refresh_s,
        needs_loop=True,
    )
    routes = {"/ask": ask_routes(parse, answer, settings.ask_timeout_s), "/seen": {"GET": seen}}
    policy = Policy.of_site(settings, budget)
    describe, cors = (lambda _: {"release": "r1"}), site_cors(settings.cors_origins)
    return App(hosted, routes, describe=describe, settings=settings, policy=policy, cors=cors)
