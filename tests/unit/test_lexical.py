"""BM25F against a ten-line reference, and the words it sees."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.contracts.release import LEXICAL_ROLES
from shared.errors import ReleaseIncompatible
from shared.index.lexical import Lexical, Weights, idf, query_tokens, tokens, words, write_lexical

WEIGHTS = Weights(fields=(3.0, 1.0), k1=1.2, b=0.75)


def reference(documents, question, weights):
    """BM25F as the textbook writes it."""
    split = [[Counter(tokens(field)) for field in document] for document in documents]
    average = [max(sum(sum(d[f].values()) for d in split) / len(split), 1) for f in range(len(weights.fields))]
    scores = []
    for document in split:
        score = 0.0
        for token in question:
            found = sum(any(d[f][token] for f in range(len(weights.fields))) for d in split)
            tf = sum(
                w * document[f][token] / (1 - weights.b + weights.b * sum(document[f].values()) / average[f])
                for f, w in enumerate(weights.fields)
            )
            score += math.log1p((len(split) - found + 0.5) / (found + 0.5)) * tf * (weights.k1 + 1) / (tf + weights.k1)
        scores.append(score)
    return scores


WORDS = st.lists(st.sampled_from("gdp growth people Count_Person café naïve income of the".split()), max_size=8).map(
    " ".join
)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=12), WORDS)
@settings(max_examples=80, deadline=None)
def test_scores_agree_with_a_plain_reference(tmp_path_factory, documents, question):
    index = Lexical(write_lexical(tmp_path_factory.mktemp("lexical"), documents), len(documents))
    asked = query_tokens(question)
    scores = index.scores(WEIGHTS, {token: idf(token, [index]) for token in asked})
    np.testing.assert_allclose(scores, reference(documents, asked, WEIGHTS), rtol=1e-4, atol=1e-5)


def test_what_callers_ask_is_not_kept():
    tracemalloc.start()
    for number in range(300):
        query_tokens(f"{number}" + "x" * 60_000)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000


@given(st.lists(st.tuples(st.text(), WORDS), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_words_that_are_read_once_make_the_same_files(tmp_path_factory, documents):
    one, other = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("other")
    write_lexical(one, documents)
    write_lexical(other, documents, by_word=True)
    assert [(one / f"{role}.npy").read_bytes() for role in LEXICAL_ROLES] == [
        (other / f"{role}.npy").read_bytes() for role in LEXICAL_ROLES
    ]


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=12), st.lists(WORDS, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_the_best_over_several_questions_is_the_best_of_each_alone(tmp_path_factory, documents, texts):
    index = Lexical(write_lexical(tmp_path_factory.mktemp("lexical"), documents), len(documents))
    questions = [{token: idf(token, [index]) for token in query_tokens(text)} for text in texts]
    alone = np.max([reference(documents, query_tokens(text), WEIGHTS) for text in texts], axis=0)
    np.testing.assert_allclose(index.best_scores(WEIGHTS, questions), alone, rtol=1e-4, atol=1e-5)


def test_other_weights_give_other_scores_on_the_same_index(tmp_path):
    documents = [("gdp growth", "income"), ("income", "gdp")]
    index = Lexical(write_lexical(tmp_path, documents), 2)
    for weights in (WEIGHTS, Weights(fields=(1.0, 3.0)), WEIGHTS):
        scores = index.scores(weights, {"gdp": idf("gdp", [index])})
        np.testing.assert_allclose(scores, reference(documents, ["gdp"], weights), rtol=1e-4)


def test_idf_counts_the_documents_of_all_catalogs_together(tmp_path):
    halves = []
    for name, documents in (("a", [("gdp",), ("income",)]), ("b", [("gdp",), ("crime",)])):
        (tmp_path / name).mkdir()
        halves.append(Lexical(write_lexical(tmp_path / name, documents), 2))
    assert idf("gdp", halves) == pytest.approx(math.log1p((4 - 2 + 0.5) / (2 + 0.5)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Households in DP03_0062E", ["household", "in", "dp03_0062e", "dp03", "0062e"]),
        ("NY.GDP.PCAP.CD", ["ny.gdp.pcap.cd", "ny", "gdp", "pcap", "cd"]),
        ("NetIncomeLoss", ["netincomeloss", "net", "income", "loss"]),
        ("worldBank/NY_GDP", ["worldbank/ny_gdp", "world", "bank", "ny", "gdp"]),
        ("crème brûlée", ["creme", "brulee"]),
        ("cities, gas and series", ["city", "gas", "and", "sery"]),
        ("(GDP)", ["gdp"]),
        ("東京 人口", ["東京", "人口"]),
        ("", []),
    ],
)
def test_a_text_gives_these_words(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("employed employer employs", ["employ", "employ", "employ"]),
        ("Population populations", ["popul", "popul"]),
        ("use red king", ["use", "red", "king"]),
        ("DP03_0062E", ["dp03_0062e", "dp03", "0062e"]),
    ],
)
def test_a_text_is_indexed_by_the_stems_of_its_words_and_a_code_as_it_is(text, expected):
    assert tokens(text) == expected


def test_a_question_of_stop_words_alone_is_still_looked_up():
    assert query_tokens("how many are there") == ["how", "many", "are", "ther"]
    assert query_tokens("how many people are there") == ["peopl"]


@given(st.text())
def test_any_text_can_be_tokenised(text):
    for token in tokens(text):
        assert token
        assert len(token) <= 64


@pytest.mark.parametrize(
    ("role", "damage"),
    [
        ("lexical.posting_ends", lambda a: a[::-1].copy()),
        ("lexical.posting_ends", lambda a: a + 1),
        ("lexical.term_ends", lambda a: a[:-1].copy()),
        ("lexical.rows", lambda a: a + 2),
        ("lexical.frequencies", lambda a: a[:-1].copy()),
        ("lexical.lengths", lambda a: a[:-1].copy()),
    ],
)
def test_R04_postings_that_leave_their_file_are_refused_at_open(tmp_path, role, damage):
    paths = write_lexical(tmp_path, [("gdp growth", "how much"), ("income", "what people earn")])
    assert set(paths) == set(LEXICAL_ROLES)
    np.save(paths[role], damage(np.load(paths[role])))
    with pytest.raises(ReleaseIncompatible, match=r"lexical\."):
        Lexical(paths, 2)
