"""Work whose end is looked at, not awaited for its value: however it ended, the answer goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio

from shared.errors import AskbucketError, QueryCancelled

T = TypeVar("T")


def started(work: Callable[[], Coroutine[Any, Any, T]], deadline: float) -> asyncio.Task[T]:
    """The work, begun as a task of its own that ends at this time of the loop's clock with QueryCancelled."""
    return asyncio.ensure_future(_until(work, deadline))


async def settled(task: asyncio.Task[T]) -> BaseException | None:
    """Wait until it has ended, and say what it raised; it ends with whoever waits."""
    try:
        await asyncio.wait([task])
    finally:
        await ended(task)
    return QueryCancelled("The search was stopped") if task.cancelled() else task.exception()


async def ended(task: asyncio.Task[Any]) -> None:
    """Cancel it where it is still under way, and wait until it has let go of everything."""
    task.cancel()
    with anyio.CancelScope(shield=True):
        await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # looked at, so that nobody is told that it never was


def foreseen(error: BaseException | None) -> AskbucketError | None:
    """The error of ours in what was raised, also within a task group's; None where it is none of ours."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for each in error.exceptions if (found := foreseen(each))), None)
    return error if isinstance(error, AskbucketError) else None


async def _until(work: Callable[[], Coroutine[Any, Any, T]], deadline: float) -> T:
    with anyio.CancelScope(deadline=deadline):
        return await work()
    raise QueryCancelled("The search was stopped at its deadline")
