"""The one normal form of what people type, and of the whole numbers they give."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from shared.errors import RequestError

# No script puts more marks on one letter.
_MOST_MARKS = 12
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


def normal(text: str) -> str:
    """NFC of what can be seen, single spaces: no control, zero-width or half characters.

    Putting marks in order takes quadratic time, so no character keeps more than a few.
    """
    return " ".join(unicodedata.normalize("NFC", "".join(_seen(text))).split())


def _seen(text: str) -> Iterator[str]:
    """A control character separates words, a zero-width or half one is nothing at all."""
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        category = unicodedata.category(character)
        if category in {"Cc", "Zl", "Zp"}:
            yield " "
        elif category not in {"Cf", "Cs"} and marks <= _MOST_MARKS:
            yield character


def whole_characters(text: str) -> str:
    """The text without half characters, which JSON can spell and nothing that writes UTF-8 can pass on."""
    return text.encode("utf-8", "ignore").decode("utf-8")


def whole_number(value: object, name: str) -> int:
    """An integer as JSON, a form or a query string spell it: 10, 10.0 or "10". True is not one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    raise RequestError(f"{name} must be an integer")
