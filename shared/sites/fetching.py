"""A site's release on its way: its files are fetched and checked, and its embedder and its store opened, by threads.

Whoever opens a site imports meanwhile what reads and searches it. Digests and a model's weights take no interpreter's
lock and imports hold it, so each keeps a core busy. This module itself imports nothing that takes long.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shared.bucket.base import Bucket, bucket_of
from shared.contracts.release import LEXICAL_ROLES, Manifest
from shared.errors import ModelUnavailable, ReleaseIncompatible, Stopping
from shared.index.items import IDS_ROLE, VECTOR_ROLES
from shared.release.reader import Progress, Release, fetch
from shared.settings import Settings
from shared.sites.store_choice import Stores, store_of
from shared.timed import carried, timed

if TYPE_CHECKING:
    from shared.models.choice import Models
    from shared.models.provider import Embedder
    from shared.sites.stores import CosmosStore

WORD_ROLES = ("records", *LEXICAL_ROLES)


@contextmanager
def fetching(
    settings: Settings,
    name: str,
    models: Models | None = None,
    progress: Progress | None = None,
    stores: Stores | None = None,
) -> Iterator[Coming]:
    """The current release of the site of this kind, on its way from here on; whoever takes it closes it.

    What is needed of it its manifest settles: without models, or where they do not have its embedder, only what words
    need is fetched. Raises SettingsError without a bucket, or for a store that cannot be reached.
    """
    bucket, store = bucket_of(settings), store_of(settings, name)
    owned = Stores(settings) if stores is None and store == "cosmos" else None
    with ThreadPoolExecutor(3, thread_name_prefix="coming") as threads:
        coming = Coming(bucket, threads, models, owned)
        reached = stores or owned
        if store == "cosmos" and models is not None and reached is not None:
            coming.reach(reached)
        coming.fetch(name, Path(settings.cache_dir), progress)
        try:
            yield coming
        finally:
            coming.leave()


class Coming:
    """What a site is opened from, each part waited for when it is asked for.

    `lacks` says what keeps vectors from being searched, once the embedder was asked for; empty where nothing does.
    """

    def __init__(
        self, bucket: Bucket, threads: ThreadPoolExecutor, models: Models | None, owned: Stores | None
    ) -> None:
        self.bucket = bucket
        self.owned = owned
        self.lacks = "no models are served here"
        self._threads = threads
        self._models = models
        self._cosmos: Future[CosmosStore] | None = None
        self._embedder: Future[Embedder] | None = None
        self._release: Future[Release] | None = None
        self._left = False

    def reach(self, stores: Stores) -> None:
        """Have Cosmos DB searched."""
        self._cosmos = self._threads.submit(stores.cosmos)

    def fetch(self, name: str, cache_dir: Path, progress: Progress | None) -> None:
        """Have the release fetched and checked."""
        work = carried(fetch)
        self._release = self._threads.submit(work, self.bucket, name, self._roles, cache_dir, progress, kind="items")

    def take(self) -> Release:
        """The release, once: the caller closes it. Raises ReleaseError, BucketError, CacheUnusable."""
        assert self._release is not None  # noqa: S101 - fetched before it is handed out
        release, self._release = self._release.result(), None
        return release

    def embedder(self) -> Embedder | None:
        """The embedder, once it is open; None where it could not be had, and `lacks` says why."""
        with timed("models"):
            try:
                embedder = self._embedder.result() if self._embedder else None
            except ModelUnavailable as error:
                self.lacks = error.message
                return None
        self.lacks = "" if embedder else self.lacks
        return embedder

    def cosmos(self) -> CosmosStore | None:
        """The way to Cosmos DB; None where vectors are searched in memory."""
        with timed("store"):
            return self._cosmos.result() if self._cosmos else None

    def leave(self) -> None:
        """Have nothing more fetched, and close a release that nobody took."""
        self._left = True
        if self._release is not None and not self._release.cancel() and self._release.exception() is None:
            self._release.result().close()

    def _roles(self, manifest: Manifest) -> Collection[str]:
        """The roles to fetch; the embedder is opened beside. Raises ReleaseIncompatible where none lists what Cosmos
        DB is to hold."""
        if self._left:
            raise Stopping("Nobody waits for the release any more")
        self._embedder = None  # asked once more where the release was replaced meanwhile
        if self._models is None:
            return WORD_ROLES
        roles = {file.role for file in manifest.files}
        if self._cosmos is None and roles.isdisjoint(VECTOR_ROLES):
            self.lacks = "the release has no vectors"
            return WORD_ROLES
        try:
            self._models.check_embedder(manifest.embedder)
        except ModelUnavailable as error:
            self.lacks = error.message
            return WORD_ROLES
        if self._cosmos is not None:
            _check_ids(roles, manifest)
        self._embedder = self._threads.submit(self._models.embedder, manifest.embedder)
        return (*WORD_ROLES, *(VECTOR_ROLES if self._cosmos is None else (IDS_ROLE,)))


def _check_ids(roles: Collection[str], manifest: Manifest) -> None:
    if IDS_ROLE not in roles:
        catalog = manifest.catalog
        raise ReleaseIncompatible(
            f"the release of {catalog} does not say which items of Cosmos DB are its own (no file {IDS_ROLE}):"
            " build it anew with `askbucket build items --force` and load it with `askbucket load-cosmos`,"
            " or set STORE=memory"
        )
