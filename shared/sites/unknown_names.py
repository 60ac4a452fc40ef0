"""Names that a question announces and no item has: where "J. J. Abrams or Jean-Luc Godard" ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shared.index.item_lexical import STOP_WORDS
from shared.sites.quantities import Token

_PARTICLES = frozenset("de di da del du van von la le st der den ten y bin al".split())
_NOBODY = STOP_WORDS | frozenset(
    """someone somebody anyone anybody nobody everyone no any some two three several other others each same set made
    shot filmed released based""".split()
)
_SHORTENED = frozenset("mr mrs ms dr st jr sr".split())
_JOINS = frozenset(("and", "or", "nor"))
_MOST_WORDS = 5
_TOLD_APART = 4
_FEWEST_WORDS = 2
"""A name in small letters has so many words at least: "directed by women" names nobody."""


def end_of_names(text: str, told: Sequence[Token], start: int, is_read: Callable[[int], bool]) -> int | None:
    """Behind the names that begin at a token and are joined by "or" and "and"; None where no name begins there.

    Each word of a name begins with a capital, where capitals tell words apart. What `is_read` otherwise ends it.
    """
    has_capitals = _has_capitals(text, told)
    end = _end_of_name(text, told, start, is_read, has_capitals)
    while end is not None and end < len(told) and told[end].word in _JOINS:
        more = _end_of_name(text, told, end + 1, is_read, has_capitals)
        if more is None:
            break
        end = more
    return end


def _end_of_name(
    text: str, told: Sequence[Token], start: int, is_read: Callable[[int], bool], has_capitals: bool
) -> int | None:
    at, words = start, 0
    while at < len(told) and words < _MOST_WORDS and _can_be_named(text, told[at], words, has_capitals):
        if is_read(at):
            break
        words += 1
        at = _behind_word(told, at)
    return at if words >= (1 if has_capitals else _FEWEST_WORDS) else None


def _can_be_named(text: str, token: Token, before: int, has_capitals: bool) -> bool:
    if not token.word[0].isalpha():
        return False
    if before and token.word in _PARTICLES:
        return True
    return _is_capital(text, token) if has_capitals else token.word not in _NOBODY


def _has_capitals(text: str, told: Sequence[Token]) -> bool:
    """Whether capitals tell names from other words: some words have one, and some that are no short ones have none."""
    words = [token for token in told[1:] if token.word[0].isalpha()]
    plain = [token for token in words if not _is_capital(text, token) and len(token.word) >= _TOLD_APART]
    return bool(plain) and any(_is_capital(text, token) for token in words)


def _is_capital(text: str, token: Token) -> bool:
    return text[token.start].isupper() and token.word != "i"


def _behind_word(told: Sequence[Token], at: int) -> int:
    """Past a word, the dot that shortens it, and what a hyphen joins to it."""
    end = at + 1
    if end < len(told) and told[end].word == "." and (len(told[at].word) == 1 or told[at].word in _SHORTENED):
        return end + 1
    while end + 1 < len(told) and told[end].word == "-" and told[end + 1].start - told[end - 1].end == 1:
        end += 2
    return end
