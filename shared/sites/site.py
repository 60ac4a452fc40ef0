"""One site as a function holds it: the items of one collection, and what they are searched with.

A request keeps one Site from start to end, so both of its searches and the items it shows are of one release.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.bucket.base import Bucket, open_bucket
from shared.contracts.constraints import Reading
from shared.contracts.items import Item, Value
from shared.contracts.release import Embedder as EmbedderSpec
from shared.contracts.release import Manifest, NullBank
from shared.errors import ModelUnavailable, ReleaseIncompatible, SettingsError
from shared.index.columns import Columns, Mask
from shared.index.cosmos_documents import IDS_ROLE
from shared.index.field_vectors import FieldVectors, MemoryVectors
from shared.index.item_lexical import ITEM_WEIGHTS, question_weights
from shared.index.item_vectors import Sought
from shared.index.items import FIELDS, VECTOR_ROLES, Items
from shared.index.lexical import LEXICAL_ROLES, Lexical, Weights
from shared.index.scan import Float32, Scanner, top
from shared.release.reader import Progress, Release, current, evict, fetch
from shared.settings import Settings
from shared.sites.constraints import read
from shared.sites.eligible import Eligibility, eligible
from shared.sites.kinds import Kind
from shared.sites.store_choice import Stores, store_of
from shared.sites.terms import terms_where_met, terms_where_open
from shared.sites.tuning import tuned
from shared.sites.vocabulary import SiteVocabulary
from shared.timed import timed
from shared.work import work

if TYPE_CHECKING:
    from shared.index.item_vectors import ItemVectors, Nearest, Store
    from shared.models.choice import Models
    from shared.models.ledger import Ledger
    from shared.models.provider import Embedder
    from shared.sites.aim import Pool
    from shared.sites.stores import CosmosStore

WORD_ROLES = ("records", *LEXICAL_ROLES)


@dataclass(frozen=True, slots=True)
class Site:
    """One opened release of a site.

    `embedder` is the one the release was built with, None where it could not be had: then only words find anything,
    the vectors were not fetched, and `lacks` says why. `stores` are its own, closed with it.
    """

    settings: Settings
    kind: Kind
    bucket: Bucket
    release: Release
    records: Items
    lexical: Lexical
    vectors: ItemVectors | None = None
    embedder: Embedder | None = None
    lacks: str = ""
    stores: Stores | None = None
    columns: Columns = field(init=False)
    weights: Weights = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", Columns(self.records, self.release.manifest.rows))
        weights, b = self.settings.bm25_field_weights, self.settings.bm25_field_b
        object.__setattr__(self, "weights", replace(ITEM_WEIGHTS, fields=tuple(weights), b=tuple(b)))

    @property
    def collection(self) -> str:
        """The name that its items carry as `site`."""
        return self.release.manifest.collection or self.release.manifest.families[0].family

    @property
    def label(self) -> str:
        """The collection's name for people."""
        return self.release.manifest.label

    @property
    def count(self) -> int:
        """Its items."""
        return self.release.manifest.rows

    @property
    def null_bank(self) -> NullBank | None:
        """How close everyday questions come that this collection does not answer."""
        return self.release.manifest.null_bank

    def items(self, rows: Sequence[int]) -> list[Item]:
        """The items of these rows, in this order. Raises ReleaseIncompatible where there is no such row."""
        with timed("records"):
            found = self.records.items(rows)
        for row in rows:
            if row not in found:
                raise ReleaseIncompatible(f"records: expected an item in row {row}, found none")
        return [found[row] for row in rows]

    def facts(self, rows: Sequence[int]) -> dict[int, dict[str, Value]]:
        """The typed columns of these rows, as the kind names them."""
        with timed("records"):
            return self.records.facts(rows)

    def read(self, text: str) -> Reading:
        """What a question demands of the items here. The first that may name somebody loads the names (0.2 s)."""
        with timed("constraints"):
            return read(text, self.kind, SiteVocabulary(self.columns))

    def eligible(self, reading: Reading) -> Eligibility:
        """How every row stands to it. Raises ReleaseIncompatible where a column cannot be read."""
        with timed("constraints"):
            return eligible(reading, self.columns, self.kind.wording)

    def bm25(self, text: str, limit: int, among: Mask | None = None) -> list[tuple[int, float]]:
        """The best `(row, score)` by the words of a text, best first, ties by id; none where no word is known.

        `among`, one a row, says which rows may be found; every one without it.
        """
        with timed("keyword"):
            scores = self.lexical.scores(self.weights, question_weights(text, self.lexical))
            scores = scores if among is None else np.where(among, scores, np.float32(0))
            return [(row, score) for row, score in _best(scores, limit) if score > 0]

    async def nearest(
        self, query: Float32, limit: int, without: Collection[int], pool: Pool, ledger: Ledger
    ) -> Nearest:
        """The best `(row, score)` of a pool by a query's vector, `(dimension,)`, without some rows; best first, ties
        by id.

        A score is the sum of three cosines by weight, -3 to 3 where each counts alike. What the store charges goes
        into the ledger. Raises ModelUnavailable where there are no vectors here, StoreError where they cannot be
        searched.
        """
        if self.vectors is None:
            raise ModelUnavailable(self.lacks)
        terms_of = terms_where_open if pool.is_open else terms_where_met
        terms = await work(lambda: terms_of(pool.constraints, self.columns, self.kind.wording))
        with ledger.store(self.vectors.store) as charge:
            return await self.vectors.nearest(Sought(query, limit, frozenset(without), pool.rows, terms), charge)

    def stale(self) -> bool:
        """Whether the catalog's pointer has moved since it was opened."""
        return current(self.bucket, self.kind.name).release != self.release.id

    def describe(self) -> dict[str, Any]:
        """What /health says of the data."""
        manifest = self.release.manifest
        return {
            "release": self.release.id,
            "site": self.kind.name,
            "collection": self.collection,
            "label": self.label,
            "items": self.count,
            "dimensions": manifest.embedder.dimension,
            "embedder": manifest.embedder.model if self.embedder else None,
            **(self.vectors.describe() if self.vectors else {"store": None, "degraded": True}),
        }

    def close(self) -> None:
        """Give back connections, threads and the hold on the cached files."""
        self.records.close()
        self.release.close()
        if self.vectors:
            self.vectors.close()
        if self.stores:
            self.stores.close()

    def retire(self) -> None:
        """Close, and clear the cache of what no process holds: another release took this one's place."""
        self.close()
        evict(Path(self.settings.cache_dir))

    @property
    def bytes(self) -> int:
        """What a release beside this one would need: as much as this one."""
        return sum(path.stat().st_size for path in self.release.paths.values())


def open_site(
    settings: Settings,
    kind: Kind,
    models: Models | None = None,
    progress: Progress | None = None,
    stores: Stores | None = None,
) -> Site:
    """Fetch, check and open the current release of a site, and load its embedder beside it. The caller closes `models`.

    Without models, or where they do not have the embedder, only what words need is fetched. What is opened of
    `stores` stays open; without them the site has its own, and closes them. Raises SettingsError without a bucket or
    for a store that cannot be reached, ReleaseError for what lies in the bucket, BucketError, CacheUnusable.
    """
    bucket, store = _bucket(settings), store_of(settings, kind.name)
    owned = Stores(settings) if stores is None and store == "cosmos" else None
    with ThreadPoolExecutor(2, thread_name_prefix="models") as pool, ExitStack() as opened:
        needs = _Needs(models, lambda models, spec: pool.submit(models.embedder, spec), store)
        reached = pool.submit((stores or owned or Stores(settings)).cosmos) if store == "cosmos" and models else None
        release = fetch(bucket, kind.name, needs.roles, Path(settings.cache_dir), progress, kind="items")
        opened.callback(release.close)
        with timed("map"):
            records = opened.enter_context(closing(Items(release.paths["records"])))
            records.check(release.manifest.rows)
            lexical = _lexical(release)
        with timed("models"):
            embedder = needs.embedder()
        with timed("store"):
            cosmos = reached.result() if reached else None
        with timed("map"):
            vectors = _vectors(settings, release, kind, cosmos) if embedder else None
        opened.pop_all()  # what is served stays open; what was refused was closed on the way out
    kind = tuned(kind, settings)
    return Site(settings, kind, bucket, release, records, lexical, vectors, embedder, needs.lacks, owned)


def _bucket(settings: Settings) -> Bucket:
    if not settings.bucket_url:
        raise SettingsError(
            "BUCKET_URL is not set: expected the URL under which releases lie, such as file:///srv/askbucket"
        )
    try:
        return open_bucket(settings.bucket_url, settings)
    except SettingsError as error:
        raise SettingsError(f"BUCKET_URL: {error.message}") from error


def _best(scores: Float32, limit: int) -> list[tuple[int, float]]:
    """Row order is id order, so `top` tells ties apart by id."""
    rows = top(scores, limit)
    return list(zip(rows.tolist(), scores[rows].tolist(), strict=True))


def _lexical(release: Release) -> Lexical:
    lexical = Lexical(release.paths, release.manifest.rows)
    if lexical.fields != len(FIELDS):
        raise ReleaseIncompatible(f"lexical.lengths: expected {len(FIELDS)} fields, found {lexical.fields}")
    return lexical


def _vectors(settings: Settings, release: Release, kind: Kind, cosmos: CosmosStore | None) -> ItemVectors:
    if cosmos is not None:
        return cosmos.vectors(release, kind.name)
    manifest = release.manifest
    fields = FieldVectors(release.paths, manifest.rows, manifest.embedder.dimension, Scanner(settings.scan_threads))
    return MemoryVectors(fields, settings.vector_field_weights)


def _check_ids(roles: Collection[str], manifest: Manifest) -> None:
    if IDS_ROLE not in roles:
        catalog = manifest.catalog
        raise ReleaseIncompatible(
            f"the release of {catalog} does not say which items of Cosmos DB are its own (no file {IDS_ROLE}):"
            " build it anew with `askbucket build items --force` and load it with `askbucket load-cosmos`,"
            " or set STORE=memory"
        )


@dataclass(slots=True)
class _Needs:
    """What a site's release is needed for, which its manifest settles: the embedder, and with it the vectors."""

    models: Models | None
    begin: Callable[[Models, EmbedderSpec], Future[Embedder]]
    store: Store
    lacks: str = "no models are served here"
    opening: Future[Embedder] | None = field(default=None, init=False)

    def roles(self, manifest: Manifest) -> Collection[str]:
        """The roles to fetch; the embedder is opened beside. Raises ReleaseIncompatible where none lists what Cosmos
        DB is to hold."""
        self.opening = None
        if self.models is None:
            return WORD_ROLES
        roles = {file.role for file in manifest.files}
        if self.store == "memory" and roles.isdisjoint(VECTOR_ROLES):
            self.lacks = "the release has no vectors"
            return WORD_ROLES
        try:
            self.models.check_embedder(manifest.embedder)
        except ModelUnavailable as error:
            self.lacks = error.message
            return WORD_ROLES
        if self.store == "cosmos":
            _check_ids(roles, manifest)
        self.opening = self.begin(self.models, manifest.embedder)
        return (*WORD_ROLES, *(VECTOR_ROLES if self.store == "memory" else (IDS_ROLE,)))

    def embedder(self) -> Embedder | None:
        """The embedder, once it is open; None where it could not be had."""
        try:
            embedder = self.opening.result() if self.opening else None
        except ModelUnavailable as error:
            self.lacks = error.message
            return None
        self.lacks = "" if embedder else self.lacks
        return embedder
