"""The one normal form of what people type."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

# No script puts more marks on one letter.
_MOST_MARKS = 12


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
