"""The candidates of one question: what its words find, then what its vector finds beside."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import create_task_group

from shared.contracts.ask import Retrieval
from shared.contracts.items import Item
from shared.contracts.notices import Notice, notice
from shared.errors import ReleaseError, Unavailable
from shared.models.ledger import Ledger
from shared.models.provider import MAX_QUESTION_CHARS, Embedder, Source
from shared.sites.site import Site
from shared.timed import timed
from shared.work import work

if TYPE_CHECKING:
    from shared.index.scan import Float32

Failure = Unavailable | ReleaseError
Ranked = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Plan:
    """Which searches are made, and how many candidates each may bring. `compare` makes both."""

    retrieval: Retrieval = "compare"
    bm25_count: int = 20
    vector_count: int = 20

    @property
    def wants_words(self) -> bool:
        return self.retrieval != "vector" and self.bm25_count > 0

    @property
    def wants_vectors(self) -> bool:
        return self.retrieval != "bm25" and self.vector_count > 0


@dataclass(frozen=True, slots=True)
class Found:
    """One candidate, by the search that found it first; it has that search's score and not the other's.

    `vector_score` is a sum of three cosines, -3 to 3; `bm25_score` is above 0.
    """

    row: int
    item: Item
    vector_score: float | None
    bm25_score: float | None
    source: Source


async def retrieve(text: str, site: Site, plan: Plan, ledger: Ledger) -> tuple[list[Found], list[Notice]]:
    """BM25's candidates, best first, then those of the vectors that BM25 did not find, and what was left undone.

    The text is embedded while its words are looked up. Where vectors cannot be searched, words are, also instead of
    them, and a notice says so. Raises ReleaseIncompatible where an item cannot be read.
    """
    embedding = _Embedding(text)
    words: Ranked = []
    async with create_task_group() as group:
        if plan.wants_vectors:
            group.start_soon(embedding.make, site.embedder, ledger)
        if plan.wants_words:
            words = await _by_words(text, site, plan.bm25_count)
    vectors: Ranked = []
    if plan.wants_vectors:
        vectors = await embedding.search(site, plan.vector_count, without=[row for row, _ in words])
        if embedding.failed and not plan.wants_words:
            words = await _by_words(text, site, plan.vector_count)
    found = await work(lambda: _read(site, words, vectors))
    return found, _notices(text, site, plan, embedding)


async def _by_words(text: str, site: Site, count: int) -> Ranked:
    return await work(lambda: site.bm25(text[:MAX_QUESTION_CHARS], count))


class _Embedding:
    """The question's vector on its way, and what it finds.

    A failure is kept, not raised: a task group would wrap it in a group of exceptions, and words are enough to go on.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._vector: Float32 | None = None
        self.failed = False
        self.reason = "model_unavailable"

    async def make(self, embedder: Embedder | None, ledger: Ledger) -> None:
        """Embed the text, up to what the embedder can take."""
        if embedder is None:
            self.failed = True
            return
        try:
            with timed("embed"):
                vectors = await embedder.embed([self._text[: embedder.max_chars]], "query", ledger)
        except Unavailable as error:
            self._fail(error)
        else:
            self._vector = vectors[0]

    async def search(self, site: Site, count: int, without: Collection[int]) -> Ranked:
        """The nearest items; none where something failed."""
        vector = self._vector
        if vector is None:
            return []
        try:
            return await work(lambda: site.nearest(vector, count, without))
        except (Unavailable, ReleaseError) as error:
            self._fail(error)
            return []

    def _fail(self, error: Failure) -> None:
        self.failed, self.reason = True, error.code


def _read(site: Site, words: Ranked, vectors: Ranked) -> list[Found]:
    items = site.items([row for row, _ in (*words, *vectors)])
    by_words = [Found(row, item, None, score, "bm25") for (row, score), item in zip(words, items, strict=False)]
    rest = items[len(words) :]
    return by_words + [
        Found(row, item, score, None, "vector") for (row, score), item in zip(vectors, rest, strict=True)
    ]


def _notices(text: str, site: Site, plan: Plan, embedding: _Embedding) -> list[Notice]:
    notices = _shortened(text, site, plan)
    if embedding.failed:
        message = "Vector retrieval unavailable; returning BM25 results."
        notices.append(notice("vectors_unavailable", message, reason=embedding.reason))
    elif plan.wants_vectors and site.vectors and site.vectors.unusable:
        message = "Some items have a field whose vector cannot be used; they are found by their other fields only."
        notices.append(notice("vector_unusable", message, items=site.vectors.unusable))
    return notices


def _shortened(text: str, site: Site, plan: Plan) -> list[Notice]:
    limits = [MAX_QUESTION_CHARS] if plan.wants_words else []
    if plan.wants_vectors and site.embedder:
        limits.append(site.embedder.max_chars)
    if not limits or len(text) <= min(limits):
        return []
    return [notice("query_shortened", f"The question is searched up to {min(limits)} characters.", texts=1)]
