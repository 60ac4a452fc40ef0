"""Embedding leaves: each vector belongs to its text, none is paid for twice, and none that is wrong gets through."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from build_jobs.embed import BATCH, Checkpoints, Embedded, Known, check_sample, embed_leaves, signature, signatures_of
from build_jobs.progress import Progress, silent
from shared.contracts.leaf import Leaf
from shared.errors import BuildError, EmbeddingFailed
from shared.models.ledger import Ledger
from shared.models.provider import Provider, TextKind

Float32 = npt.NDArray[np.float32]


class HashEmbedder:
    """A deterministic embedder: the vector of a text is drawn from its digest. Counts what it was asked."""

    provider: Provider = "embedded"
    model = "test/hash"
    dimension = 16

    def __init__(self, *, fail_after: int | None = None, twist: Callable[[Float32], Float32] | None = None) -> None:
        self.texts: list[str] = []
        self.calls = 0
        self._fail_after = fail_after
        self._twist = twist or (lambda vectors: vectors)

    async def embed(self, texts: Sequence[str], kind: TextKind, ledger: Ledger) -> Float32:
        if self._fail_after is not None and self.calls >= self._fail_after:
            raise EmbeddingFailed("the provider is down.")
        self.calls += 1
        self.texts += texts
        ledger.record(target="test", model=self.model, stage="embed-build", elapsed_ms=1, cost_usd=0.01)
        return self._twist(np.stack([_drawn(text, self.dimension) for text in texts]))


def _drawn(text: str, dimension: int) -> Float32:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(dimension)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def make_leaf(number: int, title: str | None = None) -> Leaf:
    return Leaf(
        path=f"sources/rain/{number}.md",
        urn=f"urn:air:rain.example.org:okf:rain.{number:06}",
        family="rain",
        source="rain",
        publisher="rain.example.org",
        code=f"R{number}",
        title=title or f"Rain at station {number}",
        description="",
        queries=("how much rain",),
        tags=(),
        scope="a town",
        front_matter={},
        body="",
    )


LEAVES = [make_leaf(number) for number in range(BATCH * 2 + 10)]


def run(
    embedder: HashEmbedder, work: Path, leaves: Sequence[Leaf] = LEAVES, known: Known | None = None
) -> tuple[Embedded, Checkpoints]:
    checkpoints = Checkpoints(work, embedder.dimension)
    embedding = embed_leaves(leaves, embedder, known=known or {}, checkpoints=checkpoints, ledger=Ledger(), told=silent)
    return asyncio.run(embedding), checkpoints


def test_a_signature_is_twelve_hex_digits_of_text_and_model() -> None:
    assert signature("text", "model") == hashlib.md5(b"text|model").hexdigest()[:12]
    assert signature("text", "model") != signature("text", "other")


def test_each_row_is_the_unit_float16_vector_of_its_own_text(tmp_path: Path) -> None:
    embedded, _ = run(HashEmbedder(), tmp_path)
    assert embedded.vectors.dtype == np.float16
    expected = np.stack([_drawn(leaf.text, 16) for leaf in LEAVES])
    assert np.allclose(embedded.vectors.astype(np.float32), expected, atol=1e-3)
    assert embedded.signatures == signatures_of(LEAVES, "test/hash")


def test_texts_are_embedded_in_batches_of_96_and_equal_texts_once(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    twins = [*LEAVES[:100], make_leaf(500, LEAVES[0].title)]
    embedded, _ = run(embedder, tmp_path, twins)
    assert (embedder.calls, len(embedder.texts), embedded.embedded) == (2, 100, 100)
    assert (embedded.vectors[0] == embedded.vectors[100]).all()


def test_known_vectors_are_reused_by_signature_and_only_the_rest_is_embedded(tmp_path: Path) -> None:
    first, _ = run(HashEmbedder(), tmp_path / "one")
    known = dict(zip(first.signatures, first.vectors, strict=True))
    embedder = HashEmbedder()
    changed = [make_leaf(0, "Snow at station 0"), *LEAVES[1:]]
    second, _ = run(embedder, tmp_path / "two", changed, known)
    assert embedder.texts == [changed[0].text]
    assert (second.reused, second.embedded) == (len(LEAVES) - 1, 1)
    assert (second.vectors[1:] == first.vectors[1:]).all()


def test_B01_a_build_that_stopped_goes_on_from_its_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="the provider is down"):
        run(HashEmbedder(fail_after=2), tmp_path)
    embedder = HashEmbedder()
    embedded, _ = run(embedder, tmp_path)
    assert (embedded.resumed, embedded.embedded, embedder.calls) == (BATCH * 2, 10, 1)
    uninterrupted, _ = run(HashEmbedder(), tmp_path / "other")
    assert (embedded.vectors == uninterrupted.vectors).all()


def test_a_checkpoint_that_cannot_be_read_is_embedded_again(tmp_path: Path) -> None:
    run(HashEmbedder(), tmp_path)
    first, second, third = sorted(tmp_path.glob("*.npz"))
    first.write_bytes(first.read_bytes()[:50])
    second.write_bytes(b"no archive")
    third.write_bytes(b"")
    embedded, _ = run(HashEmbedder(), tmp_path)
    assert embedded.resumed == 0
    assert embedded.embedded == len(LEAVES)


def test_checkpoints_of_another_model_are_not_taken(tmp_path: Path) -> None:
    run(HashEmbedder(), tmp_path)
    other = HashEmbedder()
    other.model = "test/other"
    embedded, _ = run(other, tmp_path)
    assert embedded.resumed == 0


def test_checkpoints_are_cleared_once_their_vectors_are_in_a_release(tmp_path: Path) -> None:
    _, checkpoints = run(HashEmbedder(), tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    checkpoints.clear()
    assert list(tmp_path.iterdir()) == []


def test_progress_tells_rate_time_left_and_cost(tmp_path: Path) -> None:
    told: list[Progress] = []
    embedding = embed_leaves(
        LEAVES, HashEmbedder(), known={}, checkpoints=Checkpoints(tmp_path, 16), ledger=Ledger(), told=told.append
    )
    asyncio.run(embedding)
    assert [(one.done, one.total) for one in told] == [(96, 202), (192, 202), (202, 202)]
    assert told[-1].cost_usd == pytest.approx(0.03)
    assert told[-1].left_s == 0
    assert all(one.rate_s > 0 for one in told)


@pytest.mark.parametrize(
    ("twist", "said"),
    [
        (lambda vectors: vectors[:-1], "found shape"),
        (lambda vectors: vectors[:, :-1], "found shape"),
        (lambda vectors: vectors * 0, "neither"),
        (lambda vectors: vectors * np.float32("nan"), "neither"),
        (lambda vectors: vectors * np.float32("inf"), "neither"),
    ],
    ids=["a row short", "a dimension short", "zero", "NaN", "Inf"],
)
def test_B03_R05_an_answer_that_cannot_be_right_stops_the_build(
    tmp_path: Path, twist: Callable[[Float32], Float32], said: str
) -> None:
    with pytest.raises(BuildError, match=said):
        run(HashEmbedder(twist=twist), tmp_path)
    assert not list(tmp_path.glob("*.npz"))


def test_vectors_of_any_length_are_stored_as_unit_vectors(tmp_path: Path) -> None:
    embedded, _ = run(HashEmbedder(twist=lambda vectors: vectors * 7), tmp_path)
    assert np.allclose(np.linalg.norm(embedded.vectors.astype(np.float32), axis=1), 1, atol=1e-3)


def test_B03_reordered_vectors_are_found_by_embedding_a_sample_again(tmp_path: Path) -> None:
    """The provider mixes up the order within every call, so each text of the sample goes alone."""
    embedder = HashEmbedder(twist=lambda vectors: vectors[::-1])
    embedded, _ = run(embedder, tmp_path)
    with pytest.raises(BuildError, match=r"row 3 \(sources/rain/3\.md\): its vector is not its text's"):
        asyncio.run(check_sample({3: LEAVES[3]}, embedded.vectors, embedder, Ledger(), 0.98))


def test_a_sample_that_agrees_tells_its_least_cosine(tmp_path: Path) -> None:
    embedded, _ = run(HashEmbedder(), tmp_path)
    sample = {row: LEAVES[row] for row in (0, 95, 96, 201)}
    assert asyncio.run(check_sample(sample, embedded.vectors, HashEmbedder(), Ledger(), 0.98)) > 0.999
