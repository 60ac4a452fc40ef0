"""The embedder behind the model gateway: query vectors, checked before anything is searched with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.errors import EmbeddingFailed, ModelUnavailable
from shared.models.caches import Cache, cache_key
from shared.models.ledger import Ledger
from shared.models.openrouter import Json, OpenRouterClient
from shared.models.provider import Provider, TextKind

Vector = npt.NDArray[np.float32]


class OpenRouterEmbedder:
    """Implements models.provider.Embedder. A text whose vector is in the cache is not asked for again."""

    provider: Provider = "openrouter"
    max_chars = 8_000

    def __init__(self, client: OpenRouterClient, model: str, dimension: int, cache: Cache[Vector]) -> None:
        self.model = model
        self.dimension = dimension
        self._client = client
        self._cache = cache

    async def embed(self, texts: Sequence[str], kind: TextKind, ledger: Ledger) -> npt.NDArray[np.float32]:
        """`(len(texts), dimension)` float32 unit vectors, in order; one call for all that are not in the cache.

        Raises EmbeddingFailed, also where the reply has another model's vectors, or any that is no direction;
        BudgetExhausted.
        """
        distinct = list(dict.fromkeys(texts))
        known = self._cached(distinct) if kind == "query" else {}
        missing = [text for text in distinct if text not in known]
        if missing:
            asked = await self._asked(missing, kind, ledger)
            # Copies: a row of the reply's matrix would keep all of it in memory.
            found = {text: vector.copy() for text, vector in zip(missing, asked, strict=True)}
            known |= found
            if kind == "query":
                self._keep(found)
        return np.array([known[text] for text in texts], dtype=np.float32).reshape(len(texts), self.dimension)

    def _cached(self, texts: Sequence[str]) -> dict[str, Vector]:
        found = {text: self._cache.get(self._key(text)) for text in texts}
        return {text: vector for text, vector in found.items() if vector is not None}

    def _keep(self, found: Mapping[str, Vector]) -> None:
        for text, vector in found.items():
            self._cache.put(self._key(text), vector)

    def _key(self, text: str) -> bytes:
        return cache_key(self.model, str(self.dimension), text)

    async def _asked(self, texts: list[str], kind: TextKind, ledger: Ledger) -> npt.NDArray[np.float32]:
        try:
            reply = await self._client.embeddings(self.model, texts, f"embed-{kind}", ledger)
        except ModelUnavailable as failure:
            raise EmbeddingFailed(failure.message, retry_after_s=failure.retry_after_s) from failure
        return unit_vectors(reply, self.model, len(texts), self.dimension)


def unit_vectors(reply: Json, model: str, count: int, dimension: int) -> npt.NDArray[np.float32]:
    """`(count, dimension)` from a reply of /embeddings, by `index`. Raises EmbeddingFailed for anything else."""
    if not _same_model(reply.get("model"), model):
        raise EmbeddingFailed(f"The embeddings are not of {model}")
    by_index = _by_index(reply.get("data"))
    if sorted(by_index) != list(range(count)):
        raise EmbeddingFailed(f"The embeddings are not one for each of {count} texts")
    if any(not isinstance(vector, list) or len(vector) != dimension for vector in by_index.values()):
        raise EmbeddingFailed(f"The embeddings do not have {dimension} dimensions")
    return _normalised([by_index[index] for index in range(count)])


def _same_model(found: object, asked: str) -> bool:
    """A gateway may leave out or put in the vendor's name before the slash; the rest must be the model asked for."""
    return isinstance(found, str) and found.rsplit("/", 1)[-1].lower() == asked.rsplit("/", 1)[-1].lower()


def _by_index(data: object) -> dict[int, Any]:
    """Index → vector; empty where an index is missing, no integer, or given twice."""
    items = data if isinstance(data, list) else []
    pairs = [(item.get("index"), item.get("embedding")) for item in items if isinstance(item, dict)]
    found = {index: vector for index, vector in pairs if type(index) is int}
    return found if len(found) == len(items) else {}


def _normalised(rows: list[list[Any]]) -> npt.NDArray[np.float32]:
    # By the set of types: one test a number took 0.5 ms for eight vectors of 1,536, this takes 0.16 ms.
    if not {type(value) for row in rows for value in row} <= {int, float}:
        raise EmbeddingFailed("The embeddings hold something other than numbers")
    try:
        vectors = np.array(rows, dtype=np.float64)
    except OverflowError as error:  # JSON knows whole numbers of any length
        raise EmbeddingFailed("The embeddings hold a number beyond all measure") from error
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and (norms > 0).all()):
        raise EmbeddingFailed("The embeddings hold a vector that is no direction: zeros, or not numbers")
    unit: npt.NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return unit
