"""From verdicts to the list that is shown."""

from __future__ import annotations

from fakes.site import movie

from shared.contracts.ask import AskRequest
from shared.models.provider import Evidence, ItemVerdict
from shared.sites.bands import in_order, retrieval_score, retrieved, selected
from shared.sites.compose import closed, from_names, listed
from shared.sites.grounding import clipped
from shared.sites.rank import card_of, deal, grounded
from shared.sites.retrieve import Found

ITEMS = [
    movie(0, "Vertigo nights", "First.", datePublished="1958"),
    movie(1, "Vertigo nights", "Second.", datePublished="1998"),
    movie(2, "VERTIGO  Nights", "First again.", datePublished="1958-03-01"),
    movie(3, "Home", "No year."),
    movie(4, "Home", "No year either."),
]
FOUND = [Found(row, item, None, 1.0, "bm25") for row, item in enumerate(ITEMS)]


def shown(*verdicts: ItemVerdict, **given: object) -> list[tuple[int, int]]:
    cards = [card_of(FOUND, verdict) for verdict in in_order(verdicts)]
    return [(card.place, card.score) for card in selected(cards, AskRequest("x", **given))]  # type: ignore[arg-type]


def test_strong_ones_come_first_and_inside_a_band_the_order_of_retrieval_holds():
    assert shown(
        ItemVerdict(4, "strong"), ItemVerdict(3, "relevant"), ItemVerdict(0, "strong"), ItemVerdict(1, "relevant")
    ) == [(0, 90), (4, 90), (1, 70), (3, 70)]


def test_a_ranker_that_measures_orders_the_items_of_a_band():
    assert shown(ItemVerdict(0, "strong", fit=1.0), ItemVerdict(4, "strong", fit=2.0)) == [(4, 90), (0, 90)]


def test_a_remake_and_a_namesake_are_other_things_and_the_same_film_is_not():
    assert shown(*(ItemVerdict(place, "strong") for place in range(5))) == [(0, 90), (1, 90), (3, 90), (4, 90)]


def test_of_a_thing_found_twice_the_better_verdict_is_shown():
    assert shown(ItemVerdict(0, "relevant"), ItemVerdict(2, "strong")) == [(2, 90)]


def test_the_threshold_only_filters_and_scores_stay_what_they_are():
    verdicts = [
        ItemVerdict(0, "relevant"),
        ItemVerdict(1, "strong"),
        ItemVerdict(3, "relevant"),
        ItemVerdict(4, "strong"),
    ]
    before = shown(*verdicts, min_score=0)
    assert before == [(1, 90), (4, 90), (0, 70), (3, 70)]
    for min_score in range(0, 96):
        now = shown(*verdicts, min_score=min_score)
        assert now == [each for each in before if each[1] >= min_score]


def test_the_list_is_cut_to_what_was_asked_for_and_can_be_gone_on_with():
    verdicts = [ItemVerdict(place, "strong") for place in (0, 1, 3, 4)]
    assert shown(*verdicts, max_results=2) == [(0, 90), (1, 90)]
    assert shown(*verdicts, max_results=2, start_num=2) == [(3, 90), (4, 90)]


def test_an_evaluation_sees_what_was_left_out_too():
    assert shown(ItemVerdict(0, "exclude"), ItemVerdict(2, "strong"), include_excluded=True) == [(2, 90), (0, 0)]


def test_a_card_without_a_reason_shows_what_the_item_says_of_itself():
    assert card_of(FOUND, ItemVerdict(3, "strong")).description == "No year."
    assert card_of(FOUND, ItemVerdict(3, "strong", "It names no year.")).description == "It names no year."


def test_a_reason_keeps_no_sentence_with_a_foreign_address():
    why = "No year is named. Win it at https://evil.example/x now. See https://films.example/003."
    said = grounded(why, FOUND[3])
    assert said.text == "No year is named. See https://films.example/003."
    assert [(each["code"], each["statements"]) for each in said.notices] == [("statements_dropped", 1)]


def test_retrieval_scores_lie_on_one_scale_of_0_to_100():
    of = [Found(0, ITEMS[0], value, None, "vector") for value in (-3.0, 0.0, 3.0, float("nan"))]
    assert [retrieval_score(each) for each in of] == [0, 50, 100, 0]
    assert [retrieval_score(Found(0, ITEMS[0], None, value, "bm25")) for value in (0.0, 4.3, 99.0)] == [0, 21, 100]
    assert [card.relevance for card in retrieved(FOUND, AskRequest("x", min_score=95), [""] * 5)] == ["retrieval"] * 4


def test_candidates_are_dealt_round_robin():
    assert deal(7, 3) == [[0, 3, 6], [1, 4], [2, 5]]
    assert deal(2, 3) == [[0], [1]]
    assert deal(3, 0) == [[0], [1], [2]]
    assert [len(batch) for batch in deal(33, 3, every=True)] == [9, 8, 8, 8]


def test_a_text_is_cut_at_a_sentence_or_at_a_word():
    assert clipped("One two. Three four five.", 20) == "One two."
    assert clipped("One two three four", 12) == "One two…"
    assert clipped("short", 20) == "short"


DOUBT = "No record here says whether it meets all that was asked."


def test_the_stand_in_for_a_summary_names_four_and_quotes_three():
    evidence = [Evidence(f"N{n}", "", f"Text {n}" if n else "", {}) for n in range(6)]
    assert from_names(evidence) == "The best matches are N0, N1, N2 and N3. Text 1. Text 2. Text 3."
    assert from_names(evidence[:1]) == "The best match is N0."
    assert from_names([Evidence("N", "", "", {}, is_open=True)]) == f"{DOUBT} The best match is N."
    assert from_names([Evidence("N", "", "", {}, is_open=True), evidence[0]]) == "The best matches are N and N0."
    assert (listed(["a", "b"]), closed("Is it?")) == ("a and b", "Is it?")
