"""The tokens of what people type, and the amounts among them: "$300-400k", "two and a half hours", "2,500 sq ft".

Everything looks at a bounded number of tokens ahead, so reading a text takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from shared.sites.kinds.wording import Family

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[^\s]")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_PLAIN = re.compile(r"\d{1,12}(?:[.,]\d{1,6})?")
_FOUR_DIGITS = re.compile(r"(?:1[89]|20)\d\d")
_T = TypeVar("_T")

UNITS: Mapping[str, tuple[Family, float]] = {
    "km": ("length", 1.0), "mi": ("length", 1.609344), "m": ("length", 0.001), "ft": ("length", 0.0003048),
    "min": ("time", 1.0), "h": ("time", 60.0), "d": ("time", 1440.0),
    "sqft": ("area", 1.0), "sqm": ("area", 10.7639), "acre": ("area", 43_560.0), "ha": ("area", 107_639.1),
    "USD": ("money", 1.0),
}  # fmt: skip
"""Unit → what it measures, and how much of that family's base it is: km, minutes, square feet, dollars."""

_SPELLED = {
    "km": "km, kms, kilometer, kilometers, kilometre, kilometres, k",
    "mi": "mile, miles, mi",
    "m": "m, meter, meters, metre, metres",
    "min": "minute, minutes, min, mins",
    "h": "hour, hours, hr, hrs, h",
    "d": "day, days",
    "sqft": "sq ft, sq . ft, sq . ft ., sqft, sq foot, sq feet, square foot, square feet, sf, ft², ft 2, foot ², sqf",
    "sqm": "sq m, sqm, square meter, square meters, square metre, square metres, m², m 2, sq metres, sq meters",
    "acre": "acre, acres, ac",
    "ha": "hectare, hectares, ha",
    "USD": "dollar, dollars, usd, bucks, us dollars",
}
_SCALES = {
    "k": 1e3, "thousand": 1e3, "grand": 1e3, "m": 1e6, "mm": 1e6, "mil": 1e6, "mio": 1e6, "million": 1e6,
}  # fmt: skip
_WORDS = {
    "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0, "eight": 8.0,
    "nine": 9.0, "ten": 10.0, "eleven": 11.0, "twelve": 12.0, "fifteen": 15.0, "twenty": 20.0, "thirty": 30.0,
    "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "ninety": 90.0, "hundred": 100.0, "dozen": 12.0,
    "½": 0.5, "¼": 0.25, "¾": 0.75,
}  # fmt: skip
_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75}
_DECADES = {
    "twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70, "eighties": 80,
    "nineties": 90,
}  # fmt: skip
_PARTS = {"early": (0, 3), "mid": (4, 6), "middle": (4, 6), "late": (7, 9)}
_DASHES = frozenset("-–—‑")


class Token(Struct, frozen=True):
    """A word, a number or one sign: in lower case, and where it stands in the text."""

    word: str
    start: int
    end: int


def tokens(text: str, most: int = 256) -> list[Token]:
    """The first tokens of a text. Every dash is a hyphen.

    >>> [token.word for token in tokens("4-bed, $2.5M")]
    ['4', '-', 'bed', ',', '$', '2.5', 'm']
    """
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        if len(found) == most:
            break
        word = match[0].lower()
        found.append(Token("-" if word in _DASHES else word, match.start(), match.end()))
    return found


class Phrases(Generic[_T]):
    """Phrases and what they stand for; the longest that is found at a token wins. A hyphen between words is skipped."""

    def __init__(self, phrases: Iterable[tuple[str, _T]]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], _T]]] = {}
        for phrase, meaning in phrases:
            first, *rest = [token.word for token in tokens(phrase)]
            self._by_first.setdefault(first, []).append((tuple(rest), meaning))
        for same in self._by_first.values():
            same.sort(key=lambda each: -len(each[0]))

    def at(self, words: Sequence[str], at: int) -> tuple[int, _T] | None:
        """Where the longest phrase that begins at a token ends, and what it stands for."""
        for rest, meaning in self._by_first.get(words[at], ()) if at < len(words) else ():
            end = _end(words, at + 1, rest)
            if end is not None:
                return end, meaning
        return None

    def all_at(self, words: Sequence[str], at: int) -> tuple[int, list[_T]] | None:
        """As `at`, with all that the longest phrase stands for."""
        found = list(self.each_at(words, at))
        return (found[0][0], [meaning for end, meaning in found if end == found[0][0]]) if found else None

    def each_at(self, words: Sequence[str], at: int) -> Iterator[tuple[int, _T]]:
        """Every phrase that begins at a token, the longest first."""
        for rest, meaning in self._by_first.get(words[at], ()) if at < len(words) else ():
            end = _end(words, at + 1, rest)
            if end is not None:
                yield end, meaning


def _end(words: Sequence[str], at: int, rest: tuple[str, ...]) -> int | None:
    for word in rest:
        if at < len(words) and words[at] == "-" and word != "-":
            at += 1
        if at >= len(words) or words[at] != word:
            return None
        at += 1
    return at


class Amount(Struct, frozen=True):
    """A number with what was said of its unit; `least` and `most` differ for a decade. `base` is in its family's base.

    `unit` is empty where none is named. `is_scaled` is true of 300k, `article` of "an hour", `vague` of "a couple".
    """

    least: float
    most: float
    end: int
    unit: str = ""
    family: Family | None = None
    is_scaled: bool = False
    is_article: bool = False
    is_vague: bool = False
    digits: str = ""

    def times(self, factor: float) -> Amount:
        """The same amount scaled, as the second of "300-400k" says of the first."""
        return Amount(self.least * factor, self.most * factor, self.end, self.unit, self.family, is_scaled=True)

    def with_unit(self, other: Amount) -> Amount:
        """The same number in the unit of another one, as the second of "2-3 hours" says of the first."""
        return Amount(self.least, self.most, self.end, other.unit, other.family, is_scaled=self.is_scaled)


_UNIT_PHRASES = Phrases([(phrase, unit) for unit, spelled in _SPELLED.items() for phrase in spelled.split(", ")])
_BEFORE_UNITS = Phrases([("half an", 0.5), ("half a", 0.5), ("half", 0.5), ("a half", 0.5), ("quarter of an", 0.25)])
_COUPLES = Phrases([("a couple of", 2.0), ("a couple", 2.0), ("couple of", 2.0), ("a few", 3.0), ("few", 3.0)])
_AND_A_HALF = Phrases([("and a half", 0.5), ("and half", 0.5)])


def amount(words: Sequence[str], at: int, families: frozenset[Family]) -> Amount | None:
    """The amount that begins at a token, in a unit of these families where one is named; None where there is none."""
    return _decade(words, at) or _money(words, at, families) or _number_with_unit(words, at, families)


def _money(words: Sequence[str], at: int, families: frozenset[Family]) -> Amount | None:
    if "money" not in families or at + 1 >= len(words) or words[at] not in ("$", "usd"):
        return None
    number = _number(words, at + 1)
    if number is None:
        return None
    value, end = number
    scale, end = _scale(words, end)
    return Amount(value * scale, value * scale, end, "USD", "money", is_scaled=scale != 1, digits=words[at + 1])


def _scale(words: Sequence[str], at: int) -> tuple[float, int]:
    if at < len(words) and words[at] == "-" and at + 1 < len(words) and words[at + 1] in ("million", "thousand"):
        at += 1
    scale = _SCALES.get(words[at]) if at < len(words) else None
    return (scale, at + 1) if scale else (1.0, at)


def _number_with_unit(words: Sequence[str], at: int, families: frozenset[Family]) -> Amount | None:
    if (half := _BEFORE_UNITS.at(words, at)) or (half := _COUPLES.at(words, at)):
        found = _united(words, half[1], half[0], families, digits="")
        is_couple = half[1] >= 2
        if found is None and is_couple:
            return Amount(half[1], half[1], half[0], is_vague=half[1] == 3)
        return found and Amount(found.least, found.most, found.end, found.unit, found.family, is_vague=is_couple)
    if at < len(words) and words[at] in ("a", "an"):
        found = _united(words, 1.0, at + 1, families, digits="")
        return found and Amount(found.least, found.most, found.end, found.unit, found.family, is_article=True)
    number = _number(words, at)
    if number is None:
        return None
    value, end = number
    if "money" in families:
        scale, scaled_end = _scale(words, end)
        if scale != 1:
            scaled_end = _skipped_currency(words, scaled_end)
            return Amount(value * scale, value * scale, scaled_end, "USD", "money", is_scaled=True)
    return _united(words, value, end, families, words[at]) or Amount(value, value, end, digits=words[at])


def _skipped_currency(words: Sequence[str], at: int) -> int:
    found = _UNIT_PHRASES.at(words, at)
    return found[0] if found and found[1] == "USD" else at


def _united(words: Sequence[str], value: float, at: int, families: frozenset[Family], digits: str) -> Amount | None:
    """A number with the unit behind it, and what follows of it: "an hour and a half", "1 hour 30 minutes"."""
    end = at + 1 if at < len(words) and words[at] == "-" else at
    found = _UNIT_PHRASES.at(words, end)
    if found is None or UNITS[found[1]][0] not in families:
        return None
    end, unit = found
    if half := _AND_A_HALF.at(words, end):
        value, end = value + half[1], half[0]
    if unit == "h" and (rest := _minutes_more(words, end)):
        value, end = value + rest[0] / 60, rest[1]
    return Amount(value, value, end, unit, UNITS[unit][0], digits=digits)


def _minutes_more(words: Sequence[str], at: int) -> tuple[float, int] | None:
    """The minutes behind an hour: "1 hour 30 minutes", "1 h and 15 min", "1h30"."""
    if at < len(words) and words[at] == "and":
        at += 1
    number = _number(words, at)
    if number is None or number[0] >= 60:
        return None
    found = _UNIT_PHRASES.at(words, number[1])
    if found and found[1] == "min":
        return number[0], found[0]
    return (number[0], number[1]) if len(words[at]) == 2 and words[at - 1] == "h" and not found else None


def _number(words: Sequence[str], at: int) -> tuple[float, int] | None:
    """A number in digits or in words, with a half behind it, and where it ends."""
    if at >= len(words):
        return None
    value = _WORDS.get(words[at])
    if value is None:
        value = digits(words[at])
    if value is None:
        return None
    end = at + 1
    if end < len(words) and words[end] in _FRACTIONS:
        return value + _FRACTIONS[words[end]], end + 1
    if list(words[end : end + 3]) in (["1", "/", "2"], ["1", "/", "4"], ["3", "/", "4"]):
        return value + int(words[end]) / int(words[end + 2]), end + 3
    if half := _AND_A_HALF.at(words, end):
        return value + half[1], half[0]
    return value, end


def digits(word: str) -> float | None:
    """The number of digits with or without thousands: 2,500 and 2.5 and 2,5.

    >>> digits("2,500"), digits("2.5"), digits("1.2.3"), digits("four")
    (2500.0, 2.5, None, None)
    """
    if _THOUSANDS.fullmatch(word):
        return float(word.replace(",", ""))
    return float(word.replace(",", ".")) if _PLAIN.fullmatch(word) else None


def _decade(words: Sequence[str], at: int) -> Amount | None:
    """`1920s`, `'90s`, `90s`, `the nineties`, `late 1980s`; two digits are of the last century."""
    if at < len(words) and words[at] in ("'", "’", "the"):
        return _decade_of_any_part(words, at + 1)
    return _decade_of_any_part(words, at)


def _decade_of_any_part(words: Sequence[str], at: int) -> Amount | None:
    part = _PARTS.get(words[at]) if at < len(words) else None
    if part is not None:
        at += 1
        at += at < len(words) and words[at] == "-"
    at += at < len(words) and words[at] in ("'", "’")
    first = _first_of_decade(words, at)
    if first is None:
        return None
    year, end = first
    low, high = part or (0, 9)
    return Amount(year + low, year + high, end, "", "year", digits="s")


def _first_of_decade(words: Sequence[str], at: int) -> tuple[int, int] | None:
    if at >= len(words):
        return None
    if words[at] in _DECADES:
        return 1900 + _DECADES[words[at]], at + 1
    is_plural = (at + 1 < len(words) and words[at + 1] == "s") or (
        at + 2 < len(words) and words[at + 1 : at + 3] == ["'", "s"]
    )
    if not is_plural or not words[at].isdigit() or not words[at].isascii():
        return None
    end = at + 2 if words[at + 1] == "s" else at + 3
    if _FOUR_DIGITS.fullmatch(words[at]) and words[at][3] == "0":
        return int(words[at]), end
    return (1900 + int(words[at]), end) if len(words[at]) == 2 and words[at][1] == "0" and words[at] != "00" else None


def is_year(found: Amount) -> bool:
    """Whether an amount can be a year: four digits without a sign or a unit, or a decade."""
    return found.family == "year" or (found.family is None and bool(_FOUR_DIGITS.fullmatch(found.digits)))
