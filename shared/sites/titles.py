"""Names as they are compared: two that differ in spelling only are the same."""

from __future__ import annotations

import re
import unicodedata

_APOSTROPHES = re.compile(r"['’‘ʼ`´]")
_PUNCTUATION = re.compile(r"[\W_]+")
_TRAILING = re.compile(r"\s*(?:\((?:1[89]|20)\d\d\)|\brecipe)\s*$")
_ARTICLE = re.compile(r"^(?:the|an?) (?=.)")
_MOST_CHARS = 300


def plain_title(name: str) -> str:
    """A name without accents, case, punctuation, a leading article and a trailing year or "recipe".

    >>> plain_title("The Shining (1980)"), plain_title("Mom’s Crème Brûlée Recipe"), plain_title("Mac & Cheese!")
    ('shining', 'moms creme brulee', 'mac and cheese')
    >>> plain_title("1984"), plain_title("A"), plain_title("Recipe")
    ('1984', 'a', 'recipe')
    """
    letters = unicodedata.normalize("NFKD", name[:_MOST_CHARS])
    folded = "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()
    untrailed = _TRAILING.sub("", folded).strip() or folded
    spelled = _APOSTROPHES.sub("", untrailed.replace("&", " and "))
    return _ARTICLE.sub("", _PUNCTUATION.sub(" ", spelled).strip())


_DENIED = r"(?:not|no|except|excluding|besides|without|avoid|other than|apart from|instead of|anything but)"


def is_denied(title: str, query: str) -> bool:
    """Whether a query names a plain title only to leave it out.

    >>> is_denied("vertigo", "like Rear Window, but not Vertigo"), is_denied("vertigo", "films like Vertigo")
    (True, False)
    """
    return bool(title) and re.search(rf"\b{_DENIED} (?:the |an? )?{re.escape(title)}\b", _spaced(query)) is not None


def _spaced(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold().replace("&", " and "))
    kept = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return _PUNCTUATION.sub(" ", _APOSTROPHES.sub("", kept))
