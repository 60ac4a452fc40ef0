"""What a model wrote, held against what it was shown."""

from __future__ import annotations

import re

# Links, and bare names of hosts that somebody could be sent to.
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"')\]]+", re.IGNORECASE)
_EMPTY_BRACKETS = re.compile(r"\s*[(\[]\s*[)\]]")


def without_foreign_urls(text: str, known: str) -> str:
    """The text without any address that `known`, all that the model was shown, does not hold."""

    def kept(match: re.Match[str]) -> str:
        address = match[0].rstrip(".,;:!?")
        return match[0] if address in known else match[0][len(address) :]

    if not _URL.search(text):
        return text
    return " ".join(_EMPTY_BRACKETS.sub("", _URL.sub(kept, text)).split())


def clipped(text: str, most: int) -> str:
    """A text cut at the end of a sentence, else of a word, within `most` characters."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    head = text[:most]
    end = max(head.rfind(sign) for sign in (". ", "! ", "? "))
    if end >= most // 3:
        return head[: end + 1]
    return head[: max(head.rfind(" "), most // 2)].rstrip(" ,;:") + "…"
