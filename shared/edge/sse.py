"""Server-sent events as NLWeb's clients read them: one `data:` line a frame, and comments.

No `event:` line: an EventSource hands a frame with one only to listeners of that name, and every client of the family
listens to `onmessage`. JSON is ASCII-escaped, so no line end in a record can break a frame.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

EVENT_STREAM = "text/event-stream; charset=utf-8"
HEARTBEAT = b": keepalive\n\n"
# What the NLWeb page and proxies are told. `no-transform` keeps a proxy from holding frames back to compress them.
HEADERS = {"Cache-Control": "no-cache, no-store, no-transform", "X-Accel-Buffering": "no"}


class Event(Protocol):
    """Something to be sent: its word on the wire and what stands beside it, JSON-ready."""

    @property
    def message_type(self) -> str: ...

    @property
    def content(self) -> Any: ...


class Renderer(Protocol):
    """How a client wants to be told: an answer's events as the bytes of a stream, or as one JSON object."""

    def frame(self, event: Event) -> bytes:
        """An event as bytes, whole lines; none where this client is not told of it."""
        ...

    def whole(self, events: Iterable[Event]) -> dict[str, Any]:
        """All of them as one object."""
        ...


def new_id() -> str:
    """The id of a stream whose caller gave it none."""
    return str(uuid.uuid4())


class Frames:
    """The envelope around the events of one answer. `query` is what was typed; `query_id` the caller's, or new."""

    def __init__(self, query_id: str = "", query: str = "") -> None:
        self.query_id = query_id or new_id()
        self._query = query
        self._sequence = 0

    def frame(self, event: Event) -> bytes:
        """An event as bytes, numbered 1, 2, 3 in the order of the calls."""
        return b"data: " + encoded(self.envelope(event)) + b"\n\n"

    def envelope(self, event: Event) -> dict[str, Any]:
        """The message: our keys, and beside `content` the keys under which other NLWeb clients look for it."""
        self._sequence += 1
        return {
            "message_id": str(uuid.uuid4()),
            "message_type": event.message_type,
            "query_id": self.query_id,
            "sequence": self._sequence,
            "timestamp": datetime.now(UTC).isoformat(),
            "content": event.content,
            **mirrored(event, self._query),
        }

    def whole(self, events: Iterable[Event]) -> dict[str, Any]:
        """All events as the one JSON object of `streaming=false`: `query_id`, `results`, and a key an event type.

        Sentences of one type are put together; candidates, which the results repeat, and bare marks are left out.
        """
        found: dict[str, Any] = {"query_id": self.query_id, "results": []}
        for event in events:
            if event.message_type == "result":
                found["results"] += event.content
            elif event.message_type != "candidate" and event.content is not None:
                said = mirrored(event, self._query) or event.content
                before = found.get(event.message_type)
                found[event.message_type] = _together(before, said) if before else said
        return found


def mirrored(event: Event, query: str) -> dict[str, Any]:
    """The top-level keys of NLWeb's own messages, where an event has such."""
    content = event.content
    match event.message_type:
        case "result":
            return {"results": content}
        case "nlws":
            return {"answer": content["answer"], "items": content["items"]}
        case "decontextualized_query":
            return {"decontextualized_query": content, "original_query": query}
        case "intermediate_message" | "error":
            return {"message": content}
    return {}


def encoded(message: Mapping[str, Any]) -> bytes:
    """Compact ASCII JSON. A number that is none (a record may hold NaN) becomes null."""
    try:
        return _dumped(message)
    except ValueError:
        return _dumped(json.loads(json.dumps(message), parse_constant=lambda _: None))


def _dumped(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii")


def _together(before: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Two messages of one type as one: their sentences in a row, everything else from the later one."""
    words = [each["message"] for each in (before, said) if "message" in each]
    return {**said, **({"message": " ".join(words)} if words else {})}
