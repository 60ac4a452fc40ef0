"""JSON into structs, strictly: every field there, none unknown, each of its own type and by its own rule.

pydantic does as much, but a release is opened by every function before its first answer, and importing pydantic
takes 37 ms, which is a fifth of the whole start of an exact lookup. msgspec, whose structs these are, converts as
strictly, but does not say what it found instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

T = TypeVar("T", bound=Struct)


class Mismatch(ValueError):
    """A value that is not what was expected, and where: `families.0.rows`."""

    def __init__(self, place: str, expected: str, found: str) -> None:
        super().__init__(f"{place or 'document'}: expected {expected}, found {found}")


class Rule(Struct, frozen=True):
    """A rule beside a type: `Annotated[int, Rule("0 or more", lambda count: count >= 0)]`."""

    expected: str
    holds: Callable[[Any], object]


def matching(pattern: str) -> Callable[[str], object]:
    """A rule: the text is the pattern, whole."""
    return re.compile(pattern).fullmatch


def read(kind: type[T], value: object, place: str = "") -> T:
    """The struct that a JSON value spells. Raises Mismatch naming the first field that is wrong."""
    result: T = _read(kind, value, place)
    return result


def _read(kind: Any, value: object, place: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        found, rule = _read(inner[0], value, place), inner[1]
        return _expect(bool(rule.holds(found)), place, rule.expected, found)
    if origin is UnionType:
        return None if value is None else _read(next(each for each in inner if each is not NoneType), value, place)
    if origin is Literal:
        return _expect(value in inner and isinstance(value, str), place, " or ".join(map(repr, inner)), value)
    if origin is list:
        _expect(isinstance(value, list), place, "a list", value)
        return [_read(inner[0], each, f"{place}.{index}") for index, each in enumerate(value)]  # type: ignore[var-annotated, arg-type]
    if origin is dict:
        _expect(isinstance(value, dict), place, "an object", value)
        return {name: _read(inner[1], each, f"{place}.{name}") for name, each in value.items()}  # type: ignore[attr-defined]
    return _object(kind, value, place) if issubclass(kind, Struct) else _scalar(kind, value, place)


def _scalar(kind: type, value: object, place: str) -> object:
    """A text or a number. A bool is no integer, and an integer may stand for a float."""
    names = {str: "a text", int: "an integer", float: "a number", bool: "true or false"}
    exact = type(value) is kind or (kind is float and type(value) is int)
    return _expect(exact and (kind is not float or _is_finite(value)), place, names[kind], value)


def _is_finite(value: Any) -> bool:
    """JSON may spell numbers that no float can hold."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _object(kind: Any, value: object, place: str) -> object:
    _expect(isinstance(value, dict), place, "an object", value)
    given: Mapping[str, object] = value  # type: ignore[assignment]
    known = _fields(kind)
    for name in given:
        _expect(name in known, _at(place, name), "no such field", name)
    return kind(
        **{
            name: _read(member.type, given[name], _at(place, name))
            for name, member in known.items()
            if _is_given(member, given, place)
        }
    )


def _is_given(member: FieldInfo, given: Mapping[str, object], place: str) -> bool:
    if member.required and member.name not in given:
        raise Mismatch(_at(place, member.name), "a value", "none: the field is required")
    return member.name in given


@cache
def _fields(kind: Any) -> dict[str, FieldInfo]:
    return {each.name: each for each in fields(kind)}


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _expect(holds: bool, place: str, expected: str, value: object) -> Any:
    if not holds:
        raise Mismatch(place, expected, repr(str(value)[:80]))
    return value
