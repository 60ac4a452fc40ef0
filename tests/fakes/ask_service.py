"""A site's service at the wire, every reply of which a test writes: refusals, streams, and streams that break."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

# What a stream is made of: text, text that is made as it goes out, or a gate that holds it until the test opens it.
Part = str | Callable[[], str] | threading.Event


@dataclass(frozen=True)
class Refusal:
    """An error instead of a stream, with the body that our own services send."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stream:
    """A stream; `cut` ends it in the middle of a body that the connection promised to go on."""

    parts: Sequence[Part]
    ends: Literal["whole", "cut"] = "whole"


def frame(message_type: str, content: Any = None) -> str:
    """One message, as a site sends it."""
    return f"data: {json.dumps({'message_type': message_type, 'content': content})}\n\n"


def recipe(name: str, **more: Any) -> dict[str, Any]:
    """An item as the stream has it."""
    url = f"https://example.org/recipes/{name.lower().replace(' ', '-')}"
    record = {"@type": "Recipe", "name": name, "url": url, "recipeCuisine": "Test", **more}
    return {
        "@type": "Item", "url": url, "name": name, "site": "demo-kitchen", "score": 90, "relevance": "strong",
        "description": f"{name} is what was asked for.", "vector_score": 1.5, "bm25_score": None,
        "retrieval_source": "vector", "schema_object": record,
    }  # fmt: skip


USAGE = {
    "total_tokens": 12345, "prompt_tokens": 12000, "completion_tokens": 345, "cost": 0.0041, "unpriced_calls": 0,
    "models": [
        {"model": "test/ranker", "phases": {"ranking": 3}, "calls": 3, "prompt_tokens": 12000, "completion_tokens": 345,
         "total_tokens": 12345, "cost": 0.0041, "unpriced_calls": 0},
    ],
}  # fmt: skip
BEGIN = frame("begin-nlweb-response")
END = frame("usage", USAGE) + frame("complete") + frame("end-nlweb-response")


def candidates(*names: str) -> str:
    return "".join(frame("candidate", [recipe(name)]) for name in names)


def results(*names: str) -> str:
    return "".join(frame("result", [recipe(name)]) for name in names)


def answer(*names: str, between: str = "") -> Stream:
    """A stream without a fault: these were kept, and these are the results."""
    return Stream([BEGIN, candidates(*names), between, results(*names), END])


class AskService:
    """The service. `asked` holds the bodies it got; replies are given in the order of `will`, then `otherwise`."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.otherwise: Refusal | Stream = answer("Lentil Soup", "Bean Stew")
        self.left = threading.Event()
        self.health: dict[str, Any] = {
            "status": "ok", "collections": {"recipes": 61}, "label": "Test Kitchen",
            "corpus": {"snapshot_id": "r1", "built_at": "2026-11-01T00:00:00Z"},
        }  # fmt: skip
        self._replies: deque[Refusal | Stream] = deque()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def will(self, *replies: Refusal | Stream) -> None:
        self._replies.extend(replies)

    def reset(self) -> None:
        """As it was before the first question."""
        self.asked.clear()
        self._replies.clear()
        self.left.clear()
        self.otherwise = answer("Lentil Soup", "Bean Stew")

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_reply(self) -> Refusal | Stream:
        return self._replies.popleft() if self._replies else self.otherwise

    def held(self, gate: threading.Event, connection: socket.socket) -> bool:
        """Wait at a gate; false where the reader left, or the test ended, before it opened."""
        while not gate.wait(0.02):
            if self._closing.is_set():
                return False
            readable, _, _ = select.select([connection], [], [], 0)
            if readable and not connection.recv(1, socket.MSG_PEEK):
                self.left.set()
                return False
        return True


def _handler(service: AskService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_OPTIONS(self) -> None:
            self.send_response(204)
            self._allow()
            self.end_headers()

        def do_GET(self) -> None:
            self._json(200, service.health, {})

        def do_POST(self) -> None:
            service.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            reply = service.next_reply()
            if isinstance(reply, Refusal):
                self._json(reply.status, reply.body, reply.headers)
            else:
                self._stream(reply)

        def _json(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self._allow()
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(content)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def _stream(self, stream: Stream) -> None:
            self.send_response(200)
            self._allow()
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                for part in stream.parts:
                    if isinstance(part, threading.Event):
                        if not service.held(part, self.connection):
                            self.close_connection = True
                            return
                    elif text := part() if callable(part) else part:
                        self._chunk(text.encode("utf-8", "surrogatepass"))
                if stream.ends == "whole":
                    self._chunk(b"")
                else:
                    self.close_connection = True
            except OSError:
                service.left.set()
                self.close_connection = True

        def _chunk(self, content: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))

        def _allow(self) -> None:
            # As ours answer a page of another origin: with no word of Retry-After, which such a page cannot read.
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Access-Control-Allow-Headers", "content-type, accept")

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def ask_service() -> Iterator[AskService]:
    service = AskService()
    try:
        yield service
    finally:
        service.close()
