"""Words that are worked out once give the tokens, and the postings, that working them out each time gives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.contracts.release import LEXICAL_ROLES
from shared.index.lexical import Lexical, tokens, write_lexical

TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from(" \t\n\u00a0\u2003\u00b4\u0301\u00a8.,()_-'éÅß漢ﬁ"), st.characters(exclude_categories=["Cs"])
    )
)


@settings(deadline=None, max_examples=60)
@given(TEXTS)
def test_a_text_has_the_tokens_of_its_words(text: str) -> None:
    assert [token for word in text.split() for token in tokens(word)] == tokens(text)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_postings_are_what_counting_plainly_gives(tmp_path_factory, documents) -> None:
    folder = tmp_path_factory.mktemp("lexical")
    lexical = Lexical(write_lexical(folder, documents, str.split), len(documents))
    counts = [[Counter(field.split()) for field in fields] for fields in documents]
    terms = sorted({term for fields in counts for field in fields for term in field}, key=str.encode)
    expected = [
        (term, row, [min(field[term], 255) for field in fields])
        for term in terms
        for row, fields in enumerate(counts)
        if any(field[term] for field in fields)
    ]
    frequencies = np.load(folder / "lexical.frequencies.npy", allow_pickle=False)
    found = [(term, int(row)) for term in terms for row in lexical.rows_of(term)]
    assert found == [(term, row) for term, row, _ in expected]
    assert frequencies.tolist() == [each for _, _, each in expected]
    lengths = np.load(folder / "lexical.lengths.npy", allow_pickle=False)
    assert lengths.tolist() == [[field.total() for field in fields] for fields in counts]


def test_a_token_that_stands_more_often_than_a_byte_counts_is_counted_that_often(tmp_path: Path) -> None:
    paths = write_lexical(tmp_path, [("rain " * 300, ""), ("", "rain")], str.split)
    assert set(paths) == set(LEXICAL_ROLES)
    assert np.load(paths["lexical.frequencies"], allow_pickle=False).tolist() == [[255, 0], [0, 1]]
    assert np.load(paths["lexical.lengths"], allow_pickle=False).tolist() == [[300, 0], [0, 1]]
