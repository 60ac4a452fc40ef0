"""Other engines beside ours: where they are installed, and how a bench runs them in turns.

Every engine is a process of its own that answers JSON lines (cli/bench/peers). Others than numpy, which serves us
too, live each in a virtual environment of its own below `.venv-peers`, made from a locked requirements file when
somebody asks.
One that is not installed, dies or answers nonsense is named with the reason, and the others go on.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from cli.bench.beside import ROOT
from shared.errors import BuildError, SettingsError

OURS = "askbucket"
ENVIRONMENTS = ROOT / ".venv-peers"
REQUIREMENTS = ROOT / "cli" / "bench" / "peers" / "requirements"
NAMES = ("bm25s", "faiss", "lancedb", "usearch")
_STAMP = "installed-from"
_TIMEOUT_S = 900.0
# A process that closed its output has so long to end.
_ENDING_S = 5.0
_SHOWN = 120

T = TypeVar("T")


class Lost(Exception):
    """An engine that cannot take part. The message says why, without the engine's name."""


@dataclass(frozen=True, slots=True)
class Engine:
    """What to run. `environment` is one of NAMES, or None for the python that runs the bench."""

    name: str
    arguments: tuple[str, ...]
    environment: str | None = None

    def python(self) -> str:
        """The interpreter that has what the engine needs. Raises Lost where it is not installed as pinned."""
        if self.environment is None:
            return sys.executable
        if not _is_installed(self.environment):
            raise Lost(f"not installed: run `askbucket bench peers {self.environment}`")
        return str(_python(self.environment))


def script(name: str, module: str, environment: str | None = None) -> Engine:
    """The engine of a script in cli/bench/peers."""
    return Engine(name, ("-m", f"cli.bench.peers.{module}"), environment)


def chosen(engines: Mapping[str, Engine], names: Sequence[str]) -> list[Engine]:
    """The engines of these names. Raises SettingsError with the valid names."""
    for name in names:
        if name not in engines:
            raise SettingsError(f"no peer is called {name!r}; there are {', '.join(engines)}")
    return [engines[name] for name in dict.fromkeys(names)]


class Running:
    """An engine that has prepared its task. `facts` is what it told when it was ready."""

    def __init__(self, process: subprocess.Popen[str], log: IO[str], task: Mapping[str, Any], timeout_s: float) -> None:
        self._process, self._log, self._timeout_s = process, log, timeout_s
        self.facts = self.ask(task)
        if self.facts.get("ready") is not True:
            raise Lost(f"answered {_short(json.dumps(self.facts))} where it should have said that it is ready")

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """One line there, one back. Raises Lost for anything but a JSON object in time."""
        too_late = threading.Event()
        timer = threading.Timer(self._timeout_s, self._give_up, [too_late])
        timer.start()
        try:
            line = self._exchange(json.dumps(message))
        finally:
            timer.cancel()
        if too_late.is_set():
            raise Lost(f"gave no answer within {self._timeout_s:g} s")
        if not line:
            raise Lost(self._how_it_ended())
        return _object(line)

    def _give_up(self, too_late: threading.Event) -> None:
        too_late.set()
        self._process.kill()

    def _exchange(self, line: str) -> str:
        assert self._process.stdin is not None  # noqa: S101 - asked for below
        assert self._process.stdout is not None  # noqa: S101 - asked for below
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()
        except BrokenPipeError:
            return ""
        except UnicodeDecodeError as error:
            raise Lost("printed what is no UTF-8") from error

    def _how_it_ended(self) -> str:
        try:
            status = self._process.wait(timeout=_ENDING_S)
        except subprocess.TimeoutExpired:
            return "closed its output"
        self._log.seek(0)
        said = [line.strip() for line in self._log if line.strip()]
        return f"ended with exit status {status}" + (f": {_short(said[-1])}" if said else "")


@contextmanager
def running(engine: Engine, task: Mapping[str, Any], timeout_s: float = _TIMEOUT_S) -> Iterator[Running]:
    """Start an engine with its task; ended at the end. Raises Lost, also for an answer that takes longer."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            process = subprocess.Popen(  # noqa: S603 - our own command
                [engine.python(), *engine.arguments],
                cwd=ROOT, text=True, encoding="utf-8", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        except OSError as error:
            raise Lost(f"could not be started: {error.strerror}") from error
        try:
            yield Running(process, log, task, timeout_s)
        finally:
            process.kill()
            _close(process)


def _close(process: subprocess.Popen[str]) -> None:
    """Wait for an ended process and close its pipes, whatever may still lie in them."""
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(BrokenPipeError):
            if pipe is not None:
                pipe.close()


class Contest:
    """Who fell out, and why. Ours may not: a comparison without it says nothing."""

    def __init__(self) -> None:
        self.absent: dict[str, str] = {}

    def attempt(self, name: str, do: Callable[[], T]) -> T | None:
        """Do it, unless this engine fell out; None where it does so now. Raises BuildError for one of ours."""
        if name in self.absent:
            return None
        try:
            return do()
        except Lost as error:
            if name.startswith(OURS):
                raise BuildError(f"{name}: {error}") from error
            self.absent[name] = str(error)
            return None


def number(reply: Mapping[str, Any], name: str) -> float:
    """A number of an answer. Raises Lost where there is none."""
    value = reply.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Lost(f"answered without a number in {name!r}: {_short(json.dumps(reply))}")
    return float(value)


def numbers(reply: Mapping[str, Any], name: str) -> list[float]:
    """A list of numbers of an answer. Raises Lost where there is none."""
    return [number({name: value}, name) for value in _list(reply, name)]


def rows(reply: Mapping[str, Any], name: str = "rows") -> list[int]:
    """A list of row numbers of an answer. Raises Lost where there is none."""
    return [int(number({name: value}, name)) for value in _list(reply, name)]


def _list(reply: Mapping[str, Any], name: str) -> list[Any]:
    value = reply.get(name)
    if not isinstance(value, list):
        raise Lost(f"answered without a list in {name!r}: {_short(json.dumps(reply))}")
    return value


def growth(reply: Mapping[str, Any]) -> list[float]:
    """Bytes of its own that an engine grew by while it opened and answered; none where the system does not tell."""
    memory = reply.get("memory") or {}
    known = memory.get("before") is not None and memory.get("after") is not None
    return [number(memory, "after") - number(memory, "before")] if known else []


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Median, least and most of some runs."""
    return {"median_s": statistics.median(seconds), "least_s": min(seconds), "most_s": max(seconds)}


def most_bar(rule: str, found: float | None, most: float) -> dict[str, Any]:
    """A bar that may not be gone over; `met` is None where one of the two was not measured."""
    return {"rule": rule, "found": found, "most": most, "met": None if found is None else found <= most}


def least_bar(rule: str, found: float | None, least: float) -> dict[str, Any]:
    """A bar that must be reached; `met` is None where nothing was measured."""
    return {"rule": rule, "found": found, "least": least, "met": None if found is None else found >= least}


def bar_line(bar: Mapping[str, Any]) -> str:
    """A bar as people read it."""
    failed, limit = ("OVER ", bar["most"]) if "most" in bar else ("BELOW", bar["least"])
    if bar["met"] is None:
        return f"  -   {bar['rule']} {limit:g}: not measured"
    return f"{'ok   ' if bar['met'] else failed} {bar['rule']} {limit:g}: {bar['found']:.3f}"


def install(names: Sequence[str], say: Callable[[str], None]) -> dict[str, Any]:
    """Make the virtual environments of these peers, all where none is named, and tell which there are.

    One that has what its requirements file says is left alone. Raises SettingsError for an unknown name, BuildError.
    """
    for name in names:
        if name not in NAMES:
            raise SettingsError(f"no peer is called {name!r}; there are {', '.join(NAMES)}")
    made = []
    for name in names or NAMES:
        if not _is_installed(name):
            say(f"installing {name} below {ENVIRONMENTS.name}/{name}")
            _install(name)
            made.append(name)
    return {"installed": [name for name in NAMES if _is_installed(name)], "made": made, "pinned": _pinned()}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report of `install` as people read it."""
    for name, version in report["pinned"].items():
        state = "installed" if name in report["installed"] else "not installed"
        yield f"{name:10}{version:10}{state}"


def _install(name: str) -> None:
    folder = ENVIRONMENTS / name
    pip = [str(_python(name)), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--require-hashes"]
    commands = [[sys.executable, "-m", "venv", "--clear", str(folder)], [*pip, "-r", str(_requirements(name))]]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["it does not say why"]
            raise BuildError(f"{name} could not be installed: {said[-1]}")
    (folder / _STAMP).write_text(_digest(name), encoding="ascii")


def _is_installed(name: str) -> bool:
    stamp = ENVIRONMENTS / name / _STAMP
    return _python(name).exists() and stamp.exists() and stamp.read_text(encoding="ascii") == _digest(name)


def _python(name: str) -> Path:
    return ENVIRONMENTS / name / "bin" / "python"


def _requirements(name: str) -> Path:
    return REQUIREMENTS / f"{name}.txt"


def _digest(name: str) -> str:
    return hashlib.sha256(_requirements(name).read_bytes()).hexdigest()


def _pinned() -> dict[str, str]:
    """Peer → the version that its requirements name."""
    pins = {name: (REQUIREMENTS / f"{name}.in").read_text(encoding="utf-8").split() for name in NAMES}
    return {name: next(pin.split("==")[1] for pin in pins[name] if pin.startswith(name)) for name in NAMES}


def _object(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError as error:
        raise Lost(f"printed what is no JSON: {_short(line.strip())}") from error
    if not isinstance(said, dict):
        raise Lost(f"printed what is no JSON object: {_short(line.strip())}")
    return said


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
