"""The embedded judge: its scores and what they are made of."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.release import NullBank
from shared.models.features import FEATURES, content_words, measure
from shared.models.judging import Candidate, Card, Judgement, Question
from shared.models.ledger import Ledger
from shared.models.ranker import EmbeddedJudge, fitted, is_code, names_of, score

BANK = NullBank(queries=48, median=0.5, mad=0.02)
NEAR, FAR = 0.85, 0.5


def candidate(
    row: int,
    title: str,
    cosine: float,
    *,
    bm25: float = 0.0,
    queries: Sequence[str] = (),
    coverage: str = "",
    code: str = "",
) -> Candidate:
    card = Card(title, "", tuple(queries), "", "", coverage, code)
    return Candidate(row, "census", (cosine,), cosine, row, bm25, ("embedding",), card)


def question(*texts: str, places: Collection[str] = ()) -> Question:
    return Question(texts[0], texts, (False,) * len(texts), frozenset(places))


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


@pytest.mark.parametrize("text", ["x", "X?", "7", "a b c", "x y", "é", "the x of it"])
def test_a_question_of_single_letters_scores_nothing_however_near_a_table_lies(text):
    assert scores(question(text), TABLES) == [0.0, 0.0, 0.0]


def test_a_single_letter_that_is_a_code_or_a_title_leads_alone():
    coded, titled = candidate(3, "Sales", FAR, code="X"), candidate(4, "Y", FAR)
    assert scores(question("X"), [*TABLES, coded]) == [0.0, 0.0, 0.0, 99.0]
    assert scores(question("y"), [*TABLES, titled]) == [0.0, 0.0, 0.0, 99.0]


@pytest.mark.parametrize("text", ["R&D", "M2", "vitamin D", "水", "人口"])
def test_a_short_question_that_is_a_word_is_judged(text):
    assert max(scores(question(text), TABLES)) > 0


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


@pytest.mark.parametrize("text", ["table of numbers", "data", "total", "statistics and data", "the total"])
def test_a_question_of_words_that_fit_every_table_scores_nothing(text):
    assert scores(question(text), [candidate(0, "Total", NEAR, bm25=9.0)]) == [0.0]


CODED = [
    candidate(0, "Gross domestic product per head", NEAR, bm25=19.0, code="NY.GDP.PCAP.CD"),
    candidate(1, "Gross domestic product", 0.4, bm25=4.0, code="NY.GDP.MKTP.CD"),
    candidate(2, "Profit or loss", 0.4, code="NetIncomeLoss"),
    candidate(3, "What a company owns", 0.4, code="Assets"),
]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("NY.GDP.MKTP.CD", 1),
        ("ny.gdp.mktp.cd", 1),
        ("what is NY.GDP.MKTP.CD?", 1),
        ("netincomeloss", 2),
        ("How is `NetIncomeLoss` reported", 2),
        ("Assets", 3),
    ],
)
def test_a_table_whose_code_is_given_leads_however_near_the_others_lie(text, row):
    found = scores(question(text), CODED)
    assert found[row] == max(found) > 98
    assert sum(value > 90 for value in found) == 1


def test_a_code_that_is_a_plain_word_is_none_inside_a_sentence():
    found = scores(question("gross domestic product and assets"), CODED)
    assert found[3] < found[0]


@pytest.mark.parametrize("text", ["Mali", "mali — data commons"])
def test_a_title_word_for_word_leads_and_needs_no_gate(text):
    found = scores(question(text), [candidate(0, "Somali", NEAR, bm25=9), candidate(1, "Mali — Data Commons", 0.3)])
    assert found[1] > 98 > 90 >= found[0]


def test_a_twin_without_its_place_is_no_title():
    one = candidate(0, "Unemployment rate — Data Commons (poland)", NEAR, coverage="poland")
    asked = Question("unemployment rate in Kenya", ("unemployment rate in Kenya", "unemployment rate"), (False, True))
    assert not any(names_of(asked, [_twice(one, NEAR, NEAR)]))


@pytest.mark.parametrize(
    ("places", "coverage", "value"),
    [
        (["kenya"], "us", 1),
        (["kenya"], "oecd", 1),
        (["kenya"], "kenya", 0),
        (["kenya"], "", 0),
        (["us", "oecd"], "us", 0),
        (["abroad"], "us", 1),
        (["abroad"], "kenya", 0),
        ([], "us", 0),
        ([], "kenya", 1),
    ],
)
def test_a_table_that_cannot_reach_the_place_asked_about_is_elsewhere(places, coverage, value):
    (row,) = measure(question("rainfall", places=places), [candidate(0, "Rainfall", NEAR, coverage=coverage)])
    assert row[FEATURES.index("elsewhere")] == value


def test_a_table_whose_title_names_the_place_is_not_elsewhere():
    rate = candidate(0, "Rates of Exchange: New Zealand-Dollar", NEAR, coverage="us")
    (row,) = measure(question("exchange rate", places=["new zealand", "oecd"]), [rate])
    assert row[FEATURES.index("elsewhere")] == 0


@pytest.mark.parametrize(
    ("text", "title", "value"),
    [
        ("population by sex", "Female population", 1),
        ("population by age and gender", "Population, male (% of total)", 1),
        ("population by age and sex", "Females aged 5 to 9 years", 1),
        ("population by sex", "Females aged 5 to 9 years", 0),
        ("population by age", "SEX AND AGE — 5 to 9 years — US Census", 1),
        ("population by race", "Population: Two or More Races", 1),
        ("population by sex", "SEX AND AGE — 5 to 9 years — US Census", 0),
        ("female population", "Female population", 0),
    ],
)
def test_a_part_of_the_split_that_is_asked_for_is_known(text, title, value):
    (row,) = measure(question(text), [candidate(0, title, NEAR)])
    assert row[FEATURES.index("split")] == value


def test_of_two_tables_alike_the_one_that_reaches_the_place_leads():
    here = candidate(0, "Rainfall — Data Commons", NEAR)
    there = candidate(1, "Rainfall — Data Commons", NEAR, coverage="us")
    one, other = scores(question("rainfall in kenya", places=["kenya"]), [here, there])
    assert one > other


@pytest.mark.parametrize(
    ("text", "title", "kinds"),
    [
        ("gdp growth", "GDP (current US$)", 1),
        ("gdp growth", "GDP growth (annual %)", 0),
        ("gdp per capita", "GDP per capita (current US$)", 0),
        ("share of women", "Women, percent of all people", 0),
        ("median age in percent", "People by age", 2),
    ],
)
def test_a_kind_of_measure_that_is_asked_for_is_missed(text, title, kinds):
    (row,) = measure(question(text), [candidate(0, title, NEAR)])
    assert row[FEATURES.index("missing")] == kinds


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
    shares = FEATURES[3 : FEATURES.index("title_length")]
    assert all(0 <= each[name] <= 1 + 1e-9 for each in named for name in shares)


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
