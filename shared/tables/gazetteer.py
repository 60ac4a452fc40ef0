"""The place names and the words around them, as compiled into gazetteer.json by `build_jobs/gazetteer.py`.

Opened on first use only: a function that never strips a place never reads it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from enum import IntEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("gazetteer.json")
FORMAT = 1

# Letters and digits with their combining marks. Underscore counts, so that a code (`Count_Person_Female`) is one word.
_WORD = re.compile(r"[\w\u0300-\u036f]+")
# Letters that decomposition leaves alone.
_PLAIN = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "ς": "σ"})
# No name has a longer word. Putting marks in order is quadratic in their number: 8,000 of them took 0.1 s.
_LONGEST_WORD = 40


class Evidence(IntEnum):
    """What a name needs around it to be read as a place."""

    NONE = 0  # it is one anywhere
    BOUNDARY = 1  # after a preposition, at either end of the text, or capitalised in a sentence
    WORD = 2  # also an English word: capitalised after a preposition, or before its state or country
    ABBREVIATION = 3  # capitals, or "the" or "in" before it: "us" is a pronoun
    MODIFIER = 4  # an adjective: only before the noun it describes


class Name(NamedTuple):
    """What is known of a name: its kind (`us`, `state`, `town`, `country`, …) and the evidence it needs."""

    kind: str
    evidence: Evidence


class Word(NamedTuple):
    """One word of a text: where it lies, and its key (no accents, no case)."""

    start: int
    end: int
    key: str


class Gazetteer(NamedTuple):
    """Names by key, and the word lists by the names they have in build_jobs/gazetteer.toml."""

    names: Mapping[str, Name]
    first_words: frozenset[str]  # of names and counties
    counties: frozenset[str]
    unless: Mapping[str, frozenset[str]]
    lists: Mapping[str, frozenset[str]]


@cache
def gazetteer() -> Gazetteer:
    """The compiled gazetteer; read once a process (2 ms)."""
    return _parse(json.loads(FILE.read_text(encoding="utf-8")))


def _parse(data: Mapping[str, Any]) -> Gazetteer:
    if data["format"] != FORMAT:
        raise ValueError(f"{FILE.name} has format {data['format']}, expected {FORMAT}; compile it again")
    names: dict[str, Name] = {}
    for group in data["names"]:
        names.update(dict.fromkeys(group["keys"].split("|"), Name(group["kind"], Evidence(group["evidence"]))))
    counties = frozenset(data["counties"].split("|"))
    return Gazetteer(
        names=names,
        first_words=frozenset(key.partition(" ")[0] for key in (*names, *counties)),
        counties=counties,
        unless={name: frozenset(words) for name, words in data["unless"].items()},
        lists={name: frozenset(phrases) for name, phrases in data["lists"].items()},
    )


def words(text: str) -> list[Word]:
    """The words of any string, initialisms (`U.S.`, `D.C.`) as one."""
    found: list[Word] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        if found and end - start == 1 and _continues(text, found[-1], start):
            before = found.pop()
            found.append(Word(before.start, _past_dot(text, end), before.key + _key(match.group())))
        else:
            found.append(Word(start, end, _key(match.group())))
    return found


def key_of(name: str) -> str:
    """The key a name is kept under: the keys of its words."""
    return " ".join(word.key for word in words(name))


def _continues(text: str, before: Word, start: int) -> bool:
    """A single letter right after `X.`: the next letter of an initialism."""
    if start != before.end + (text[before.end - 1] != "."):
        return False
    return text[start - 1] == "." and (before.end - before.start == 1 or text[before.end - 1] == ".")


def _past_dot(text: str, end: int) -> int:
    return end + 1 if text[end : end + 1] == "." else end


def _key(word: str) -> str:
    if len(word) > _LONGEST_WORD:
        return ""
    if word.isascii():
        return word.lower()
    return _folded(word)


@lru_cache(maxsize=1024)
def _folded(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word).casefold().translate(_PLAIN)
    return "".join(letter for letter in plain if not unicodedata.combining(letter))
