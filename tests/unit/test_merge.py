"""The order of results: by score, or the best of each source first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.models.judging import Candidate, Card
from shared.tables.merge import merge

CARD = Card("t", "", (), "", "")


def scored(family: str, score: float, rank: int = 0):
    return Candidate(rank, family, (0.5,), 0.5, rank, 0.0, ("embedding",), CARD), score


def shape(results):
    return [(candidate.family, score) for candidate, score in results]


def test_the_best_of_each_source_leads_and_the_rest_follow_by_score():
    eligible = [scored("a", 90), scored("a", 80), scored("b", 70), scored("c", 60), scored("a", 75)]
    assert shape(merge(eligible, "source", 5, 10)) == [("a", 90), ("b", 70), ("c", 60), ("a", 80), ("a", 75)]


def test_only_so_many_sources_lead():
    eligible = [scored(family, 90 - i) for i, family in enumerate("abcdefg")] + [scored("a", 89.5)]
    assert [family for family, _ in shape(merge(eligible, "source", 5, 10))] == list("abcdeafg")


def test_order_score_is_plain_score_order():
    eligible = [scored("b", 70), scored("a", 90), scored("a", 80)]
    assert shape(merge(eligible, "score", 5, 10)) == [("a", 90), ("a", 80), ("b", 70)]


def test_equal_scores_stand_in_embedding_order():
    assert [c.embed_rank for c, _ in merge([scored("a", 70, 2), scored("b", 70, 1)], "score", 5, 10)] == [1, 2]


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(50, 100)), max_size=30), st.integers(1, 40))
def test_a_page_never_invents_repeats_or_loses_a_result(pairs, page):
    eligible = [scored(family, score, rank) for rank, (family, score) in enumerate(pairs)]
    for order in ("source", "score"):
        results = merge(eligible, order, 5, page)
        assert len(results) == min(page, len(eligible))
        assert len({id(result) for result in results}) == len(results)
        assert max((s for _, s in results), default=0) == max((s for _, s in pairs), default=0)
