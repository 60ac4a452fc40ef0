"""Functions as the image starts them, and what their processes take."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from shared.errors import BuildError

ROOT = Path(__file__).resolve().parents[2]
# As many as the heaviest level has callers: what is measured is no queue before the server.
THREADS = 64
START_TIMEOUT_S = 300.0
_STOP_TIMEOUT_S = 40.0
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")

# What the image sets, and every limit on what one client may ask taken off.
_AS_DEPLOYED = {
    "FUNCTION_TARGET": "handle",
    "HOST": "127.0.0.1",
    "PYTHONPATH": str(ROOT),
    "PYTHONUNBUFFERED": "1",
    "THREADS": str(THREADS),
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "SEARCH_LIMIT_PER_DAY": "0",
    "RATE_LIMIT_PER_MINUTE": "0",
    "RATE_LIMIT_PER_HOUR": "0",
    "RATE_LIMIT_PER_DAY": "0",
    "MAX_CONCURRENT": str(THREADS),
}


@dataclass(frozen=True, slots=True)
class Function:
    """A function to start: its name here, its main.py below the project, and its settings."""

    name: str
    source: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: the process that was started, and its base URL."""

    name: str
    pid: int
    url: str


@dataclass(frozen=True, slots=True)
class Use:
    """What one process takes, in bytes, seconds and numbers.

    `private` is what no other process shares, `pss` that and its share of what others do; `own` is what no file backs:
    the release's mapped pages, which the system takes back without writing a byte, are in the others, never in `own`.
    """

    rss: int
    pss: int
    private: int
    own: int
    cpu_s: float
    descriptors: int
    threads: int


@contextmanager
def serving(functions: Sequence[Function]) -> Iterator[dict[str, Served]]:
    """Every function on a port of its own, each ready. Raises BuildError where one does not get there."""
    with ExitStack() as ends:
        logs = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        started = [(each, *ends.enter_context(_started(each, logs / each.name))) for each in functions]
        for function, process, url in started:
            _until_ready(function.name, process, url, logs / function.name)
        yield {function.name: Served(function.name, process.pid, url) for function, process, url in started}


@contextmanager
def talking(command: Sequence[str], name: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process of ours that is told things line by line, and the first line it says."""
    process = subprocess.Popen(  # noqa: S603 - our own command
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None  # noqa: S101 - asked for above
        said = process.stdout.readline().strip()
        if not said:
            raise BuildError(f"{name} stopped before it was ready; it says why above")
        yield process, said
    finally:
        process.terminate()
        process.communicate(timeout=_STOP_TIMEOUT_S)


def with_settings(settings: Mapping[str, str], command: Sequence[str]) -> list[str]:
    """The command with these settings laid over the environment; env(1) becomes the command, under one number."""
    return ["env", *(f"{name}={value}" for name, value in settings.items()), *command]


def use_of(pid: int) -> list[Use]:
    """Of a server's processes, the master first. One that ends meanwhile is left out."""
    found = []
    for each in _tree(pid):
        try:
            found.append(_use(each))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def cpu_s_of(pid: int) -> float:
    """Processor seconds of a server's processes so far."""
    return sum(each.cpu_s for each in use_of(pid))


@contextmanager
def _started(function: Function, log: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    port = _free_port()
    settings = {**_AS_DEPLOYED, **function.settings, "FUNCTION_SOURCE": function.source, "PORT": str(port)}
    command = with_settings(settings, [sys.executable, "-m", "functions_framework"])
    with log.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file
        )
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(_STOP_TIMEOUT_S)


def _until_ready(name: str, process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        if _health(url) == 200:
            return
        time.sleep(0.05)
    said = log.read_text(errors="replace").strip().splitlines()[-3:]
    raise BuildError(f"{name} was not ready within {START_TIMEOUT_S:g} s: {' / '.join(said) or 'it said nothing'}")


def _health(url: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = children.read_text().split()
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended since
            continue
        for child in found:
            yield from _tree(int(child))


def _use(pid: int) -> Use:
    folder = Path(f"/proc/{pid}")
    rows = (line.split() for line in (folder / "smaps_rollup").read_text().splitlines()[1:])
    memory = {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows}
    # The name in brackets may hold blanks; what follows it is numbered from the third column.
    numbers = (folder / "stat").read_text().rpartition(")")[2].split()
    return Use(
        rss=memory["Rss"],
        pss=memory["Pss"],
        private=memory["Private_Clean"] + memory["Private_Dirty"],
        own=memory["Anonymous"],
        cpu_s=(int(numbers[11]) + int(numbers[12])) / _TICKS_A_SECOND,
        descriptors=len(list((folder / "fd").iterdir())),
        threads=int(numbers[17]),
    )
