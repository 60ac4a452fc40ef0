"""How a bench talks with an engine: one JSON object a line, the task first.

The engine reads the task, prepares, and answers `{"ready": true, …}` with what it has to tell; then every line asked
is answered by one line. Standard library only: this runs in every engine's own environment.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

Message = Mapping[str, Any]
Turn = Callable[[Message], Message]

_THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
_SMAPS = Path("/proc/self/smaps_rollup")


def serve(prepare: Callable[[Message], tuple[Message, Turn]]) -> None:
    """Prepare the task that is read from standard input, then answer turn after turn until it ends."""
    answers = sys.stdout
    # A library that greets the user must not be taken for an answer.
    sys.stdout = sys.stderr
    task = json.loads(sys.stdin.readline())
    limit_threads(task.get("threads", 0))
    facts, turn = prepare(task)
    _say(answers, {"ready": True, **facts})
    for line in sys.stdin:
        _say(answers, turn(json.loads(line)))


def limit_threads(threads: int) -> None:
    """Let numeric libraries that are loaded after this use so many threads; 0 leaves it to them."""
    if threads:
        for name in _THREAD_SETTINGS:
            os.putenv(name, str(threads))


def own_memory() -> int | None:
    """Bytes of this process that no file backs; None where the system does not tell."""
    if not _SMAPS.exists():
        return None
    lines = (line.split() for line in _SMAPS.read_text(encoding="ascii").splitlines()[1:])
    return next(int(words[1]) * 1024 for words in lines if words[0] == "Anonymous:")


class Clock:
    """Seconds since it was made or last read."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def read(self) -> float:
        """The seconds, and begin anew."""
        now = time.perf_counter()
        seconds, self._began = now - self._began, now
        return seconds


def _say(answers: TextIO, message: Message) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()
