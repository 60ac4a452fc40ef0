"""Trails: how far, how hard, how long, and whether the dog may come; from their properties and from their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from shared.contracts.items import Json, Value
from shared.sites.kinds.card import card, rating
from shared.sites.kinds.kind import Kind
from shared.sites.kinds.trail_words import GRADES, WORDING
from shared.sites.values import at, number, properties, spelled, text, texts, words

_PROJECTION = """@type name description address addressLocality addressRegion aggregateRating ratingValue reviewCount
    review reviewBody amenityFeature additionalProperty value"""
_T = TypeVar("_T")

_KM = {"kilom": 1.0, "km": 1.0, "mi": 1.609344, "met": 0.001, "m": 0.001}
_SPAN = r"(\d+(?:[.,]\d+)?)(?:\s*(?:-|–|—|to)\s*(\d+(?:[.,]\d+)?))?"
_LONG = r"[\s-]*(kms?|kilomet(?:er|re)s?|miles?|mi)"
_LENGTH = re.compile(_SPAN + r"[\s-]*(kms?|kilomet(?:er|re)s?|miles?|mi|met(?:er|re)s?|m)\b", re.IGNORECASE)
_WAY = (
    r"[\s-]+(?:\w+[\s-]+){0,2}?(?:loop|out[\s-]and[\s-]back|point[\s-]to[\s-]point|return|round[\s-]trip|one[\s-]way"
    r"|there[\s-]and[\s-]back|trail|track|walk|hike|route|circuit)\b"
)
# In running text a length counts only where it is the trail's own: a bare "4 km" may be how far the car park is.
_SAID_LENGTHS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bth(?:is|e)\s+(?:\w+\s+)?" + _SPAN + _LONG + r"\b",
        _SPAN + _LONG + _WAY,
        r"\b(?:length|distance)(?:\s+(?:is|of))?[:\s]+(?:about\s+)?" + _SPAN + _LONG + r"\b",
    )
)
_SMALL_NUMBERS = {
    "half an": 0.5, "half a": 0.5, "an": 1, "a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "twenty": 20, "thirty": 30, "forty": 40,
}  # fmt: skip
_SMALL = re.compile(
    rf"\b({'|'.join(_SMALL_NUMBERS)})(?=[\s-](?:hours?|minutes?|days?|kilomet(?:er|re)s?|km|miles?)\b)", re.IGNORECASE
)
_TIME = re.compile(_SPAN + r"[\s-]*(days?|nights?|hours?|hrs?|h|minutes?|mins?|min)\b", re.IGNORECASE)
_HOURS = {"d": 24.0, "n": 24.0, "h": 1.0, "m": 1 / 60}
_SAID_TIMES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"average of (.{1,60}?) to complete",
        r"\b(?:takes?|allow|lasts?|needs?|count on|plan on|done in|completed in)\s+"
        r"(?:about|around|roughly|some|up to)?\s*(.{1,40}?)(?:[;!]|\.\s|\.$|,|$)",
    )
)
_SHAPES = (
    ("loop", re.compile(r"\b(?:loop|circuit)\b", re.IGNORECASE)),
    ("out-and-back", re.compile(r"\bout[\s-]and[\s-]back\b", re.IGNORECASE)),
    ("point-to-point", re.compile(r"\bpoint[\s-]to[\s-]point\b", re.IGNORECASE)),
)
# The most exact words first: "moderately challenging" is neither moderate nor challenging.
_GRADES = (
    ("moderately challenging", "hard"), ("moderately difficult", "hard"), ("very easy", "easy"), ("easiest", "easy"),
    ("very difficult", "expert"), ("very hard", "expert"), ("strenuous", "hard"), ("challenging", "hard"),
    ("difficult", "hard"), ("advanced", "hard"), ("hard", "hard"), ("expert", "expert"), ("extreme", "expert"),
    ("moderate", "moderate"), ("intermediate", "moderate"), ("medium", "moderate"), ("easy", "easy"),
)  # fmt: skip
_SAID_GRADE = re.compile(
    r"(?:considered|rated|graded|classed as|calls it|going is|difficulty(?: is|:)?)\s+(?:as\s+)?(?:an?\s+)?"
    r"((?:moderately|very)\s+\w+|\w+)|\b((?:moderately|very)\s+(?:challenging|difficult|hard|easy)|easy|moderate"
    r"|challenging|strenuous)\s+(?:\S+\s+){0,2}?(?:trail|route|hike|walk|track|loop|climb)\b",
    re.IGNORECASE,
)
# A denial is looked for first, since it may stand beside a welcome: "dogs are welcome on a leash but not in the hut".
_NO_DOGS = re.compile(
    r"\bno (?:dogs|pets|pups)\b"
    r"|\b(?:dogs|pets|pups) (?:(?:(?:are|is|were) )?not|(?:are|is|were)n['’]?t) (?:allowed|permitted|welcome)"
    r"|\b(?:dogs|pets|pups) (?:must|should) stay (?:at )?home|leave (?:your |the )?(?:dogs?|pets?|pups?) (?:at )?home"
    r"|\b(?:dogs|pets) (?:are )?(?:prohibited|forbidden|banned)",
    re.IGNORECASE,
)
_ON_LEASH = re.compile(
    r"(?<!off[- ])(?<!without )(?<!without a )\bleash|\bon[\s-](?:a |the )?(?:short )?leads?\b", re.IGNORECASE
)
_DOGS = re.compile(
    r"\b(?:dogs?|pets|pups)\b[^.;]{0,40}?\b(?:allowed|permitted|welcome)\b"
    r"|\bdog[\s-]friendly\b|\bbring (?:your|the) (?:dog|pup)",
    re.IGNORECASE,
)
_WELCOME = re.compile(r"\b(?:allowed|permitted|welcome)\b", re.IGNORECASE)
_DOG = re.compile(r"\b(?:dogs?|pups?)\b", re.IGNORECASE)
_PERMIT = re.compile(r"\bpermit\b", re.IGNORECASE)


def columns(record: Json) -> Mapping[str, Value]:
    """Kilometres, hours at least and at most, difficulty (see GRADES), shape, dogs, region, rating of 5.

    `dogs` is `yes`, `leash` (yes, on one), `permit` (with one only) or `no`. A property says it before the text does.
    """
    said, facts = _description(record), properties(record)
    least, most = hours(facts, said)
    score, count = rating(record)
    return {
        "length_km": length_km(facts, said),
        "hours": least,
        "hours_most": most,
        "difficulty": difficulty(facts, said),
        "shape": shape(facts, f"{text(record.get('name'))}. {said}"),
        "dogs": dogs(facts, said),
        "wheelchairs": wheelchairs(facts),
        "activities": words(_fact(facts, "activities", "activity")),
        "locality": text(at(record, "address", "addressLocality")) or None,
        "region": text(at(record, "address", "addressRegion")) or None,
        "latitude": _signed(at(record, "geo", "latitude")),
        "longitude": _signed(at(record, "geo", "longitude")),
        "rating": score,
        "ratings": count,
    }


def _description(record: Json) -> str:
    """What the record says in running text, with small numbers in digits: `six hours` is `6 hours`, as is `an hour`."""
    said = " ".join(texts(record.get("description")))
    return _SMALL.sub(lambda found: str(_SMALL_NUMBERS[found[1].lower()]), said)


def _fact(facts: Mapping[str, object], *names: str) -> object:
    """The first of these properties that is there; several of the same thing are taken in the order given."""
    return next((facts[name] for name in names if facts.get(name) is not None), None)


def _first(*found: Callable[[], _T | None]) -> _T | None:
    return next((value for look in found if (value := look()) is not None), None)


def length_km(facts: Mapping[str, object], said: str) -> float | None:
    """How long the trail is, in kilometres; the longer one of a range."""
    stated = _fact(facts, "distance", "length", "trail length")
    return _first(
        lambda: _kilometres(_LENGTH.search(text(stated))),
        lambda: number(stated),
        lambda: next((km for way in _SAID_LENGTHS if (km := _kilometres(way.search(said))) is not None), None),
    )


def _kilometres(found: re.Match[str] | None) -> float | None:
    if not found:
        return None
    unit = found[3].lower()
    scale = next(_KM[key] for key in _KM if unit.startswith(key))
    return round(_plain_number(found[2] or found[1]) * scale, 3)


def _plain_number(digits: str) -> float:
    return float(digits.replace(",", "."))


def hours(facts: Mapping[str, object], said: str) -> tuple[float | None, float | None]:
    """The least and the most hours it takes, as given: one way where that is said, a day as 24."""
    stated = text(_fact(facts, "walk duration", "duration", "time", "walking time"))
    for words_of_time in (stated, *(found[1] for way in _SAID_TIMES if (found := way.search(said)))):
        if (span := _time_span(words_of_time)) is not None:
            return span
    return None, None


def _time_span(said: str) -> tuple[float, float] | None:
    """`1 hr 30 min` adds up; `2-3 days` and `30 min - 1 hr` are spans; what follows a comma or `one way` is another."""
    parts = re.split(r"(?<=[a-z])\s*(?:-|–|—|\bto\b)\s*(?=\d)", re.split(r"[,;(]", said.lower())[0])
    spans = [span for part in parts if (span := _added_up(part))]
    return (min(low for low, _ in spans), max(high for _, high in spans)) if spans else None


def _added_up(said: str) -> tuple[float, float] | None:
    low = high = 0.0
    units: set[str] = set()
    for first, second, unit in _TIME.findall(said):
        if unit[0] in units:  # a second way of going: "1 hr return 40 min one way" has said it twice by then
            break
        units.add(unit[0])
        low += _plain_number(first) * _HOURS[unit[0]]
        high += _plain_number(second or first) * _HOURS[unit[0]]
    return (round(low, 2), round(high, 2)) if units else None


def difficulty(facts: Mapping[str, object], said: str) -> str | None:
    """The hardest grade that is said: `Easy, Advanced` is a trail of which a part is hard."""
    stated = words(_fact(facts, "difficulty", "grade"))
    grades = [grade for one in stated if (grade := _grade(one))]
    if not grades and (found := _SAID_GRADE.search(said)):
        grades = [grade for one in found.groups() if one and (grade := _grade(one.lower()))]
    return max(grades, key=GRADES.index, default=None)


def _grade(said: str) -> str | None:
    return next((grade for word, grade in _GRADES if re.search(rf"\b{word}\b", said)), None)


def shape(facts: Mapping[str, object], said: str) -> str | None:
    """`loop`, `out-and-back` or `point-to-point`."""
    stated = text(_fact(facts, "route type", "shape", "trail type"))
    return next((name for source in (stated, said) for name, way in _SHAPES if way.search(source)), None)


def dogs(facts: Mapping[str, object], said: str) -> str | None:
    """Whether dogs may come: `yes`, `leash`, `permit`, `no`; None where nothing is said of them."""
    value = _fact(facts, "dogs", "dogs allowed", "pets")
    if isinstance(value, bool):
        return "yes" if value else "no"
    stated = text(value)
    if stated.lower() in {"yes", "no", "allowed", "not allowed"}:
        return "no" if "no" in stated.lower() else "yes"
    return _dogs(stated, _told_of_dogs(stated)) or _dogs(said, bool(_DOGS.search(said)))


def _told_of_dogs(stated: str) -> bool:
    """A property about dogs needs not name them again: `on a leash`, `welcome`."""
    return bool(_DOGS.search(stated) or _ON_LEASH.search(stated) or _WELCOME.search(stated))


def _dogs(said: str, is_welcome: bool) -> str | None:
    if _NO_DOGS.search(said):
        return "no"
    if _DOG.search(said) and _PERMIT.search(said):
        return "permit"
    is_leashed = any(_ON_LEASH.search(sentence) for sentence in re.split(r"[.;]", said) if _DOG.search(sentence))
    if is_leashed or (is_welcome and _ON_LEASH.search(said)):
        return "leash"
    return "yes" if is_welcome else None


def wheelchairs(facts: Mapping[str, object]) -> bool | None:
    """Whether wheelchairs can go there; None where nothing is said."""
    value = _fact(facts, "wheelchairs and buggies", "wheelchair accessible", "wheelchairs", "accessibility")
    if isinstance(value, bool) or value is None:
        return value
    return not re.match(r"(?i)no\b|not ", text(value))


def _signed(value: object) -> float | None:
    """A coordinate: the one number here that may be below zero."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except ValueError:
        return None


_DOG_WORDS = {"yes": "dogs allowed", "leash": "dogs on a leash", "permit": "dogs with a permit only", "no": "no dogs"}


def card_text(record: Json) -> str:
    """The trail, where it is, how far, how hard, how long, whether dogs may come, and what there is to see."""
    known = columns(record)
    km, most, least = known["length_km"], known["hours_most"], known["hours"]
    return card(
        record,
        [str(known[name]) for name in ("locality", "region") if known[name]],
        f"{spelled(km)} km ({spelled(round(km / _KM['mi'], 1))} miles)" if isinstance(km, float) else "",
        str(known["shape"] or ""),
        f"difficulty {known['difficulty']}" if known["difficulty"] else "",
        _spoken_hours(least, most),
        _DOG_WORDS.get(str(known["dogs"]), ""),
        "wheelchairs and buggies" if known["wheelchairs"] else "",
        [f"{name} {text(value)}" for name, value in properties(record).items()],
    )


def _spoken_hours(least: Value, most: Value) -> str:
    if not isinstance(least, float) or not isinstance(most, float):
        return ""
    return f"{spelled(least)} hours" if least == most else f"{spelled(least)} to {spelled(most)} hours"


KIND = Kind(
    name="trails",
    label="Trails",
    types=("LocalBusiness", "TouristAttraction", "Trail"),
    projection=frozenset(_PROJECTION.split()),
    says_why=True,
    columns=columns,
    card_text=card_text,
    wording=WORDING,
)
