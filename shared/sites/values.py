"""Reading what a schema.org record says, whatever shape it says it in: a text, a number, an object, a list of any.

Nothing here raises: what cannot be read is absent.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from shared.contracts.items import Json

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_URL = re.compile(r"\b(?:https?://|www\.)[^\s<>\"')\]]+", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DURATION = re.compile(
    r"P(?=.)(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?"
    r"(?:T(?=.)(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?",
    re.IGNORECASE,
)
_MINUTES = (7 * 24 * 60, 24 * 60, 60, 1, 1 / 60)  # of a week, a day, an hour, a minute, a second
_YEAR = re.compile(r"(?<!\d)(1[89]\d\d|20\d\d)(?!\d)")


def mended(text: str) -> str:
    """The text with its character references read, twice over: pages often escape what is escaped already."""
    for _ in range(2):
        if not _ENTITY.search(text):
            break
        text = html.unescape(text)
    return text


def plain(text: str) -> str:
    """The text as a reader sees it: entities read, tags and addresses gone, one blank between words."""
    return " ".join(_URL.sub(" ", _TAG.sub(" ", _without_comments(mended(text)))).split())


def _without_comments(text: str) -> str:
    """A pattern would look for the end of each comment that has none: 20,000 of them took it 5 s."""
    kept: list[str] = []
    start = 0
    while (opens := text.find("<!--", start)) >= 0 and (closes := text.find("-->", opens + 4)) >= 0:
        kept += [text[start:opens], " "]
        start = closes + 3
    return "".join([*kept, text[start:]])


_LARGEST = 10.0**15
"""Beyond it a number is a slip, and no column holds it."""


def spelled(number: float) -> str:
    """A number as people write it: no `.0`, no exponent; empty for one beyond all measure."""
    if not -_LARGEST < number < _LARGEST:
        return ""
    if isinstance(number, int) or number.is_integer():
        return str(int(number))
    return f"{number:.6f}".rstrip("0").rstrip(".")


def each(value: object) -> Iterator[object]:
    """The values of a list, or the one value; none for None."""
    if isinstance(value, list):
        for member in value:
            yield from each(member)
    elif value is not None:
        yield value


def text(value: object) -> str:
    """The first thing a value says, in plain words: a text, a number, or an object's name, value or text."""
    return next(iter(texts(value)), "")


def texts(value: object) -> list[str]:
    """Everything a value says, in plain words, distinct and in order."""
    found = (_said(member) for member in each(value))
    return list(dict.fromkeys(said for said in found if said))


def _said(value: object) -> str:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, bool):
        return ""
    if isinstance(value, int | float):
        return spelled(value)
    if isinstance(value, dict):
        return next((said for key in ("name", "value", "text", "@value") if (said := text(value.get(key)))), "")
    return ""


def words(value: object) -> tuple[str, ...]:
    """The distinct terms of a value, in lower case: a text is split at its commas and semicolons."""
    parts = (part.strip().lower() for said in texts(value) for part in re.split(r"[,;|]", said))
    return tuple(dict.fromkeys(part for part in parts if part))


def number(value: object) -> float | None:
    """The first number a value says. `1,234.5` and `1234,5` are read as they are meant; none is None."""
    for member in each(value):
        found = _number_within(member) if isinstance(member, dict) else _number(member)
        if found is not None:
            return found
    return None


def _number_within(value: Json) -> float | None:
    inside = (number(value.get(key)) for key in ("value", "price", "name", "@value"))
    return next((found for found in inside if found is not None), None)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str):
        found = _NUMBER.search(plain(value))
        return _spelled_number(found[0]) if found else None
    return _measured(value)


def _spelled_number(digits: str) -> float | None:
    if _THOUSANDS.fullmatch(digits):
        digits = digits.replace(",", "")
    elif digits.count(",") == 1 and "." not in digits:
        digits = digits.replace(",", ".")
    else:
        digits = digits.replace(",", "")
    try:
        return _measured(float(digits))
    except ValueError:  # a version such as 1.2.3
        return None


def _measured(value: float) -> float | None:
    return float(value) if -_LARGEST < value < _LARGEST else None


def whole(value: object) -> int | None:
    """The first number a value says, as an integer."""
    found = number(value)
    return None if found is None else round(found)


def minutes(value: object) -> float | None:
    """The minutes of an ISO 8601 duration (`PT1H15M`, `P1DT2H`); None for another text, and for a duration of 0."""
    for member in each(value):
        found = _DURATION.fullmatch(member.strip()) if isinstance(member, str) else None
        if found and (total := sum(float(n or 0) * unit for n, unit in zip(found.groups(), _MINUTES, strict=True))):
            return round(total, 2)
    return None


def spoken_duration(total: float) -> str:
    """Minutes in words: `1 hour 15 minutes`, `2 days`."""
    days, rest = divmod(round(total), 24 * 60)
    hours, left = divmod(rest, 60)
    parts = [
        f"{n} {unit}{'s' if n != 1 else ''}" for n, unit in ((days, "day"), (hours, "hour"), (left, "minute")) if n
    ]
    return " ".join(parts)


def year(value: object) -> int | None:
    """The year that a date or a text names, 1800 to 2099."""
    found = _YEAR.search(text(value))
    return int(found[1]) if found else None


def at(record: object, *path: str) -> object:
    """What lies at a path of property names; lists on the way are entered at their first object that has it."""
    for name in path:
        record = next((one[name] for one in each(record) if isinstance(one, dict) and one.get(name) is not None), None)
    return record


def properties(record: Json) -> dict[str, object]:
    """The record's `additionalProperty` by name, in lower case."""
    found: dict[str, object] = {}
    for one in each(record.get("additionalProperty")):
        if isinstance(one, dict) and (name := text(one.get("name")).lower()):
            found.setdefault(name, one.get("value"))
    return found


def clipped(said: str, most: int) -> str:
    """The text, cut at the last blank before `most` characters."""
    if len(said) <= most:
        return said
    return said[:most].rsplit(" ", 1)[0].rstrip(" ,;:") + " …"
