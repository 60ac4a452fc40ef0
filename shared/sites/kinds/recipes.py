"""Recipes: how long, for how many, and for which diets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shared.contracts.items import Json, Value
from shared.sites.kinds.card import card, listed, rating
from shared.sites.kinds.diets import contents, ingredients
from shared.sites.kinds.kind import Kind
from shared.sites.kinds.recipe_words import WORDING
from shared.sites.values import at, minutes, number, spelled, spoken_duration, text, texts, whole, words

_PROJECTION = """@type name description keywords recipeCategory recipeCuisine recipeYield totalTime prepTime cookTime
    recipeIngredient nutrition calories suitableForDiet aggregateRating ratingValue ratingCount author"""
# As https://schema.org/RestrictedDiet names them, beside what people write among keywords and categories.
_DIETS = {
    "diabetic": "diabetic", "glutenfree": "gluten-free", "halal": "halal", "hindu": "hindu", "kosher": "kosher",
    "lowcalorie": "low-calorie", "lowfat": "low-fat", "lowlactose": "low-lactose", "lowsalt": "low-salt",
    "vegan": "vegan", "vegetarian": "vegetarian", "dairyfree": "dairy-free", "nutfree": "nut-free",
    "eggfree": "egg-free", "lowcarb": "low-carb", "sugarfree": "sugar-free", "keto": "keto", "paleo": "paleo",
    "pescatarian": "pescatarian", "whole30": "whole30", "cheesefare": "cheesefare", "fasting": "fasting",
}  # fmt: skip
_COUNTED = re.compile(r"(?:serv\w*|people|persons?|portions?|feeds|yields?)", re.IGNORECASE)
_BARE_COUNT = re.compile(r"(?:about |approx\.? |~)?\d+(?:\s*(?:-|–|—|to|or)\s*\d+)?", re.IGNORECASE)
_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*(h(?:ou)?rs?|h|minutes?|mins?|m|days?)\b", re.IGNORECASE)
_LENGTH = {"h": 60, "m": 1, "d": 24 * 60}


def columns(record: Json) -> Mapping[str, Value]:
    """What a recipe says of itself, what goes in, and which groups of food that holds or may hold."""
    sure, doubtful = contents(record)
    return {**_facts(record), "ingredients": ingredients(record), "contains": sure, "may_contain": doubtful}


def _facts(record: Json) -> dict[str, Value]:
    """Minutes in all, to prepare and to cook; servings; diets, cuisines, categories; calories; rating of 5."""
    prepared, cooked = minutes(record.get("prepTime")), minutes(record.get("cookTime"))
    score, count = rating(record)
    return {
        "minutes": _total(record, prepared, cooked),
        "prep_minutes": prepared,
        "cook_minutes": cooked,
        "servings": servings(record.get("recipeYield")),
        "diets": diets(record),
        "cuisines": words(record.get("recipeCuisine")),
        "categories": words(record.get("recipeCategory")),
        "calories": number(at(record, "nutrition", "calories")),
        "rating": score,
        "ratings": count,
    }


def _total(record: Json, prepared: float | None, cooked: float | None) -> float | None:
    """The total as it is said, in the vocabulary's form or in words; else what preparing and cooking add up to."""
    said = minutes(record.get("totalTime")) or spoken_minutes(text(record.get("totalTime")))
    if said or prepared is None or cooked is None:
        return said or spoken_minutes(text(record.get("totalTimeText")))
    return prepared + cooked


def spoken_minutes(said: str) -> float | None:
    """The minutes of `1 hr 15 min`; None where no unit is named."""
    parts = [float(count) * _LENGTH[unit[0].lower()] for count, unit in _UNIT.findall(said)]
    return sum(parts) or None


def servings(value: object) -> int | None:
    """For how many: `4`, `4-6` and `serves 4` are people, the lower of two; `1 loaf` is not."""
    for said in texts(value):
        if _COUNTED.search(said) or _BARE_COUNT.fullmatch(said):
            return whole(said)
    return None


def diets(record: Json) -> tuple[str, ...]:
    """The diets a record says it suits: its `suitableForDiet`, and diets named among keywords and categories."""
    stated = [one.rpartition("/")[2] for one in _raw(record.get("suitableForDiet"))]
    named = [term for key in ("keywords", "recipeCategory") for term in words(record.get(key))]
    keys = [re.sub(r"[^a-z0-9]", "", term.lower().removesuffix("diet")) for term in (*stated, *named)]
    return tuple(dict.fromkeys(_DIETS[key] for key in keys if key in _DIETS))


def _raw(value: object) -> list[str]:
    """The texts of a value as they are: a diet is named by an address, which a reader's text has no more."""
    members = value if isinstance(value, list) else [value]
    return [member.strip() for member in members if isinstance(member, str)]


def card_text(record: Json) -> str:
    """The dish, what it is, how long, for whom, and what goes into it."""
    known = _facts(record)  # the foods take 0.4 ms a recipe, and no card tells them
    total = known["minutes"]
    return card(
        record,
        [*texts(record.get("recipeCuisine")), *texts(record.get("recipeCategory"))],
        spoken_duration(total) if isinstance(total, float) else "",
        f"serves {known['servings']}" if known["servings"] else "",
        listed(known["diets"]),
        f"{spelled(known['calories'])} calories" if isinstance(known["calories"], float) else "",
        ingredients=texts(record.get("recipeIngredient")),
        keywords=texts(record.get("keywords")),
    )


KIND = Kind(
    name="recipes",
    label="Recipes",
    types=("Recipe",),
    projection=frozenset(_PROJECTION.split()),
    says_why=False,
    triages=True,
    diets=frozenset({"diets", "ingredients", "contains", "may_contain"}),
    columns=columns,
    card_text=card_text,
    wording=WORDING,
)
