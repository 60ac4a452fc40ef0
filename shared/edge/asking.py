"""GET and POST /ask as a route: parameters from the query string and the body, an answer that is streamed.

Clients of NLWeb's version 0.54 ask at the same address; sites/request54.py tells them from others, and nlweb54.py
words the answer for them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec.structs import replace

from shared.edge.body import parse_object
from shared.edge.call import Call
from shared.edge.reply import Reply
from shared.edge.route import Route
from shared.edge.stream import Stream
from shared.errors import RequestError

if TYPE_CHECKING:
    from shared.contracts.ask import AskRequest
    from shared.contracts.events import Event

T = TypeVar("T")

Parse: TypeAlias = "Callable[[Mapping[str, Any]], AskRequest]"
Answer: TypeAlias = "Callable[[AskRequest, T], AsyncIterator[Event]]"


def ask_routes(parse: Parse, answer: Answer[T], deadline_s: float) -> dict[str, Route[T]]:
    """Method → route. `parse` raises RequestError for what is no question; `answer` is called in the request's
    thread, makes a pipeline and runs nothing of it.

    A parameter of the body wins over one of the query string. A request is charged before it is read. What is wrong
    with a question of version 0.54 is a reply of that version, with status 200.
    """

    def ask(call: Call, loaded: T) -> Stream | Reply:
        from shared.sites.request54 import is_54

        values, accept = {**call.query.once(), **call.body}, call.headers.get("accept", "")
        if not is_54(values, accept):
            return streamed(named(parse(values)), loaded)
        try:
            return ask_54(values, accept, loaded)
        except RequestError as error:
            return refused_54(values, accept, error)

    def ask_54(values: Mapping[str, Any], accept: str, loaded: T) -> Stream:
        from shared.edge.nlweb54 import Frames54
        from shared.sites.request54 import read_54

        question = read_54(values, accept)
        request = named(parse(question.values))
        frames = Frames54(
            question.format, query_id=request.query_id, session=question.session, notices=question.notices
        )
        return replace(streamed(request, loaded), renderer=frames)

    def streamed(request: AskRequest, loaded: T) -> Stream:
        events = answer(request, loaded)
        return Stream(lambda: events, request.query, request.query_id, not request.streaming, deadline_s)

    route = Route(ask, paid=True, charged_first=True, reads=read_values)
    return {"GET": route, "POST": route}


def refused_54(values: Mapping[str, Any], accept: str, error: RequestError) -> Reply:
    """What is wrong with a question, as its client looks for it: in a stream of one message, or as one object."""
    from shared.edge.nlweb54 import Frames54
    from shared.edge.sse import EVENT_STREAM, HEADERS, encoded
    from shared.sites.request54 import format_of, streams_54

    failure = encoded(Frames54(format_of(values, accept)).failure(error))
    if streams_54(values):
        return Reply(200, b"data: " + failure + b"\n\n", HEADERS, EVENT_STREAM, stands_for=error.status)
    return Reply(200, failure, stands_for=error.status)


def named(request: AskRequest) -> AskRequest:
    """The request with an id, the caller's or a new one: its messages, its usage and its model calls share it."""
    from shared.edge.sse import new_id  # when a stream is about to be sent, which needs it anyway

    return request if request.query_id else replace(request, query_id=new_id())


def read_values(body: bytes, content_type: str) -> dict[str, Any]:
    """The JSON object in a body, whatever its media type says; an empty body has no parameters."""
    del content_type
    return parse_object(body) if body.strip() else {}
