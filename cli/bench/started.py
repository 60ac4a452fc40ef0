"""One function started as it is deployed, and where the time until its first answer went.

The function says itself when it has loaded and what its stages took (shared/edge/process.py): its line in the log is
the mark between loading and answering, so no probe of ours takes processor time from a start.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from cli.bench.beside import ROOT
from shared.errors import BuildError

TIMEOUT_S = 120.0
# A refused connection costs the starting process nothing; an accepted one waits for its answer.
_POLL_S = 0.002
_LOADED, _REFUSED = "loaded", "release not loaded"

Lines = queue.SimpleQueue[tuple[float, str] | None]


@dataclass(frozen=True, slots=True)
class Target:
    """A function to start, and the request whose 200 ends the clock. `site` is the kind of a site's function."""

    name: str
    source: Path
    method: str
    path: str
    body: bytes | None = None
    site: str = ""
    reads: bool = True


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the start of the process: until it loads, has loaded, has answered. Milliseconds of each stage."""

    begun_s: float
    ready_s: float
    answered_s: float
    stages_ms: Mapping[str, float] = field(default_factory=dict)


def start_floor(target: Target) -> float:
    """Seconds until a function that has nothing to load answers. Raises BuildError where it does not."""
    port = free_port()
    began = time.perf_counter()
    with _running(target, port) as (process, _):
        while not _accepts(port):
            _check(target, process, began)
            time.sleep(_POLL_S)
        _ask(target, port)
        return time.perf_counter() - began


def start(target: Target, settings: Mapping[str, str]) -> Start:
    """Start a function with these settings and an empty cache, and ask once it has loaded.

    Raises BuildError where it refuses its release, ends, or does not answer 200.
    """
    port = free_port()
    with tempfile.TemporaryDirectory() as cache:
        hand_down({**settings, "SITE": target.site, "CACHE_DIR": cache})
        began = time.perf_counter()
        with _running(target, port) as (process, lines):
            loaded_at, said = _until_loaded(target, lines, process)
            _ask(target, port)
            answered_at = time.perf_counter()
    begun_s = loaded_at - began - said["ms"] / 1e3
    return Start(begun_s, loaded_at - began, answered_at - began, said["stages"])


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def hand_down(values: Mapping[str, str]) -> None:
    """What processes started from here find in their environment; ours was read already and stays as it is."""
    for name, value in values.items():
        os.putenv(name, value)


@contextmanager
def _running(target: Target, port: int) -> Iterator[tuple[subprocess.Popen[str], Lines]]:
    """The function's server, as the image starts it, and the lines of its log, each with when it came."""
    command = [sys.executable, "-m", "functions_framework", "--source", str(target.source), "--target", "handle"]
    process = subprocess.Popen(  # noqa: S603 - our own command
        [*command, "--host", "127.0.0.1", "--port", str(port)], cwd=ROOT, text=True, stderr=subprocess.PIPE
    )
    assert process.stderr is not None  # noqa: S101 - asked for above
    lines: Lines = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(process.stderr, lines), daemon=True)
    reader.start()
    try:
        yield process, lines
    finally:
        process.terminate()
        process.wait(timeout=40)
        reader.join(timeout=40)
        process.stderr.close()


def _read(log: IO[str], lines: Lines) -> None:
    for line in log:
        lines.put((time.perf_counter(), line))
    lines.put(None)


def _until_loaded(target: Target, lines: Lines, process: subprocess.Popen[str]) -> tuple[float, dict[str, Any]]:
    """When the function said that it had loaded, and what it said."""
    deadline = time.perf_counter() + TIMEOUT_S
    while (left_s := deadline - time.perf_counter()) > 0:
        try:
            came = lines.get(timeout=left_s)
        except queue.Empty:
            break
        if came is None:
            raise BuildError(f"{target.name} stopped with exit status {process.wait()}")
        at, said = came[0], _said(came[1])
        message = str(said.get("message", ""))
        if message == _LOADED:
            return at, said
        if message.startswith(_REFUSED):
            raise BuildError(f"{target.name}: {message}")
    raise BuildError(f"{target.name} did not load within {TIMEOUT_S:g} s")


def _said(line: str) -> dict[str, Any]:
    """A line of the log; {} for one that is not of ours."""
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _check(target: Target, process: subprocess.Popen[str], began: float) -> None:
    if process.poll() is not None:
        raise BuildError(f"{target.name} stopped with exit status {process.returncode}")
    if time.perf_counter() - began > TIMEOUT_S:
        raise BuildError(f"{target.name} did not answer within {TIMEOUT_S:g} s")


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S).close()
    except OSError:
        return False
    return True


def _ask(target: Target, port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    try:
        connection.request(target.method, target.path, target.body, headers)
        answer = connection.getresponse()
        content = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise BuildError(f"{target.name} did not answer: {type(error).__name__}") from error
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise BuildError(f"{target.name}: {target.path} gave status {answer.status}: {content[:200]!r}")
