"""Acronyms and full names: each is found by the other, and nothing is added where a text says both."""

from __future__ import annotations

import pytest
from fakes.release import a_leaf
from msgspec.structs import replace

from build_jobs.acronyms import WELL_KNOWN, Aliases, learn
from build_jobs.index import keyword_documents
from shared.index.lexical import Lexical, query_tokens, write_lexical
from shared.tables.legs import KEYWORD_WEIGHTS


def test_a_full_name_gives_its_acronym_and_an_acronym_its_full_name():
    aliases = Aliases(learn([]))
    assert aliases.of("Consumer price index, all items") == "CPI"
    assert aliases.of("CPI, all items") == "consumer price index"


def test_a_text_that_says_both_gets_nothing():
    assert Aliases(learn([])).of("Gross domestic product (GDP) per head") == ""


def test_a_plural_is_the_name_too_and_a_longer_word_is_not():
    aliases = Aliases(learn([]))
    assert aliases.of("Greenhouse gases") == "GHG"
    assert aliases.of("Greenhouse gaseous emissions") == ""


def test_an_acronym_in_small_letters_is_a_word():
    assert Aliases(learn([])).of("We snap at noon") == ""


def test_what_the_catalog_spells_out_twice_is_learnt():
    texts = ["Members of the Organisation of Iron Smelters (OIS)", "an organisation of iron smelters (OIS), in all"]
    assert learn(texts)["OIS"] == "organisation of iron smelters"
    assert "OIS" not in learn(texts[:1])


@pytest.mark.parametrize("text", ["the old mill (XYZ)", "data (CSV)", "a (B) and (GDP)", "of the and (OTA)"])
def test_capitals_that_the_words_before_do_not_begin_are_not_learnt(text):
    assert learn([text, text]).keys() == WELL_KNOWN.keys()


def test_an_acronym_that_the_catalog_spells_out_in_two_ways_is_left_alone():
    texts = [
        "blue lake trout (BLT)",
        "blue lake trout (BLT)",
        "bread lettuce tomato (BLT)",
        "bread lettuce tomato (BLT)",
    ]
    assert "BLT" not in learn(texts)


def test_the_catalog_cannot_change_what_everybody_knows():
    assert learn(["great dane puppies (GDP)"] * 3)["GDP"] == "gross domestic product"


def test_a_table_is_looked_up_by_its_acronym_and_by_its_full_name_whichever_it_says(tmp_path):
    said = [a_leaf(0), replace(a_leaf(1), title="Consumer price index"), replace(a_leaf(2), title="CPI, urban")]
    index = Lexical(write_lexical(tmp_path, keyword_documents(said)), len(said))
    for question in ("CPI", "consumer price index"):
        found = index.scores(KEYWORD_WEIGHTS, dict.fromkeys(query_tokens(question), 1.0))
        assert (found > 0).tolist() == [False, True, True], question
