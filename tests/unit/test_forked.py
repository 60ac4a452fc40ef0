"""A second process that writes files of an index: what it says, and that nobody waits for it in vain."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from build_jobs.forked import forked
from shared.errors import BuildError

# From Python 3.12 on a fork beside threads warns.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def test_both_have_run_when_the_block_is_over(tmp_path: Path) -> None:
    with forked(lambda: (tmp_path / "child").write_text(str(os.getpid())) and None):
        (tmp_path / "parent").write_text(str(os.getpid()))
    pids = {(tmp_path / name).read_text() for name in ("child", "parent")}
    assert len(pids) == 2


def refuse() -> None:
    raise BuildError("sources/census/a.md was changed while the build ran: run it again")


def fail() -> None:
    raise KeyError("nobody foresaw this")


def die() -> None:
    os.kill(os.getpid(), 9)


@pytest.mark.parametrize(
    ("write", "said"),
    [(refuse, r"a\.md was changed while the build ran"), (fail, "ended with 1"), (die, "ended with -9")],
)
def test_what_the_second_process_fails_of_fails_the_build(write: Callable[[], None], said: str) -> None:
    with pytest.raises(BuildError, match=said), forked(write):
        pass


def test_a_block_that_fails_ends_the_second_process(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError), forked(lambda: time.sleep(60)):
        raise ZeroDivisionError
    assert time.monotonic() - began < 30
