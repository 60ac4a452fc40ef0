"""The readings that recipes and movies do themselves, each at every token of a question, the longest first."""

from __future__ import annotations

import pytest

from shared.sites.kinds import KINDS
from shared.sites.kinds.movie_words import spellings, with_surname
from shared.sites.quantities import tokens


class Has:
    """A collection with these words."""

    def __init__(self, **columns):
        self.columns = columns

    def named(self, name, said):
        pairs = ((field, value) for field in name.fields for value in self.columns.get(field, ()))
        return next((pair for pair in pairs if said in set(name.keys(pair[1]))), None)

    def longest(self, name):
        return 4

    def quantile(self, field, share):
        return None


RECIPES = Has(ingredients=("chestnut mushroom", "gochugaru", "oven glove"))
MOVIES = Has(actors=("john wayne", "samuel l. jackson", "toshirō mifune"), directors=("alfred hitchcock",))


def taken(kind, ask, known):
    words = [token.word for token in tokens(ask)]
    claims, at = [], 0
    while at < len(words):
        found = [one for take in KINDS[kind].wording.takers if (one := take(words, at, known))]
        longest = max(found, key=lambda one: one.end, default=None)
        claims += [(each.field, each.op, each.value, each.hard) for each in longest.claims] if longest else []
        at = longest.end if longest else at + 1
    return claims


@pytest.mark.parametrize(
    ("ask", "foods"),
    [
        ("butter chicken without cream", ["cream"]), ("soup with no onions or garlic", ["onions", "garlic"]),
        ("pancakes without eggs, milk or butter", ["eggs", "milk", "butter"]), ("pasta, not chicken", ["chicken"]),
        ("stew without gochugaru", ["gochugaru"]), ("pie without chestnut mushrooms", ["chestnut mushrooms"]),
        ("sugar-free jam", ["sugar"]), ("oil free hummus", ["oil"]), ("I don’t eat pork", ["pork"]),
        ("no pork", ["pork"]), ("hold the mayo", ["mayo"]), ("instead of butter", ["butter"]),
        ("bread without yeast", ["yeast"]),
    ],
)  # fmt: skip
def test_a_food_that_is_left_out_is_lacked(ask, foods):
    assert taken("recipes", ask, RECIPES) == [("ingredients", "lacks", food, True) for food in foods]


@pytest.mark.parametrize(
    ("ask", "diets"),
    [
        ("I am allergic to nuts", ["nut-free"]),
        ("allergic to shellfish and peanuts", ["shellfish-free", "peanut-free"]),
        ("nut-free cake", ["nut-free"]),
        ("no nuts and easy to make", ["nut-free"]), ("free of gluten", ["gluten-free"]),
        ("gluten and dairy free bread", ["gluten-free", "dairy-free"]), ("a soy allergy", ["soy-free"]),
        ("without dairy or gluten", ["dairy-free", "gluten-free"]), ("lactose intolerant", ["dairy-free"]),
    ],
)  # fmt: skip
def test_what_must_not_be_in_it_at_all_is_a_diet(ask, diets):
    assert taken("recipes", ask, RECIPES) == [("diets", "has", diet, True) for diet in diets]


@pytest.mark.parametrize(
    ("ask", "claim"),
    [
        ("curry for 6", ("servings", ">=", 6.0, True)), ("stew for six people", ("servings", ">=", 6.0, True)),
        ("stew for about 8 people", ("servings", ">=", 8.0, False)), ("30-minute meals", ("minutes", "<=", 30.0, True)),
        ("in half an hour", ("minutes", "<=", 30.0, True)), ("in 2 hours", ("minutes", "<=", 120.0, True)),
        ("in an hour or less", ("minutes", "<=", 60.0, True)), ("20 minute dinners", ("minutes", "<=", 20.0, True)),
    ],
)  # fmt: skip
def test_people_and_minutes_of_a_recipe(ask, claim):
    assert taken("recipes", ask, RECIPES) == [claim]


@pytest.mark.parametrize(
    "ask",
    [
        "7-minute eggs", "20-minute beef stroganoff", "three-cup chicken", "no-knead bread", "no bake cookies",
        "nut roast", "not too spicy", "cake without an oven", "without kneading", "soup for 2 hours", "egg-free range",
        "no cheese-stuffed things", "no egg-roll bowl", "peanut butter", "for 12 eggs", "in 2 hours or more",
        "without", "no", "allergic to", "for", "in", "30-minute", "Not Without My Daughter",
    ],
)  # fmt: skip
def test_what_a_dish_is_called_is_no_demand(ask):
    assert taken("recipes", ask, RECIPES) == []


@pytest.mark.parametrize(
    ("ask", "claims"),
    [
        ("John Wayne movies", [("actors", "has", "john wayne", True)]),
        ("Alfred Hitchcock's films", [("directors", "has", "alfred hitchcock", True)]),
        ("Samuel L. Jackson comedies", [("actors", "has", "samuel l. jackson", True)]),
        ("toshiro mifune films", [("actors", "has", "toshirō mifune", True)]),
        ("films of this century", [("year", ">=", 2000.0, True)]),
        ("from the 20th century", [("year", "<", 2000.0, True)]),
        ("20th Century Women", []), ("Wayne movies", []), ("the movies", []), ("John Wayne", []),
    ],
)  # fmt: skip
def test_people_and_centuries_of_films(ask, claims):
    assert taken("movies", ask, MOVIES) == claims


def test_a_name_is_found_with_and_without_initials_accents_and_what_ends_it():
    assert set(spellings("samuel l. jackson")) == {"samuel l jackson", "samuel jackson"}
    assert {"toshirō mifune", "toshiro mifune"} == set(spellings("toshirō mifune"))
    assert list(spellings("mala")) == []
    assert {"niro", "de niro"} <= set(with_surname("robert de niro"))


def test_a_name_that_is_one_word_without_its_digits_is_found_nowhere() -> None:
    assert list(spellings("A 1234")) == []
    assert "ann smith" in list(spellings("Ann Smith"))
