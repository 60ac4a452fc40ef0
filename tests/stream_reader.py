"""Reading a stream strictly, over a socket of our own."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from wire import ROOT, Service, deployed, free_port, running

SCRIPTED = {
    "FUNCTION_SOURCE": "tests/fakes/scripted/main.py",
    "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
    "RATE_LIMIT_PER_MINUTE": "0",
    "RATE_LIMIT_PER_HOUR": "0",
    "RATE_LIMIT_PER_DAY": "0",
}


@contextmanager
def scripted(settings: Mapping[str, str] | None = None) -> Iterator[tuple[Service, Any]]:
    """The scripted site as the image would start it, and its process."""
    command, env = deployed("ask_site")
    port = free_port()
    env = {**env, **SCRIPTED, "HOST": "127.0.0.1", "PORT": str(port), **(settings or {})}
    with running(command, env) as (process, log):
        service = Service(f"http://127.0.0.1:{port}", log)
        assert service.until_ready().status == 200, log.read_text()
        yield service, process


@dataclass
class Reading:
    """One stream being read: the head as it came, and the frames with the time of each."""

    connection: socket.socket
    head: str = ""
    rest: bytes = b""
    comments: list[str] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    ended: bool = False

    def events(self) -> Iterator[dict[str, Any]]:
        """Each message as it comes. Everything on the wire must be a comment or one `data:` line of JSON."""
        for block in self._blocks():
            for line in block.split("\n"):
                if line.startswith(":"):
                    self.comments.append(line)
                    continue
                assert line.startswith("data: "), line[:200]
                assert line.isascii()
                self.at.append(time.monotonic())
                yield json.loads(line[6:], parse_constant=no_constant)

    def _blocks(self) -> Iterator[str]:
        text = ""
        for chunk in self._chunks():
            text += chunk.decode("ascii")
            *blocks, text = text.split("\n\n")
            yield from blocks
        assert text == "", "the stream ended inside a frame"

    def _chunks(self) -> Iterator[bytes]:
        """The pieces of a chunked body, which must end as one does."""
        while True:
            size = int(self._line(), 16)
            data = self._exactly(size + 2)
            assert data.endswith(b"\r\n")
            if size == 0:
                self.ended = True
                return
            yield data[:-2]

    def _line(self) -> bytes:
        while b"\r\n" not in self.rest:
            self._more()
        line, _, self.rest = self.rest.partition(b"\r\n")
        return line

    def _exactly(self, size: int) -> bytes:
        while len(self.rest) < size:
            self._more()
        data, self.rest = self.rest[:size], self.rest[size:]
        return data

    def _more(self) -> None:
        got = self.connection.recv(65_536)
        assert got, "the connection was closed inside a body"
        self.rest += got


def no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is not JSON")


def request_of(query: str, path: str = "/ask", **values: str) -> bytes:
    return f"GET {path}?{urlencode({'query': query, **values})} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


@contextmanager
def reading(service: Service, query: str, **values: str) -> Iterator[Reading]:
    """A reply whose head has come. The connection is closed at the end, wherever reading stands."""
    with socket.create_connection(service.address, timeout=30) as connection:
        connection.sendall(request_of(query, **values))
        found = Reading(connection)
        while b"\r\n\r\n" not in found.rest:
            found._more()
        head, _, found.rest = found.rest.partition(b"\r\n\r\n")
        found.head = head.decode()
        yield found


def read_all(service: Service, query: str, **values: str) -> list[dict[str, Any]]:
    with reading(service, query, **values) as stream:
        return list(stream.events())


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["message_type"] for event in events]


def until(probe: Any, wanted: Any, seconds: float = 5.0) -> Any:
    """What `probe` says once `wanted` holds for it, at the latest after so long."""
    deadline = time.monotonic() + seconds
    while not wanted(found := probe()):
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found
