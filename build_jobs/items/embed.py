"""The three vectors of each item: of its name, its description and its body; a zero row for what says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from build_jobs.embed import Checkpoints, Float16, Found, Known, embed_texts, signature
from build_jobs.progress import Told, silent
from shared.contracts.items import Item
from shared.index.items import FIELDS, Signatures
from shared.models.ledger import Ledger
from shared.models.provider import Embedder
from shared.sites.fields import fields_of

BATCH = 64
AT_ONCE = 8
MAX_CHARS = 24_000
RETRIES = 6


@dataclass(frozen=True, slots=True)
class Texts:
    """What is embedded: each item's signatures, and each signature's text."""

    signatures: Sequence[Signatures]
    by_signature: dict[str, str]


def texts_of(items: Sequence[Item], model: str) -> Texts:
    """The distinct texts of all fields, each cut at 24,000 characters; an empty field has the signature ``."""
    by_signature: dict[str, str] = {}
    signatures: list[Signatures] = []
    for item in items:
        name, description, body = (field[:MAX_CHARS] for field in fields_of(item.record))
        signatures.append(
            (
                _kept(name, model, by_signature),
                _kept(description, model, by_signature),
                _kept(body, model, by_signature),
            )
        )
    return Texts(signatures, by_signature)


def _kept(text: str, model: str, by_signature: dict[str, str]) -> str:
    if not text.strip():
        return ""
    by_signature[found := signature(text, model)] = text
    return found


async def embed_items(
    texts: Texts, embedder: Embedder, *, known: Known, checkpoints: Checkpoints, ledger: Ledger, told: Told = silent
) -> tuple[list[Float16], Found]:
    """Three `(items, dimension)` float16 matrices in the order of FIELDS, and where their vectors came from.

    Raises BuildError where the model fails; what was embedded until then is kept.
    """
    found = await embed_texts(
        texts.by_signature,
        embedder,
        known=known,
        checkpoints=checkpoints,
        ledger=ledger,
        told=told,
        batch=BATCH,
        at_once=AT_ONCE if embedder.provider == "openrouter" else 1,  # the embedded one has a thread a core itself
    )
    return [_matrix(texts, place, found.vectors, embedder.dimension) for place in range(len(FIELDS))], found


def _matrix(texts: Texts, place: int, vectors: Known, dimension: int) -> Float16:
    matrix = np.zeros((len(texts.signatures), dimension), dtype=np.float16)
    for row, signatures in enumerate(texts.signatures):
        if signatures[place]:
            matrix[row] = vectors[signatures[place]]
    return matrix
