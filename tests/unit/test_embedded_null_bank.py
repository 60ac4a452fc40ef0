"""The null bank: how close everyday questions come to a catalog."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import numpy as np
import numpy.typing as npt
import pytest

from shared.models.ledger import Ledger
from shared.models.null_bank import EVERYDAY_QUERIES, null_bank, null_bank_of_items
from shared.models.provider import TextKind


class Circle:
    """An embedder whose every text lies at its own angle: the answers can be worked out."""

    model = "circle"
    dimension = 2

    async def embed(self, texts: Sequence[str], kind: TextKind, ledger: Ledger) -> npt.NDArray[np.float32]:
        assert kind == "query"
        angles = np.linspace(0, 1, len(texts))
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_the_bank_is_the_median_and_the_deviation_of_the_best_cosines():
    catalog = np.array([[1, 0], [-1, 0]], dtype=np.float16)
    bank = anyio.run(null_bank, Circle(), catalog)
    best = np.cos(np.linspace(0, 1, len(EVERYDAY_QUERIES)))
    assert bank.queries == len(EVERYDAY_QUERIES)
    assert bank.median == pytest.approx(np.median(best), abs=1e-3)
    assert bank.mad == pytest.approx(np.median(np.abs(best - np.median(best))), abs=1e-3)


def test_a_large_catalog_is_read_in_blocks_to_the_last_row():
    catalog = np.tile(np.array([[-1, 0]], dtype=np.float16), (9000, 1))
    catalog[-1] = [1, 0]
    assert anyio.run(null_bank, Circle(), catalog).median > 0.8


def test_there_are_48_different_everyday_queries():
    assert len(set(EVERYDAY_QUERIES)) == len(EVERYDAY_QUERIES) == 48


def test_of_items_the_bank_is_of_the_weighted_sum_over_their_fields():
    names, texts = np.array([[1, 0], [0, 0]], dtype=np.float16), np.array([[0, 1], [1, 0]], dtype=np.float16)
    bank = anyio.run(null_bank_of_items, Circle(), [names, texts], [1.0, 2.0])
    angles = np.linspace(0, 1, len(EVERYDAY_QUERIES))
    best = np.maximum(np.cos(angles) + 2 * np.sin(angles), 2 * np.cos(angles))
    assert bank.median == pytest.approx(np.median(best), abs=1e-3)
