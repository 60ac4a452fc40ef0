"""A second process for what takes long and only writes files: it begins with all that this one has in memory."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from shared.errors import AskbucketError, BuildError

_REFUSED = 3


@contextmanager
def forked(write: Callable[[], None]) -> Iterator[None]:
    """Have `write` run in a process of its own while the block runs, and wait for it in the end.

    A fork and not a fresh interpreter, since handing over what is to be written would take longer than writing it; on
    macOS, whose frameworks do not bear one, `write` runs before the block. Raises BuildError with what `write` was
    refused by; what nobody foresaw is on stderr. A block that fails, or is interrupted, ends the process.
    """
    if sys.platform == "darwin":
        write()
        yield
        return
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(write, there))
    process.start()
    there.close()  # so that the other end's end is seen
    try:
        with here:
            yield
            refusal = _last_words(here)
        process.join()
    except BaseException:
        process.terminate()
        process.join()
        raise
    if process.exitcode == _REFUSED and refusal:
        raise BuildError(refusal)
    if process.exitcode:
        raise BuildError(f"a process that wrote files of the index ended with {process.exitcode}; run it again")


def _last_words(here: Connection) -> str:
    """What the process says, once it says something or ends."""
    try:
        return here.recv_bytes().decode()
    except EOFError:
        return ""


def _run(write: Callable[[], None], told: Connection) -> None:
    # The handlers that came along are those of the event loop of the process that waits. Ctrl-C reaches both, and is
    # for that one to decide.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        write()
    except AskbucketError as refusal:
        told.send_bytes(refusal.message.encode())
        sys.exit(_REFUSED)
