"""Sentences of a text, word for word, and which of them speak of a question."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from shared.models.features import content_words

LONGEST = 280
_SHORTEST = 20
# A stop, perhaps a closing quote, a blank, and something that may begin a sentence.
_STOP = re.compile(r"(?<=[.!?…。！？])(?:[\"'”’)\]]*)\s+(?=[\"'“‘(\[¿¡]*[^\W_a-z])|\n+")
_ABBREVIATED = re.compile(r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Mt|Jr|Sr|vs|No|approx|etc|e\.g|i\.e|U\.S)\.)$")


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order and as they stand, but for the blanks around them."""
    found: list[str] = []
    start = 0
    for stop in _STOP.finditer(text):
        piece = text[start : stop.end()].strip()
        if _ABBREVIATED.search(piece):
            continue
        found.append(piece)
        start = stop.end()
    found.append(text[start:].strip())
    return [each for each in found if each]


def telling(texts: Sequence[str]) -> list[str]:
    """The sentences that can stand alone: long enough to say something, not cut off, and naming no address."""
    found = (sentence for text in texts for sentence in sentences(text))
    return list(dict.fromkeys(each for each in found if len(each) >= _SHORTEST and not _is_broken(each)))


def nearest(of: Sequence[str], asked: Collection[str], most: int) -> list[str]:
    """The sentences that hold most of the words asked for, the earlier first among equals; at most so many."""
    held = {sentence: len(frozenset(content_words(sentence)) & frozenset(asked)) for sentence in of}
    return sorted(held, key=lambda sentence: -held[sentence])[:most]


def trimmed(sentence: str, most: int = LONGEST) -> str:
    """The sentence as it stands; one that goes on for too long ends at a word, with a mark that it does."""
    if len(sentence) <= most:
        return sentence
    return sentence[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:—–-") + " …"


def _is_broken(sentence: str) -> bool:
    return sentence.endswith("…") or "://" in sentence or "www." in sentence
