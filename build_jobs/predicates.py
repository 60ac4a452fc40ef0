"""Questions to a site with what is true of their answers, as conditions over the items' own records.

    kind: trails
    facts:
      dogs: {path: "additionalProperty[Dogs].value"}
      time: {path: "additionalProperty[Walk duration].value", as: minutes}
    lists:
      free: {words: [dogs allowed, off leash], but: [no dogs]}
    questions:
    - ask: a walk of under an hour where my dog may run free
      where: {all: [{of: time, under: 60}, {of: dogs, word: free}]}

`where` is what the question states over fields, and what an item that is marked as meeting it has to satisfy. `about`
is the rest of it, which nobody promises of an item: what the thing is. `first: {of: price, least: true}` says which of
the right items has to come first. `none: true` says that the collection has no answer. Nothing here knows the typed
columns or the way in which a question is read: a judge that shared them would share their mistakes.

A condition is true, false or None where the record does not say. Words are compared without marks and upper case,
whole, also in their plural.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from shared.contracts.items import Json
from shared.errors import BuildError
from shared.sites.kinds import KINDS

Truth = bool | None
Condition = Callable[[Json], Truth]
Values = Callable[[Json], list[Any]]

_SUITE = {"kind", "facts", "lists", "questions"}
_QUESTION = {"ask", "where", "about", "first", "none"}


@dataclass(frozen=True, slots=True)
class First:
    """Which of the right items comes first: that with the least value of a fact, or with the most."""

    values: Values
    descending: bool

    def value(self, record: Json) -> float | None:
        """The value that decides; None where the record does not say."""
        known = self.values(record)
        return (max if self.descending else min)(known) if known else None

    def best(self, records: Sequence[Json]) -> float | None:
        """The best value among these records."""
        known = [value for record in records if (value := self.value(record)) is not None]
        return (max if self.descending else min)(known) if known else None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what its answers have in common."""

    text: str
    where: Condition | None = None
    about: Condition | None = None
    first: First | None = None
    none: bool = False

    def states(self, record: Json) -> Truth:
        """Whether the record satisfies what the question states over fields; True where it states nothing."""
        return self.where(record) if self.where else True

    def answers(self, record: Json) -> bool:
        """Whether the record is a right answer: what is stated and what it is about, known to be so."""
        return self.states(record) is True and (self.about is None or self.about(record) is True)


@dataclass(frozen=True, slots=True)
class Suite:
    """The questions of one file, all put to one kind of site."""

    kind: str
    questions: tuple[Asked, ...]


def read_suite(path: Path) -> Suite:
    """The suite of a YAML file. Raises BuildError, which names the file and the place in it."""
    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BuildError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise BuildError(f"{path} is no YAML: {error}") from error
    try:
        return _suite(read)
    except _Wrong as wrong:
        raise BuildError(f"{path}: {wrong}") from wrong


class _Wrong(ValueError):
    """What is wrong in a file, without its name."""


def _suite(read: Any) -> Suite:
    _known(read, _SUITE, "the suite")
    kind = read.get("kind")
    if kind not in KINDS:
        raise _Wrong(f"kind {kind!r}: expected one of {', '.join(KINDS)}")
    words = _Words({name: _phrases(one) for name, one in _mapping(read.get("lists"), "lists").items()})
    reader = _Reader({name: _fact(one, name) for name, one in _mapping(read.get("facts"), "facts").items()}, words)
    questions = read.get("questions")
    if not isinstance(questions, list) or not questions:
        raise _Wrong("questions: expected a list of at least one")
    return Suite(kind, tuple(_asked(one, f"question {n}", reader) for n, one in enumerate(questions, 1)))


def _asked(read: Any, place: str, reader: _Reader) -> Asked:
    _known(read, _QUESTION, place)
    text = read.get("ask")
    if not isinstance(text, str) or not text.strip():
        raise _Wrong(f"{place}: expected `ask`, the question")
    place = f"{place} ({text})"
    where, about = (reader.condition(read[key], place) if key in read else None for key in ("where", "about"))
    if not (where or about or "first" in read):
        raise _Wrong(f"{place}: expected `where`, `about` or `first`")
    first = reader.first(read["first"], place) if "first" in read else None
    return Asked(text, where, about, first, read.get("none") is True)


def _known(read: Any, names: set[str], place: str) -> None:
    if not isinstance(read, dict):
        raise _Wrong(f"{place}: expected names and values, found {type(read).__name__}")
    if unknown := sorted(map(str, read.keys() - names)):
        raise _Wrong(f"{place}: {', '.join(unknown)} unknown: expected {', '.join(sorted(names))}")


def _mapping(read: Any, place: str) -> dict[str, Any]:
    if not isinstance(read, dict | None):
        raise _Wrong(f"{place}: expected names and values")
    return read or {}


# Words


@dataclass(frozen=True, slots=True)
class _Phrases:
    """Words to look for, and those around them that mean something else."""

    words: re.Pattern[str]
    but: re.Pattern[str] | None

    def are_in(self, text: str) -> bool:
        plain = _plain(text)
        return bool(self.words.search(self.but.sub(" ", plain) if self.but else plain))


class _Words:
    """The suite's lists by name; a word that names none stands for itself."""

    def __init__(self, lists: Mapping[str, _Phrases]) -> None:
        self._lists = lists

    def of(self, given: Any) -> list[_Phrases]:
        return [_phrases(one) if isinstance(one, dict) else self._named(str(one)) for one in _members(given)]

    def _named(self, name: str) -> _Phrases:
        return self._lists.get(name) or _phrases([name])


def _phrases(read: Any) -> _Phrases:
    if isinstance(read, dict):
        _known(read, {"words", "but"}, "a list")
        but = _pattern(_members(read["but"])) if "but" in read else None
        return _Phrases(_pattern(_members(read.get("words"))), but)
    return _Phrases(_pattern(_members(read)), None)


def _pattern(words: Sequence[Any]) -> re.Pattern[str]:
    found = "|".join(re.escape(_plain(str(word))) for word in words)
    return re.compile(rf"(?<!\w)(?:{found})(?:e?s)?(?!\w)")


def _members(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [] if given is None else [given]


def _plain(text: str) -> str:
    """Lower case without marks, hyphens as blanks."""
    bare = "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))
    return " ".join(re.sub(r"[-\u2010-\u2015]", " ", bare).split())


# Facts: where a record says something, and what it says


def _fact(read: Any, name: str) -> Values:
    """The values of the first place that has any, each read as what the fact is."""
    if isinstance(read, list):
        places = [_fact(one, name) for one in read]
        return lambda record: next((known for place in places if (known := place(record))), [])
    if isinstance(read, str):
        read = {"path": read}
    _known(read, {"path", "find", "as", "sum"}, f"fact {name}")
    if "sum" in read:
        return _sum([_fact({"path": path, "as": read.get("as", "number")}, name) for path in _members(read["sum"])])
    steps, found = str(read.get("path", "")).split("."), _finder(read.get("find"), name)
    if (as_what := read.get("as", "text")) not in _READERS:
        raise _Wrong(f"fact {name}: as {as_what!r}: expected one of {', '.join(_READERS)}")
    reads = _READERS[as_what]
    return lambda record: [
        value for told in _at(record, steps) for one in found(told) if (value := reads(one)) is not None
    ]


def _sum(parts: Sequence[Values]) -> Values:
    """The first values of all parts added up, where each has one."""

    def values(record: Json) -> list[Any]:
        known = [values[0] for part in parts if (values := part(record))]
        return [sum(known)] if len(known) == len(parts) else []

    return values


def _finder(pattern: Any, name: str) -> Callable[[Any], list[Any]]:
    """The parts of a text that the pattern's group finds; the whole value without a pattern."""
    if pattern is None:
        return lambda told: [told]
    try:
        compiled = re.compile(str(pattern), re.IGNORECASE)
    except re.error as error:
        raise _Wrong(f"fact {name}: find {pattern!r} is no pattern: {error}") from error
    return lambda told: compiled.findall(told) if isinstance(told, str) else []


_STEP = re.compile(r"(\w+|@type)(?:\[(.+)\])?$")


def _at(value: Any, steps: Sequence[str]) -> Iterator[Any]:
    """What lies at the end of a path; lists on the way are gone through. `x[Y]` are the members of x named Y."""
    if isinstance(value, list):
        for member in value:
            yield from _at(member, steps)
    elif not steps:
        yield from [] if value is None or value == "" else [value]
    elif isinstance(value, str) and list(steps) == ["name"]:
        yield value  # a person or thing that is no more than its name
    elif isinstance(value, dict) and (step := _STEP.match(steps[0])):
        inner = value.get(step[1])
        yield from _at(_named(inner, step[2]) if step[2] else inner, steps[1:])


def _named(members: Any, name: str) -> list[Any]:
    return [one for one in _members(members) if isinstance(one, dict) and _plain(str(one.get("name"))) == _plain(name)]


_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?$")
_MINUTES = {"d": 1440.0, "h": 60.0, "m": 1.0}
_KILOMETRES = {"k": 1.0, "mi": 1.609344, "m": 0.001}
_SQUARE_FEET = {"FTK": 1.0, "SQFT": 1.0, "ACR": 43_560.0, "MTK": 10.7639}


def _text(told: Any) -> str | None:
    return str(told) if isinstance(told, str | int | float) else None


def _number(told: Any) -> float | None:
    found = re.search(_NUMBER, str(told)) if isinstance(told, str | int | float) else None
    return float(found[0].replace(",", "")) if found else None


def _year(told: Any) -> float | None:
    found = re.search(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)", str(told))
    return float(found[0]) if found else None


def _date(told: Any) -> float | None:
    """2026-08-14 as 20260814: later is more."""
    found = re.match(r"(\d{4})-(\d\d)-(\d\d)", str(told))
    return float("".join(found.groups())) if found else None


def _minutes(told: Any) -> float | None:
    """PT1H30M, "1 hr 30 min", "an hour", "2 days"; of "2-3 hr" the longer."""
    if iso := _ISO.match(str(told)):
        return sum(float(part or 0) * unit for part, unit in zip(iso.groups(), _MINUTES.values(), strict=True)) or None
    said = re.sub(r"\ban hour", "1 hour", str(told).lower())
    ends = [re.findall(rf"({_NUMBER})\s*(d|h|m)", part) for part in re.split(r"[-\u2013]|\bto\b", said)]
    return max(sum(float(count.replace(",", "")) * _MINUTES[unit] for count, unit in found) for found in ends) or None


def _km(told: Any) -> float | None:
    found = re.search(rf"({_NUMBER})[\s-]*(k|mi|m)", str(told).lower())
    return round(float(found[1].replace(",", "")) * _KILOMETRES[found[2]], 6) if found else None


def _square_feet(told: Any) -> float | None:
    if not isinstance(told, dict) or told.get("unitCode") not in _SQUARE_FEET:
        return None
    value = _number(told.get("value"))
    return None if value is None else value * _SQUARE_FEET[told["unitCode"]]


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "text": _text, "number": _number, "year": _year, "date": _date,
    "minutes": _minutes, "km": _km, "sqft": _square_feet,
}  # fmt: skip


# Conditions

_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "most": lambda value, bound: value <= bound,
    "least": lambda value, bound: value >= bound,
    "under": lambda value, bound: value < bound,
    "over": lambda value, bound: value > bound,
}
_OPERATORS = {*_COMPARED, "is", "word", "lacks", "said"}


@dataclass(frozen=True, slots=True)
class _Reader:
    """Conditions out of what a suite writes, over its facts and lists."""

    facts: Mapping[str, Values]
    words: _Words

    def condition(self, read: Any, place: str) -> Condition:
        """`all`, `any`, `not`, or a fact with what is said of it; several things are said of one value each."""
        if isinstance(read, dict) and len(read) == 1:
            [(name, inner)] = read.items()
            if name in ("all", "any") and isinstance(inner, list):
                return _joined([self.condition(one, place) for one in inner], name == "all")
            if name == "not":
                return _denied(self.condition(inner, place))
        _known(read, {"of", *_OPERATORS}, place)
        values, said = self._values(read, place), [(name, given) for name, given in read.items() if name != "of"]
        if not said:
            raise _Wrong(f"{place}: expected one of {', '.join(sorted(_OPERATORS))} of {read['of']}")
        return _joined([self._holds(values, name, given, place) for name, given in said], True)

    def first(self, read: Any, place: str) -> First:
        _known(read, {"of", "least", "most"}, place)
        if ("least" in read) == ("most" in read):
            raise _Wrong(f"{place}: first: expected `least: true` or `most: true`")
        return First(self._values(read, place), "most" in read)

    def _values(self, read: Mapping[str, Any], place: str) -> Values:
        if read.get("of") not in self.facts:
            raise _Wrong(f"{place}: of {read.get('of')!r}: expected one of {', '.join(self.facts)}")
        return self.facts[read["of"]]

    def _holds(self, values: Values, name: str, given: Any, place: str) -> Condition:
        """Whether any value is so; for `lacks`, whether none has any of the words."""
        if name in _COMPARED:
            compared, bound = _COMPARED[name], _bound(given, place)
            return lambda record: _any(values(record), lambda value: compared(value, bound))
        if name == "said":
            return lambda record: bool(values(record)) is bool(given)
        if name == "is":
            wanted = {_plain(str(one)) for one in _members(given)}
            return lambda record: _any(values(record), lambda value: _plain(str(value)) in wanted)
        phrases = self.words.of(given)
        has = _has(values, phrases)
        return _denied(has) if name == "lacks" else has


def _bound(given: Any, place: str) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise _Wrong(f"{place}: {given!r}: expected a number")
    return float(given)


def _has(values: Values, phrases: Sequence[_Phrases]) -> Condition:
    return lambda record: _any(values(record), lambda value: any(one.are_in(str(value)) for one in phrases))


def _any(values: Sequence[Any], holds: Callable[[Any], bool]) -> Truth:
    return any(map(holds, values)) if values else None


def _joined(conditions: Sequence[Condition], every: bool) -> Condition:
    """All or any of them; what is not known decides only where nothing else does."""

    def joined(record: Json) -> Truth:
        found = [condition(record) for condition in conditions]
        decides = not every
        return decides if decides in found else None if None in found else every

    return joined


def _denied(condition: Condition) -> Condition:
    def denied(record: Json) -> Truth:
        found = condition(record)
        return None if found is None else not found

    return denied
