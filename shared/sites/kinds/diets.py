"""Whether a recipe suits a diet, or lacks a food: yes, no, or nobody knows; from what it declares and what goes in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from shared.contracts.constraints import Met
from shared.contracts.items import Json
from shared.sites.kinds.foods import named, tokens, without
from shared.sites.values import each, text, texts


class Rule(Struct, frozen=True):
    """What a diet does without. What is `replaced` has a simple substitute, so that it rules no recipe out."""

    refused: frozenset[str]
    replaced: frozenset[str] = frozenset()
    together: frozenset[str] = frozenset()
    declared_by: frozenset[str] = frozenset()


def _rule(refused: str, replaced: str = "", together: str = "", declared_by: str = "") -> Rule:
    return Rule(*(frozenset(names.split()) for names in (refused, replaced, together, declared_by)))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "vegan": _rule("meat fish shellfish gelatin", replaced="dairy egg honey"),
        "vegetarian": _rule("meat fish shellfish gelatin", declared_by="vegan"),
        "pescatarian": _rule("meat", replaced="gelatin", declared_by="vegan vegetarian"),
        "halal": _rule("pork alcohol", replaced="meat gelatin"),
        "kosher": _rule("pork shellfish", replaced="meat gelatin", together="meat dairy"),
        "gluten-free": _rule("gluten"),
        "dairy-free": _rule("dairy", declared_by="vegan"),
        "egg-free": _rule("egg", declared_by="vegan"),
        "nut-free": _rule("nuts peanut"),
        "peanut-free": _rule("peanut", declared_by="nut-free"),
        "soy-free": _rule("soy"),
        "sesame-free": _rule("sesame"),
        "fish-free": _rule("fish", declared_by="vegan vegetarian"),
        "shellfish-free": _rule("shellfish", declared_by="vegan vegetarian"),
        "alcohol-free": _rule("alcohol", declared_by="halal"),
    }
)
"""The diets that ingredients tell of. What is not here (keto, low-fat) is known only where a record declares it."""

# In a method these are shapes, tools and verbs: "roll out the dough", "toast the seeds".
_NOT_IN_A_METHOD = frozenset(
    """roll loaf crust dough batter sandwich cake pie cookie biscuit pizza port mead puff crumb
    stuffing wrap bone burger toast elbow perch graham cream curd stock nut bitters spirit meat steak sponge muffin
    waffle pancake shell wafer kidney liver cow calf goat flour bread dripping crepe doughnut donut""".split()
)
# What a recipe asks to be free of, as people call it, and the groups that are meant.
_CALLED = {
    "nut": "nuts peanut", "tree nut": "nuts", "peanut": "peanut", "groundnut": "peanut", "dairy": "dairy",
    "lactose": "dairy", "milk product": "dairy", "gluten": "gluten", "wheat": "gluten", "egg": "egg", "soy": "soy",
    "soya": "soy", "meat": "meat", "red meat": "beef", "beef": "beef", "pork": "pork", "poultry": "poultry",
    "fish": "fish", "seafood": "fish shellfish", "shellfish": "shellfish", "alcohol": "alcohol", "honey": "honey",
    "gelatin": "gelatin", "gelatine": "gelatin", "sesame": "sesame", "booze": "alcohol",
    "animal product": "meat fish shellfish dairy egg honey gelatin",
}  # fmt: skip
_MEASURES = frozenset(
    """cup tbsp tsp teaspoon tablespoon g kg gram ml l dl cl oz ounce lb lbs pound pint quart litre liter
    gallon pinch dash ea stick slice piece bunch can tin jar package packet pkg bag box head clove sprig large small
    medium about to a an the and or for in with if e ge u s optional taste chopped minced diced sliced peeled grated
    fresh freshly finely thinly coarsely roughly inch cm mm more as needed plus each fl""".split()
)


def ingredients(record: Json) -> tuple[str, ...]:
    """What goes in, a phrase an ingredient: lower case, singular, without amounts and how it is cut."""
    found = (_phrase(said) for said in texts(record.get("recipeIngredient")))
    return tuple(dict.fromkeys(phrase for phrase in found if phrase))


def _phrase(said: str) -> str:
    words = [word for word in tokens(said) if not word[0].isdigit() and word not in _MEASURES]
    return " ".join(words).removeprefix("of ")


def contents(record: Json) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The groups of food that its ingredients hold for sure, and those that they may hold, or its method speaks of."""
    sure: dict[str, None] = {}
    doubtful: dict[str, None] = {}
    for said in texts(record.get("recipeIngredient")):
        for group in sorted(_groups(said)):
            (doubtful if group[0] == "?" else sure)[group.lstrip("?")] = None
    doubtful.update(dict.fromkeys(sorted(_spoken_of(record))))
    return tuple(sure), tuple(group for group in doubtful if group not in sure)


_EITHER = re.compile(r"\bor\b|/(?=[A-Za-z])")


def _groups(said: str) -> frozenset[str]:
    """Of one ingredient. What only one of two alternatives holds (`butter or oil`) is doubtful."""
    ways = [found for part in _EITHER.split(said) if (found := _held(tokens(part))) is not None]
    every = frozenset().union(*ways)
    sure = frozenset.intersection(*ways) if ways else frozenset()
    return frozenset(group if group in sure or group[0] == "?" else f"?{group}" for group in every)


def _held(words: Sequence[str]) -> frozenset[str] | None:
    """The groups that words name; None where they name no food that is known."""
    found = [groups for _, _, groups in named(words)]
    if not found:
        return None
    free = without(words)
    return frozenset(group for groups in found for group in groups if group.lstrip("?") not in free)


def _spoken_of(record: Json) -> set[str]:
    """The groups that the name and the method name, so that an ingredient forgotten in the list is not denied."""
    said = [text(record.get("name")), *_steps(record.get("recipeInstructions"))]
    sentences = (sentence for one in said for sentence in re.split(r"[.;:!?]", one))
    return {group for sentence in sentences for group in _meant(tokens(sentence))}


def _meant(words: Sequence[str]) -> set[str]:
    free = without(words)
    found = (groups for start, end, groups in named(words) if " ".join(words[start:end]) not in _NOT_IN_A_METHOD)
    return {group for groups in found for group in groups if group[0] != "?" and group not in free}


def _steps(value: object) -> list[str]:
    """The texts of a method, sections entered."""
    found: list[str] = []
    for step in each(value):
        if isinstance(step, dict):
            found += [text(step.get("name")), text(step.get("text")), *_steps(step.get("itemListElement"))]
        else:
            found.append(text(step))
    return found


def suits(diet: str, declared: Iterable[str], sure: Iterable[str], doubtful: Iterable[str], listed: bool) -> Met:
    """Whether a recipe suits a diet: one recipe, plainly. kinds/suited.py decides all rows at once, and is held to it.

    `sure` and `doubtful` as `contents` gives them; `listed`: it names ingredients.

    What it declares is believed. A food that the diet refuses rules it out, one that has a simple substitute or that
    may be in it leaves it open, and so does a recipe that lists nothing.
    """
    rule, told, held = RULES.get(diet), frozenset(declared), frozenset(sure)
    if diet in told or (rule and told & rule.declared_by):
        return True
    if rule is None:
        return None
    if held & rule.refused or (rule.together and held >= rule.together):
        return False
    open_ = (held | frozenset(doubtful)) & (rule.refused | rule.replaced)
    return None if open_ or not listed else True


def lacks(food: str, phrases: Sequence[str], sure: Iterable[str], doubtful: Iterable[str]) -> Met:
    """Whether a recipe is made without a food or a group of foods; None: it lists no ingredients, or may hold it.

    One recipe, plainly, as `suits` is.
    """
    if groups := groups_called(food):
        return _without(groups, frozenset(sure), frozenset(doubtful), listed=bool(phrases))
    words = tokens(food)
    if not phrases or any(holds(phrase, words) for phrase in phrases):
        return False if phrases else None
    return None if any(sounds_like(phrase, words) for phrase in phrases) else True


def _without(groups: frozenset[str], sure: frozenset[str], doubtful: frozenset[str], *, listed: bool) -> Met:
    if groups & sure:
        return False
    return None if groups & doubtful or not listed else True


# What is a food under another name of one word.
_ALSO = {
    "milk": frozenset({"buttermilk"}),
    "cheese": frozenset(
        """asiago brie burrata camembert cheddar colby cotija edam emmental feta fontina gorgonzola gouda gruyere
        halloumi havarti jarlsberg manchego mascarpone mozzarella paneer parmesan parmigiano pecorino provolone queso
        raclette reggiano ricotta romano roquefort stilton taleggio velveeta""".split()
    ),
    "pasta": frozenset(
        """bucatini cannelloni farfalle fettuccine fusilli lasagna lasagne linguine macaroni orecchiette orzo penne
        ravioli rigatoni spaghetti tagliatelle tortellini ziti""".split()
    ),
}
_OF_MILK = frozenset(("milk", "cheese"))


def holds(phrase: str, food: Sequence[str]) -> bool:
    """Whether an ingredient, as `ingredients` gives it, is the food: "salted butter" is butter, "peanut butter" not."""
    if len(food) == 1 and food[0] in _ALSO and _is_also(phrase.split(), food[0]):
        return True
    if not food or " ".join(food) not in phrase:  # cheap, and says no to most
        return False
    words = phrase.split()
    size = len(food)
    places = [at for at in range(len(words) - size + 1) if words[at : at + size] == list(food)]
    return any(not _is_part_of_another(words, at, at + size) for at in places)


def _is_also(words: Sequence[str], food: str) -> bool:
    """Whether words name the food by another name: mozzarella is cheese, vegan mozzarella is none."""
    if food in _OF_MILK and "dairy" in without(words):
        return False
    places = [at for at, word in enumerate(words) if word in _ALSO[food]]
    return any(not _is_part_of_another(words, at, at + 1) for at in places)


# "Without cream" is said by some who would take coconut cream and by some who would not: what is called so but is
# another thing stays open. Nobody takes peanut butter for butter.
_LOOSELY_CALLED = frozenset({"cream", "flour", "noodle"})


def sounds_like(phrase: str, food: Sequence[str]) -> bool:
    """Whether an ingredient that is another thing goes by the name of the food all the same: `rice flour`."""
    if len(food) != 1 or food[0] not in _LOOSELY_CALLED or food[0] not in phrase:
        return False
    words = phrase.split()
    return any(words[end - 1] == food[0] for _, end, _ in named(words)) and not holds(phrase, food)


def _is_part_of_another(words: Sequence[str], start: int, end: int) -> bool:
    """Whether the words are inside the longer name of a food that holds nothing of what they stand for alone."""
    own = frozenset(group for _, _, groups in named(words[start:end]) for group in groups if group[0] != "?")
    around = next((groups for a, b, groups in named(words) if a <= start and end <= b and b - a > end - start), None)
    return around is not None and bool(own) and not own <= around


def groups_called(food: str) -> frozenset[str]:
    """The groups that a name stands for: `nuts` are tree nuts and peanuts; none for a food of its own."""
    return frozenset(_CALLED.get(" ".join(tokens(food)), "").split())


def is_group(plain: str) -> bool:
    """Whether a name, as plain tokens joined by blanks, stands for groups."""
    return plain in _CALLED
