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


def spaced(text: str) -> str:
    """A text as the names in it are compared: words with blanks between them."""
    letters = unicodedata.normalize("NFKD", text.casefold().replace("&", " and "))
    kept = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return _PUNCTUATION.sub(" ", _APOSTROPHES.sub("", kept))
