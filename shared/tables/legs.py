"""The two legs a search stands on, vectors and keywords, over all catalogs, and the models beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from msgspec import Struct, field

from shared.contracts.release import LEXICAL_ROLES
from shared.errors import ReleaseIncompatible
from shared.index.lexical import Lexical, Weights, idf, query_tokens
from shared.index.scan import Float32, Rows, Scanner, Vectors
from shared.models.caches import Cache
from shared.models.choice import Models, combine_null_banks
from shared.models.judging import Judge
from shared.models.provider import Embedder
from shared.settings import Settings
from shared.tables.catalogs import Catalog
from shared.timed import timed

# Title, questions, description, code. Counted alike, the first three have the right answer among the first 60 as often
# as with a title twice as heavy, and more often among the first ten; a code is asked for or not at all.
KEYWORD_WEIGHTS = Weights(fields=(1.0, 1.0, 1.0, 2.0))

# Filters whose rows are kept: 8 bytes a row, so eight that leave nearly all of 118,703, or hundreds of narrow ones.
_ROW_SETS = 256
_ROW_SETS_BYTES = 8_000_000


def _row_sets() -> Cache[Rows]:
    return Cache(_ROW_SETS, _ROW_SETS_BYTES, lambda rows: rows.nbytes)


class Legs(Struct, frozen=True):
    """Mapped vectors and postings, one a catalog in the catalogs' order, with the embedder and the judge.

    `row_sets` keeps what filters leave of these very catalogs: it comes and goes with the release.
    """

    vectors: tuple[Vectors, ...]
    lexical: tuple[Lexical, ...]
    scanner: Scanner
    embedder: Embedder
    judge: Judge | None
    slices: Mapping[str, tuple[tuple[int, int], ...]]
    first_rows: tuple[int, ...]
    row_sets: Cache[Rows] = field(default_factory=_row_sets)

    def cosines(self, queries: Float32, rows: Rows | None) -> Float32:
        """`(q, n)` cosines of the queries with these row numbers (sorted), or with all rows."""
        with timed("scan"):
            parts = [
                self.scanner.scan(vectors, queries, own)
                for vectors, own in zip(self.vectors, self._own(rows), strict=True)
                if own is None or len(own)
            ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def keyword_scores(self, texts: Sequence[str], rows: Rows | None) -> Float32:
        """`(n,)` best BM25 over the texts for these row numbers, or for all rows; 0 where no word matched."""
        with timed("keyword"):
            idfs = [{token: idf(token, self.lexical) for token in query_tokens(text)} for text in texts]
            parts = [lexical.best_scores(KEYWORD_WEIGHTS, idfs) for lexical in self.lexical]
            every = parts[0] if len(parts) == 1 else np.concatenate(parts)
            return every if rows is None else every[rows]

    def unusable(self, rows: Rows) -> Rows:
        """Those of these row numbers whose vector is no unit vector."""
        parts = [
            own[vectors.unusable(own)] + first
            for vectors, own, first in zip(self.vectors, self._own(rows), self.first_rows, strict=True)
            if own is not None and len(own)
        ]
        return np.concatenate(parts) if parts else rows[:0]

    def close(self) -> None:
        """End the scan's threads."""
        self.scanner.close()

    def _own(self, rows: Rows | None) -> list[Rows | None]:
        """The row numbers as each catalog counts its own."""
        if rows is None:
            return [None] * len(self.vectors)
        ends = [first + vectors.rows for first, vectors in zip(self.first_rows, self.vectors, strict=True)]
        return [rows[(rows >= first) & (rows < end)] - first for first, end in zip(self.first_rows, ends, strict=True)]


def open_legs(settings: Settings, catalogs: Sequence[Catalog], models: Models) -> Legs:
    """Map vectors and postings, and load the models beside it: on a cold start the models are the longer half."""
    manifests = [catalog.release.manifest for catalog in catalogs]
    banks = [manifest.null_bank for manifest in manifests if manifest.null_bank]
    with ThreadPoolExecutor(2, thread_name_prefix="models") as pool:
        embedder = pool.submit(models.embedder, manifests[0].embedder)
        judge = pool.submit(models.judge, combine_null_banks(banks) if banks else None)
        with timed("map"):
            vectors = tuple(_vectors(catalog) for catalog in catalogs)
            lexical = tuple(Lexical(_lexical_paths(catalog), catalog.rows) for catalog in catalogs)
        with timed("models"):
            embeds, judges = embedder.result(), judge.result()
        return Legs(
            vectors, lexical, Scanner(settings.scan_threads), embeds, judges,
            _slices(catalogs), tuple(catalog.first_row for catalog in catalogs),
        )  # fmt: skip


def _vectors(catalog: Catalog) -> Vectors:
    """Map the matrix and hold it against the manifest, so that no query ever meets a wrong shape."""
    manifest = catalog.release.manifest
    vectors = Vectors(catalog.release.paths["vectors"])
    expected, found = (manifest.rows, manifest.embedder.dimension), (vectors.rows, vectors.dimension)
    if expected != found:
        raise ReleaseIncompatible(f"vectors of catalog {catalog.name!r}: expected shape {expected}, found {found}")
    return vectors


def _lexical_paths(catalog: Catalog) -> dict[str, Path]:
    return {role: catalog.release.paths[role] for role in LEXICAL_ROLES}


def _slices(catalogs: Sequence[Catalog]) -> dict[str, tuple[tuple[int, int], ...]]:
    """Family → its ranges of row numbers."""
    found: dict[str, tuple[tuple[int, int], ...]] = {}
    for catalog in catalogs:
        for family in catalog.release.manifest.families:
            start = catalog.first_row + family.first_row
            found[family.family] = (*found.get(family.family, ()), (start, start + family.rows))
    return found
