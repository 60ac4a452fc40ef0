"""What place stripping promises. Each pair below is a question and what should be left of it."""

import json
import lzma
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_jobs import gazetteer as compiler
from shared.tables import gazetteer, places

REMOVED = {
    "gdp india": "gdp",
    "India's GDP": "GDP",
    "What is the GDP of New Zealand?": "What is the GDP?",
    "air quality measure in pierce county": "air quality measure",
    "poverty in Zzyzx County": "poverty",
    "waste in yukon-koyukuk census area": "waste",
    "solar power in doña ana county": "solar power",
    "what is the per capita electricity consumption in the united states? in canada": (
        "what is the per capita electricity consumption?"
    ),
    "In India, how many people smoke?": "how many people smoke?",
    "how many people in Texas smoke": "how many people smoke",
    "people living in Texas with diabetes": "people with diabetes",
    "Compare the GDP of India and China": "Compare the GDP",
    "gdp of India, China and Brazil": "gdp",
    "Mexico vs. US minimum wage": "minimum wage",
    "gdp (India)": "gdp",
    "India: gdp per capita": "gdp per capita",
    "Congo [DRC] gdp": "gdp",
    "population of Trinidad & Tobago": "population",
    "poverty in Côte d’Ivoire": "poverty",
    "gdp of sao paulo": "gdp",
    "gdp of Sa\u0303o Paulo": "gdp",
    "inflation in Czechia": "inflation",
    "U.K. inflation rate": "inflation rate",
    "unemployment rate in the U.S.": "unemployment rate",
    "us unemployment rate": "unemployment rate",
    "life expectancy in the EU": "life expectancy",
    "Sub-Saharan Africa literacy rate": "literacy rate",
    "poverty in northern california": "poverty",
    "literacy in rural India": "literacy rural",
    "crime in the Chicago metro area": "crime",
    "median age in the city of Boston": "median age",
    "What is the population of Washington, D.C.?": "What is the population?",
    "median income austin tx": "median income",
    "poverty in Smallville, Ohio": "poverty",
    "Kenyan exports": "exports",
    "American household income": "household income",
    "number of people in Puerto Rico": "number of people",
}

DESCRIBES_A_NOUN = {
    "median income in California counties": "median income in counties",
    "What percent of Texas adults smoke?": "What percent of adults smoke?",
    "the percentage of the united states' economy in spain": "the percentage of the economy",
    "Which Indian states have the highest literacy?": "Which states have the highest literacy?",
}

ALSO_A_WORD = {
    "gdp of turkey": "gdp",
    "gdp turkey": "gdp",
    "natural gas consumption in turkey": "natural gas consumption",
    "gdp of georgia": "gdp",
    "population jordan": "population",
    "unemployment in Chad": "unemployment",
    "Georgia population": "population",
    "peaches in Georgia": "peaches",
    "georgia peanuts production": "peanuts production",
    "population of Turkey": "population",
    "turkey production in Minnesota": "turkey production",
    "guinea worm cases in Chad": "guinea worm cases",
    "population of Guinea": "population",
    "exports of Panama": "exports",
    "chile gdp": "gdp",
    "Chile copper production": "copper production",
    "Jersey population": "population",
    "milk cows in New Jersey": "milk cows",
    "gdp of mali": "gdp",
    "Mali gdp": "gdp",
    "niger gdp": "gdp",
    "nigeria gdp": "gdp",
    "Hong Kong population": "population",
    "china gdp": "gdp",
    "China exports": "exports",
    "Greek speakers in New York": "Greek speakers",
    "Asian population in Texas": "Asian population",
    "people who speak French in Louisiana": "people who speak French",
    "crime rate in Reading, PA": "crime rate",
    "mobile phone subscriptions in Mobile, Alabama": "mobile phone subscriptions",
    "corona cases in Corona, California": "corona cases",
    "crime in buffalo": "crime",
    "brazil nuts production in brazil": "brazil nuts production",
}

KEPT = (
    # a second sense
    *(
        "turkey production",
        "price of turkey",
        "wild turkey population",
        "mobile phone subscriptions",
        "proficiency in reading",
        "orange production",
    ),
    *("chile peppers harvested", "Panama hats", "bermuda shorts", "Jersey cows", "fine china imports"),
    *("Michael Jordan", "michael jordan points per game", "Guinea worm cases", "guinea fowl", "Niger Delta oil"),
    *("Peking duck", "french toast", "India ink", "Norway rats", "Turkish coffee", "Canada geese", "Idaho potatoes"),
    *("immigrants from Mexico", "Americans of Irish ancestry", "people who speak French", "Asian population"),
    *("shoe polish sales", "china plates", "guinea pig sales", "nice weather days", "lead poisoning", "time use"),
    *(
        "tell us about inflation",
        "amounts owed to us by affiliates",
        "What is the noncurrent cost in excess of billings?",
    ),
    # part of a name
    *("New York Stock Exchange volume", "Bank of America net income", "University of Michigan enrollment"),
    *("Dutch disease", "Washington Consensus", "Gulf War veterans", "Brussels sprouts acreage", "German measles cases"),
    *("US Treasury yields", "gdp in current US$", "current rate of UK Pound against the US dollar"),
    *("the current rate for the Bahamas' currency", "current rate of Cuba-Peso", "rate of Guatemalan Quetzal"),
    *("Count_Person_India", "dc/topic/India", "US-based companies"),
    # peoples, origins, directions
    *("American Indian and Alaska Native population", "Native Hawaiian population", "African American unemployment"),
    *("Hispanic population of Mexican origin", "people who speak Chinese at home", "population born in Mexico"),
    *("foreign-born population from India", "average bmi of chinese pregnant women", "percentage of Vietnamese people"),
    *("households in eastern asia with foreign-born members", "exports to China", "trade with China"),
    # no place at all
    *("population by county", "income per state", "gdp of each country", "countries with the highest gdp"),
)

NOTHING_ELSE = (
    "India",
    "USA",
    "in the state of New York",
    "Tell me about Placer County",
    "What about Paris?",
    "India 2020",
)

NOT_A_QUESTION = (
    "", " ", "\n\t", "?", "\x00", "\ud800", "India\udfff", "🇮🇳🇮🇳", "\u200bIndia\u200b", "الهند الناتج", "\u202eaidnI",
    "gdp\x00india", "e" + "\u0301\u0323" * 500,
)  # fmt: skip

ADVERSARIAL = (
    *("a ", "in us ", "new york ", "new ", "a.", "U.S. ", "'", "a'", "of the ", "living in ", "india and ", "india, "),
    *(", ", "( ", "()", "? ", " ", "\x00", "São ", "\u0301\u0323", "lake county ", "Aa Bb, TX ", "born in mexico "),
    *("India-", "northern ", "saint vincent and the ", "india's ", "_", "In Aa "),
)

_PIECES = (
    *(
        "India",
        "india's",
        "new",
        "New",
        "york",
        "York",
        "City",
        "US",
        "us",
        "U.S.",
        "Turkey",
        "chinese",
        "American",
        "Asia",
    ),
    *(
        "Austin",
        "TX",
        "Lake",
        "County",
        "county",
        "state of",
        "in",
        "of",
        "the",
        "from",
        "born in",
        "living",
        "who live",
    ),
    *("and", "vs", "compared to", "gdp", "people", "exports", "rural", "northern", "dollar", "is", "2020", "speak"),
    *(",", "?", "(", ")", "[", "]", "'", "’", "-", ".", "/", "&", ":", "\n", "\u0301", "\ud800", "São Paulo"),
)


@pytest.mark.parametrize(("question", "left"), [*REMOVED.items(), *DESCRIBES_A_NOUN.items(), *ALSO_A_WORD.items()])
def test_a_place_goes_with_the_words_that_hang_on_it(question: str, left: str) -> None:
    assert places.strip(question) == left


@pytest.mark.parametrize("question", KEPT)
def test_a_place_that_is_part_of_the_variable_survives(question: str) -> None:
    assert places.strip(question) == question
    assert places.found(question) == ()


@pytest.mark.parametrize("question", NOTHING_ELSE)
def test_Q07_a_place_alone_is_searched_as_written(question: str) -> None:
    assert places.strip(question) == question


@pytest.mark.parametrize("text", NOT_A_QUESTION)
def test_Q06_any_string_is_answered(text: str) -> None:
    assert len(places.strip(text)) <= len(text)


def test_the_places_found_are_named_as_written() -> None:
    assert places.found("What is India's GDP next to the U.S. and Doña Ana County?") == (
        "India",
        "U.S.",
        "Doña Ana County",
    )


def test_a_text_too_long_for_a_question_is_left_alone() -> None:
    text = "gdp of india " * 1000
    assert places.strip(text) == text


@pytest.mark.parametrize("piece", ADVERSARIAL)
def test_X09_the_work_grows_with_the_text_and_no_faster(piece: str) -> None:
    for tail in ("", " india"):
        once, twice = (_calls(piece * (length // len(piece)) + tail) for length in (4000, 8000))
        assert twice < 2.6 * once + 500
        assert twice < 400_000


def _calls(text: str) -> int:
    """Calls of Python and C functions while the text is stripped."""
    gazetteer.gazetteer()
    count = 0

    def tally(*_: Any) -> None:
        nonlocal count
        count += 1

    sys.setprofile(tally)
    try:
        places.strip(text)
    finally:
        sys.setprofile(None)
    return count


def _promises_hold(text: str) -> None:
    stripped = places.strip(text)
    assert len(stripped) <= len(text)
    assert places.strip(stripped) == stripped
    assert (stripped == text) or places.found(text)
    assert not (places.found(text) and stripped == "")


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_keeps_the_promises(text: str) -> None:
    _promises_hold(text)


@settings(max_examples=400)
@given(st.lists(st.tuples(st.sampled_from(_PIECES), st.sampled_from(("", " ", " ", " "))), max_size=14))
def test_any_sentence_about_places_keeps_the_promises(pieces: list[tuple[str, str]]) -> None:
    _promises_hold("".join(piece + space for piece, space in pieces))


def test_the_gazetteer_is_read_on_first_use_only() -> None:
    probe = (
        "from shared.tables import places, gazetteer as g; before = g.gazetteer.cache_info().currsize;"
        "places.strip('x'); print(before, g.gazetteer.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1"]


def test_the_gazetteer_stays_small() -> None:
    assert gazetteer.FILE.stat().st_size < 300_000


def test_a_gazetteer_of_another_format_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"gazetteer\.json has format 0"):
        gazetteer._parse({"format": 0})


def test_the_compiled_lists_are_those_written_by_hand() -> None:
    lists = tomllib.loads(compiler.WORDS.read_text(encoding="utf-8"))
    compiled = json.loads(gazetteer.FILE.read_text(encoding="utf-8"))
    known = gazetteer.gazetteer()
    assert compiled["lists"] == compiler._phrases(lists)
    written = [name for names in lists["names"].values() for name in names]
    assert [name for name in written if gazetteer.key_of(name) not in known.names] == []


def test_the_first_kind_that_has_a_name_keeps_it_and_a_city_that_is_a_word_needs_evidence() -> None:
    lists = tomllib.loads(compiler.WORDS.read_text(encoding="utf-8"))
    cities = [
        ("Georgia", "town", 90_000),
        ("Bigtown", "town", 900_000),
        ("Bread", "town", 900_000),
        ("Smalltown", "town", 1),
    ]
    compiled = compiler.compile_gazetteer(lists, _TinyGeonames(), cities, frozenset({"bread"}))
    known = gazetteer._parse(compiled)
    assert known.names["georgia"].kind == "state"
    assert known.names["bigtown"].evidence == gazetteer.Evidence.NONE
    assert known.names["smalltown"].evidence == gazetteer.Evidence.BOUNDARY
    assert known.names["bread"].evidence == gazetteer.Evidence.WORD
    assert known.counties == {"pierce"}


class _TinyGeonames:
    def get_countries(self) -> dict[str, dict[str, str]]:
        return {"GE": {"name": "Georgia", "iso": "GE"}, "IN": {"name": "India", "iso": "IN"}}

    def get_us_states(self) -> dict[str, dict[str, str]]:
        return {"GA": {"name": "Georgia"}}

    def get_us_counties(self) -> list[dict[str, str]]:
        return [{"name": "Pierce County"}]


def _questions(name: str) -> Iterator[dict[str, Any]]:
    root = os.environ.get("ASKBUCKET_TEST_DATA")
    if not root:
        pytest.skip("ASKBUCKET_TEST_DATA is not set: the judged questions are not here")
    with lzma.open(Path(root) / f"judged-{name}-queries.jsonl.xz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def test_the_place_of_a_judged_question_goes(capsys: pytest.CaptureFixture[str]) -> None:
    """At least 97 %.

    Measured 99.7 %, whichever the smallest town is (25,000 to 200,000 people in the US; 200,000 to 500,000 elsewhere):
    the sizes were chosen by unjudged questions, of which 668 name a place when towns begin at 200,000 people, 685 at
    100,000, 710 at 50,000 and 711 at 25,000.
    """
    gone: dict[str, list[bool]] = {}
    for row in _questions("datacommons-nl"):
        left = places.strip(row["text"]).lower()
        gone.setdefault(row["placeType"], []).append(row["placeName"].lower() not in left)
    everything = [each for kind in gone.values() for each in kind]
    _report(capsys, "place gone", {**gone, "all": everything})
    assert sum(everything) >= 0.97 * len(everything)


def test_questions_without_a_place_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """At most 0.5 % change; measured 0.44 %, and each of those 19 does name Puerto Rico or the US."""
    changed: dict[str, list[bool]] = {}
    for row in _questions("okf-heldout"):
        changed.setdefault(row["family"], []).append(places.strip(row["text"]) != row["text"])
    everything = [each for kind in changed.values() for each in kind]
    _report(capsys, "changed", {**changed, "all": everything})
    assert sum(everything) <= 0.005 * len(everything)


def _report(capsys: pytest.CaptureFixture[str], what: str, shares: dict[str, list[bool]]) -> None:
    with capsys.disabled():
        sys.stdout.writelines(f"\n{what}: {sum(each)} of {len(each)} {kind}" for kind, each in shares.items())
