"""How items are looked up by words: BM25F against a ten-line reference, and the tokens of any script."""

from __future__ import annotations

import math
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.index.item_lexical import ITEM_WEIGHTS, STOP_WORDS, item_query_tokens, item_tokens, question_weights
from shared.index.lexical import Lexical, write_lexical


def reference(documents, question, weights=(32, 1, 0.5), bs=(0.75, 0.75, 0.75)):
    """BM25F: one df and one saturation a token, lengths over filled fields, nothing times k1 + 1."""
    docs = [[item_tokens(field) for field in document] for document in documents]
    filled = [[len(d[f]) for d in docs if d[f]] for f in range(3)]
    average = [sum(lengths) / len(lengths) if lengths else 1 for lengths in filled]
    scores = [0.0] * len(docs)
    for t in item_query_tokens(question):
        df = sum(any(t in field for field in d) for d in docs)
        for row, d in enumerate(docs):
            parts = zip(weights, bs, d, average, strict=True)
            w = sum(weight * f.count(t) / max(1 - b + b * len(f) / avg, 1e-6) for weight, b, f, avg in parts)
            scores[row] += math.log(1 + (len(docs) - df + 0.5) / (df + 0.5)) * w / (1.5 + w)
    return scores


def index_of(folder, documents):
    return Lexical(write_lexical(folder, documents, item_tokens), len(documents))


def scores_of(index, question, weights=ITEM_WEIGHTS):
    return index.scores(weights, question_weights(question, index)).tolist()


WORDS = st.lists(
    st.sampled_from("soup vegan crème brûlée Ishirō honda the who under 30 minutes 七人の侍 of".split()), max_size=7
).map(" ".join)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=12), WORDS)
@settings(max_examples=150, deadline=None)
def test_scores_agree_with_a_plain_reference(tmp_path_factory, documents, question):
    index = index_of(tmp_path_factory.mktemp("items"), documents)
    assert scores_of(index, question) == pytest.approx(reference(documents, question), rel=1e-4, abs=1e-5)


@given(
    st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=12),
    WORDS,
    st.tuples(*[st.floats(0, 40)] * 3),
    st.tuples(*[st.floats(0, 1)] * 3),
)
@settings(max_examples=50, deadline=None)
def test_weights_and_b_are_those_of_each_field(tmp_path_factory, documents, question, weights, bs):
    index = index_of(tmp_path_factory.mktemp("items"), documents)
    found = scores_of(index, question, replace(ITEM_WEIGHTS, fields=weights, b=bs))
    assert found == pytest.approx(reference(documents, question, weights, bs), rel=1e-3, abs=1e-4)


def test_a_word_typed_twice_counts_twice(tmp_path):
    index = index_of(tmp_path, [("soup", "", ""), ("bread", "", "")])
    assert scores_of(index, "soup soup")[0] == pytest.approx(2 * scores_of(index, "soup")[0])


def test_one_hit_in_a_name_outweighs_every_other_field(tmp_path):
    index = index_of(tmp_path, [("tomato soup", "", ""), ("broth", "soup soup soup", "recipeCategory soup, soup")])
    in_name, elsewhere = scores_of(index, "soup")
    assert in_name > elsewhere > 0


def test_a_field_that_is_empty_does_not_make_the_others_look_long(tmp_path):
    (tmp_path / "few").mkdir()
    few = index_of(tmp_path / "few", [("a", "thick lentil soup", ""), ("b", "", ""), ("c", "", "")])
    assert scores_of(few, "soup") == pytest.approx(
        reference([("a", "thick lentil soup", ""), ("b", "", ""), ("c", "", "")], "soup")
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Crème brûlée", ["creme", "brulee"]),
        ("Ishirō Ishirô Ishiro", ["ishiro"] * 3),
        ("Ørsted, Łódź, Đà Nẵng, Æon, Straße", ["orsted", "lodz", "da", "nang", "aeon", "strasse"]),
        ("Hawaiʻi Volcanoes", ["hawaii", "volcanoes"]),
        ("Ёлки", ["елки"]),
        ("Ἰλιάς", ["ιλιασ"]),
        ("שָׁלוֹם", ["שלום"]),
        ("七人の侍", ["七人", "人の", "の侍"]),
        ("ガメラ ｶﾞﾒﾗ", ["ガメ", "メラ", "ガメ", "メラ"]),
        ("서울의 봄", ["서울의", "봄"]),
        ("हिन्दी", ["हिन्दी"]),
        ("Ｍｏｖｉｅ ﬁne", ["movie", "fine"]),
        ("350ºF, ½ cup, ft², Pyrex™", ["350", "f", "cup", "ft", "pyrex"]),
        ("30-minute don't a_b", ["30", "minute", "don", "t", "a", "b"]),
        ("", []),
    ],
)
def test_a_text_gives_these_tokens(text, expected):
    assert item_tokens(text) == expected


@given(st.text(st.characters(codec="ascii")))
def test_a_text_in_ascii_gives_the_runs_of_its_letters_and_digits(text):
    assert item_tokens(text) == [run[:64] for run in re.findall("[a-z0-9]+", text.lower())]


@given(st.text(st.characters(codec="ascii")), st.sampled_from("é — ガ ’ ™".split()))
def test_one_letter_beyond_ascii_changes_no_other_token(text, letter):
    plain, beside = item_tokens(text), item_tokens(f"{text} {letter}")
    assert beside[: len(plain)] == plain


@given(st.text(st.characters(min_codepoint=0xC0, max_codepoint=0x24F)))
def test_letters_of_europe_match_however_their_accents_are_written_and_without_them(text):
    apart = unicodedata.normalize("NFD", text)
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    assert item_tokens(text) == item_tokens(apart) == item_tokens(bare)


@given(st.text())
def test_any_text_has_tokens_that_its_tokens_give_again(text):
    for token in item_tokens(text):
        assert 0 < len(token) <= 64
        assert token.split() == [token]
        assert item_tokens(token) == [token]


def test_a_question_is_asked_without_stop_words_unless_nothing_is_left():
    assert item_query_tokens("what are the best soups under 30") == ["best", "soups", "30"]
    assert item_query_tokens("The Who") == ["the", "who"]
    assert item_query_tokens("not it") == ["not"]
    assert len(STOP_WORDS) == 79
