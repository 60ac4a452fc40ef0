"""Which part of the world a table can speak of, and where a question's places lie."""

from __future__ import annotations

import pytest
from msgspec import structs

from shared.contracts.leaf import Leaf
from shared.tables.cards import card
from shared.tables.coverage import coverage, lies_in

LEAF = Leaf(
    path="sources/datacommons/x.md",
    urn="urn:air:datacommons.org:okf:datacommons.x",
    family="datacommons",
    source="datacommons",
    publisher="datacommons.org",
    code="X_Y",
    title="Something — Data Commons",
    description="",
    queries=(),
    tags=(),
    scope="a place: a country, state, county, city or another area",
    body="",
    front_matter={},
    unreadable=None,
)


def imported(name: str) -> Leaf:
    return structs.replace(LEAF, title=f"Something — Data Commons ({name})")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("kenya", "kenya"),
        ("india rbi", "india"),
        ("India National Family Health Survey", "india"),
        ("EthiopiaStatistics", "ethiopia"),
        ("southkorea statistics", "south korea"),
        ("New Zealand Census", "new zealand"),
        ("uk imd", "united kingdom"),
        ("cotedivoire", "cote divoire"),
        ("BLS QCEW", "us"),
        ("BEA", "us"),
        ("Census ACS S0505", "us"),
        ("NewYork education", "us"),
        ("us urbaneducation school", "us"),
        ("OECD", "oecd"),
        ("oecd waste water treatment stavar", "oecd"),
        ("Eurostat", "europe"),
        ("International Debt Statistics", ""),
        ("UN Energy Statistics", ""),
        ("World Bank", ""),
        ("WHO", ""),
        ("climate", ""),
    ],
)
def test_the_name_of_an_import_says_what_it_is_limited_to(name: str, part: str) -> None:
    assert coverage(imported(name)) == part


@pytest.mark.parametrize(
    ("scope", "part"),
    [
        ("a US state, county, city or tract", "us"),
        ("a US public company", "us"),
        ("the US federal government", "us"),
        ("a country or world region", ""),
        ("", ""),
    ],
)
def test_the_scope_of_a_source_says_so_too(scope: str, part: str) -> None:
    assert coverage(structs.replace(LEAF, scope=scope)) == part


def test_a_bracket_in_a_measure_is_no_import() -> None:
    assert coverage(structs.replace(LEAF, title="Exports (to Kenya) — Data Commons")) == ""


@pytest.mark.parametrize("code", ["DP02PR_0135E", "B06004DPR_005E", "S2601APR_C01_001E"])
def test_a_table_of_puerto_rico_is_told_by_its_code_for_its_title_is_the_same(code: str) -> None:
    assert coverage(structs.replace(LEAF, code=code, scope="a US state, county, city or tract")) == "puerto rico"


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("gdp of Kenya", {"kenya"}),
        ("gdp of New Zealand", {"new zealand", "oecd"}),
        ("gdp of France and India", {"france", "oecd", "europe", "india"}),
        ("gdp of the UK", {"united kingdom", "oecd", "europe"}),
        ("crime in Texas", {"us", "oecd"}),
        ("crime in Pierce County", {"us", "oecd"}),
        ("U.S. unemployment", {"us", "oecd"}),
        ("population of Georgia", {"us", "oecd", "georgia", "europe"}),
        ("inequality inside American cities", {"us", "oecd"}),
        ("the cost of life in America", {"us", "oecd"}),
        ("Kenyan exports", {"abroad"}),
        ("poverty in Puerto Rico", {"puerto rico", "us", "oecd"}),
        ("poverty in Africa", {"abroad"}),
        ("literacy in Odisha", {"abroad"}),
        ("population born in Mexico", set()),
        ("population", set()),
    ],
)
def test_a_question_lies_in_every_part_that_holds_its_places(question: str, parts: set[str]) -> None:
    assert lies_in(question) == parts


def test_a_card_carries_what_its_table_is_limited_to_and_its_code() -> None:
    shown = card(imported("kenya"))
    assert (shown.coverage, shown.code) == ("kenya", "X_Y")
