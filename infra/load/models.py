"""The scripted models of the load: the tests' gateway as a process that is told, while it serves, how to fail.

    $ python -m infra.load.models --embed-ms 250 --chat-ms 1000 --sigma 0.4
    ready http://127.0.0.1:37213/api/v1

Each line on its standard input names the phase that begins, one of PHASES.
"""

from __future__ import annotations

import argparse
import functools
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.load.processes import talking
from tests.fakes import openrouter
from tests.fakes.openrouter import FAULTS, Fault, Json, Latency, OpenRouter, Reply, Rule, Seen

if TYPE_CHECKING:
    import subprocess

CALM = "calm"
FAULT_RATE = 0.5
# Over the read timeout of a soak, so that a call which meets it is given up and made again.
SLOW_S = 3.0
# Requests that are remembered: a soak makes hundreds of thousands of them, with all that was sent.
_KEPT = 256

# Phase → what happens to half of the calls in it.
PHASES: Mapping[str, tuple[Callable[[], Fault], ...]] = {
    CALM: (),
    "429": (FAULTS["429"],),
    "500": (FAULTS["500"], FAULTS["502"], FAULTS["503"], FAULTS["error_in_a_200"]),
    "slow": (lambda: openrouter.stall(SLOW_S),),
    "cut": (FAULTS["refuse"], FAULTS["reset"], FAULTS["half"], FAULTS["no_end"], FAULTS["error_midway"]),
    "garbage": (FAULTS["html"], FAULTS["not_utf8"], FAULTS["wrong_schema"], FAULTS["empty"], FAULTS["bad_frame"]),
}


@dataclass(frozen=True, slots=True)
class Script:
    """The models' process: its URL, and the way to tell it of a phase."""

    process: subprocess.Popen[str]
    url: str

    def begin(self, phase: str) -> None:
        """From now on calls fail as in this phase."""
        assert self.process.stdin is not None  # noqa: S101 - `talking` asks for it
        self.process.stdin.write(f"{phase}\n")
        self.process.stdin.flush()


@contextmanager
def scripted(latency: Latency = Latency()) -> Iterator[Script]:  # noqa: B008 - frozen
    """The models as a process of their own, calm."""
    given = {"embed-ms": latency.embed_ms, "chat-ms": latency.chat_ms, "token-ms": latency.token_ms}
    flags = [f"--{name}={value}" for name, value in {**given, "sigma": latency.sigma}.items()]
    with talking([sys.executable, "-m", "infra.load.models", *flags], "the scripted models") as (process, said):
        yield Script(process, said.split()[1])


class Models(OpenRouter):
    """The gateway, for as long and as hard as a load asks it."""

    def note(self, method: str, path: str, headers: Mapping[str, str], payload: Json, connection: int) -> Seen:
        seen = super().note(method, path, headers, payload, connection)
        with self._lock:
            del self.seen[:-_KEPT]
        return seen

    def begin(self, phase: str) -> None:
        """Half of the calls fail as in this phase, by the number of the call."""
        self.rules[:] = [_rule(PHASES[phase])] if PHASES[phase] else []


def _rule(faults: tuple[Callable[[], Fault], ...]) -> Rule:
    def dice(seen: Seen) -> random.Random:
        return random.Random(f"load:{seen.number}")  # noqa: S311 - a draw, not a secret

    def fault(seen: Seen, reply: Reply) -> Reply:
        return dice(seen).choice(faults)()(seen, reply)

    # A generator of its own for the chance: the choice above is then as even as it can be.
    return Rule(fault, lambda seen: random.Random(f"rate:{seen.number}").random() < FAULT_RATE)  # noqa: S311


def main() -> None:
    """Serve, and change phase as standard input says, until it ends."""
    parser = argparse.ArgumentParser(description="The scripted models of a load test.")
    for flag in ("--embed-ms", "--chat-ms", "--token-ms", "--sigma"):
        parser.add_argument(flag, type=float, default=0.0)
    given = parser.parse_args()
    # The same texts come again and again, and 1,536 numbers are 2 ms of a core that the functions need.
    openrouter.embed = functools.lru_cache(maxsize=4_096)(openrouter.embed)
    models = Models(latency=Latency(given.embed_ms, given.chat_ms, given.token_ms, given.sigma))
    with models:
        print("ready", models.url, flush=True)
        for line in sys.stdin:
            models.begin(line.strip())


if __name__ == "__main__":
    main()
