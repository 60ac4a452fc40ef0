"""The words in which people say what a recipe must be: how long, for how many, for which diet, and without what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from shared.contracts.constraints import Constraint
from shared.sites.kinds.diets import is_group
from shared.sites.kinds.foods import foods, tokens
from shared.sites.kinds.wording import Choice, Claim, Loose, Measure, Named, Superlative, Taken, Vocabulary, Wording

if TYPE_CHECKING:
    from shared.index.columns import Columns, Verdicts

NOUNS = frozenset(
    """recipe recipes dish dishes meal meals dinner dinners lunch lunches supper suppers food foods
    cooking ideas idea something""".split()
)
# What may stand behind "30-minute": a dish of its own name ("7-minute eggs", "20-minute beef stroganoff") may not.
_MEALS = NOUNS | frozenset(
    """weeknight breakfast breakfasts brunch snack snacks dessert desserts side sides vegan
    vegetarian gluten healthy easy weekday lunchbox appetizer appetizers main mains""".split()
)
_PEOPLE = frozenset("people persons person guests adults servings portions kids children of us friends eaters".split())
_ENDS = frozenset(", . ; ? ! with under that in and without for which using from on tonight today".split())
_COUNTS = {
    word: float(n) for n, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
}
_MOST_PEOPLE = 100

# The groups that a diet is named for, and the diet: for the first line a plain "no nuts" means the diet, too.
_ALWAYS_DIET = {
    "gluten": "gluten-free", "dairy": "dairy-free", "lactose": "dairy-free", "nut": "nut-free", "tree nut": "nut-free",
}  # fmt: skip
_DIET_OF = {
    **_ALWAYS_DIET, "wheat": "gluten-free", "milk": "dairy-free", "egg": "egg-free", "peanut": "peanut-free",
    "soy": "soy-free", "soya": "soy-free", "sesame": "sesame-free", "fish": "fish-free",
    "shellfish": "shellfish-free", "alcohol": "alcohol-free",
}  # fmt: skip
# Foods that hold nothing anybody is warned of, but that people ask to leave out.
_PLAIN_FOODS = frozenset("""mushroom onion garlic tomato potato cilantro coriander yeast sugar salt oil coconut rice
    corn
    avocado bean chickpea lentil pepper celery carrot cucumber spinach kale cabbage broccoli cauliflower zucchini
    eggplant aubergine squash pumpkin pea leek shallot ginger chili chilli chile cumin cinnamon parsley basil mint dill
    oregano thyme rosemary lemon lime orange apple banana strawberry raspberry blueberry pineapple mango peach pear
    cherry grape raisin date fig cranberry apricot plum olive caper vinegar mustard ketchup horseradish turmeric paprika
    saffron vanilla chocolate cocoa coffee tea quinoa oat cornstarch shortening margarine mayonnaise stock broth
    beet radish turnip asparagus artichoke okra fennel vegetable bell jalapeno curry spice caffeine lard msg
    sweetener starch tortilla syrup molasses cardamom nutmeg clove seed grain legume nightshade citrus fruit skin
    bone""".split())  # fmt: skip
# Words of the kitchen that some food's name ends in, and that are no food in a question.
_NO_FOOD = frozenset(
    """oven bake baking cook cooking fuss time knead fry frying roast chop fat free more less taste
    heat machine mixer blender grill recipe meal dish sweet white spicy hot cold mess stir skewer sauce filling topping
    choice half whole piece water seasoning country head leg heart cube sandwich""".split()
)
# What comes behind is not to be in it.
_DENIALS = """without|without any|with no|no|not|minus|sans|w / o|excluding|leave out|leaving out|hold the|skip the|
    omit|omitting|free of|free from|that has no|lacks|lacking|avoid|avoiding|hate|hates|i hate|do not like|don't like|
    doesn't like|dislike|dislikes|can't eat|cannot eat|can not eat|can't have|cannot have|do not eat|don't eat|
    doesn't eat|does not eat|instead of|nothing with|not with"""
_ALLERGIES = """allergic to|is allergic to|i am allergic to|i'm allergic to|who is allergic to|allergy to|an allergy to|
    intolerant to|intolerant of|sensitive to|has an allergy to|have an allergy to|allergies to"""


def _by_first_word(*lists: tuple[str, bool]) -> dict[str, list[tuple[tuple[str, ...], bool]]]:
    """Phrases as tokens, the longest first, and whether each speaks of an allergy."""
    found: dict[str, list[tuple[tuple[str, ...], bool]]] = {}
    for phrases, allergy in lists:
        for phrase in phrases.split("|"):
            words = tuple(phrase.split())
            found.setdefault(words[0], []).append((words, allergy))
    return {first: sorted(same, key=lambda each: -len(each[0])) for first, same in found.items()}


_LEFT_OUT = _by_first_word((_DENIALS, False), (_ALLERGIES, True))
_ALLERGY = frozenset("allergy allergies allergic intolerance intolerant sensitivity".split())
_JOINTS = frozenset(("or", "and", ",", "nor", "&"))
_ARTICLES = frozenset(("any", "the", "a", "an", "all", "added", "no", "without", "to"))
_LONGEST_FOOD = 3
_MOST_FOODS = 6


def _spellings(phrase: str) -> Iterable[str]:
    """An ingredient's last words are what it is: `chestnut mushroom` is found as mushroom, too."""
    words = phrase.split()
    return {" ".join(words[-n:]) for n in (1, 2) if len(words) >= n}


INGREDIENTS = Named(fields=("ingredients",), after=("without",), keys=_spellings)


def _food(words: Sequence[str], at: int, known: Vocabulary) -> int:
    """Where the food that begins here ends, the longest one; `at` where none does."""
    for size in range(min(_LONGEST_FOOD, len(words) - at), 0, -1):
        said = words[at : at + size]
        if all(word.isalpha() for word in said) and _is_food(_plainly(said), known):
            return at + size
    return at


def _is_food(said: str, known: Vocabulary) -> bool:
    if _is_plain_food(said):
        return True
    return bool(said) and said not in _NO_FOOD and known.named(INGREDIENTS, said) is not None


def _is_plain_food(said: str) -> bool:
    if not said or said in _NO_FOOD:
        return False
    return is_group(said) or said in _PLAIN_FOODS or bool(foods().get(said))


def _plainly(said: Sequence[str]) -> str:
    return " ".join(filter(None, map(_plain_word, said)))


@lru_cache(4_096)
def _plain_word(word: str) -> str:
    return " ".join(tokens(word))


def _plain_food(words: Sequence[str], at: int) -> int:
    """As `_food`, without a look at the collection."""
    for size in range(min(_LONGEST_FOOD, len(words) - at), 0, -1):
        said = words[at : at + size]
        if all(word.isalpha() for word in said) and _is_plain_food(_plainly(said)):
            return at + size
    return at


def _claim(said: Sequence[str], allergy: bool) -> Claim:
    """A food to leave out: by its diet where one is named for it and that is how it is said, else as an ingredient."""
    food = " ".join(said)
    key = " ".join(tokens(food))
    diet = (_DIET_OF if allergy else _ALWAYS_DIET).get(key)
    return Claim("diets", "has", diet) if diet else Claim("ingredients", "lacks", food)


def left_out(words: Sequence[str], at: int, known: Vocabulary) -> Taken | None:
    """`without X`, `no X or Y`, `allergic to X`."""
    for phrase, allergy in _LEFT_OUT.get(words[at].replace("’", "'"), ()):
        said = tuple(word.replace("’", "'") for word in words[at : at + len(phrase)])
        if said == phrase and (taken := _foods_from(words, at + len(phrase), known, allergy)):
            return taken
    return None


def _foods_from(words: Sequence[str], at: int, known: Vocabulary, allergy: bool) -> Taken | None:
    """The foods of a list. After an "and" only what is plainly a food goes on with it: "no nuts and easy to make"."""
    claims: list[Claim] = []
    end = place = at
    while place < len(words) and len(claims) < _MOST_FOODS:
        while place < len(words) and (words[place] in _ARTICLES or (words[place] == "-" and not claims)):
            place += 1
        found = _plain_food(words, place) if claims else _food(words, place, known)
        if found == place or _is_compound(words, found):
            break
        claims.append(_claim(words[place:found], allergy))
        end = place = found
        while place < len(words) and words[place] in _JOINTS:
            place += 1
        if place == end:
            break
    return Taken(end, tuple(claims)) if claims else None


def _is_compound(words: Sequence[str], at: int) -> bool:
    """`no-egg-roll bowl` and `nut-free` go on behind the food: another reading is theirs."""
    return at + 1 < len(words) and words[at] == "-" and words[at + 1] != "free"


def free_of(words: Sequence[str], at: int, _known: Vocabulary) -> Taken | None:
    """`X-free`, `X and Y free`, `X allergy`, `X intolerant`."""
    claims: list[Claim] = []
    place = at
    while len(claims) < _MOST_FOODS and (end := _plain_food(words, place)) > place:
        claims.append(_claim(words[place:end], allergy=True))
        place = end + 1 if _word(words, end) == "-" else end
        if _says_free(words, place):
            return Taken(place + 1, tuple(claims))
        if claims[-1].field != "diets" or _word(words, place) not in ("and", "or", ",", "/", "&"):
            break
        place += 1
    return None


def _says_free(words: Sequence[str], at: int) -> bool:
    said = _word(words, at)
    return said in _ALLERGY or (said == "free" and _word(words, at + 1) not in ("range", "from", "of"))


def _word(words: Sequence[str], at: int) -> str:
    return words[at] if at < len(words) else ""


def for_people(words: Sequence[str], at: int, _known: Vocabulary) -> Taken | None:
    """`for 6`, `for six people`, where the number is not of something else ("for 2 hours", "for 12 eggs")."""
    if words[at] != "for" or at + 1 >= len(words):
        return None
    place = at + 2 if words[at + 1] in ("about", "around") and at + 2 < len(words) else at + 1
    count = _count(words[place])
    if count is None or not 1 <= count <= _MOST_PEOPLE:
        return None
    behind = words[place + 1] if place + 1 < len(words) else "."
    if behind not in _PEOPLE | _ENDS:
        return None
    end = place + 2 if behind in _PEOPLE and behind != "." else place + 1
    return Taken(min(end, len(words)), (Claim("servings", ">=", count, hard=place == at + 1),))


def _count(word: str) -> float | None:
    if word.isascii() and word.isdigit() and len(word) <= 3:
        return float(word)
    return _COUNTS.get(word)


_UNITS = {
    "minute": 1.0, "minutes": 1.0, "min": 1.0, "mins": 1.0, "hour": 60.0, "hours": 60.0, "hr": 60.0, "hrs": 60.0,
}  # fmt: skip


def in_minutes(words: Sequence[str], at: int, _known: Vocabulary) -> Taken | None:
    """`30-minute meals`, `in 20 minutes`, `in half an hour`: at most so long. A dish of that name is none of these."""
    if words[at] == "in" and at + 2 < len(words):
        return _in_time(words, at + 1)
    count = _count(words[at])
    place = at + 2 if at + 1 < len(words) and words[at + 1] == "-" else at + 1
    if count is None or place + 1 >= len(words) or words[place] not in ("minute", "min", "hour"):
        return None
    if words[place + 1] not in _MEALS:
        return None
    return Taken(place + 1, (Claim("minutes", "<=", count * _UNITS[words[place]], "min"),))


def _in_time(words: Sequence[str], at: int) -> Taken | None:
    long, end = _duration(words, at)
    behind = " ".join(words[end : end + 2])
    if long is None or behind in ("or more", "or longer"):
        return None
    end += 2 if behind in ("or less", "or fewer", "or under") else 0
    return Taken(end, (Claim("minutes", "<=", long, "min"),))


def _duration(words: Sequence[str], at: int) -> tuple[float | None, int]:
    for said, long in ((("half", "an", "hour"), 30.0), (("a", "half", "hour"), 30.0), (("an", "hour"), 60.0)):
        if tuple(words[at : at + len(said)]) == said:
            return long, at + len(said)
    count = _count(words[at])
    unit = _UNITS.get(words[at + 1]) if at + 1 < len(words) else None
    return (None if count is None or unit is None else count * unit), at + 2


def _diets_over(constraint: Constraint, columns: Columns) -> Verdicts:
    from shared.sites.kinds import suited  # needs numpy, which nothing that opens a port may wait for

    return suited.diets(constraint, columns)


def _ingredients_over(constraint: Constraint, columns: Columns) -> Verdicts:
    from shared.sites.kinds import suited

    return suited.ingredients(constraint, columns)


def _diet(value: str, *words: str) -> Choice:
    return Choice(field="diets", value=value, words=words)


_DIETS = (
    _diet("vegan", "vegan", "vegans", "plant based", "strictly plant based"),
    _diet("vegetarian", "vegetarian", "vegetarians", "meatless", "meat free"),
    _diet("pescatarian", "pescatarian", "pescatarians", "pescetarian"),
    _diet(
        "gluten-free", "gluten free", "glutenfree", "celiac", "coeliac", "celiacs", "coeliacs", "celiac disease",
        "coeliac disease", "celiac friendly", "coeliac friendly", "gluten intolerant",
    ),
    _diet("dairy-free", "dairy free", "dairyfree", "non dairy", "nondairy", "lactose free", "lactose intolerant"),
    _diet("egg-free", "egg free", "eggless"),
    _diet("nut-free", "nut free"),
    _diet("halal", "halal"),
    _diet("kosher", "kosher"),
    _diet("keto", "keto", "ketogenic", "keto friendly"),
    _diet("low-carb", "low carb", "low carbohydrate", "low carbs"),
    _diet("paleo", "paleo"),
    _diet("whole30", "whole30", "whole 30"),
    _diet("low-fat", "low fat", "lowfat", "fat free"),
    _diet("low-salt", "low salt", "low sodium"),
    _diet("low-calorie", "low calorie", "low cal"),
    _diet("low-lactose", "low lactose"),
    _diet("diabetic", "diabetic", "diabetics", "diabetic friendly", "diabetes"),
)  # fmt: skip

WORDING = Wording(
    nouns=NOUNS,
    filler=frozenset("make cook cooked prepare ready made".split()),
    measures=(
        Measure(field="minutes", family="time", unit="min"),
        Measure(
            field="prep_minutes", family="time", unit="min", needs_noun=True,
            nouns=("prep", "preparation", "prep time", "preparation time", "of prep", "to prep", "to prepare"),
        ),
        Measure(
            field="cook_minutes", family="time", unit="min", needs_noun=True,
            nouns=("cook time", "cooking time", "of cooking", "in the oven"),
        ),
        Measure(
            field="servings", family="count", bare=">=",
            nouns=("servings", "serving", "people", "persons", "portions", "guests"),
            before=("serves", "serving", "serve", "feeds", "feed", "that serves", "that feeds", "to feed", "to serve"),
        ),
        Measure(field="calories", family="count", bare="~", nouns=("calories", "calorie", "kcal", "cals", "cal")),
        Measure(
            field="rating", family="score", bare=">=", nouns=("stars", "star", "or better", "and up"),
            before=("rated", "rating", "rating of", "a rating of", "with a rating of", "rated at least"),
        ),
    ),
    choices=_DIETS,
    orders=(
        Superlative(words=("quickest", "fastest", "shortest"), field="minutes", anything=True),
        Superlative(words=("longest", "slowest"), field="minutes", descending=True, anything=True),
        Superlative(words=("highest rated", "best rated", "top rated"), field="rating", descending=True, anything=True),
        Superlative(words=("lowest calorie", "fewest calories", "least calories"), field="calories", anything=True),
    ),
    loose=(
        Loose(
            words=("quick", "fast", "speedy", "quickly"), field="minutes", op="<=", unit="min", value=45.0,
            anything=True,
        ),
    ),
    takers=(left_out, free_of, for_people, in_minutes),
    evaluators={"diets": _diets_over, "ingredients": _ingredients_over},
)  # fmt: skip
