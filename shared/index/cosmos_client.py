"""The client of Cosmos DB: opened from settings, by key or as the platform's own identity, and its failures as ours.

The only module that imports azure.cosmos and azure.identity, and only when a client is opened: both take 0.6 s.
Clients hold connections and a task of their own, so open one where it is used (after the fork, on the loop that will
use it) and close it there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from shared.errors import SettingsError, StoreBusy, StoreChanged, StoreError, StoreMissing, StoreRefused
from shared.index.items import FIELDS
from shared.settings import Settings

if TYPE_CHECKING:
    from azure.cosmos import ContainerProxy, CosmosClient
    from azure.cosmos.aio import ContainerProxy as AsyncContainerProxy
    from azure.cosmos.aio import CosmosClient as AsyncCosmosClient

    Container = ContainerProxy
    AsyncContainer = AsyncContainerProxy

PARTITION_PATH = "/site"
# The vectors are of unit length but for their rounding to float16. A cosine would divide by it: scores then differ by
# 4e-4 from those in memory, and of 100 questions about homes 4 got another last candidate; by a dot product, by 5e-7
# and none.
DISTANCE = "dotproduct"
VECTOR_PATHS = tuple(f"/{field}_v" for field in FIELDS)

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Patience(Struct, frozen=True):
    """How long one request may take, how often a throttled one is sent again, and how long it may wait for that.

    The client takes 0 retries for nothing said: it then tries 9 times.
    """

    timeout_s: float
    retries: int
    throttled_s: float


# A load waits as long as the service asks it to: nobody waits for its answer, and giving up only means starting again.
OF_A_LOAD = Patience(timeout_s=60, retries=100, throttled_s=600)


def of_a_question(settings: Settings) -> Patience:
    """One more try of what is throttled, at each of the two places where the client tries again: four requests.

    Each may take COSMOS_TIMEOUT_S at most; who asks bounds the whole.
    """
    return Patience(timeout_s=settings.cosmos_timeout_s, retries=1, throttled_s=settings.cosmos_timeout_s)


def check_endpoint(settings: Settings) -> None:
    """Raises SettingsError where COSMOS_ENDPOINT is not an address that a key may be sent to."""
    parts = urlsplit(settings.cosmos_endpoint)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and parts.hostname in _LOOPBACK:
        return
    raise SettingsError(
        f"COSMOS_ENDPOINT={settings.cosmos_endpoint!r}: expected https://<account>.documents.azure.com/"
        " (http is for a server on this machine alone)"
    )


def import_client(settings: Settings) -> None:
    """Import what AsyncAccount needs, from a thread that may wait for it: on a loop everybody would."""
    import aiohttp  # noqa: F401 - the client imports it where it connects
    import azure.cosmos.aio

    if not settings.cosmos_key:
        import azure.identity.aio  # noqa: F401


class Account:
    """A Cosmos DB account, for work that is done offline. Not for an event loop."""

    def __init__(self, settings: Settings, patience: Patience = OF_A_LOAD) -> None:
        """Connects at once. Raises SettingsError, StoreError."""
        check_endpoint(settings)
        from azure.cosmos import CosmosClient

        self._names = (settings.cosmos_database, settings.cosmos_container)
        credential: Any = settings.cosmos_key or _identity()
        self._identity = None if settings.cosmos_key else credential
        with failures():
            self._client: CosmosClient = CosmosClient(settings.cosmos_endpoint, credential, **_options(patience))

    @property
    def container(self) -> ContainerProxy:
        """The container that the settings name, whether it is there or not."""
        database, container = self._names
        return self._client.get_database_client(database).get_container_client(container)

    def properties(self) -> dict[str, Any] | None:
        """What the service says of the container; None where there is none yet. Raises StoreError."""
        try:
            with failures():
                return dict(self.container.read())
        except StoreMissing:
            return None

    def create(self, dimension: int) -> ContainerProxy:
        """The container, made with its database where they are not there yet. Raises StoreError.

        An identity without the right to make them (Cosmos DB keeps that apart from the right to write items) does with
        a container that is there already.
        """
        if self.properties() is None:
            from azure.cosmos import PartitionKey

            with failures():
                database = self._client.create_database_if_not_exists(self._names[0])
                database.create_container_if_not_exists(
                    self._names[1], partition_key=PartitionKey(path=PARTITION_PATH), **policies(dimension)
                )
        return self.container

    def close(self) -> None:
        """End its connections."""
        self._client.close()
        if self._identity is not None:
            self._identity.close()


class AsyncAccount:
    """A Cosmos DB account on one event loop. Its first request connects."""

    def __init__(self, settings: Settings, patience: Patience) -> None:
        """To be called on the loop. Raises SettingsError."""
        check_endpoint(settings)
        from azure.cosmos.aio import CosmosClient

        self._names = (settings.cosmos_database, settings.cosmos_container)
        credential: Any = settings.cosmos_key or _async_identity()
        self._identity = None if settings.cosmos_key else credential
        with failures():
            self._client: AsyncCosmosClient = CosmosClient(settings.cosmos_endpoint, credential, **_options(patience))

    @property
    def container(self) -> AsyncContainerProxy:
        """The container that the settings name, whether it is there or not."""
        database, container = self._names
        return self._client.get_database_client(database).get_container_client(container)

    async def close(self) -> None:
        """End its connections, and the task in which it looks for other regions."""
        await self._client.close()
        if self._identity is not None:
            await self._identity.close()


def policies(dimension: int) -> dict[str, Any]:
    """What a container is made with: three vectors of so many numbers, each with an index of its own and no other."""
    embeddings = [
        {"path": path, "dataType": "float32", "distanceFunction": DISTANCE, "dimensions": dimension}
        for path in VECTOR_PATHS
    ]
    # A record is read as a whole and searched by its facts: without this exclusion each of its words would be indexed,
    # and every write would pay for it.
    excluded = [*VECTOR_PATHS, "/record"]
    return {
        "vector_embedding_policy": {"vectorEmbeddings": embeddings},
        "indexing_policy": {
            "indexingMode": "consistent",
            "automatic": True,
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": f"{path}/*"} for path in excluded],
            "vectorIndexes": [{"path": path, "type": "quantizedFlat"} for path in VECTOR_PATHS],
        },
    }


def dimensions(properties: Mapping[str, Any]) -> dict[str, int]:
    """Vector path → how many numbers the container expects there."""
    policy = properties.get("vectorEmbeddingPolicy") or {}
    return {each["path"]: int(each["dimensions"]) for each in policy.get("vectorEmbeddings", ())}


@contextmanager
def failures() -> Iterator[None]:
    """Whatever the client raises, as one of ours: StoreError, or a kind of it where its status tells.

    No message holds what was asked, a key or a document.
    """
    from azure.core.exceptions import AzureError, ClientAuthenticationError, DecodeError, HttpResponseError
    from azure.cosmos.exceptions import CosmosClientTimeoutError

    try:
        yield
    except CosmosClientTimeoutError as error:
        raise StoreError("Cosmos DB did not answer in time") from error
    except ClientAuthenticationError as error:
        raise StoreRefused("no token for Cosmos DB: no identity of this platform or of this user was found") from error
    except DecodeError as error:  # which has the status of the answer that broke off
        raise StoreError("Cosmos DB's answer broke off") from error
    except HttpResponseError as error:
        raise _of_status(error.status_code, getattr(error, "sub_status", None)) from error
    except AzureError as error:
        raise StoreError(f"Cosmos DB cannot be reached ({type(error).__name__})") from error


def is_answer(error: StoreError) -> bool:
    """Whether the service is up and said no, by its status: another question may well be answered.

    A token that could not be had is no answer of the service.
    """
    from azure.core.exceptions import ClientAuthenticationError

    if isinstance(error.__cause__, ClientAuthenticationError):
        return False
    return isinstance(error, StoreRefused | StoreMissing | StoreChanged)


def _of_status(status: int | None, sub_status: int | None) -> StoreError:
    said = f"{status}.{sub_status}" if sub_status else f"{status}"
    match status:
        case 401 | 403:
            return StoreRefused(f"Cosmos DB takes neither this key nor this identity ({said})")
        case 400 | 413:
            return StoreRefused(f"Cosmos DB does not take what was asked ({said})")
        case 404:
            return StoreMissing(f"Cosmos DB has no such database, container or item ({said})")
        case 412:
            return StoreChanged(f"the items in Cosmos DB were written by somebody else meanwhile ({said})")
        case 429:
            return StoreBusy(f"Cosmos DB is asked for more than it is provisioned for ({said})")
        case _:
            return StoreError(f"Cosmos DB answered {said}")


def _options(patience: Patience) -> dict[str, Any]:
    # What a client has to say it also raises; what it writes to the log is the trace of its search for other regions
    # having been cut short by `close`.
    logging.getLogger("azure").setLevel(logging.CRITICAL)
    return {
        "connection_timeout": patience.timeout_s,
        "read_timeout": patience.timeout_s,
        "retry_total": patience.retries,
        "retry_backoff_max": patience.throttled_s,
        # What was written need not come back: an item with its vectors is up to 100 KB.
        "no_response_on_write": True,
        # Half the bytes of a record in another script, and so half of what a batch may hold.
        "enable_compact_utf8_item_writes": True,
    }


def _identity() -> Any:
    from azure.identity import DefaultAzureCredential

    return DefaultAzureCredential()


def _async_identity() -> Any:
    from azure.identity.aio import DefaultAzureCredential

    return DefaultAzureCredential()
