"""One site as a function holds it: the items of one collection, and what they are searched with.

A request keeps one Site from start to end, so both of its searches and the items it shows are of one release.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
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
from shared.index.field_vectors import FieldVectors
from shared.index.item_lexical import ITEM_WEIGHTS, question_weights
from shared.index.items import VECTOR_ROLES, Items
from shared.index.lexical import LEXICAL_ROLES, Lexical
from shared.index.scan import Float32, Scanner, top
from shared.release.reader import Progress, Release, current, evict, fetch
from shared.settings import Settings
from shared.sites.constraints import read
from shared.sites.eligible import Eligibility, eligible
from shared.sites.kinds import Kind
from shared.sites.vocabulary import SiteVocabulary
from shared.timed import timed

if TYPE_CHECKING:
    from shared.models.choice import Models
    from shared.models.provider import Embedder

WORD_ROLES = ("records", *LEXICAL_ROLES)
# Name, description and body count alike.
VECTOR_WEIGHTS = (1.0, 1.0, 1.0)
_NOWHERE = np.float32(-np.inf)


@dataclass(frozen=True, slots=True)
class Site:
    """One opened release of a site.

    `embedder` is the one the release was built with, None where it could not be had: then only words find anything,
    the vectors were not fetched, and `lacks` says why.
    """

    settings: Settings
    kind: Kind
    bucket: Bucket
    release: Release
    records: Items
    lexical: Lexical
    vectors: FieldVectors | None = None
    embedder: Embedder | None = None
    lacks: str = ""
    columns: Columns = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", Columns(self.records, self.release.manifest.rows))

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
            scores = self.lexical.scores(ITEM_WEIGHTS, question_weights(text, self.lexical))
            scores = scores if among is None else np.where(among, scores, np.float32(0))
            return [(row, score) for row, score in _best(scores, limit) if score > 0]

    def nearest(
        self, query: Float32, limit: int, without: Collection[int] = (), among: Mask | None = None
    ) -> list[tuple[int, float]]:
        """The best `(row, score)` by a query's vector, `(dimension,)`, without some rows; best first, ties by id.

        `among`, one a row, says which rows may be found; every one without it.

        A score is the sum of three cosines, -3 to 3. Raises ModelUnavailable where there are no vectors here.
        """
        if self.vectors is None:
            raise ModelUnavailable(self.lacks)
        with timed("scan"):
            scores = self.vectors.scores(query, VECTOR_WEIGHTS)
            scores = scores if among is None else np.where(among, scores, _NOWHERE)
            left_out = set(without)
            best = _best(scores, limit + len(left_out))
            return [(row, score) for row, score in best if row not in left_out and score > _NOWHERE][:limit]

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
        }

    def close(self) -> None:
        """Give back connections, threads and the hold on the cached files."""
        self.records.close()
        self.release.close()
        if self.vectors:
            self.vectors.close()

    def retire(self) -> None:
        """Close, and clear the cache of what no process holds: another release took this one's place."""
        self.close()
        evict(Path(self.settings.cache_dir))

    @property
    def bytes(self) -> int:
        """What a release beside this one would need: as much as this one."""
        return sum(path.stat().st_size for path in self.release.paths.values())


def open_site(settings: Settings, kind: Kind, models: Models | None = None, progress: Progress | None = None) -> Site:
    """Fetch, check and open the current release of a site, and load its embedder beside it. The caller closes `models`.

    Without models, or where they do not have the embedder, only what words need is fetched. Raises SettingsError
    without a bucket, ReleaseError for what lies in it, BucketError, CacheUnusable.
    """
    bucket = _bucket(settings)
    with ThreadPoolExecutor(1, thread_name_prefix="models") as pool, ExitStack() as opened:
        needs = _Needs(models, lambda models, spec: pool.submit(models.embedder, spec))
        release = fetch(bucket, kind.name, needs.roles, Path(settings.cache_dir), progress, kind="items")
        opened.callback(release.close)
        records = opened.enter_context(closing(Items(release.paths["records"])))
        records.check(release.manifest.rows)
        lexical = _lexical(release)
        embedder = needs.embedder()
        vectors = _vectors(settings, release) if embedder else None
        opened.pop_all()  # what is served stays open; what was refused was closed on the way out
    return Site(settings, kind, bucket, release, records, lexical, vectors, embedder, needs.lacks)


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
    if lexical.fields != len(ITEM_WEIGHTS.fields):
        raise ReleaseIncompatible(
            f"lexical.lengths: expected {len(ITEM_WEIGHTS.fields)} fields, found {lexical.fields}"
        )
    return lexical


def _vectors(settings: Settings, release: Release) -> FieldVectors:
    manifest = release.manifest
    return FieldVectors(release.paths, manifest.rows, manifest.embedder.dimension, Scanner(settings.scan_threads))


@dataclass(slots=True)
class _Needs:
    """What a site's release is needed for, which its manifest settles: the embedder, and with it the vectors."""

    models: Models | None
    begin: Callable[[Models, EmbedderSpec], Future[Embedder]]
    lacks: str = "no models are served here"
    opening: Future[Embedder] | None = field(default=None, init=False)

    def roles(self, manifest: Manifest) -> Collection[str]:
        """The roles to fetch; the embedder is opened beside."""
        self.opening = None
        if self.models is None:
            return WORD_ROLES
        if not any(file.role in VECTOR_ROLES for file in manifest.files):
            self.lacks = "the release has no vectors"
            return WORD_ROLES
        try:
            self.models.check_embedder(manifest.embedder)
        except ModelUnavailable as error:
            self.lacks = error.message
            return WORD_ROLES
        self.opening = self.begin(self.models, manifest.embedder)
        return (*WORD_ROLES, *VECTOR_ROLES)

    def embedder(self) -> Embedder | None:
        """The embedder, once it is open; None where it could not be had."""
        try:
            embedder = self.opening.result() if self.opening else None
        except ModelUnavailable as error:
            self.lacks = error.message
            return None
        self.lacks = "" if embedder else self.lacks
        return embedder
