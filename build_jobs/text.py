"""Text as a leaf can hold it, a line can show it and a database can store it."""

from __future__ import annotations

import re

# A lone surrogate cannot be written as UTF-8, a control character is no YAML: neither is ever meant.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufeff\ufffe\uffff]")


def unwritable_removed(text: str) -> str:
    """The text with a blank for what neither YAML nor UTF-8 can hold; line breaks and tabs stay."""
    return text if text.isascii() and text.isprintable() else _UNWRITABLE.sub(" ", text)


def clean(value: object) -> str:
    """A value as one line of text: no control characters, no runs of blanks; what is no text or number is empty."""
    if type(value) is str and value.isascii() and value.isprintable() and "  " not in value:
        return value.strip(" ")  # nearly every text is one: 1.5 million calls of a large rebuild take half the time
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    return " ".join(unwritable_removed(str(value)).split())


def clean_list(value: object) -> list[str]:
    """The distinct non-empty texts of a list (or of one text), in order."""
    values = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(text for text in map(clean, values) if text))
