"""Off the event loop: scans, keyword scores and record reads, on the threads that all requests of a process share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import to_thread

T = TypeVar("T")


async def work(job: Callable[[], T]) -> T:
    """Run what takes more than a moment off the event loop. What it raises is raised here."""
    return await to_thread.run_sync(job)
