"""Questions about a collection whose right answers its own records tell: predicates over fields, and things described.

Nobody judged items by hand. So each record says which questions of its kind's sort it answers ("an easy walk in
Otago"), and a question is right for every record that says so; or a question is a sentence of one record's prose
that does not name the thing, right for that record alone. The choice is seeded: the same items, the same questions.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from shared.contracts.items import Json
from shared.models.sentences import sentences
from shared.sites.kinds import KINDS
from shared.sites.values import at, properties, text, texts

_INGREDIENTS = frozenset(
    """chicken lentils spinach chickpeas coconut mushrooms salmon shrimp tofu pumpkin apples lemon ginger potatoes
    cheddar yogurt almonds walnuts rice cabbage cinnamon bacon beans corn avocado""".split()
)
_SHORTEST, _LONGEST = 50, 220
_WORD = re.compile(r"[^\W_]{4,}")


@dataclass(frozen=True, slots=True)
class ItemQuestion:
    """A question, and which of the items (their positions) are right."""

    text: str
    right: frozenset[int]


def predicates(kind: str, records: Sequence[Json], most: int, seed: int = 0) -> list[ItemQuestion]:
    """At most so many questions of a kind's own sort; of each, one to a fifth of the items are right."""
    ask = _ASKS.get(kind)
    right: defaultdict[str, set[int]] = defaultdict(set)
    for place, record in enumerate(records):
        for said in ask(record) if ask else ():
            right[said].add(place)
    found = [ItemQuestion(said, frozenset(them)) for said, them in right.items() if len(them) <= len(records) // 5]
    return _some(found, most, seed)


def described(records: Sequence[Json], most: int, seed: int = 0) -> list[ItemQuestion]:
    """At most so many sentences, each of one record's description and without the words of its name."""
    said = (ItemQuestion(telling, frozenset({n})) for n, each in enumerate(records) if (telling := _described(each)))
    return _some(list(said), most, seed)


def _some(questions: Sequence[ItemQuestion], most: int, seed: int) -> list[ItemQuestion]:
    return random.Random(seed).sample(questions, min(most, len(questions)))  # noqa: S311 - no secret


def _described(record: Json) -> str:
    named = set(_WORD.findall(text(record.get("name")).casefold()))
    of = sentences(text(record.get("description")))[1:]
    fit = (each for each in of if _SHORTEST <= len(each) <= _LONGEST and "://" not in each)
    return next((each for each in fit if not named & set(_WORD.findall(each.casefold()))), "")


def _ask_movies(record: Json) -> Iterator[str]:
    known = KINDS["movies"].columns(record)
    for genre in texts(record.get("genre"))[:2]:
        for actor in texts(record.get("actor"))[:3]:
            yield f"a {genre.lower()} film with {actor}"
        if isinstance(year := known["year"], int):
            yield f"{genre.lower()} movies from the {year // 10 * 10}s"


def _ask_recipes(record: Json) -> Iterator[str]:
    used = set(_WORD.findall(" ".join(texts(record.get("recipeIngredient"))).casefold())) & _INGREDIENTS
    for one in sorted(used):
        yield f"what can I cook with {one}?"
    for one, other in combinations(sorted(used), 2):
        yield f"something with {one} and {other}"


def _ask_trails(record: Json) -> Iterator[str]:
    region, known = text(at(record, "address", "addressRegion")), KINDS["trails"].columns(record)
    if not region:
        return
    if known["difficulty"]:
        yield f"{known['difficulty']} walk in {region}"
    if known["dogs"] in ("yes", "leash"):
        yield f"a track in {region} where I can take my dog"
    if length := text(properties(record).get("duration category")):
        yield f"a walk of {length.lower()} in {region}"


def _ask_homes(record: Json) -> Iterator[str]:
    place, year = text(record.get("containedInPlace")), KINDS["homes"].columns(record)["year"]
    if not place:
        return
    yield f"a {record.get('numberOfBedrooms')} bedroom house in {place}"
    if isinstance(year, int):
        yield f"a house in {place} built in the {year // 10 * 10}s"
    for feature in _named(record.get("amenityFeature")) & {"screened porch", "fenced", "2 fireplaces", "no garage"}:
        yield f"house with {feature} in {place}"


def _named(members: object) -> set[str]:
    return set(texts(members)) if isinstance(members, Iterable) else set()


_ASKS: Mapping[str, Callable[[Json], Iterator[str]]] = {
    "movies": _ask_movies,
    "recipes": _ask_recipes,
    "trails": _ask_trails,
    "homes": _ask_homes,
}
