"""Vectors of leaves and items: those of the current release where the text is the same, the rest from the model.

A vector belongs to a *signature*, the digest of text and model. Batches are checkpointed under it as they
come, so a build that was killed goes on where it was, and what one build embedded another one need not.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import secrets
import zipfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from build_jobs.progress import Meter, Told, silent
from shared.contracts.leaf import Leaf
from shared.errors import BuildError, EmbeddingFailed, Unavailable
from shared.models.ledger import Ledger
from shared.models.provider import Embedder

BATCH = 96

Float16 = npt.NDArray[np.float16]
Float32 = npt.NDArray[np.float32]
Known = Mapping[str, Float16]


@dataclass(frozen=True, slots=True)
class Embedded:
    """`vectors` is `(leaves, dimension)` float16, unit rows, in the leaves' order, one signature each."""

    vectors: Float16
    signatures: Sequence[str]
    reused: int
    resumed: int
    embedded: int


def signature(text: str, model: str) -> str:
    """What a vector is known by: 12 hex digits of the digest of text and model."""
    return hashlib.md5(f"{text}|{model}".encode(), usedforsecurity=False).hexdigest()[:12]


def signatures_of(leaves: Sequence[Leaf], model: str) -> list[str]:
    """One signature a leaf."""
    return [signature(leaf.text, model) for leaf in leaves]


class Checkpoints:
    """Vectors of batches that were embedded, one file a batch, in a folder that builds may share.

    A file appears whole or not at all. One that cannot be read is taken for absent, and removed.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self.dimension = dimension
        self._read: list[Path] = []

    def load(self) -> dict[str, Float16]:
        """Every vector in the folder by its signature."""
        found: dict[str, Float16] = {}
        for path in sorted(self._folder.glob("*.npz")):
            batch = self._batch(path)
            found.update(batch)
            if batch:
                self._read.append(path)
        return found

    def _batch(self, path: Path) -> dict[str, Float16]:
        try:
            data = path.read_bytes()
        except OSError:
            data = b""
        found = unpacked(data, self.dimension)
        if found is None:
            path.unlink(missing_ok=True)
        return found or {}

    def save(self, signatures: Sequence[str], vectors: Float16) -> None:
        """Keep one batch."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{batch_name(signatures, self.dimension)}.npz"
        part = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
        part.write_bytes(packed(signatures, vectors))
        part.replace(path)
        self._read.append(path)

    def clear(self) -> None:
        """Remove the files that this build read or wrote: their vectors are in a release now."""
        for path in self._read:
            path.unlink(missing_ok=True)
        self._read.clear()


def batch_name(signatures: Sequence[str], dimension: int) -> str:
    """What a batch of these vectors is called."""
    return signature("".join(signatures), str(dimension))


def packed(signatures: Sequence[str], vectors: Float16) -> bytes:
    """A batch as the bytes of a file."""
    file = io.BytesIO()
    np.savez(file, signatures=np.array(signatures), vectors=vectors)
    return file.getvalue()


def unpacked(data: bytes, dimension: int) -> dict[str, Float16] | None:
    """The vectors of a batch by signature: none of another dimension; None where the bytes are no batch."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as saved:
            names, vectors = saved["signatures"], saved["vectors"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    if vectors.shape != (len(names), dimension) or vectors.dtype != np.float16:
        return {}
    return dict(zip(names.tolist(), vectors, strict=True))


class Kept(Protocol):
    """Where batches are kept until their vectors are in a release."""

    def load(self) -> dict[str, Float16]:
        """Every vector by its signature."""

    def save(self, signatures: Sequence[str], vectors: Float16) -> None:
        """Keep one batch."""


async def embed_leaves(
    leaves: Sequence[Leaf],
    embedder: Embedder,
    *,
    known: Known,
    checkpoints: Kept,
    ledger: Ledger,
    told: Told = silent,
) -> Embedded:
    """The leaves' vectors. `known` are those of the current release, by signature. Raises BuildError."""
    signatures = signatures_of(leaves, embedder.model)
    distinct = {name: leaf.text for name, leaf in zip(signatures, leaves, strict=True)}
    found = await embed_texts(distinct, embedder, known=known, checkpoints=checkpoints, ledger=ledger, told=told)
    vectors = np.stack([found.vectors[name] for name in signatures])
    return Embedded(vectors, signatures, found.reused, found.resumed, found.embedded)


@dataclass(frozen=True, slots=True)
class Found:
    """Unit float16 vectors by signature, and where they came from: the release, a stopped build, the model."""

    vectors: Known
    reused: int
    resumed: int
    embedded: int


async def embed_texts(
    texts: Mapping[str, str],
    embedder: Embedder,
    *,
    known: Known,
    checkpoints: Kept,
    ledger: Ledger,
    told: Told = silent,
    batch: int = BATCH,
    at_once: int = 1,
) -> Found:
    """A vector for each text, by signature: known, kept from a build that was stopped, or of the model.

    The model is asked for `batch` texts a call, `at_once` calls side by side. Raises BuildError where it fails or
    answers with what cannot be right; what was embedded until then is kept, and the same call goes on from there.
    """
    vectors = {name: known[name] for name in texts if name in known}
    reused = len(vectors)
    saved = checkpoints.load()
    vectors.update({name: saved[name] for name in texts if name in saved and name not in vectors})
    resumed = len(vectors) - reused
    missing = [name for name in texts if name not in vectors]
    meter = Meter("embed", len(missing), told)
    asked = _Asked(_batches(missing, batch), texts, embedder, ledger, len(missing))
    async for names, found in asked.side_by_side(at_once):
        checkpoints.save(names, found)
        vectors.update(zip(names, found, strict=True))
        meter.advance(len(names), ledger.snapshot()["cost_usd"])
    return Found(vectors, reused, resumed, len(missing))


def _batches(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), size):
        yield names[start : start + size]


class _Asked:
    """The batches of one build, handed one by one to whichever call is free."""

    def __init__(
        self,
        batches: Iterator[Sequence[str]],
        texts: Mapping[str, str],
        embedder: Embedder,
        ledger: Ledger,
        missing: int,
    ) -> None:
        self._batches = batches
        self._texts = texts
        self._embedder = embedder
        self._ledger = ledger
        self._missing = missing

    async def side_by_side(self, calls: int) -> AsyncIterator[tuple[Sequence[str], Float16]]:
        """Each batch with its vectors, as they come. What other calls have got is given before a failure is raised."""
        waiting: set[asyncio.Task[tuple[Sequence[str], Float16]]] = set()
        failure: BuildError | None = None
        try:
            while True:
                for names in islice(self._batches, 0 if failure else calls - len(waiting)):
                    waiting.add(asyncio.ensure_future(self._batch(names)))
                if not waiting:
                    break
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    try:
                        yield task.result()
                    except BuildError as error:
                        failure = failure or error
        finally:
            for task in waiting:
                task.cancel()
        if failure:
            raise failure

    async def _batch(self, names: Sequence[str]) -> tuple[Sequence[str], Float16]:
        texts = [self._texts[name] for name in names]
        try:
            vectors = await self._embedder.embed(texts, "document", self._ledger)
        except (EmbeddingFailed, Unavailable) as error:
            raise BuildError(
                f"embedding {self._missing} texts stopped: {error.message}"
                " What was embedded is kept; the same command goes on."
            ) from error
        return names, checked(vectors, len(texts), self._embedder.dimension)


def checked(vectors: Float32, rows: int, dimension: int) -> Float16:
    """The model's answer as unit float16 rows. Raises BuildError for one that cannot be right."""
    if vectors.shape != (rows, dimension):
        raise BuildError(f"embedder: expected {rows} vectors of {dimension} numbers, found shape {vectors.shape}")
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise BuildError("embedder: expected finite vectors that are not zero, found one that is neither")
    return np.ascontiguousarray(vectors / lengths, dtype=np.float16)


async def check_sample(
    leaves: Mapping[int, Leaf], vectors: Float16, embedder: Embedder, ledger: Ledger, least_cosine: float
) -> float:
    """As `check_texts`, of the leaves of some rows."""
    texts = {row: (leaf.path, leaf.text) for row, leaf in leaves.items()}
    return await check_texts(texts, vectors, embedder, ledger, least_cosine)


async def check_texts(
    texts: Mapping[int, tuple[str, str]], vectors: Float16, embedder: Embedder, ledger: Ledger, least_cosine: float
) -> float:
    """Embed the texts of some rows again, each alone, and compare with what is to be published.

    `texts` has of each row what it is called and its text. Returns the least cosine found. Each text goes alone,
    because a provider that mixes up the order within a call would mix up the sample the same way. Raises BuildError
    naming the first that differs.
    """
    worst = 1.0
    for row, (name, text) in texts.items():
        again = checked(await embedder.embed([text], "document", ledger), 1, embedder.dimension)
        cosine = float(again[0].astype(np.float32) @ vectors[row].astype(np.float32))
        if cosine < least_cosine:
            raise BuildError(f"row {row} ({name}): its vector is not its text's, cosine {cosine:.3f}")
        worst = min(worst, cosine)
    return worst
