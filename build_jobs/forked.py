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

    A fork and not a fresh interpreter, since handing over what is to be written would take longer than writing it.
    Raises BuildError with what `write` was refused by; what nobody foresaw is on stderr. A block that fails ends it.
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    with here, there:
        process = context.Process(target=_run, args=(write, there))
        process.start()
        try:
            yield
        except BaseException:
            process.terminate()
            raise
        finally:
            process.join()
        if process.exitcode == _REFUSED:
            raise BuildError(here.recv_bytes().decode())
        if process.exitcode:
            raise BuildError(f"a process that wrote files of the index ended with {process.exitcode}; run it again")


def _run(write: Callable[[], None], told: Connection) -> None:
    # The handlers that came along are those of the event loop of the process that waits.
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    try:
        write()
    except AskbucketError as refusal:
        told.send_bytes(refusal.message.encode())
        sys.exit(_REFUSED)
