"""Sentences of a text, word for word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.sentences import LONGEST, nearest, sentences, telling, trimmed


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One is here. Two is there.", ["One is here.", "Two is there."]),
        ("Dr. Who met Mr. Spock on St. Kilda. They left.", ["Dr. Who met Mr. Spock on St. Kilda.", "They left."]),
        ("J. K. Simmons plays. 4.5 miles of it!", ["J. K. Simmons plays.", "4.5 miles of it!"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("Élan vital. Ça va? ¿Qué?", ["Élan vital.", "Ça va?", "¿Qué?"]),
        ("no stop at all", ["no stop at all"]),
        ("line one\nline two", ["line one", "line two"]),
        ("", []),
    ],
)
def test_a_text_falls_into_its_sentences(text, parts):
    assert sentences(text) == parts


@given(st.text(max_size=600))
def test_nothing_is_changed_but_blanks(text):
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())
    assert all(each in text for each in sentences(text))


@given(st.text(max_size=900))
def test_a_trimmed_sentence_is_short_and_a_beginning_of_the_whole(text):
    said = trimmed(text)
    assert len(said) <= LONGEST + 1
    assert said == text or text.startswith(said.removesuffix(" …"))


def test_fragments_cut_sentences_and_addresses_do_not_stand_alone():
    told = ["Short. This sentence says enough to stand. See https://example.org for the rest of it. And it goes on …"]
    assert telling(told) == ["This sentence says enough to stand."]


def test_the_sentences_that_share_the_most_words_come_first_and_the_earlier_of_equals():
    of = ["Nothing of it here.", "A waterfall and a bridge.", "A waterfall.", "Dogs at the waterfall by the bridge."]
    assert nearest(of, {"dog", "waterfall", "bridg"}, 3) == [of[3], of[1], of[2]]
