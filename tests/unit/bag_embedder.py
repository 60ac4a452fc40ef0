"""An embedder that knows words: texts that share words lie close together, so that a search finds something."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shared.models.ledger import Ledger
from shared.models.provider import Provider, TextKind

Float32 = npt.NDArray[np.float32]


class BagEmbedder:
    """The sum of a direction a word. `deaf` hears only the first letter of each, so much less is told apart."""

    provider: Provider = "embedded"
    dimension = 64
    max_chars = 2_000

    def __init__(self, *, deaf: bool = False) -> None:
        self.model = "test/deaf" if deaf else "test/bag"
        self._deaf = deaf
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str], kind: TextKind, ledger: Ledger) -> Float32:
        self.texts += texts
        ledger.record(target="test", model=self.model, stage="embed-build", elapsed_ms=1)
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Float32:
        words = re.findall(r"[a-z0-9]+", text.lower()) or ["nothing"]
        total = sum((_direction(word[:1] if self._deaf else word) for word in words), np.zeros(self.dimension))
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


def _direction(word: str) -> npt.NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(BagEmbedder.dimension)
