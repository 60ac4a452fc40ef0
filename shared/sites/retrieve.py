"""The candidates of one question: what its words find, then what its vector finds beside.

Where the question demands something, rows that meet all of it are searched first, and rows that do not say are added
only where those are too few. Where it asks for nothing else, those rows are the candidates.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from anyio import create_task_group
from msgspec import Struct

from shared.contracts.ask import Retrieval
from shared.contracts.items import Item
from shared.contracts.notices import Notice, notice
from shared.errors import ReleaseError, StoreError, Unavailable
from shared.index.item_vectors import Ranked
from shared.models.ledger import Ledger
from shared.models.provider import MAX_QUESTION_CHARS, Embedder, Source
from shared.sites.aim import Aim, Standing
from shared.sites.site import Site
from shared.timed import timed
from shared.work import work

if TYPE_CHECKING:
    from shared.index.scan import Float32

Failure = Unavailable | ReleaseError | StoreError


class Plan(Struct, frozen=True):
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

    @property
    def count(self) -> int:
        """The most candidates that all its searches bring."""
        return self.bm25_count * self.wants_words + self.vector_count * self.wants_vectors


class Found(Struct, frozen=True):
    """One candidate, by the search that found it first; it has that search's score and not the other's.

    `vector_score` is a sum of three cosines, -3 to 3; `bm25_score` is above 0. `standing` is None where the question
    demands nothing.
    """

    row: int
    item: Item
    vector_score: float | None
    bm25_score: float | None
    source: Source
    standing: Standing | None = None


async def retrieve(aim: Aim, site: Site, plan: Plan, ledger: Ledger) -> tuple[list[Found], list[Notice]]:
    """BM25's candidates, best first, then those of the vectors that BM25 did not find, and what was left undone.

    The text is embedded while its words are looked up. Where vectors cannot be searched, words are, also instead of
    them, and a notice says so. Raises ReleaseIncompatible where an item cannot be read.
    """
    if not aim.searched:
        return await _demanded(aim, site, plan, ledger)
    embedding = _Embedding(aim)
    words: Ranked = []
    async with create_task_group() as group:
        if plan.wants_vectors:
            group.start_soon(embedding.make, site.embedder, ledger)
        if plan.wants_words:
            words = await work(lambda: by_words(aim.searched, site, aim, plan.bm25_count))
    vectors: Ranked = []
    if plan.wants_vectors:
        vectors = await embedding.search(site, plan.vector_count, [row for row, _ in words], ledger)
        if embedding.failed and not plan.wants_words:
            words = await work(lambda: by_words(aim.searched, site, aim, plan.vector_count))
    found = await work(lambda: found_in(site, aim, words, "bm25") + found_in(site, aim, vectors, "vector"))
    return found, _notices(aim.searched, site, plan, embedding)


async def _demanded(aim: Aim, site: Site, plan: Plan, ledger: Ledger) -> tuple[list[Found], list[Notice]]:
    """The items that meet what is demanded, where nothing else is asked for: in the order that is asked for.

    Without an order they come nearest to the whole question first. As they lie, "science fiction from the 1980s" gave
    Alien Dead to Arena out of 28,923 films; so it gives Star Trek, Aliens and Blade Runner.
    """
    if aim.reading.order is not None or not plan.wants_vectors:
        return await work(lambda: _by_columns(aim, site, plan.count)), []
    embedding = _Embedding(aim)
    await embedding.make(site.embedder, ledger)
    nearest = await embedding.search(site, plan.count, (), ledger)
    if not embedding.failed:
        return await work(lambda: found_in(site, aim, nearest, "vector")), _notices(aim.query, site, plan, embedding)
    return await work(lambda: _by_columns(aim, site, plan.count)), [_without_vectors(embedding, "what the columns say")]


def by_words(text: str, site: Site, aim: Aim, count: int) -> Ranked:
    """The rows that a text's words find among those that may answer. For a thread."""
    read = text[:MAX_QUESTION_CHARS]
    ranked: Ranked = []
    for pool in aim.pools:
        if len(ranked) < count:
            ranked += site.bm25(read, count - len(ranked), among=pool.rows)
    return ranked


def found_in(site: Site, aim: Aim, ranked: Ranked, source: Source) -> list[Found]:
    """The items of these rows, each with the score of the search that found it, and how it stands. For a thread."""
    items = site.items([row for row, _ in ranked])
    return [
        Found(
            row,
            item,
            score if source == "vector" else None,
            score if source == "bm25" else None,
            source,
            aim.standing_of(row),
        )
        for (row, score), item in zip(ranked, items, strict=True)
    ]


def _by_columns(aim: Aim, site: Site, count: int) -> list[Found]:
    """The rows of each pool by the question's order, else as they lie."""
    fit = aim.fit
    if fit is None:
        return []
    rows = [row for pool in aim.pools if pool.rows is not None for row in fit.ordered(pool.rows, count)]
    return found_in(site, aim, [(row, 0.0) for row in rows[:count]], "columns")


class _Embedding:
    """The question's vector on its way, and what it finds.

    A failure is kept, not raised: a task group would wrap it in a group of exceptions, and words are enough to go on.
    """

    def __init__(self, aim: Aim) -> None:
        self._aim = aim
        self._vector: Float32 | None = None
        self.failed = False
        self.is_whole = True
        self.reason = "model_unavailable"

    async def make(self, embedder: Embedder | None, ledger: Ledger) -> None:
        """Embed the text, up to what the embedder can take."""
        if embedder is None:
            self.failed = True
            return
        text = self._aim.searched or self._aim.query
        try:
            with timed("embed"):
                vectors = await embedder.embed([text[: embedder.max_chars]], "query", ledger)
        except Unavailable as error:
            self._fail(error)
        else:
            self._vector = vectors[0]

    async def search(self, site: Site, count: int, without: Collection[int], ledger: Ledger) -> Ranked:
        """The nearest items of the first pool, and of the next ones only as many as are missing; none where something
        failed."""
        vector = self._vector
        ranked: Ranked = []
        if vector is None:
            return ranked
        try:
            for pool in self._aim.pools:
                if len(ranked) < count:
                    found = await site.nearest(vector, count - len(ranked), without, pool, ledger)
                    ranked += found.ranked
                    self.is_whole = self.is_whole and found.is_whole
        except (Unavailable, ReleaseError, StoreError) as error:
            self._fail(error)
            return []
        return ranked

    def _fail(self, error: Failure) -> None:
        self.failed, self.reason = True, error.code


def _notices(text: str, site: Site, plan: Plan, embedding: _Embedding) -> list[Notice]:
    notices = _shortened(text, site, plan)
    if embedding.failed:
        notices.append(_without_vectors(embedding, "BM25 results"))
    elif not embedding.is_whole:
        message = "The search by vectors was ended before it was sure of the nearest items; one of them may be missing."
        notices.append(notice("vectors_partial", message))
    elif plan.wants_vectors and site.vectors and site.vectors.unusable:
        message = "Some items have a vector that cannot be used; they are found by what else they have."
        notices.append(notice("vector_unusable", message, items=site.vectors.unusable))
    return notices


def _without_vectors(embedding: _Embedding, instead: str) -> Notice:
    message = f"Vector retrieval unavailable; returning {instead}."
    return notice("vectors_unavailable", message, reason=embedding.reason)


def _shortened(text: str, site: Site, plan: Plan) -> list[Notice]:
    limits = [MAX_QUESTION_CHARS] if plan.wants_words else []
    if plan.wants_vectors and site.embedder:
        limits.append(site.embedder.max_chars)
    if not limits or len(text) <= min(limits):
        return []
    return [notice("query_shortened", f"The question is searched up to {min(limits)} characters.", texts=1)]
