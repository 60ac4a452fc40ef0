"""One rate for a model that is paid by the call, over all tasks of a build."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.errors import EmbeddingFailed
from shared.models.ledger import Ledger
from shared.models.provider import Embedder, Provider, TextKind
from shared.models.retry import LONGEST_WAIT_S

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# A gateway that asks for more than the client waits (a minute) is obeyed by a build, which has nobody waiting.
LONGEST_OBEYED_S = 900.0
_TIMES = 3


@dataclass(frozen=True, slots=True)
class Shard:
    """One task of several: its number, from 0, and how many there are."""

    index: int = 0
    of: int = 1

    def part(self, rows: int) -> range:
        """Its rows: one contiguous range, as long as the others' or one longer."""
        return range(self.index * rows // self.of, (self.index + 1) * rows // self.of)


@dataclass(slots=True)
class _Attempts:
    """What a ledger tells of calls side by side: how many attempts there were beyond one a call."""

    before: int
    calls: int = 0
    charged: int = 0

    def repeated(self, attempts: int) -> int:
        """Attempts that no turn was taken for, each told once, when a call ends."""
        self.calls += 1
        owed = max(0, attempts - self.before - self.calls - self.charged)
        self.charged += owed
        return owed


class Paced:
    """An embedder that asks no more often than `calls_a_minute`, of which each task of a build has an equal share.

    Attempts that the client made again count as well. What the gateway asks for in `Retry-After` is waited for, up
    to 15 minutes, also where it is longer than a request to a server could wait.
    """

    def __init__(
        self,
        embedder: Embedder,
        calls_a_minute: float,
        shard: Shard,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._embedder = embedder
        self._interval_s = 60.0 * shard.of / calls_a_minute if calls_a_minute else 0.0
        self._now, self._sleep = now, sleep
        # The tasks take turns from the first call on, rather than all beginning at one moment.
        self._next_s = now() + self._interval_s * shard.index / shard.of
        self._attempts: dict[Ledger, _Attempts] = {}

    @property
    def provider(self) -> Provider:
        """Who runs the model."""
        return self._embedder.provider

    @property
    def model(self) -> str:
        """The model's id."""
        return self._embedder.model

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self._embedder.dimension

    @property
    def max_chars(self) -> int:
        """Characters of a text it can take."""
        return self._embedder.max_chars

    async def embed(self, texts: Sequence[str], kind: TextKind, ledger: Ledger) -> npt.NDArray[np.float32]:
        """As the embedder's own, when it is this call's turn. Raises EmbeddingFailed."""
        for _ in range(_TIMES):
            try:
                return await self._once(texts, kind, ledger)
            except EmbeddingFailed as failure:
                if not LONGEST_WAIT_S < (failure.retry_after_s or 0) <= LONGEST_OBEYED_S:
                    raise
                await self._sleep(float(failure.retry_after_s or 0))
        return await self._once(texts, kind, ledger)

    async def _once(self, texts: Sequence[str], kind: TextKind, ledger: Ledger) -> npt.NDArray[np.float32]:
        await self._turn()
        before = self._attempts.setdefault(ledger, _Attempts(len(ledger.attempts())))
        try:
            return await self._embedder.embed(texts, kind, ledger)
        finally:
            self._next_s += self._interval_s * before.repeated(len(ledger.attempts()))

    async def _turn(self) -> None:
        """Wait for the next free moment, which is then taken."""
        at = max(self._next_s, self._now())
        self._next_s = at + self._interval_s
        if at > self._now():
            await self._sleep(at - self._now())
