"""The embedded judge: its scores and what they are made of."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.release import NullBank
from shared.models.features import FEATURES, content_words, measure
from shared.models.ledger import Ledger
from shared.models.provider import Candidate, Card, Judgement, Question
from shared.models.ranker import EmbeddedJudge, fitted, is_code, score

BANK = NullBank(queries=48, median=0.5, mad=0.02)
NEAR, FAR = 0.85, 0.5


def candidate(row: int, title: str, cosine: float, *, bm25: float = 0.0, queries: Sequence[str] = ()) -> Candidate:
    card = Card(title, "", tuple(queries), "", "")
    return Candidate(row, "census", (cosine,), cosine, row, bm25, ("embedding",), card)


def question(*texts: str) -> Question:
    return Question(texts[0], texts, (False,) * len(texts))


def scores(asked: Question, candidates: Sequence[Candidate], bank: NullBank | None = BANK) -> list[float]:
    judgement: Judgement = anyio.run(EmbeddedJudge(bank).judge, asked, candidates, 10, Ledger())
    by_index = {verdict.index: verdict.score for verdict in judgement.verdicts}
    return [by_index[index] for index in range(len(candidates))]


TABLES = [
    candidate(0, "Median household income — US Census", NEAR, bm25=9.0),
    candidate(1, "Median age — US Census", NEAR - 0.08, bm25=3.0),
    candidate(2, "Apples harvested — USDA", FAR),
]


def test_a_table_that_fits_is_eligible_and_leads():
    first, second, last = scores(question("median household income"), TABLES)
    assert 100 >= first >= 50
    assert first > second > last >= 0


def test_of_two_equally_near_tables_the_one_that_says_the_words_leads():
    one = candidate(0, "Revenue", NEAR, queries=["how much did they sell"], bm25=5)
    other = candidate(1, "Assets", NEAR, queries=["what do they own"], bm25=0)
    said, unsaid = scores(question("how much did the companies sell"), [one, other])
    assert said > unsaid


def test_what_is_no_nearer_than_everyday_questions_is_not_eligible():
    off_topic = [candidate(row, title, 0.5) for row, title in enumerate(["Corn", "Wheat"])]
    assert max(scores(question("tell me a joke"), off_topic)) < 49.5


@pytest.mark.parametrize("text", ["the of and to in", "!!! ??? ###", "how many are there?", "…", "🏔️"])
def test_a_question_without_a_content_word_scores_nothing(text):
    assert scores(question(text), TABLES) == [0.0, 0.0, 0.0]


def test_a_bare_code_is_looked_up_by_keyword():
    codes = [candidate(0, "Gross domestic product", 0.5, bm25=4.0), candidate(1, "Total", 0.4, bm25=19.0)]
    found = scores(question("NY.GDP.MKTP.CD"), codes)
    assert found[1] >= 50 > found[0]


@pytest.mark.parametrize("text", ["DP03_0062E", "NY.GDP.MKTP.CD", "AccountsPayableCurrent", "Count_Person", "B19013"])
def test_published_codes_are_known_by_their_shape(text):
    assert is_code(question(text))


@pytest.mark.parametrize("text", ["gdp", "GDP India", "population?", "R&D", "node.js", "AI", "McDonald sales", "2020"])
def test_words_are_not_taken_for_codes(text):
    assert not is_code(question(text))


def test_no_candidates_give_no_verdicts():
    assert scores(question("income"), []) == []


def test_verdicts_come_best_first_and_are_in_the_ledger_without_cost():
    ledger = Ledger()
    judgement = anyio.run(EmbeddedJudge(BANK).judge, question("apples"), TABLES, 10, ledger)
    given_scores = [verdict.score for verdict in judgement.verdicts]
    assert given_scores == sorted(given_scores, reverse=True)
    (event,) = ledger.snapshot()["call_events"]
    assert (event["target"], event["stage"], event["cost_usd"]) == ("embedded", "rerank", 0.0)


def test_without_a_null_bank_scores_are_still_scores():
    assert all(0 <= value <= 100 for value in scores(question("median household income"), TABLES, bank=None))


@given(st.floats(-60, 60), st.floats(0, 40), st.floats(0, 40))
def test_scores_fall_with_the_order_and_stay_within_0_and_100(gate, one, other):
    near, far = sorted((one, other))
    assert 0 <= score(gate, -far, span=7) <= score(gate, -near, span=7) <= 100


@given(st.floats(0.1, 60))
def test_a_candidate_at_the_span_scores_50_however_sure_the_gate(gate):
    assert score(gate, -7.0, span=7.0) == pytest.approx(50)


def test_the_shipped_weights_cover_every_feature():
    assert len(fitted().order) == len(FEATURES)
    assert fitted().gate_slope > 0
    assert fitted().span > 0


def test_features_of_each_candidate_are_shares_below_or_at_the_best():
    rows = measure(question("median household income"), TABLES)
    named = [dict(zip(FEATURES, row, strict=True)) for row in rows]
    assert [each["cosine"] for each in named] == pytest.approx([0, -0.08, FAR - NEAR])
    assert named[0]["title_coverage"] == named[0]["phrase"] == named[0]["bigrams"] == pytest.approx(1)
    assert named[2]["coverage"] == named[2]["keyword"] == 0
    assert all(0 <= each[name] <= 1 + 1e-9 for each in named for name in FEATURES[3:-1])


def test_the_stripped_twin_is_found_where_the_place_is_not():
    asked = Question("rainfall in kenya", ("rainfall in kenya", "rainfall"), (False, True))
    plain = candidate(0, "Rainfall — WHO", NEAR)
    row = dict(zip(FEATURES, measure(asked, [_twice(plain, 0.7, 0.9)])[0], strict=True))
    assert row["phrase"] == 1


def test_words_lose_their_endings_and_stop_words():
    assert content_words("How many of the households are renting?") == ["household", "rent"]


def _twice(one: Candidate, *cosines: float) -> Candidate:
    return Candidate(
        one.row, one.family, cosines, max(cosines), 0, one.bm25, one.found_by, one.card
    )  # fmt: skip
