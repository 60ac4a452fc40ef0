"""How items are indexed and looked up by their words: the tokens of a text, and BM25F's knobs for three fields.

A text in ASCII gives the runs of its letters and digits, in lower case. Any other text gives the same for its ASCII
part, letters without their accents, and words of every other script.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from shared.index.lexical import Lexical, Weights, idf

# Name, description, body. One hit in a name outweighs the rest: of a saturated 1.0 it brings .955.
ITEM_WEIGHTS = Weights(fields=(32.0, 1.0, 0.5), k1=1.5, b=0.75, scaled=False, filled_only=True)

# Left out of questions only, and only where something else is left: "It" and "The Who" are names, too.
STOP_WORDS = frozenset(
    """a about am an and any are as at be been but by can could did do does down find for from give he her here his
    how i if in into is it its me my need needs of on or our out over she should show some than that the their
    them then there these they this those to under up want was we were what when where which who whom why will
    with would you your""".split()
)

_ASCII_WORD = re.compile(r"[a-z0-9]+")
# Scripts that put no blank between words: Thai and Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"([{_UNSPACED}]+)|[^\s{_UNSPACED}]+")
# Letters that Unicode does not take apart, as they are typed where they are not on the keyboard.
_PLAIN = {
    "ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ŧ": "t",
    "\u02bb": "", "\u02bc": "",  # the okina of Hawaiʻi and its like
}  # fmt: skip
# "350º", "Pyrex™" and "½ cup" are no longer words for these: what they stand for was not typed, so it is not looked up.
_SIGNS = ("<super>", "<sub>", "<fraction>", "<circle>", "<square>")
_LONGEST_TOKEN = 64


def item_tokens(text: str) -> list[str]:
    """What an item's text is indexed by, and a question is looked up by, in order.

    >>> item_tokens("Crème brûlée, 350°F"), item_tokens("Ishirō Honda"), item_tokens("七人の侍")
    (['creme', 'brulee', '350', 'f'], ['ishiro', 'honda'], ['七人', '人の', 'の侍'])
    """
    if text.isascii():
        return [word[:_LONGEST_TOKEN] for word in _ASCII_WORD.findall(text.lower())]
    folded = unicodedata.normalize("NFC", "".join(map(_folded, text.casefold())))
    return [token for match in _WORD.finditer(folded) for token in _tokens(match[0], unspaced=bool(match[1]))]


def item_query_tokens(text: str) -> list[str]:
    """The tokens of a question without stop words; all of them if nothing else is left. Repeated words stay."""
    every = item_tokens(text)
    return [token for token in every if token not in STOP_WORDS] or every


def question_weights(text: str, index: Lexical) -> Mapping[str, float]:
    """Token → what it weighs in this question: its idf, as often as it was typed."""
    return {token: count * idf(token, [index]) for token, count in Counter(item_query_tokens(text)).items()}


def _tokens(word: str, *, unspaced: bool) -> Iterator[str]:
    """The word; where nothing says where words end, each two neighbouring letters."""
    if not unspaced or len(word) < 3:
        yield word[:_LONGEST_TOKEN]
    else:
        yield from _pairs(word)


def _pairs(letters: Sequence[str]) -> Iterator[str]:
    for first, second in pairwise(letters):
        yield first + second


@lru_cache(4_096)
def _folded(letter: str) -> str:
    """A letter without its accent; a blank for what is part of no word, nothing for what is not seen.

    Only the accents of European letters and the vowel points of Hebrew and Arabic are optional to those who write
    them: a Japanese voicing mark or an Indic vowel sign makes another letter, and stays.
    """
    if unicodedata.category(letter) == "Cf" or _is_accent(letter):
        return ""
    if not _is_of_a_word(letter) or unicodedata.decomposition(letter).startswith(_SIGNS):
        return " "
    parts = unicodedata.normalize("NFKD", letter).casefold()
    return "".join(_PLAIN.get(part, part) for part in parts if _is_of_a_word(part) and not _is_accent(part))


def _is_of_a_word(letter: str) -> bool:
    """Letters, marks and digits; a number that is no digit, such as ½, is not."""
    kind = unicodedata.category(letter)
    return kind[0] in "LM" or kind == "Nd"


def _is_accent(letter: str) -> bool:
    return (
        "\u0300" <= letter <= "\u036f"
        or "\u0591" <= letter <= "\u05c7"
        or "\u064b" <= letter <= "\u065f"
        or letter == "\u0670"
    )
