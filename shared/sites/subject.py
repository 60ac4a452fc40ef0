"""What is left of a question once conditions were read from it: what the thing is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.index.item_lexical import STOP_WORDS
from shared.sites.kinds.wording import Wording

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
_TIE_BEFORE = re.compile(
    r"(?:(?:^|\s)(?:with|and|or|for|that|which|is|are|has|have|having|costing|a|an|the|in|of|but|at|to|on|it|its"
    r"|by|must|be|should|only|priced|under|takes?|taking|needs?|we|i|they|my|no|not)|[\s,;:(&/-])+$",
    re.IGNORECASE,
)
_TIE_BEHIND = re.compile(r"^(?:[\s,;.:!?)&/-]+|(?:and|or|but|also|plus|that|which|too|please)\b)+", re.IGNORECASE)
_ENDS = re.compile(r"[\s,;.:!?&-]+$")
_NOTHING_SAID = STOP_WORDS | frozenset(
    """with without please looking like something anything one ones got near no not or only also very all any let us
    best nice really buy get have has but just at must list top options option recommend suggest suggestions tell
    there's i'm i'd we're we'd it's available within can't don't thing things kind sort""".split()
)


def subject_of(text: str, cuts: Sequence[tuple[int, int]], wording: Wording) -> str:
    """What `left_of` leaves; empty where that is nothing but what the kind's items are called and words that say
    nothing.
    """
    left = left_of(text, cuts)
    return left if _says_something(left, wording) else ""


def left_of(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    """The text without these spans, and without the words that tied them to it."""
    pieces = []
    at = 0
    for start, end in (*sorted(cuts), (len(text), len(text))):
        piece = text[at : max(at, start)]
        piece = _TIE_BEHIND.sub("", piece) if at else piece
        piece = _TIE_BEFORE.sub("", piece) if start < len(text) else piece
        pieces.append(piece.strip())
        at = max(at, end)
    return " ".join(_ENDS.sub("", " ".join(piece for piece in pieces if piece)).split())


def _says_something(left: str, wording: Wording) -> bool:
    words = [word.lower() for word in _WORD.findall(left)]
    return any(word not in _NOTHING_SAID | wording.nouns | wording.filler for word in words)
