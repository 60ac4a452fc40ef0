"""Acronyms and full names: a table that says only "Consumer price index" is found by "CPI", and the other way round.

The pairs are those everybody in the field knows and those the catalog itself spells out, as in "official development
assistance (ODA)". What a document says in one form is added to its keywords in the other, when the index is built, so
that a search needs to know nothing of it. Embeddings know the common ones anyway; the keyword leg did not.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

Pairs = Mapping[str, str]
"""Acronym, in capitals, → full name in lower case."""

WELL_KNOWN: Pairs = {
    "BMI": "body mass index",
    "CPI": "consumer price index",
    "FDI": "foreign direct investment",
    "GDP": "gross domestic product",
    "GHG": "greenhouse gas",
    "GNI": "gross national income",
    "HDI": "human development index",
    "ODA": "official development assistance",
    "PPI": "producer price index",
    "PPP": "purchasing power parity",
    "SNAP": "supplemental nutrition assistance program",
    "USD": "us dollar",
    "VAT": "value added tax",
}

_SPELT_OUT = re.compile(r"((?:[\w'-]+[ -]){2,8})\(([A-Z]{3,6})\)")
_IN_BRACKETS = re.compile(r"\([A-Z]{3,6}\)")
_ACRONYM = re.compile(r"\b[A-Z]{3,6}\b")
_ANY_WORD = re.compile(r"\w+")
_WORD = re.compile(r"[A-Za-z]+")
_SMALL = frozenset("a an and at by for from in of on or the to with".split())
# A catalog's own pair must be spelt out in this many of its texts, and most of the time like this.
_LEAST_SEEN = 2
_LEAST_SHARE = 0.6


def learn(texts: Iterable[str]) -> Pairs:
    """The well-known pairs, and those that these texts spell out and agree on."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        if not _IN_BRACKETS.search(text):
            continue  # the longer pattern tries every word of a text: 3.5 s of 10,885 leaves against 0.05
        for before, acronym in set(_SPELT_OUT.findall(text)):
            if name := _named_by(_WORD.findall(before.lower()), acronym.lower()):
                seen[acronym][name] += 1
    learnt = {acronym: names.most_common(1)[0] for acronym, names in seen.items()}
    agreed = {
        acronym: name
        for acronym, (name, count) in learnt.items()
        if count >= _LEAST_SEEN and count >= _LEAST_SHARE * seen[acronym].total()
    }
    return {**agreed, **WELL_KNOWN}


def _named_by(words: Sequence[str], acronym: str) -> str:
    """The last of these words, from the first that the acronym's letters begin, or nothing where they do not fit."""
    for start in range(len(words) - 1, -1, -1):
        name = words[start:]
        if words[start] not in _SMALL and _initials(name) == acronym:
            return " ".join(name)
    return ""


def _initials(words: Sequence[str]) -> str:
    return "".join(word[0] for word in words if word not in _SMALL)


class Aliases:
    """Says what a text says in its other form."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        self._by_name = {name: acronym for acronym, name in pairs.items()}
        names = sorted(map(re.escape, self._by_name), key=len, reverse=True)
        self._names = re.compile(rf"\b(?:{'|'.join(names)})(?=(?:e?s)?\b)", re.IGNORECASE)
        self._by_first_word: defaultdict[str, list[str]] = defaultdict(list)
        for name in self._by_name:
            self._by_first_word[name.partition(" ")[0]].append(name)

    def of(self, text: str) -> str:
        """Acronyms of the full names in a text, and full names of its acronyms, where it has only one of the two."""
        acronyms = {found for found in _ACRONYM.findall(text) if found in self._pairs}
        named = {self._by_name[found.lower()] for found in self._names.findall(text)} if self._may_name(text) else set()
        return " ".join([*sorted(named - acronyms), *(self._pairs[each] for each in sorted(acronyms - named))])

    def _may_name(self, text: str) -> bool:
        """Whether a text may hold a name: the long pattern, tried on all of 118,703 leaves, takes 12 s."""
        folded = text.casefold()
        first_words = self._by_first_word.keys() & set(_ANY_WORD.findall(folded))
        return any(name in folded for word in first_words for name in self._by_first_word[word])
