"""One JSON object out of a chat model's answer, and its texts as they may be passed on."""

from __future__ import annotations

import json
from typing import Any

from shared.contracts.text import normal, whole_characters

# 8,000 tokens, the most that is ever asked for, are some 32,000 characters; what is longer is not looked into.
MAX_ANSWER_CHARS = 40_000
# Prose may have braces of its own before the answer begins.
_MOST_STARTS = 20
_DECODER = json.JSONDecoder()


def object_with(answer: str, *keys: str) -> dict[str, Any] | None:
    """The first whole object of an answer that has one of the keys; prose, fences or a list around it do no harm."""
    answer, start = answer[:MAX_ANSWER_CHARS], -1
    for _ in range(_MOST_STARTS):
        start = answer.find("{", start + 1)
        if start < 0:
            return None
        found = _decoded(answer, start)
        if isinstance(found, dict) and any(key in found for key in keys):
            return found
    return None


def one_line(value: object, most: int) -> str:
    """A model's string in one line of whole, visible characters; "" for anything else, and for one over `most`."""
    text = normal(whole_characters(value)) if isinstance(value, str) and len(value) <= MAX_ANSWER_CHARS else ""
    return text if len(text) <= most else ""


def _decoded(answer: str, start: int) -> object:
    try:
        found: object = _DECODER.raw_decode(answer, start)[0]
    except (ValueError, RecursionError):
        return None
    return found
