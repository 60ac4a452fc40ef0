"""Vectors of the leaves: those of the current release where the text is the same, the rest from the model.

A vector belongs to a *signature*, the digest of text and model. Batches are checkpointed under it as they
come, so a build that was killed goes on where it was, and what one build embedded another one need not.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
        self._dimension = dimension
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
            with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                names, vectors = saved["signatures"], saved["vectors"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            path.unlink(missing_ok=True)
            return {}
        if vectors.shape != (len(names), self._dimension) or vectors.dtype != np.float16:
            return {}
        return dict(zip(names.tolist(), vectors, strict=True))

    def save(self, signatures: Sequence[str], vectors: Float16) -> None:
        """Keep one batch."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{signature(''.join(signatures), str(self._dimension))}.npz"
        part = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
        with part.open("wb") as file:
            np.savez(file, signatures=np.array(signatures), vectors=vectors)
        part.replace(path)
        self._read.append(path)

    def clear(self) -> None:
        """Remove the files that this build read or wrote: their vectors are in a release now."""
        for path in self._read:
            path.unlink(missing_ok=True)
        self._read.clear()


async def embed_leaves(
    leaves: Sequence[Leaf],
    embedder: Embedder,
    *,
    known: Known,
    checkpoints: Checkpoints,
    ledger: Ledger,
    told: Told = silent,
) -> Embedded:
    """The leaves' vectors. `known` are those of the current release, by signature.

    Raises BuildError where the model fails or answers with what cannot be right; what was embedded until then
    is kept, and the same call goes on from there.
    """
    signatures = signatures_of(leaves, embedder.model)
    distinct = {name: leaf.text for name, leaf in zip(signatures, leaves, strict=True)}
    vectors = {name: known[name] for name in distinct if name in known}
    reused = len(vectors)
    saved = checkpoints.load()
    vectors.update({name: saved[name] for name in distinct if name in saved and name not in vectors})
    resumed = len(vectors) - reused
    missing = [name for name in distinct if name not in vectors]
    meter = Meter("embed", len(missing), told)
    for names in _batches(missing):
        batch = await _embed_batch([distinct[name] for name in names], embedder, ledger, len(missing))
        checkpoints.save(names, batch)
        vectors.update(zip(names, batch, strict=True))
        meter.advance(len(names), ledger.snapshot()["cost_usd"])
    return Embedded(np.stack([vectors[name] for name in signatures]), signatures, reused, resumed, len(missing))


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), BATCH):
        yield names[start : start + BATCH]


async def _embed_batch(texts: Sequence[str], embedder: Embedder, ledger: Ledger, missing: int) -> Float16:
    try:
        return checked(await embedder.embed(texts, "document", ledger), len(texts), embedder.dimension)
    except (EmbeddingFailed, Unavailable) as error:
        raise BuildError(
            f"embedding {missing} texts stopped: {error.message} What was embedded is kept; the same command goes on."
        ) from error


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
    """Embed the texts of some rows again, each alone, and compare with what is to be published.

    Returns the least cosine found. Each text goes alone, because a provider that mixes up the order within a
    call would mix up the sample the same way. Raises BuildError naming the first leaf that differs.
    """
    worst = 1.0
    for row, leaf in leaves.items():
        again = checked(await embedder.embed([leaf.text], "document", ledger), 1, embedder.dimension)
        cosine = float(again[0].astype(np.float32) @ vectors[row].astype(np.float32))
        if cosine < least_cosine:
            raise BuildError(f"row {row} ({leaf.path}): its vector is not its text's, cosine {cosine:.3f}")
        worst = min(worst, cosine)
    return worst
