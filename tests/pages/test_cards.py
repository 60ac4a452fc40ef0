"""The cards: what is read from a record of each kind, and how it is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bare_page import Bare, demo_records, real_records, wired
from playwright.sync_api import Page, Route, expect

KINDS = ("recipes", "movies", "reviews", "trails", "homes")
Json = dict[str, Any]


@pytest.fixture
def bare(page: Page, ask_url: str) -> Bare:
    return Bare(page, ask_url)


# --- amounts ---


def check(bare: Bare, module: str, name: str, table: dict[str, list[Any]]) -> None:
    """Each row of a table: what is expected, and the arguments."""
    wrong = {told: got for told, (wanted, *args) in table.items() if (got := bare.call(module, name, *args)) != wanted}
    assert wrong == {}


def test_durations_are_read_in_days_hours_and_minutes(bare: Bare):
    table = {
        "PT1H15M": "1 hr 15 min", "PT75M": "1 hr 15 min", "PT40M": "40 min", "PT5H": "5 hr", "PT207M": "3 hr 27 min",
        "P1D": "1 day", "P1DT2H": "1 day 2 hr", "P2DT30M": "2 days 30 min", "P1W": "7 days", "PT36H": "1 day 12 hr",
        "PT1.5H": "1 hr 30 min", "PT90S": "1 min", "pt20m": "20 min", " PT20M ": "20 min",
        "PT0M": "", "PT0S": "", "PT30S": "", "PT": "", "PT1X": "", "": "",
        "20 minutes": "20 minutes", "½ hour": "½ hour", "Prep: 10 min<br/>Cooking: 5": "Prep: 10 min; Cooking: 5",
    }  # fmt: skip
    check(bare, "cards/quantities", "duration", {said: [spoken, said] for said, spoken in table.items()})
    others: list[list[Any]] = [
        ["", 90],
        ["", None],
        ["", [None]],
        ["20 min", ["PT0M", "PT20M"]],
        ["5 min", {"name": "5 min"}],
    ]
    check(bare, "cards/quantities", "duration", {str(row): row for row in others})


def test_money_is_dollars_without_cents_and_else_as_it_is_given(bare: Bare):
    rows: list[list[Any]] = [
        ["$1,495,000", 1495000], ["$1,185,000", "1185000"], ["$1,549,000", "$1,549,000"], ["$520/mo", "$520/mo"],
        ["$549", 549.4], ["$455,000", {"price": 455000, "priceCurrency": "USD"}], ["$12", {"value": "12"}],
        ["$1,185,000", [{"price": "1185000"}, {"price": 2}]], ["€1,200", 1200, "EUR"], ["900 Kč", 900, "Kč"],
        ["on request", "on request"], ["", None], ["", float("nan")], ["", float("inf")], ["", True], ["", {}],
    ]  # fmt: skip
    check(bare, "cards/quantities", "money", {str(row): row for row in rows})


def test_areas_have_their_unit_and_a_lot_without_one_is_acres_where_no_lot_could_be_so_small(bare: Bare):
    ftk, lot = {"unitCode": "FTK"}, {"isLot": True}
    rows: list[list[Any]] = [
        ["1,620 sq ft", {"value": 1620, **ftk}], ["1,380 sq ft", [{"value": "1,380", **ftk}]],
        ["2,050 sq ft", "2,050 sq ft"], ["0.35 acres", "0.35 acres"], ["1 acre", {"value": 1, "unitCode": "ACR"}],
        ["0.5 acres", {"value": 0.5, "unitCode": "ACRE"}], ["120 m²", {"value": 120, "unitCode": "MTK"}],
        ["2 hectares", {"value": 2, "unitCode": "HAR"}], ["5,200 sq ft", 5200, lot], ["1.2 acres", 1.2, lot],
        ["150 sq ft", {"value": 150, **ftk}, lot], ["150 sq ft", 150], ["", 0], ["", -5], ["", float("nan")],
    ]  # fmt: skip
    check(bare, "cards/quantities", "area", {str(row): row for row in rows})


def test_servings_and_calories_are_said_alike_however_a_record_has_them(bare: Bare):
    servings = {
        "4 servings": "Serves 4", "4": "Serves 4", "4-6": "Serves 4-6", "6–8 servings": "Serves 6–8",
        "serves 4": "Serves 4", "4 persons": "Serves 4", "4 or 5": "Serves 4 or 5", "6+": "Serves 6+", "1 ": "Serves 1",
        "1 loaf": "1 loaf",
        "1 or more": "Serves 1 or more", "about 6": "Serves about 6", "24 puffs": "24 puffs", "": "",
        "Makes 40 cookies": "Makes 40 cookies", "Varies": "Varies",
    }  # fmt: skip
    check(bare, "cards/quantities", "servings", {said: [spoken, said] for said, spoken in servings.items()})
    lists: list[list[Any]] = [["Serves 4", 4], ["Serves 8", ["8 servings", "8 bowls"]], ["", None], ["", [[]]]]
    check(bare, "cards/quantities", "servings", {str(row): row for row in lists})
    calories: list[list[Any]] = [
        ["310 cal", "310"],
        ["310 cal", 310],
        ["420 cal", "420 calories"],
        ["90 cal", "90 kcal"],
    ]
    check(bare, "cards/quantities", "calories", {str(row): row for row in [*calories, ["", None], ["few", "few"]]})


def test_a_rating_is_of_what_the_record_says_and_counted_where_it_counts(bare: Bare):
    def rated(**said: Any) -> Any:
        found = bare.call("cards/quantities", "rating", {"aggregateRating": said}, 5)
        return found and (found["text"], found["spoken"])

    assert rated(ratingValue="4.8", ratingCount="212") == ("4.8/5 (212)", "Rated 4.8 of 5 by 212")
    assert rated(ratingValue="4.8", reviewCount="1,011", bestRating="5") == ("4.8/5 (1,011)", "Rated 4.8 of 5 by 1,011")
    assert rated(ratingValue=7.94, bestRating=10) == ("7.94/10", "Rated 7.94 of 10")
    assert rated(ratingValue=4, ratingCount=0) == ("4/5", "Rated 4 of 5")
    assert rated(ratingValue="n/a", ratingCount=3) is None
    assert rated(ratingValue=float("nan")) is None
    assert bare.call("cards/quantities", "rating", {"aggregateRating": "4"}, 5) is None


# --- what the text of a trail says ---


def trail(bare: Bare, said: str, **stated: Any) -> Json:
    properties = [{"name": name.replace("_", " "), "value": value} for name, value in stated.items()]
    read: Json = bare.call("cards/trailwords", "trailFacts", {"description": said, "additionalProperty": properties})
    return read


LENGTHS = {
    "Enjoy this 1.6-km loop trail near Ames": "1.6 km",
    "Discover this 2.7-mile out-and-back trail": "2.7 mi",
    "Try this 12-mi point-to-point trail": "12 mi",
    "Get to know this lovely 3,5 km walk": "3.5 km",
    "Count on 4 hours for the 7.5-km round trip": "7.5 km",
    "Set out on this 1,200-mile trail": "1,200 mi",
    "The car park is 4 km from the village": "",
    "It is 310 years old": "",
}  # fmt: skip
SHAPES = {
    "this 1.6-km loop trail": "Loop",
    "an out-and-back trail": "Out and back",
    "a point-to-point trail": "Point to point",
    "look out for the loop on the map": "",
}  # fmt: skip
GRADES = {
    "Generally considered an easy route": "Easy",
    "Generally considered a moderate route": "Moderate",
    "Generally considered a moderately challenging route": "Moderately challenging",
    "generally considered a challenging route": "Challenging",
    "considered a very difficult climb": "Very difficult",
    "It is considered a classic": "",
    "An easy way out": "",
}  # fmt: skip
TIMES = {
    "it takes an average of 58 min to complete.": "58 min",
    "it takes an average of 1 h 5.5 min to complete.": "1 h 5.5 min",
    "an average of 3 h. Two to complete": "",
    "takes an average of 2 h 30 min to complete. Dogs": "2 h 30 min",
}  # fmt: skip
DOGS = {
    "Dogs are welcome, but must be on a leash.": "Dogs allowed",
    "Dogs welcome": "Dogs allowed",
    "Your dog is allowed here": "Dogs allowed",
    "dogs are allowed if they are leashed": "Dogs allowed",
    "Dogs aren't allowed on this trail": "No dogs",
    "Dogs aren’t allowed on this trail": "No dogs",
    "Dogs are not allowed": "No dogs",
    "dogs are not permitted past the gate": "No dogs",
    "You'll need to leave pups at home": "No dogs",
    "Leave your dog at home.": "No dogs",
    "No dogs, please": "No dogs",
    "Visitors are welcome. A dog barks.": "",
    "Herons in the shallows": "",
}  # fmt: skip


def test_a_trails_text_is_read_for_length_shape_grade_time_and_dogs(bare: Bare):
    for name, table in {
        "length": LENGTHS, "shape": SHAPES, "difficulty": GRADES, "time": TIMES, "dogs": DOGS,
    }.items():  # fmt: skip
        read = {said: trail(bare, said)[name] for said in table}
        assert read == table


def test_a_trails_properties_are_believed_before_its_text(bare: Bare):
    said = "this 9-km loop trail, considered a hard route, an average of 4 h to complete. Dogs are welcome."
    stated = {
        "distance": "2.4 km", "route_type": "Out and back", "difficulty": "Easy", "walk_duration": "45 min return",
        "dogs": "No dogs", "wheelchairs_and_buggies": "Yes", "activities": "Walking, Cycling", "permit": "Required",
    }  # fmt: skip
    read = trail(bare, said, **stated)
    assert (read["length"], read["km"], read["shape"]) == ("2.4 km", 2.4, "Out and back")
    assert (read["difficulty"], read["time"], read["minutes"]) == ("Easy", "45 min return", 45)
    assert (read["dogs"], read["wheelchairs"]) == ("No dogs", "Wheelchairs and buggies")
    assert read["others"] == [["Activities", "Walking, Cycling"], ["Permit", "Required"]]


def test_a_trails_rule_for_dogs_is_shown_as_it_is_stated(bare: Bare):
    table = {
        True: "Dogs allowed", False: "No dogs", "yes": "Dogs allowed", "Dogs not allowed": "No dogs", "no": "No dogs",
        "Dogs on a leash only": "Dogs on a leash only", "Dogs with a permit only": "Dogs with a permit only",
        "on a leash": "Dogs: on a leash", "Dogs allowed. Keep dog under control at all times.": "Dogs allowed",
    }  # fmt: skip
    assert {stated: trail(bare, "", dogs=stated)["dogs"] for stated in table} == table


def test_trails_are_sorted_by_what_their_length_and_time_mean(bare: Bare):
    table: list[tuple[Json, float | None, float | None]] = [
        ({"distance": "900 m", "walk_duration": "25 min"}, 0.9, 25), ({"distance": "1 mile"}, 1.609344, None),
        ({"distance": 3.3, "walk_duration": "1 hr 30 min"}, 3.3, 90), ({"walk_duration": "2-3 days"}, None, 2880),
        ({"walk_duration": "1 hr - 1 hr 30 min"}, None, 60), ({"walk_duration": "9 - 11 hr"}, None, 540),
        ({"walk_duration": "1 hr return 40 min one way"}, None, 100), ({"walk_duration": "varies"}, None, None),
    ]  # fmt: skip
    for stated, km, minutes in table:
        read = trail(bare, "", **stated)
        assert (read["km"], read["minutes"]) == (km, minutes), stated


# --- each kind's card ---

RECIPE = {
    "@type": "Recipe", "name": "Dal &amp; Rice", "author": [{"name": "Asha Verma"}, "Jo"], "recipeCuisine": "Indian",
    "recipeCategory": ["Main course", "indian"], "keywords": "lentils, one pot, vegan, quick, fifth",
    "totalTime": "PT40M",
    "suitableForDiet": ["https://schema.org/GlutenFreeDiet"], "prepTime": "PT10M", "cookTime": "PT30M",
    "recipeYield": "4 servings", "nutrition": {"calories": "310"}, "recipeIngredient": ["1 cup lentils", "salt"],
    "aggregateRating": {"ratingValue": "4.8", "ratingCount": "212"},
}  # fmt: skip
MOVIE = {
    "@type": ["Thing", "Movie"], "name": "Rashomon", "datePublished": "1950-08-25", "duration": "PT88M",
    "contentRating": "PG", "aggregateRating": {"ratingValue": 8.1, "ratingCount": 12345}, "genre": ["Drama", "Crime"],
    "description": "A crime. " * 60, "director": {"name": "Akira Kurosawa"},
    "actor": [{"name": name} for name in ("A", "B", "C", "D", "E", "F")],
}  # fmt: skip
REVIEW = {
    "@type": "NewsArticle", "name": "Robot Vacuums", "alternativeHeadline": "Three that survive fur",
    "dateModified": "2026-08-14T09:00:00Z", "author": "Ines Ferrar", "description": "After six weeks with two cats.",
    "hasPart": [
        {"name": "Bramble R7", "offers": [{"price": 549}, {"price": 1}]}, {"name": "Gale", "offers": {"price": "$49"}},
        {"name": "Nilo"},
    ],
}  # fmt: skip
TRAIL = {
    "@type": "LocalBusiness", "name": "Quarry Lake", "address": {"addressLocality": "Stillwater"},
    "description": "This 2.7-mile loop trail is considered an easy route; it takes an average of 58 min to complete. "
    "Dogs aren’t allowed.", "geo": {"latitude": 33.9, "longitude": "-84.2"},
    "aggregateRating": {"ratingValue": 4.3, "reviewCount": 905, "bestRating": 5},
}  # fmt: skip
HOME = {
    "@type": "SingleFamilyResidence", "name": "12 Lantern Row", "price": 1495000, "numberOfBedrooms": 3,
    "numberOfBathroomsTotal": 2.5, "floorSize": {"value": 1620, "unitCode": "FTK"}, "lotSize": {"value": 5200},
    "yearBuilt": "built 1924", "listingStatus": "For sale", "parking": {"numberOfSpaces": 2}, "heating": "Forced air",
    "cooling": "None", "hoaFee": 355, "schoolDistrict": "Alder Unified", "schools": ["One", "Two", "Three", "Four"],
    "features": ["Fireplace"], "amenities": ["Solar panels"], "appliances": "Dishwasher",
    "amenityFeature": [{"name": "no garage", "value": True}, {"name": "pool", "value": False}],
    "address": {"streetAddress": "12 Lantern Row", "addressLocality": "Alder Point", "addressRegion": "CA"},
}  # fmt: skip


def lines(shown: str) -> list[str]:
    return [" ".join(line.split()) for line in shown.splitlines() if line.strip()]


def texts(page: Page, selector: str) -> list[str]:
    return [" ".join(each.split()) for each in page.locator(selector).all_inner_texts()]


def visible_facts(page: Page) -> list[str]:
    """The facts as they are seen: without the words that only a screen reader has."""
    script = """all => all.map(one => [...one.childNodes].filter(node => !node.classList?.contains('visually-hidden'))
      .map(node => node.textContent).join(''))"""
    found: list[str] = page.locator(".card-facts > li").evaluate_all(script)
    return found


def test_a_recipe_shows_all_that_its_record_says(bare: Bare):
    bare.card(RECIPE, site="nytimes", description="Because it is red.")
    page = bare.page
    assert texts(page, ".card-title") == ["Dal & Rice"]
    assert texts(page, ".card-meta > span") == ["Asha Verma, Jo", "NYT Cooking"]
    assert visible_facts(page) == ["4.8/5 (212)", "Total 40 min", "Prep 10 min", "Cook 30 min", "Serves 4", "310 cal"]
    assert texts(page, ".chip") == ["Indian", "Main course", "Gluten free", "lentils", "one pot", "vegan", "quick"]
    assert texts(page, ".card-reason") == ["Because it is red."]
    assert texts(page, "summary")[0] == "Ingredients (2)"
    page.locator("summary").first.click()
    assert texts(page, "details[open] li") == ["1 cup lentils", "salt"]


def test_a_movie_shows_all_that_its_record_says(bare: Bare):
    bare.card(MOVIE, site="imdb")
    page = bare.page
    assert texts(page, ".card-meta > span") == ["IMDb"]
    assert visible_facts(page) == ["1950", "1 hr 28 min", "PG", "8.1/10 (12,345)"]
    assert texts(page, ".chip") == ["Drama", "Crime"]
    [own] = texts(page, ".card-own")
    assert own.startswith("A crime. A crime.")
    assert 250 < len(own) <= 281
    assert own.endswith("…")
    assert texts(page, ".card-main > .card-details > *") == ["Director", "Akira Kurosawa", "Starring", "A, B, C, D, E"]


def test_a_review_shows_all_that_its_record_says_and_few_picks_unfolded(bare: Bare):
    bare.card(REVIEW, site="wirecutter")
    page = bare.page
    assert texts(page, ".card-meta > span") == ["Ines Ferrar", "Wirecutter"]
    assert visible_facts(page) == ["Three that survive fur", "Updated 2026-08-14"]
    assert texts(page, ".card-own") == ["After six weeks with two cats."]
    assert texts(page, "details[open] > summary") == ["Picks (3)"]
    assert texts(page, "details[open] li") == ["Bramble R7 · $549", "Gale · $49", "Nilo"]
    bare.card({**REVIEW, "hasPart": {"name": "Gale"}, "alternativeHeadline": "robot vacuums"})
    assert texts(page, "details[open] > summary") == ["The pick"]
    assert visible_facts(page) == ["Updated 2026-08-14"]
    bare.card({**REVIEW, "hasPart": [{"name": str(number)} for number in range(4)]})
    assert page.locator("details[open]").count() == 0


def test_a_trail_shows_all_that_its_record_says(bare: Bare):
    bare.card(TRAIL, site="alltrails")
    page = bare.page
    assert texts(page, ".card-meta > span") == ["Stillwater", "AllTrails"]
    assert visible_facts(page) == ["4.3/5 (905)", "2.7 mi", "Loop", "~58 min"]
    assert texts(page, ".chip") == ["Easy", "No dogs"]
    link = page.locator(".card-map-link")
    assert "33.9,-84.2" in (link.get_attribute("href") or "")
    assert link.get_attribute("rel") == "noopener noreferrer"


def test_a_home_shows_all_that_its_record_says(bare: Bare):
    bare.card(HOME, site="zillow")
    page = bare.page
    assert texts(page, ".card-price") == ["$1,495,000"]
    assert texts(page, ".card-meta > span") == ["12 Lantern Row, Alder Point, CA", "Zillow"]
    assert visible_facts(page) == ["3 bd", "2.5 ba", "1,620 sq ft", "Lot 5,200 sq ft", "Built 1924"]
    assert texts(page, ".chip") == ["Single family", "For sale", "2-car parking"]
    assert texts(page, ".card-main > .card-details > *") == [
        "Schools", "Alder Unified · One · Two · Three", "Heating / cooling", "Forced air", "HOA", "$355",
    ]  # fmt: skip
    page.locator("summary").first.click()
    assert texts(page, "details[open] li") == ["Fireplace", "Solar panels", "Dishwasher", "no garage"]


def test_a_home_takes_its_price_from_its_offer_and_its_rooms_where_bedrooms_are_missing(bare: Bare):
    shown = bare.card(
        {"@type": "House", "offers": [{"price": "1185000"}, {"price": 2}], "numberOfRooms": 5, "lotSize": 0.4}
    )
    assert {"$1,185,000", "5 rooms", "Lot 0.4 acres"} <= {line.removesuffix("\n") for line in lines(shown)}


def test_the_first_type_that_is_known_chooses_the_card(bare: Bare):
    table: list[tuple[Any, str]] = [
        ("Recipe", "recipe"), ("TVSeries", "movie"), ("TVEpisode", "movie"), ("Article", "review"),
        ("NewsArticle", "review"), ("LocalBusiness", "trail"), ("House", "home"), ("Person", "other"), (None, "other"),
        (["RealEstateListing", "Product"], "home"), (["Thing", "Movie", "House"], "movie"), ({"name": "x"}, "other"),
        ("https://schema.org/Recipe", "recipe"), (["LocalBusiness", "Recipe"], "recipe"),
    ]  # fmt: skip
    for types, kind in table:
        bare.card({"@type": types, "name": "x"})
        assert bare.page.locator(".item-card").get_attribute("data-kind") == kind, types


def expected(kind: str, record: Json) -> Iterator[str]:
    """What a card of this record has to show, found without the page's own reading of it."""

    def first(value: Any) -> Any:
        return (
            first(value[0])
            if isinstance(value, list) and value
            else value.get("name")
            if isinstance(value, dict)
            else value
        )

    names = {
        "recipes": ["author"],
        "movies": ["director", "contentRating"],
        "reviews": ["author"],
        "homes": ["heating"],
    }
    yield from (str(first(record[key])) for key in names.get(kind, []) if first(record.get(key)) not in (None, "None"))
    if value := (record.get("aggregateRating") or {}).get("ratingValue"):
        yield f"{float(value):g}/"
    dated = {"movies": "datePublished", "homes": "yearBuilt", "reviews": "dateModified"}.get(kind)
    if dated and (found := re.search(r"\d{4}", str(record.get(dated) or ""))):
        yield found[0]
    for listed in {"movies": ["genre"], "recipes": ["recipeCuisine"]}.get(kind, []):
        yield str(first(record[listed])) if record.get(listed) else ""
    if kind == "trails":
        stated = {one["name"]: one["value"] for one in record.get("additionalProperty") or []}
        yield from (
            str(stated[name]) for name in ("Walk duration", "Route type", "Activities", "Permit") if name in stated
        )
        yield from (str(number) for number in re.findall(r"^[\d.]+", str(stated.get("Distance", ""))))
    if kind == "homes" and isinstance(record.get("price"), int):
        yield f"${record['price']:,}"
    if kind == "reviews" and isinstance(record.get("hasPart"), list):
        yield (
            f"Picks ({len({part['name'] for part in record['hasPart']})})" if len(record["hasPart"]) > 1 else "The pick"
        )
    if kind == "recipes":
        yield f"Ingredients ({len(dict.fromkeys(record['recipeIngredient']))})"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", ["demo", "real"])
def test_every_record_shows_its_facts(bare: Bare, kind: str, source: str):
    """A hundred or so of each real collection, and the whole demo."""
    every = {"movies": 290, "homes": 25, "trails": 8}.get(kind, 27)
    records = demo_records(kind) if source == "demo" else real_records(kind, every)
    shown = bare.cards([wired({**record, "image": None}, description="Why.") for record in records])
    missing = {
        record["url"]: told
        for record, text in zip(records, shown, strict=True)
        if (told := [one for one in expected(kind, record) if " ".join(one.split()) not in " ".join(text.split())])
    }
    assert len(shown) > 50
    assert missing == {}
    assert all("undefined" not in text and "NaN" not in text and "[object" not in text for text in shown)


# --- the frame ---


def test_a_title_links_over_http_alone_in_a_tab_of_its_own(bare: Bare):
    bare.card({"@type": "Recipe"}, name="Dal", url="https://example.org/dal")
    link = bare.page.locator(".card-title a")
    assert link.get_attribute("href") == "https://example.org/dal"
    assert link.get_attribute("target") == "_blank"
    assert "noopener" in (link.get_attribute("rel") or "")
    bare.card({"@type": "Recipe"}, name="Dal", url="ftp://example.org/dal")
    assert bare.page.locator(".card-title a").count() == 0
    assert texts(bare.page, ".card-title") == ["Dal"]


def test_a_card_bears_its_number_where_it_has_one(bare: Bare):
    bare.cards([wired(TRAIL)], number=7)
    assert texts(bare.page, ".card-title") == ["7 Quarry Lake"]


def test_the_reason_is_not_said_twice_where_it_is_the_records_own_words(bare: Bare):
    bare.card(REVIEW, description=REVIEW["description"])
    assert texts(bare.page, ".card-own") == []
    bare.card(REVIEW, description="Fur is no trouble to it.")
    assert texts(bare.page, ".card-own") == [REVIEW["description"]]
    bare.card(REVIEW, description="")
    assert texts(bare.page, ".card-reason") == []
    said = "Fur is everywhere. Rubber beats bristles. The base empties itself."
    rest = {
        "Fur is everywhere.": "Rubber beats bristles. The base empties itself.",
        "Rubber beats bristles.": "Fur is everywhere. … The base empties itself.",
        "The base empties itself.": "Fur is everywhere. Rubber beats bristles.",
        "Fur is everywhere. Rubber …": "… beats bristles. The base empties itself.",
    }
    for reason, left in rest.items():
        bare.card({**REVIEW, "description": said}, description=reason)
        assert texts(bare.page, ".card-own") == [left]


def test_the_verdict_is_told_on_demand_and_never_of_a_candidate(bare: Bare):
    item = wired(RECIPE, score=90, relevance="strong", bm25_score=7.25, retrieval_source="bm25", constraints_met=None)
    bare.cards([item])
    why = bare.page.locator(".card-why")
    expect(why.locator("dl")).to_be_hidden()
    why.locator("summary").click()
    assert texts(bare.page, ".card-why dd") == [
        "strong, 90 of 100", "the record does not speak of all", "by its words", "1.5 (of −3 to 3)", "7.25 (BM25)",
    ]  # fmt: skip
    bare.cards([item], provisional=True)
    assert bare.page.locator(".card-why").count() == 0
    assert bare.page.locator(".item-card.is-provisional").count() == 1
    bare.cards([item], showWhy=False)
    assert bare.page.locator(".card-why").count() == 0


def condition(number: int, field: str, op: str, value: Any, unit: str, text: str, hard: bool = True) -> Json:
    return {"id": f"c{number}", "field": field, "op": op, "value": value, "unit": unit, "text": text, "hard": hard}


CONDITIONS = [
    condition(1, "length_km", "<", 4.828, "km", "under 3 miles"),
    condition(2, "dogs", "has", "yes", "", "dogs"),
    condition(3, "price", ">=", 765000, "USD", "around 900k", hard=False),
    condition(4, "price", "<=", 1035000, "USD", "around 900k", hard=False),
    condition(5, "features", "has", "pool", "", "a pool"),
]
ORDER = {"field": "price", "descending": False, "text": "cheapest"}
HELD = {"restrictions": ["vegan"], "ranking_model": "m", "constraints": CONDITIONS, "order": ORDER}


def test_what_a_record_does_not_say_is_said_in_a_quiet_line(bare: Bare):
    def said(**item: Any) -> list[str]:
        bare.cards([wired(TRAIL, **item)], restrictions=HELD)
        return texts(bare.page, ".card-unknown")

    assert said(unknown=["c2"], constraints_met=None) == ["Does not say: dogs"]
    assert said(unknown=["c1", "c3", "c4", "c5"], constraints_met=None) == ["Does not say: length, price, pool"]
    assert said(unknown=["c9"], constraints_met=None) == ["Does not say: whether it meets every condition"]
    assert said(unknown=[], constraints_met=False) == ["Misses something that you prefer"]
    assert said(unknown=[], constraints_met=True) == []
    assert said() == []


def test_a_picture_is_asked_for_over_https_lazily_and_without_a_referrer_and_goes_where_it_fails(
    bare: Bare, watch: Any
):
    asked: list[tuple[str, str | None]] = []

    def refuse(route: Route) -> None:
        asked.append((route.request.url, route.request.headers.get("referer")))
        route.abort()

    watch.hosts.add("pictures.example")
    watch.expect(r"Failed to load resource: net::ERR_FAILED \(https://pictures\.example/dal\.jpg\)")
    bare.page.context.route("https://pictures.example/**", refuse)
    record = {**RECIPE, "image": ["http://pictures.example/plain.jpg", {"url": "https://pictures.example/dal.jpg"}]}
    bare.cards([wired(record)])
    expect(bare.page.locator("img")).to_have_count(0)
    expect(bare.page.locator(".has-image")).to_have_count(0)
    assert asked == [("https://pictures.example/dal.jpg", None)]


def test_a_picture_far_below_is_not_asked_for_before_it_comes_near(bare: Bare, watch: Any):
    asked: list[str] = []
    watch.hosts.add("pictures.example")
    pixel = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(content_type="image/svg+xml", body=pixel)

    bare.page.context.route("https://pictures.example/**", answer)
    records = [{**RECIPE, "name": f"{n}", "image": f"https://pictures.example/{n}.svg"} for n in range(60)]
    bare.cards([wired(record) for record in records])
    first = bare.page.locator("img").first
    expect(first).to_have_js_property("complete", True)
    assert first.get_attribute("alt") == ""
    assert "https://pictures.example/0.svg" in asked
    assert "https://pictures.example/59.svg" not in asked
    bare.page.locator(".item-card").last.scroll_into_view_if_needed()
    expect(bare.page.locator("img").last).to_have_js_property("naturalWidth", 9)
    assert "https://pictures.example/59.svg" in asked


# --- chips and orders ---


def test_each_condition_is_a_chip_in_the_questions_own_words_and_can_be_taken_away(bare: Bare):
    script = """async (held) => {
      const { constraintChips } = await import("/js/cards/chips.js");
      window.removed = [];
      document.getElementById("out").replaceChildren(constraintChips(held, (one) => window.removed.push(one)));
    }"""
    bare.page.evaluate(script, HELD)
    chips = bare.page.get_by_role("list", name="Read from the question").get_by_role("listitem")
    shown = [" ".join(text.split()) for text in chips.all_inner_texts()]
    assert shown == ["under 3 miles ×", "dogs ×", "around 900k preferred ×", "a pool ×", "cheapest ×"]
    assert chips.nth(0).get_attribute("title") == "length under 4.828 km"
    assert chips.nth(4).get_attribute("title") == "sorted by price"
    for words in ("under 3 miles", "around 900k", "cheapest"):
        bare.page.get_by_role("button", name=f"Ask again without {words}").click()
    assert bare.page.evaluate("window.removed") == [CONDITIONS[0], CONDITIONS[2], {"id": "order", **ORDER}]


@pytest.mark.parametrize("held", [None, {}, {"constraints": []}, {"constraints": "x", "order": 3}, [], "x"])
def test_where_no_condition_was_read_there_is_no_list(bare: Bare, held: Any):
    bare.show("cards/chips", "constraintChips", held, None)
    assert bare.page.get_by_role("list").count() == 0


ORDERS = """async (items) => {
  const { sortings } = await import("/js/cards/sorting.js");
  return sortings(items).map(({ id, compare }) => [id, [...items].sort(compare).map((item) => item.name)]);
}"""


def orders(bare: Bare, records: list[Json]) -> dict[str, list[str]]:
    return dict(bare.page.evaluate(ORDERS, [wired(record) for record in records]))


def test_results_are_sorted_by_what_at_least_two_of_them_say_and_the_silent_come_last(bare: Bare):
    homes = [
        {
            "@type": "House",
            "name": "b",
            "price": "$1.2M",
            "floorSize": {"value": 90, "unitCode": "MTK"},
            "yearBuilt": 1990,
        },
        {"@type": "House", "name": "silent"},
        {"@type": "House", "name": "a", "price": 850000, "floorSize": "900 sq ft"},
        {"@type": "House", "name": "c", "offers": {"price": "2,000,000"}, "floorSize": 2000},
    ]
    assert orders(bare, homes) == {
        "cheapest": ["a", "b", "c", "silent"],
        "dearest": ["c", "b", "a", "silent"],
        "largest": ["c", "b", "a", "silent"],
    }
    assert orders(bare, [{"@type": "Person", "name": "x"}] * 3) == {}


def test_each_kind_has_its_own_orders(bare: Bare):
    def names(kind: str) -> set[str]:
        return set(orders(bare, demo_records(kind)))

    assert names("recipes") == {"quickest", "rated", "calories", "ingredients"}
    assert names("movies") == {"newest", "oldest", "shortest"}
    assert names("reviews") == {"newest", "oldest", "cheapest"}
    assert names("trails") == {"shortest", "longest", "quickest", "easiest", "rated"}
    assert names("homes") == {"cheapest", "dearest", "largest", "land", "beds", "newest"}


def test_of_several_grades_the_hardest_counts(bare: Bare):
    table = {
        "Very easy": 0, "Easiest": 0, "Easiest, Easy": 1, "Easy": 1, "Intermediate": 2, "Easy, Advanced": 4, "Hard": 4,
        "Moderately challenging": 4, "Advanced, Expert": 5, "Very difficult": 5, "": None, "Scenic": None,
    }  # fmt: skip
    assert {said: bare.call("cards/trailwords", "gradeRank", said) for said in table} == table


def test_the_easiest_trail_comes_first_and_moderately_challenging_is_harder_than_moderate(bare: Bare):
    said = ["a moderately challenging route", "a hard route", "a moderate route", "an easy route", "no route"]
    trails = [{"@type": "Trail", "name": one, "description": f"considered {one}"} for one in said]
    assert orders(bare, trails)["easiest"] == [said[3], said[2], said[0], said[1], said[4]]


# --- for everybody ---


@pytest.mark.parametrize("which", ["page", "dark", "phone", "dark_phone"])
def test_axe_finds_nothing_on_cards_of_any_kind(
    request: pytest.FixtureRequest, which: str, ask_url: str, axe: Callable[[Page], None]
):
    bare = Bare(request.getfixturevalue(which), ask_url)
    items = [wired(record, unknown=["c2"], constraints_met=None) for record in (RECIPE, MOVIE, REVIEW, TRAIL, HOME)]
    bare.cards(items, restrictions=HELD)
    chips = """async (held) => {
      const { constraintChips } = await import("/js/cards/chips.js");
      document.getElementById("out").prepend(constraintChips(held, () => {}));
      document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    }"""
    bare.page.evaluate(chips, HELD)
    axe(bare.page)
    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert bare.page.evaluate(fits)
