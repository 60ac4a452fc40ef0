"""Talking to a real server over a real socket, and starting one as it is deployed."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "infra" / "Dockerfile"
START_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Answer:
    """A reply as it came."""

    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def json(self) -> Any:
        """The body, which must say that it is JSON and be it."""
        assert self.headers["Content-Type"] == "application/json; charset=utf-8"
        return json.loads(self.content)


@dataclass(frozen=True)
class Service:
    """A running server and its log."""

    url: str
    log: Path

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname
        assert parts.port
        return parts.hostname, parts.port

    def send(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request on a connection of its own. A body that is an iterator goes out chunked."""
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return self.send("GET", path, headers=headers)

    def post(self, path: str, body: object) -> Answer:
        """POST a body: bytes as they are, anything else as JSON."""
        return self.send("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode())

    def until_ready(self) -> Answer:
        """The first 200 of /health, or the refusal that will not go away."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                health = self.get("/health")
            except OSError:
                time.sleep(0.02)
                continue
            if health.status == 200 or health.json["code"] != "starting":
                return health
            time.sleep(0.02)
        raise AssertionError("the service is still starting")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def deployed(function: str) -> tuple[list[str], dict[str, str]]:
    """The command and environment that the Dockerfile gives a function, with /app moved to this checkout."""
    text = DOCKERFILE.read_text(encoding="utf-8")
    given = dict(re.findall(r"^ENV (\w+)=(.*)$", text, re.MULTILINE))
    given = {name: value.replace("$FUNCTION", function).replace("/app", str(ROOT)) for name, value in given.items()}
    path = given.pop("PATH")
    assert path == "/venv/bin:$PATH"
    [command] = re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)
    python, *arguments = json.loads(command)
    assert python == "python"
    return [sys.executable, *arguments], given


@contextmanager
def running(command: list[str], env: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process of ours and the file its standard error goes to; stopped and waited for at the end."""
    base = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("w") as stderr:
            process = subprocess.Popen(
                command, cwd=ROOT, env={**base, **env}, text=True, stdout=subprocess.PIPE, stderr=stderr
            )
        try:
            yield process, log
        finally:
            process.terminate()
            process.communicate(timeout=40)


@contextmanager
def function(name: str, settings: Mapping[str, str]) -> Iterator[Service]:
    """One function alone, exactly as the image starts it, on a free port of the loopback."""
    command, env = deployed(name)
    port = free_port()
    with running(command, {**env, "HOST": "127.0.0.1", "PORT": str(port), **settings}) as (_, log):
        yield Service(f"http://127.0.0.1:{port}", log)


@contextmanager
def serving(bucket_url: str, settings: Mapping[str, str] | None = None) -> Iterator[Service]:
    """`askbucket serve`, once it says that it is ready."""
    command = [sys.executable, "-m", "cli.main", "serve", "--bucket", bucket_url, "--port", "0", "--log"]
    with running(command, dict(settings or {})) as (process, log):
        yield Service(ready_url(process, log), log)


def ready_url(process: subprocess.Popen[str], log: Path) -> str:
    """The URL that `askbucket serve` prints, which it must do before long."""
    assert process.stdout
    too_late = threading.Timer(START_TIMEOUT_S, process.kill)
    too_late.start()
    try:
        line = process.stdout.readline().split()
    finally:
        too_late.cancel()
    assert line[:1] == ["ready"], log.read_text()
    return line[1]
