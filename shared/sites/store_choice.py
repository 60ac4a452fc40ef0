"""Which store a site uses, from the settings alone: read before a port opens, so without vectors or models."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from shared.errors import SettingsError

if TYPE_CHECKING:
    from shared.index.item_vectors import Store
    from shared.settings import Settings
    from shared.sites.stores import CosmosStore

# Recipes and reviews answered slower from Cosmos DB than from memory, and fit there.
IN_COSMOS = frozenset({"trails", "movies", "homes"})


def store_of(settings: Settings, kind: str) -> Store:
    """What STORE says, else the kind's own. Raises SettingsError for a store that these settings cannot reach."""
    wants_cosmos = (
        kind in IN_COSMOS and bool(settings.cosmos_endpoint) if not settings.store else settings.store == "cosmos"
    )
    if not wants_cosmos:
        return "memory"
    if not settings.cosmos_endpoint:
        raise SettingsError(
            "STORE=cosmos, but COSMOS_ENDPOINT is not set: expected https://<account>.documents.azure.com/"
        )
    from shared.index.cosmos_client import check_endpoint

    check_endpoint(settings)
    return "cosmos"


class Stores:
    """What a process keeps of its stores while releases come and go. Made before a fork, it opens nothing until then.

    One way to Cosmos DB for all sites of a process: what one of them finds out about an outage is known to all.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._cosmos: CosmosStore | None = None

    def cosmos(self) -> CosmosStore:
        """The way to Cosmos DB. To be called from a thread that may wait for imports, not from the event loop."""
        from shared.sites.stores import CosmosStore

        with self._lock:
            if self._cosmos is None:
                self._cosmos = CosmosStore(self._settings)
            return self._cosmos

    async def aclose(self) -> None:
        """Close its connections, on their own loop."""
        if self._cosmos is not None:
            await self._cosmos.connection.aclose()

    def close(self) -> None:
        """Close its connections; from any thread but the event loop's, before that loop ends."""
        if self._cosmos is not None:
            self._cosmos.connection.close()
