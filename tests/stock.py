"""Vectors of invented items, in memory and in a Cosmos DB that is a fake, and asking for what is nearest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from fakes.cosmos import Account

from shared.errors import StoreError
from shared.index.cosmos import CosmosVectors
from shared.index.cosmos_ids import ReleaseIds
from shared.index.field_vectors import FieldVectors, MemoryVectors
from shared.index.item_vectors import Charge, ItemVectors, Nearest, Sought
from shared.index.items import FIELDS, VECTOR_ROLES
from shared.index.scan import Float16, Float32, Scanner, write_vectors
from shared.settings import Settings
from shared.sites.stores import CosmosStore, GuardedVectors

DIMENSION = 16
PARTITION = "movies"
ALIKE = (1.0, 1.0, 1.0)


@dataclass
class Stock:
    """So many items; every fifth says nothing in its description, and every seventh nothing in its body.

    Facts: `year` from 1900 on, None for every ninth; `genres`; and `dogs`, a switch.
    """

    folder: Path
    matrices: list[Float16]
    name: int = 1

    @property
    def rows(self) -> int:
        return len(self.matrices[0])

    @property
    def ids(self) -> list[str]:
        return [f"{row:016x}~{self.name:024x}" for row in range(self.rows)]

    def facts(self, row: int) -> dict[str, Any]:
        year = None if row % 9 == 8 else 1900 + row % 100
        return {"year": year, "genres": ["drama", f"g{row % 4}"], "dogs": row % 2 == 0}

    def documents(self) -> Iterator[dict[str, Any]]:
        for row, name in enumerate(self.ids):
            vectors = {f"{field}_v": matrix[row] for field, matrix in zip(FIELDS, self.matrices, strict=True)}
            filled = {path: vector.astype(np.float32) for path, vector in vectors.items() if vector.any()}
            yield {"id": name, "site": PARTITION, "facts": self.facts(row), **filled}

    def memory(self, weights: Sequence[float] = ALIKE) -> MemoryVectors:
        paths = {role: self.folder / f"{role}.{self.name}.npy" for role in VECTOR_ROLES}
        for role, matrix in zip(VECTOR_ROLES, self.matrices, strict=True):
            write_vectors(paths[role], matrix)
        return MemoryVectors(FieldVectors(paths, self.rows, DIMENSION, Scanner(1)), weights)

    def release_ids(self) -> ReleaseIds:
        path = self.folder / f"ids.{self.name}.npy"
        np.save(path, np.array([name.encode() for name in self.ids]))
        return ReleaseIds(path, self.rows)

    def cosmos(self, store: CosmosStore, weights: Sequence[float] = ALIKE) -> GuardedVectors:
        return GuardedVectors(CosmosVectors(store.connection, PARTITION, self.release_ids(), weights), store)


def stock(folder: Path, rows: int = 600, seed: int = 1) -> Stock:
    """Items whose vectors are random."""
    drawn = np.random.default_rng(seed).normal(size=(len(FIELDS), rows, DIMENSION))
    drawn /= np.linalg.norm(drawn, axis=2, keepdims=True)
    drawn[1, ::5] = 0
    drawn[2, ::7] = 0
    return Stock(folder, list(drawn.astype(np.float16)), seed)


def towards(seed: int) -> Float32:
    """A question's vector."""
    drawn = np.random.default_rng(1_000 + seed).normal(size=DIMENSION)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def store_at(account: Account, clock: Callable[[], float] | None = None, **given: Any) -> CosmosStore:
    """A way to the account that waits as long as it takes, unless it is told otherwise."""
    settings = Settings(cosmos_endpoint=account.endpoint, cosmos_key=account.key, **{"cosmos_timeout_s": 60.0, **given})
    return CosmosStore(settings, clock) if clock else CosmosStore(settings)


@contextmanager
def behaving(account: Account, **how: Any) -> Iterator[None]:
    """The account answers so, until the block ends."""
    before = account.behaviour
    account.behaviour = replace(before, **how)
    try:
        yield
    finally:
        account.behaviour = before


def ask(vectors: ItemVectors, *sought: Sought, store: CosmosStore | None = None) -> list[Nearest | StoreError]:
    """What is found, one after the other on one event loop, whose connections are closed at its end."""

    async def run() -> list[Nearest | StoreError]:
        found: list[Nearest | StoreError] = []
        try:
            for each in sought:
                try:
                    found.append(await vectors.nearest(each, Charge()))
                except StoreError as error:
                    found.append(error)
        finally:
            if store is not None:
                await store.connection.aclose()
        return found

    return anyio.run(run)
