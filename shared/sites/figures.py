"""Figures in a text: the values that each can stand for, so that `PT1H30M`, `90 minutes` and `1.5 hours` are one.

A figure of a sentence is compared by value with those of a record, in whatever form the record gives them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from shared.sites.values import minutes

_FRACTION = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_FIGURE = re.compile(
    rf"(?P<number>(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?)(?:(?P<over>\s\d+/\d+|/\d+)(?![\d/])|\s?(?P<part>[{_FRACTION}]))?"
    rf"(?:(?P<times>\s?(?:k|K|M|thousand|million|billion|bn))(?![A-Za-z]))?"
    rf"|(?P<alone>[{_FRACTION}])"
)
_UNIT = re.compile(
    r"[\s-]{0,2}(weeks?|days?|hours?|hrs?|h|minutes?|mins?|kilomet(?:er|re)s?|km|miles?|mi|met(?:er|re)s?|m"
    r"|feet|foot|ft|sq(?:uare|\.)?[\s-]?(?:feet|foot|ft)|sq(?:uare|\.)?[\s-]?met(?:er|re)s?|m²|acres?|hectares?|ha"
    r"|kilograms?|kg|grams?|g|pounds?|lbs?|ounces?|oz|°\s?[CF]|s)(?![A-Za-z])",
    re.IGNORECASE,
)
_TIMES = {
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "million": 1e6,
    "billion": 1e9,
    "bn": 1e9,
}
# What one of a unit is in the others of its kind: a record says km, a sentence miles.
_KINDS: tuple[dict[str, float], ...] = (
    {"minute": 1, "hour": 60, "day": 1_440, "week": 10_080},
    {"m": 1, "km": 1_000, "mile": 1_609.344, "foot": 0.3048},
    {"sqft": 1, "sqm": 10.7639, "acre": 43_560, "hectare": 107_639.1},
    {"g": 1, "kg": 1_000, "oz": 28.3495, "lb": 453.592},
)
_UNITS = (
    ("minute", r"min"), ("hour", r"h(?:ou)?rs?$|h$"), ("day", r"day"), ("week", r"week"), ("sqft", r"sq.*(?:f)"),
    ("sqm", r"sq.*m|m²"), ("km", r"kilom|km"), ("mile", r"mi(?:les?)?$"), ("foot", r"f(?:ee|oo)?t"),
    ("acre", r"acre"), ("hectare", r"ha$|hect"), ("kg", r"kilog|kg"), ("oz", r"oz|ounce"), ("lb", r"lb|pound"),
    ("m", r"m$|met"), ("g", r"g$|gram"),
)  # fmt: skip
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
_SPELLED = {**{word: n for n, word in enumerate(_SMALL)}, **_TENS, "dozen": 12}
# Below eleven a number word counts what the sentence speaks of as often as what a record says ("two of these"),
# unless it measures something.
_COUNTS_FROM = 11
_RANGE = re.compile(r"\s?(?:[-–—/,]|to|or|and)\s?[$€£]?", re.IGNORECASE)
# Between the hours and the minutes of one duration lies at most " and ".
_JOINT = 5
# Half a unit of the last decimal, and a little: a column that was rounded may have been rounded before.
_HALF = 0.56
# A longer run of digits is no figure that anybody means.
_LONGEST = 30
_MEASURED = (
    r"(?:bed(?:room)?|bath(?:room)?|hour|minute|day|week|mile|kilomet(?:er|re)|met(?:er|re)|acre|serving|ingredient"
    r"|star|stor(?:y|ie)|car|fireplace|egg|cup|tablespoon|teaspoon|clove|pound|ounce|season|episode|oscar)s?\b"
)
_WORD = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})[\s-](?P<ones>{'|'.join(_SMALL[1:10])})"
    rf"|(?P<word>{'|'.join([*_SMALL[1:], *_TENS, 'dozen'])}))\b(?=(?P<measured>[\s-]{_MEASURED})?)",
    re.IGNORECASE,
)


class Figure(Struct, frozen=True):
    """One figure as it is written: its value, the decimals it is given with, what it is multiplied by, and its unit.

    `unit` is "" where none is named, "s" for a decade ("1930s") and "th" for a century.
    """

    value: float
    decimals: int = 0
    times: float = 1.0
    unit: str = ""


Known: TypeAlias = tuple[float, str]
"""A value that a record gives, and its unit, as in `Figure`."""


def figures(text: str) -> Iterator[Figure]:
    """Every figure of a text, in digits or words; a long duration ("1 hour 15 minutes") is one.

    The first of a range ("2 to 3 days") has the unit of the second.
    """
    found = list(_in_digits(text))
    before: Figure | None = None
    for place, (figure, joint) in enumerate(found):
        following = found[place + 1][0] if place + 1 < len(found) else figure
        if before is not None:
            yield Figure(before.value * 60 + figure.value, unit="minute")
            before = None
        elif figure.unit == "hour" and following.unit == "minute" and len(joint) <= _JOINT:
            before = figure
        else:
            ranges = not figure.unit and bool(_RANGE.fullmatch(joint))
            yield replace(figure, unit=following.unit, times=following.times) if ranges else figure
    yield from _in_words(text)


def _in_digits(text: str) -> Iterator[tuple[Figure, str]]:
    """Figures in digits, each with what stands between it and the next one."""
    matches = [match for match in _FIGURE.finditer(text) if len(match[0]) <= _LONGEST]
    for place, match in enumerate(matches):
        found, tail = _read(match), _UNIT.match(text, match.end())
        until = matches[place + 1].start() if place + 1 < len(matches) else len(text)
        end = tail.end() if tail else match.end()
        yield replace(found, unit=_named(text, match.end(), tail)), text[end:until]


def given(text: str) -> set[Known]:
    """The figures that a record's text gives, in every value that they can be quoted with."""
    lasting = minutes(text)
    if lasting is not None:
        return {(lasting, "minute"), *((part, "") for part in _whole_parts(lasting))}
    read = [*figures(text), *(part for part, _ in _in_digits(text)), *_in_words(text, every=True)]
    return {(value, figure.unit) for figure in read for value in (figure.value, figure.value * figure.times)}


def occurs(figure: Figure, known: Iterable[Known]) -> bool:
    """Whether a figure is one of those that are known, as precisely as it is written."""
    return any(_is(figure, value, unit) for value, unit in known)


def _read(match: re.Match[str]) -> Figure:
    if match["alone"]:
        return Figure(unicodedata.numeric(match["alone"]), 2)
    whole, _, decimals = match["number"].replace(",", "").partition(".")
    value = float(f"{whole}.{decimals or 0}")
    if match["part"]:
        value += unicodedata.numeric(match["part"])
    if match["over"]:
        value = _with_fraction(value, match["over"])
    times = _TIMES.get((match["times"] or "").strip().lower(), 1.0)
    return Figure(value, len(decimals) or (2 if match["part"] or match["over"] else 0), times)


def _with_fraction(value: float, over: str) -> float:
    """`1/2`, and `1 1/2`; a division by nothing is left out."""
    upper, _, lower = over.strip().rpartition("/")
    if not float(lower):
        return value
    return value + float(upper) / float(lower) if upper else value / float(lower)


def _named(text: str, end: int, tail: re.Match[str] | None) -> str:
    if tail is None:
        return "th" if re.match(r"(?:st|nd|rd|th)[\s-]centur", text[end : end + 12]) else ""
    said = tail[1].lower()
    if said == "s":
        return "s" if text[end : end + 1] == "s" else ""
    return next((unit for unit, way in _UNITS if re.match(way, said)), "")


def _in_words(text: str, *, every: bool = False) -> Iterator[Figure]:
    for match in _WORD.finditer(text):
        value = _TENS[match["tens"].lower()] + _SMALL.index(match["ones"].lower()) if match["tens"] else 0
        value = value or _SPELLED[match["word"].lower()]
        unit = _UNIT.match(text, match.end())
        if every or value >= _COUNTS_FROM or match["measured"]:
            yield Figure(value, unit=_named(text, match.end(), unit))


def _whole_parts(lasting: float) -> Iterator[float]:
    """The days, hours and minutes that a duration is spoken with."""
    days, rest = divmod(lasting, 1_440)
    yield from (days, *divmod(rest, 60), *divmod(lasting, 60))


def _is(figure: Figure, known: float, unit: str) -> bool:
    if figure.unit == "s" and figure.value % 10 == 0:
        return figure.value <= known < figure.value + (100 if figure.value % 100 == 0 else 10)
    if figure.unit == "th" and (figure.value - 1) * 100 <= known < figure.value * 100:
        return True
    if figure.value == known or _rounds(known / figure.times, figure, loosely=figure.times > 1):
        return True
    scale = _scale(unit, figure.unit)
    return scale is not None and _rounds(known * scale, figure, loosely=True)


def _scale(one: str, other: str) -> float | None:
    """How many of another unit one unit is; None for the same one, and for units of two kinds."""
    if one == other:
        return None
    return next((kind[one] / kind[other] for kind in _KINDS if one in kind and other in kind), None)


def _rounds(known: float, figure: Figure, *, loosely: bool) -> bool:
    """Whether a value, rounded to the figure's decimals, is the figure; a whole one only where it was converted."""
    if not figure.decimals and not loosely:
        return math.isclose(known, figure.value, rel_tol=1e-6)
    return abs(known - figure.value) <= _HALF * 10.0**-figure.decimals
