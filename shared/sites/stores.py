"""Where the vectors of a site's items are searched: in this process, or in Cosmos DB.

A release holds all of it either way, so a site whose Cosmos DB is down still answers by words.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from shared.errors import StoreError
from shared.index.cosmos import CosmosConnection, CosmosVectors
from shared.index.cosmos_client import is_answer
from shared.index.cosmos_ids import ReleaseIds
from shared.index.items import IDS_ROLE
from shared.models.breaker import Breaker
from shared.timed import timed

if TYPE_CHECKING:
    from shared.index.item_vectors import Charge, Nearest, Sought, Store
    from shared.release.reader import Release
    from shared.settings import Settings

# A question in vain waits COSMOS_TIMEOUT_S at worst; after so many, one every 15 s finds out whether that is over.
FAILURES = 3
OPEN_S = 15.0


class CosmosStore:
    """A process's way to its account: the connection, and whether it is left alone for now."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self.connection = CosmosConnection(settings)
        self.breaker = Breaker(FAILURES, OPEN_S, clock, "Cosmos DB", StoreError)

    def vectors(self, release: Release, partition: str) -> GuardedVectors:
        """Those of a release. Raises ReleaseIncompatible where its list of ids cannot be used."""
        ids = ReleaseIds(release.paths[IDS_ROLE], release.manifest.rows)
        weights = self.settings.vector_field_weights
        return GuardedVectors(CosmosVectors(self.connection, partition, ids, weights), self)


class GuardedVectors:
    """A release's vectors in Cosmos DB, asked within COSMOS_TIMEOUT_S and left alone while the account is down.

    An account that says no is not down: what one release lacks there keeps no other one from being searched.
    """

    store: Store = "cosmos"

    def __init__(self, vectors: CosmosVectors, store: CosmosStore) -> None:
        self._vectors = vectors
        self._timeout_s = store.settings.cosmos_timeout_s
        self._breaker = store.breaker
        self._refused = 0  # searches in a row that the account said no to

    @property
    def unusable(self) -> int:
        """Items that are too large for Cosmos DB: found by their words only."""
        return self._vectors.unusable

    async def nearest(self, sought: Sought, charge: Charge) -> Nearest:
        """The best rows. Raises StoreError."""
        with self._breaker.watch() as health, timed("cosmos"):
            try:
                found = await self._in_time(sought, charge)
            except StoreError as error:
                health.good = is_answer(error)
                self._refused += health.good
                raise
            health.good, self._refused = True, 0
            return found

    def describe(self) -> dict[str, Any]:
        """Whether the last searches failed, so that words alone answer for now."""
        is_degraded = self._breaker.state != "closed" or self._refused >= FAILURES
        return {**self._vectors.describe(), "degraded": is_degraded}

    def close(self) -> None:
        """Close what is their own."""
        self._vectors.close()

    async def _in_time(self, sought: Sought, charge: Charge) -> Nearest:
        with anyio.move_on_after(self._timeout_s):
            return await self._vectors.nearest(sought, charge)
        raise StoreError(f"Cosmos DB did not answer within {self._timeout_s:g} s")
