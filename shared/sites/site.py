"""One site as a function holds it: the items of one collection, and what they are searched with.

A request keeps one Site from start to end, so both of its searches and the items it shows are of one release.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from shared.bucket.base import Bucket
from shared.contracts.constraints import Reading
from shared.contracts.items import Item, Value
from shared.errors import ModelUnavailable, ReleaseIncompatible
from shared.index.columns import Columns, Mask
from shared.index.field_vectors import FieldVectors, MemoryVectors
from shared.index.item_lexical import ITEM_WEIGHTS, question_weights
from shared.index.item_vectors import Sought
from shared.index.items import FIELDS, Items
from shared.index.lexical import Lexical, Weights
from shared.index.scan import Float32, Scanner, top
from shared.release.reader import Progress, Release, current, evict
from shared.settings import Settings
from shared.sites.constraints import read
from shared.sites.eligible import Eligibility, eligible
from shared.sites.fetching import Coming, fetching
from shared.sites.kinds import Kind
from shared.sites.store_choice import Stores
from shared.sites.terms import terms_where_met, terms_where_open
from shared.sites.tuning import tuned
from shared.sites.vocabulary import SiteVocabulary
from shared.timed import timed
from shared.work import work

if TYPE_CHECKING:
    from shared.index.item_vectors import ItemVectors, Nearest
    from shared.models.choice import Models
    from shared.models.ledger import Ledger
    from shared.models.provider import Embedder
    from shared.sites.aim import Pool
    from shared.sites.stores import CosmosStore


class Site(Struct, frozen=True, kw_only=True):
    """One opened release of a site.

    `embedder` is the one the release was built with, None where it could not be had: then only words find anything,
    the vectors were not fetched, and `lacks` says why. `stores` are its own, closed with it.
    """

    settings: Settings
    kind: Kind
    bucket: Bucket
    release: Release
    records: Items
    columns: Columns
    lexical: Lexical
    weights: Weights
    vectors: ItemVectors | None = None
    embedder: Embedder | None = None
    lacks: str = ""
    stores: Stores | None = None

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
    with fetching(settings, kind.name, models, progress, stores) as coming:
        return opened(coming, settings, kind)


def opened(coming: Coming, settings: Settings, kind: Kind) -> Site:
    """The site, once what is fetched has come and its embedder is open. Raises what open_site raises."""
    release = coming.take()
    with ExitStack() as closing_down:
        closing_down.callback(release.close)
        with timed("map"):
            records = closing_down.enter_context(closing(Items(release.paths["records"])))
            records.check(release.manifest.rows)
            lexical = _lexical(release)
        embedder, cosmos = coming.embedder(), coming.cosmos()
        with timed("map"):
            vectors = _vectors(settings, release, kind, cosmos) if embedder else None
        closing_down.pop_all()  # what is served stays open; what was refused was closed on the way out
    return Site(
        settings=settings,
        kind=tuned(kind, settings),
        bucket=coming.bucket,
        release=release,
        records=records,
        columns=Columns(records, release.manifest.rows),
        lexical=lexical,
        weights=_weights(settings),
        vectors=vectors,
        embedder=embedder,
        lacks=coming.lacks,
        stores=coming.owned,
    )


def _weights(settings: Settings) -> Weights:
    fields, b = settings.bm25_field_weights, settings.bm25_field_b
    return replace(ITEM_WEIGHTS, fields=tuple(fields), b=tuple(b))


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
