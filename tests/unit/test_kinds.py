"""The five kinds: what each reads out of a record, in the many shapes records come in."""

from __future__ import annotations

import json
import lzma
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.items import SITES
from shared.sites.fields import fields_of
from shared.sites.kinds import KINDS
from shared.sites.kinds.trails import columns as trail
from shared.sites.projection import MOST_CHARS, MOST_MEMBERS, project
from shared.sites.values import mended, minutes, number, plain, texts, words, year

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = sorted(
    {name for kind in KINDS.values() for name in kind.projection}
    | {"geo", "latitude", "hoaFee", "unitText", "additionalProperty", "mainEntity", "datePublished", "alternateName"}
)
RECORDS = st.dictionaries(
    st.sampled_from(NAMES), JSON | st.fixed_dictionaries({"value": JSON, "name": JSON}), max_size=8
)


def test_a_kinds_own_label_is_a_plain_word_and_nobodys_brand():
    assert [kind.label for kind in KINDS.values()] == [name.capitalize() for name in KINDS]


def column(kind: str, name: str, **record: Any) -> object:
    return KINDS[kind].columns(record)[name]


def walk(description: str = "", **facts: object) -> dict[str, Any]:
    properties = [{"@type": "PropertyValue", "name": name, "value": value} for name, value in facts.items()]
    return dict(trail({"description": description, "additionalProperty": properties}))


def test_the_command_line_knows_every_kind():
    assert tuple(KINDS) == SITES


@given(record=RECORDS)
def test_no_record_is_too_odd_to_be_read(record):
    for kind in KINDS.values():
        known = kind.columns(record)
        assert list(known) == list(kind.columns({}))
        for value in known.values():
            assert value is None or isinstance(value, str | bool | tuple) or abs(value) <= 1e15
        assert isinstance(kind.card_text(record), str)
        json.dumps(project(record, kind))
    assert all(isinstance(field, str) for field in fields_of(record))


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_an_empty_record_says_nothing(kind):
    assert all(value in (None, ()) for value in kind.columns({}).values())
    assert kind.card_text({}) == ""
    assert fields_of({}) == ("", "", "")


def test_the_body_names_each_property_and_leaves_out_addresses_and_what_is_said_of_the_page():
    name, description, body = fields_of({
        "@type": "Recipe", "@id": "https://a.example/1", "name": "Dal", "alternateName": ["Daal", "Dal"],
        "headline": "Dal", "description": "<b>Good</b> https://a.example/x &amp;amp; quick",
        "alternativeHeadline": "Tonight", "recipeCuisine": "Indian", "recipeIngredient": ["red lentils", "water"],
        "totalTime": "PT1H5M", "author": {"@type": "Person", "name": "Ann", "jobTitle": "cook"}, "isVegan": True,
        "nutrition": {"calories": 210.0}, "license": "CC BY 4.0", "publisher": {"name": "Example"},
        "floorSize": {"value": 1200, "unitCode": "FTK"},
        "additionalProperty": [{"name": "Dogs", "value": "No dogs"}], "image": "https://a.example/1.jpg",
    })  # fmt: skip
    assert name == "Dal\nDaal"
    assert description == "Good & quick\nTonight"
    assert body.split("\n") == [
        "recipeCuisine Indian", "recipeIngredient red lentils, water", "totalTime 1 hour 5 minutes", "author Ann",
        "jobTitle cook", "calories 210", "floorSize 1200 sq ft", "Dogs No dogs",
    ]  # fmt: skip


def test_a_projection_keeps_what_matters_at_every_depth_and_cuts_the_rest():
    shown = project(
        {
            "@type": "Recipe", "name": "Dal", "description": "x " * 2_000,
            "recipeIngredient": [str(n) for n in range(50)],
            "author": {"@type": "Person", "name": "Ann", "url": "https://a.example", "description": "cook"},
            "nutrition": {"@type": "NutritionInformation", "calories": "210", "fatContent": "3 g"},
            "publisher": {"@type": "Organization", "name": "E"}, "recipeCuisine": {"@type": "Thing"}, "keywords": "",
        },
        KINDS["recipes"],
    )  # fmt: skip
    assert list(shown) == ["@type", "name", "description", "recipeIngredient", "author", "nutrition"]
    assert shown["author"] == {"@type": "Person", "name": "Ann"}
    assert shown["nutrition"] == {"@type": "NutritionInformation", "calories": "210"}
    assert len(shown["recipeIngredient"]) == MOST_MEMBERS
    assert len(shown["description"]) <= MOST_CHARS + 2


def test_a_projection_leaves_the_record_as_it_was():
    record = {"name": "a", "recipeIngredient": ["b"], "author": {"@type": "Person", "name": "c", "x": "y"}}
    before = json.dumps(record)
    project(record, KINDS["recipes"])
    assert json.dumps(record) == before


@pytest.mark.parametrize(
    ("said", "meant"),
    [("it&amp;apos;s", "it's"), ("AT&amp;T", "AT&T"), ("a &lt; b", "a < b"), ("R&D; x", "R&D; x"), ("no", "no")],
)
def test_references_are_read_twice_over(said, meant):
    assert mended(said) == meant


def test_a_comparison_is_no_tag():
    assert plain("under 5 < 6 and 7 > 4, <em>really</em>") == "under 5 < 6 and 7 > 4, really"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (4, 4.0), ("4", 4.0), ("1,234.5", 1234.5), ("1,5", 1.5), ("$1,200,000", 1_200_000.0), ({"value": "3"}, 3.0),
        ([None, {"price": 9}], 9.0), (True, None), ("none", None), ({}, None), ("1.2.3", None), (float("inf"), None),
        ("9" * 400, None), (10**400, None),
    ],
)  # fmt: skip
def test_numbers_are_read_in_every_shape(value, expected):
    assert number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("PT1H15M", 75.0),
        ("P1DT2H", 1560.0),
        ("pt90s", 1.5),
        ("PT0M", None),
        ("P", None),
        ("PT", None),
        ("an hour", None),
    ],
)
def test_durations_are_minutes(value, expected):
    assert minutes(value) == expected


def test_texts_words_and_years():
    assert texts([{"name": "Ann"}, "Bo", "Bo", None, [3]]) == ["Ann", "Bo", "3"]
    assert words("Quick, Easy; easy") == ("quick", "easy")
    assert [year(value) for value in ("1994-10-14", "in 2031", "19999", 1920)] == [1994, 2031, None, 1920]


@pytest.mark.parametrize(
    ("value", "people"),
    [("4 servings", 4), ("4", 4), ("4-6", 4), ("6–8", 6), ("1 loaf", None), (["1 loaf", "serves 10"], 10), (12, 12)],
)
def test_a_yield_is_people_only_where_it_counts_people(value, people):
    assert column("recipes", "servings", recipeYield=value) == people


def test_a_recipes_time_and_diets():
    assert column("recipes", "minutes", prepTime="PT10M", cookTime="PT20M") == 30
    assert column("recipes", "minutes", totalTime="1 hr 15 min") == 75
    diets = {"suitableForDiet": ["https://schema.org/GlutenFreeDiet", "VeganDiet"], "keywords": "Dairy Free, cake"}
    assert column("recipes", "diets", **diets) == ("gluten-free", "vegan", "dairy-free")


def test_a_films_year_and_people():
    known = KINDS["movies"].columns({
        "@type": ["Movie"], "datePublished": "1954-04-26", "duration": "PT3H27M", "genre": "Drama, Action",
        "actor": [{"@type": "Person", "name": "Toshirō Mifune"}],
        "aggregateRating": {"ratingValue": 8.6, "reviewCount": "9"},
    })  # fmt: skip
    assert (known["year"], known["minutes"], known["type"]) == (1954, 207.0, "Movie")
    assert (known["genres"], known["actors"]) == (("drama", "action"), ("toshirō mifune",))
    assert (known["rating"], known["ratings"]) == (8.6, 9)


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("It is a 1994 film directed by Mark Rydell, and starring Richard Gere.", ("mark rydell",)),
        ("A comedy written and directed by D. W. Griffith. It stars Lillian Gish.", ("d. w. griffith",)),
        ("A film directed and co-written by Adam McKay. Co-written by Charles Randolph.", ("adam mckay",)),
        ("A 1961 film directed by Malcolm St. Clair and written by Samuel G. Engel.", ("malcolm st. clair",)),
        ("It was edited and directed by Joel and Ethan Coen. Set in 1967.", ("joel coen", "ethan coen")),
        ("It was directed by Anna Boden, Ann Bo, and Cy Da and stars Ed.", ("anna boden", "ann bo", "cy da")),
        ("A drama directed by Danish director Niels Arden Oplev.", ("niels arden oplev",)),
        ("A film\xa0directed by\xa0Robert Z. Leonard\xa0for MGM", ("robert z. leonard",)),
        ("A remake of the 1946 French film of the same name directed by Jean Cocteau.", ()),
        ("A film directed by Cundieff and starring Tisha Campbell.", ()),
        ("A direct-to-video film produced by Full Moon Studios.", ()),
        ("", ()),
    ],
)
def test_who_directed_a_film_is_read_from_its_description_where_it_says_so_plainly(said, names):
    assert column("movies", "directors", description=said) == names


def test_a_films_own_director_comes_before_its_description():
    assert column("movies", "directors", description="directed by Ann Bo.", director="Cy Da") == ("cy da",)


def test_a_review_has_a_day_to_be_sorted_by():
    assert column("reviews", "day", dateModified="2026-03-04T10:00:00Z") == 20260304
    assert column("reviews", "day", dateModified="2026-03") is None


def test_a_reviews_picks_and_prices():
    parts = [{"name": "A", "offers": [{"price": "399.00"}]}, {"name": "B", "offers": {"price": 99}}, {"name": "C"}]
    known = KINDS["reviews"].columns({"dateModified": "2026-03-04T10:00:00Z", "hasPart": parts})
    assert (known["date"], known["picks"]) == ("2026-03-04", ("A", "B", "C"))
    assert (known["price_min"], known["price_max"]) == (99.0, 399.0)


@pytest.mark.parametrize(
    ("said", "km"),
    [
        ("Explore this 1.6-km loop trail near Bern.", 1.6),
        ("Check out this 5.0-mile out-and-back trail.", 8.047),
        ("A 12 km return walk along the river.", 12.0),
        ("The 3-mile hike starts at the church.", 4.828),
        ("Length: 7.5 km.", 7.5),
        ("Six kilometres there and back.", 6.0),
        ("The car park is 4 km from town.", None),
    ],
)
def test_a_trails_length_is_read_from_its_text(said, km):
    assert walk(said)["length_km"] == km


@pytest.mark.parametrize(
    ("said", "km"), [("3 km", 3.0), ("500 m", 0.5), ("2 miles", 3.219), ("10-12 km return", 12.0), (4.5, 4.5)]
)
def test_a_trails_length_is_read_from_its_property_first(said, km):
    assert walk("This 99-km trail", Distance=said)["length_km"] == km


@pytest.mark.parametrize(
    ("said", "grade"),
    [
        ("Generally considered an easy route.", "easy"),
        ("Generally considered a moderately challenging route, it takes", "hard"),
        ("It is considered a moderate route", "moderate"),
        ("A strenuous climb to the hut.", "hard"),
        ("Not hard to find, it is considered easy.", "easy"),
        ("An easygoing town.", None),
    ],
)
def test_a_trails_difficulty_is_read_from_its_text(said, grade):
    assert walk(said)["difficulty"] == grade


@pytest.mark.parametrize(
    ("said", "grade"),
    [("Easiest", "easy"), ("Easy, Advanced", "hard"), ("Expert", "expert"), ("Intermediate", "moderate")],
)
def test_a_trails_difficulty_is_the_hardest_of_its_property(said, grade):
    assert walk("considered an easy route", Difficulty=said)["difficulty"] == grade


@pytest.mark.parametrize(
    ("said", "may"),
    [
        ("Dogs are welcome, but must be on a leash.", "leash"),
        ("Dogs are welcome and may be off-leash in some areas.", "yes"),
        ("Dogs are allowed without a lead in winter.", "yes"),
        ("Dogs are allowed on leads among the vines.", "leash"),
        ("Sheep mean your dog has to be on a lead throughout.", "leash"),
        ("You can bring your dog along.", "yes"),
        ("Bring your dog!", "yes"),
        ("A dog-friendly walk.", "yes"),
        ("Dogs aren't allowed on this trail.", "no"),
        ("Dogs aren’t allowed on this trail.", "no"),
        ("Dogs are not allowed on this trail.", "no"),
        ("You'll need to leave pups at home.", "no"),
        ("Leave your dog at home.", "no"),
        ("No dogs.", "no"),
        ("Herons nest here.", None),
    ],
)
def test_whether_a_dog_may_come_is_read_from_the_text(said, may):
    assert walk(said)["dogs"] == may


@pytest.mark.parametrize(
    ("said", "may"),
    [
        ("No dogs", "no"), ("Dogs not allowed", "no"), ("Dogs on a leash only", "leash"),
        ("Dogs allowed. Keep dog under control.", "yes"),
        ("Dogs with a DOC permit only.", "permit"), ("Yes", "yes"), ("No", "no"), (True, "yes"), (False, "no"),
        ("on leash", "leash"),
    ],
)  # fmt: skip
def test_whether_a_dog_may_come_is_read_from_the_property_first(said, may):
    assert walk("Dogs are welcome.", Dogs=said)["dogs"] == may


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        ("1 hr 30 min", 1.5, 1.5), ("20 min", 0.33, 0.33), ("2 days", 48.0, 48.0), ("2-3 days", 48.0, 72.0),
        ("30 min - 1 hr 30 min", 0.5, 1.5), ("3-4 hours ", 3.0, 4.0), ("3 hr one way, 5 hr return", 3.0, 3.0),
        ("At your leisure", None, None),
    ],
)  # fmt: skip
def test_how_long_a_trail_takes_is_read_from_its_property(said, least, most):
    known = walk("", **{"Walk duration": said})
    assert (known["hours"], known["hours_most"]) == (least, most)


def test_how_long_a_trail_takes_is_read_from_its_text():
    assert walk("It takes an average of 1 h 5.5 min to complete.")["hours"] == 1.09
    assert walk("It takes about 3 to 4 hours.")["hours_most"] == 4.0
    assert walk("Allow about an hour for the climb.")["hours"] == 1.0
    assert walk("Strong walkers need six hours.")["hours"] == 6.0


@pytest.mark.parametrize(
    ("record", "name", "expected"),
    [
        ({"price": "$1.2M"}, "price", 1_200_000.0),
        ({"price": {"@type": "MonetaryAmount", "value": "850,000"}}, "price", 850_000.0),
        ({"offers": [{"price": 415000}]}, "price", 415_000.0),
        ({"price": "Contact agent"}, "price", None),
        ({"numberOfBathroomsTotal": "2.5"}, "baths", 2.5),
        ({"numberOfFullBathrooms": 2, "numberOfPartialBathrooms": 1}, "baths", 2.5),
        ({"numberOfRooms": 5}, "beds", 5.0),
        ({"floorSize": "1,850 sqft"}, "area_sqft", 1850.0),
        ({"floorSize": {"value": 100, "unitCode": "MTK"}}, "area_sqft", 1076.4),
        ({"lotSize": "0.25 acres"}, "lot_acres", 0.25),
        ({"lotSize": {"value": 0.25, "unitCode": "ACR"}}, "lot_acres", 0.25),
        ({"lotSize": 0.25}, "lot_acres", 0.25),
        ({"lotSize": 10890}, "lot_acres", 0.25),
        ({"yearBuilt": "Built in 1987"}, "year", 1987),
        ({"hoaFee": "$150 a month"}, "hoa_fee", 150.0),
        ({"@type": "SingleFamilyResidence"}, "type", "Single family"),
        ({"parking": {"name": "Garage", "numberOfSpaces": "2"}}, "parking", 2),
    ],
)
def test_a_homes_facts_are_read_in_the_shapes_listings_give_them(record, name, expected):
    assert KINDS["homes"].columns(record)[name] == expected


def test_an_amenity_that_is_not_there_is_no_feature():
    amenities = [{"name": "Pool", "value": False}, {"name": "Garage", "value": True}, "Deck"]
    assert column("homes", "features", amenityFeature=amenities, appliances="Oven") == ("oven", "garage", "deck")


@pytest.mark.parametrize(
    ("file", "kind", "always"),
    [
        ("recipes", "recipes", ()), ("movies", "movies", ("year", "type")), ("reviews", "reviews", ()),
        ("trails", "trails", ("difficulty", "region")), ("homes_ames", "homes", ("price", "beds", "year")),
    ],
)  # fmt: skip
def test_real_items_say_what_they_are_known_to_say(file, kind, always):
    folder = os.environ.get("ASKBUCKET_TEST_DATA")
    if not folder:
        pytest.skip("ASKBUCKET_TEST_DATA is not set")
    with lzma.open(Path(folder) / f"items-{file}.jsonl.xz", "rt", encoding="utf-8") as lines:
        for _, line in zip(range(400), lines, strict=False):
            known = KINDS[kind].columns(json.loads(line))
            assert all(known[name] is not None for name in always)


def test_comments_are_left_out_and_a_page_of_nothing_but_their_beginnings_is_read_at_once():
    assert plain("one<!-- <b>two</b>\n-->three<!----> four") == "one three four"
    assert plain("five <!-- six") == "five <!-- six"
    assert plain("-->" + "<!--" * 300_000).startswith("--><!--")


def test_an_area_below_zero_is_no_area() -> None:
    assert KINDS["homes"].columns({"floorSize": -22956841139})["area_sqft"] is None
