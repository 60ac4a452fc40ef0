"""A second process that writes files of an index: what it says, and that nobody waits for it in vain."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import pytest
from wire import ROOT

from build_jobs.forked import forked
from shared.errors import BuildError

# From Python 3.12 on a fork beside threads warns.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def test_both_have_run_when_the_block_is_over(tmp_path: Path) -> None:
    def write() -> None:
        (tmp_path / "child").write_text(str(os.getpid()))

    with forked(write):
        (tmp_path / "parent").write_text(str(os.getpid()))
    pids = {(tmp_path / name).read_text() for name in ("child", "parent")}
    assert len(pids) == (1 if sys.platform == "darwin" else 2)


def refuse() -> None:
    raise BuildError("sources/census/a.md was changed while the build ran: run it again")


def refuse_at_length() -> None:
    raise BuildError("a long story " * 60_000 + "and its end")


def fail() -> None:
    raise KeyError("nobody foresaw this")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    os._exit(3)


@pytest.mark.skipif(sys.platform == "darwin", reason="no second process there")
@pytest.mark.parametrize(
    ("write", "said"),
    [
        (refuse, r"a\.md was changed while the build ran"),
        (refuse_at_length, "and its end"),
        (fail, "ended with 1"),
        (die, "ended with -9"),
        (leave, "ended with 3"),
    ],
)
def test_what_the_second_process_fails_of_fails_the_build(write: Callable[[], None], said: str) -> None:
    with pytest.raises(BuildError, match=said), forked(write):
        pass


def test_a_block_that_fails_ends_the_second_process() -> None:
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError), forked(lambda: time.sleep(60)):
        raise ZeroDivisionError
    assert time.monotonic() - began < 30


INTERRUPTED = """
import signal, sys, time
from build_jobs.forked import forked
signal.signal(signal.SIGINT, signal.default_int_handler)  # which who was started in the background does not have
with forked(lambda: time.sleep(60)):
    print("begun", flush=True)
    time.sleep(float(sys.argv[1]))
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="no second process there")
@pytest.mark.parametrize("block_s", [60, 0], ids=["in the block", "while it waits"])
def test_ctrl_c_is_decided_by_the_process_that_waits(block_s: float) -> None:
    """The terminal tells both; the second one goes on until it is ended, so nobody takes it for a failed build."""
    command = [sys.executable, "-c", INTERRUPTED, str(block_s)]
    with subprocess.Popen(command, cwd=ROOT, text=True, start_new_session=True, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert said.endswith("KeyboardInterrupt\n")
    assert "BuildError" not in said
