"""Takes out of a question the words that every table could be called by: "data on …", "… statistics".

    plain("show me the latest data on median income")  ->  "median income"

Whatever they stood beside is what is asked for. Left in, they drew in tables about statistics, and put others
first: of "population" and "population data" the first results had nothing in common.
"""

from __future__ import annotations

import re

# Longer texts are searched as written, as by shared/tables/places.py.
MAX_CHARS = 10_000

_GENERIC = r"(?:data(?:sets?)?|statistics?|stats|tables?|figures|numbers|information|info)"
_SEVERAL = rf"{_GENERIC}(?:(?:,| and| or| of| with) {_GENERIC})*"
_BEFORE = re.compile(
    r"^(?:(?:please |can you |could you )?(?:show|give|get|find|provide|list)(?: me)? |i (?:need|want) )?"
    r"(?:the |some |any |a |all )?(?:(?:latest|recent|official|public|available) )?"
    rf"{_SEVERAL} (?:on|about|for|of|regarding|concerning|showing|with) (?:the )?(?=\w)",
    re.IGNORECASE,
)
# Not after a preposition or an article, where they are what is asked about: "access to information".
_AFTER = re.compile(
    r"(?<!\bof)(?<!\bon)(?<!\bfor)(?<!\bin)(?<!\bto)(?<!\band)(?<!\bor)(?<!\bthe)(?<!\ba)(?<!\bwith)(?<!\bby)(?<!\babout)"
    rf",? (?!table\b|information\b|info\b|statistic\b){_SEVERAL}(?=[?.!]*$)",
    re.IGNORECASE,
)
_ONLY_GENERIC = re.compile(rf"(?:{_GENERIC}|total|the|of|and|or|a|some|any|on|all|[\W_])*", re.IGNORECASE)


def plain(text: str) -> str:
    """The text without such words at either end; unchanged, to the byte, where nothing else would be left."""
    if len(text) > MAX_CHARS:
        return text
    left = _AFTER.sub("", _BEFORE.sub("", text))
    return text if _ONLY_GENERIC.fullmatch(left) else left
