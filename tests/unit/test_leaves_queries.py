"""Questions made by rule: what people would ask, never more than the row says."""

from __future__ import annotations

import pytest

from build_jobs.leaves.levels import levels_of
from build_jobs.leaves.queries import (
    MOST,
    distinct,
    for_census,
    for_sec_edgar,
    for_treasury,
    for_worldbank,
    value_words,
    variable_phrase,
)


def test_questions_are_distinct_whatever_their_case_and_at_most_six() -> None:
    assert distinct(["Rain", " rain ", "", "RAIN", "snow,"]) == ["Rain", "snow"]
    assert len(distinct(map(str, range(20)))) == MOST


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("Years16To64", "aged 16 to 64"),
        ("Years85Onwards", "aged 85 or older"),
        ("Years104", "aged 104"),
        ("USDollar10000To14999", "$10,000 to $14,999"),
        ("WhiteAloneNotHispanicOrLatino", "white alone not hispanic or latino"),
        ("ConsumptionOfFruits__ConsumptionOfVegetables", "consumption of fruits or consumption of vegetables"),
        ("country/GTM", "GTM"),
        ("NAICS/4481", "NAICS 4481"),
        ("SchoolGrade7", "school grade 7"),
    ],
)
def test_a_constraint_is_said_as_people_say_it(value: str, words: str) -> None:
    assert value_words(value) == words


def test_a_variable_is_said_from_its_schema() -> None:
    assert variable_phrase("Person", "count", "measuredValue", {"gender": "Female"}, "") == "number of people, female"
    assert variable_phrase("Person", "count", "measuredValue", {}, "Count_Person") == "share of people"
    assert variable_phrase("HousingUnit", "grossRent", "medianValue", {}, "") == "median gross rent of housing units"
    assert variable_phrase("Place", "temperature", "maxValue", {}, "") == "maximum temperature"


@pytest.mark.parametrize(
    ("title", "asked"),
    [
        ("Population, total", "total population"),
        ("School enrollment, primary, female (% gross)", "female primary school enrollment"),
        ("GDP growth (annual %)", "GDP growth"),
        ("CO2 emissions (kt)", "CO2 emissions by country"),
        (
            "Agriculture, forestry, and fishing, value added (% of GDP)",
            "Agriculture, forestry, and fishing, value added",
        ),
        ("Arable land (% of land area)", "Arable land as a percentage of land area"),
    ],
)
def test_an_indicator_is_asked_for_with_its_qualifiers_in_front(title: str, asked: str) -> None:
    made = for_worldbank(title)
    assert made[0] == title
    assert asked in made
    assert len(made) <= MOST


def test_a_census_path_is_read_from_its_leaf_upward() -> None:
    label = "Total — Female — 5 to 17 years — No hearing difficulty"
    assert for_census(label, "SEX BY AGE", percent=False) == ["No hearing difficulty, 5 to 17 years, Female"]


def test_a_census_total_is_asked_for_by_its_concept() -> None:
    assert for_census("Total", "SEX BY AGE BY HEARING DIFFICULTY", percent=False) == [
        "Sex by age by hearing difficulty"
    ]


def test_every_family_has_a_question_for_a_row_without_one() -> None:
    assert for_sec_edgar("Profit Loss") == ["Profit Loss", "What is a company's profit loss?"]
    assert for_treasury("Debt to the Penny", "Debt Held by the Public", exchange_rate=False)[0].startswith(
        "Debt to the"
    )
    assert (
        for_treasury("Rates", "Guyana-Dollar", exchange_rate=True)[0] == "Guyana Dollar exchange rate to the US dollar"
    )


def test_levels_come_widest_first_each_once_and_unknown_types_add_none() -> None:
    types = ["County", "EurostatNUTS3", "Country", "EurostatNUTS1", "Galaxy", "AdministrativeArea3"]
    assert levels_of(types) == ["region", "country", "county", "district"]
