"""GET and POST /ask as a route: parameters from the query string and the body, an answer that is streamed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from shared.contracts.ask import AskRequest
from shared.contracts.events import Event
from shared.edge.body import parse_object
from shared.edge.call import Call
from shared.edge.route import Route
from shared.edge.stream import Stream

T = TypeVar("T")

Parse = Callable[[Mapping[str, Any]], AskRequest]
Answer = Callable[[AskRequest, T], AsyncIterator[Event]]


def ask_routes(parse: Parse, answer: Answer[T], deadline_s: float) -> dict[str, Route[T]]:
    """Method → route. `parse` raises RequestError for what is no question; `answer` is called in the request's
    thread, makes a pipeline and runs nothing of it.

    A parameter of the body wins over one of the query string. A request is charged before it is read.
    """

    def ask(call: Call, loaded: T) -> Stream:
        request = named(parse({**call.query.once(), **call.body}))
        events = answer(request, loaded)
        return Stream(lambda: events, request.query, request.query_id, not request.streaming, deadline_s)

    route = Route(ask, paid=True, charged_first=True, reads=read_values)
    return {"GET": route, "POST": route}


def named(request: AskRequest) -> AskRequest:
    """The request with an id, the caller's or a new one: its messages, its usage and its model calls share it."""
    from shared.edge.sse import new_id  # when a stream is about to be sent, which needs it anyway

    return request if request.query_id else replace(request, query_id=new_id())


def read_values(body: bytes, content_type: str) -> dict[str, Any]:
    """The JSON object in a body, whatever its media type says; an empty body has no parameters."""
    del content_type
    return parse_object(body) if body.strip() else {}
