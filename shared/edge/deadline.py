"""Running a request's asynchronous work on the process's event loop, within its deadline and with its ledger."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from shared.errors import AskbucketError, QueryCancelled
from shared.models.ledger import Ledger

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

T = TypeVar("T")


def run_within(seconds: float, portal: BlockingPortal, work: Callable[[Ledger], Awaitable[T]]) -> T:
    """`within`, from a thread that is not the event loop's."""
    return portal.call(within, seconds, work)


async def within(seconds: float, work: Callable[[Ledger], Awaitable[T]]) -> T:
    """What `work` returns. Raises QueryCancelled after `seconds`, with its tasks cancelled.

    Every 5xx it raises carries the usage up to then: what was spent is said also where nothing came of it.
    """
    ledger = Ledger()
    try:
        return await _bounded(seconds, work, ledger)
    except AskbucketError as error:
        if error.status >= 500 and error.usage is None:
            error.usage = dict(ledger.snapshot())
        raise


async def _bounded(seconds: float, work: Callable[[Ledger], Awaitable[T]], ledger: Ledger) -> T:
    import anyio

    with anyio.move_on_after(seconds):
        return await work(ledger)
    raise QueryCancelled(f"The search was stopped after {seconds:g} s")
