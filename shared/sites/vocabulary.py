"""The words that one collection's columns have, under every spelling that a question may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from shared.index.columns import Columns
from shared.index.item_lexical import item_tokens
from shared.sites.kinds.wording import Named

MOST_TOKENS = 6
"""No spelling longer than this is looked for."""

Lexicon = Mapping[str, tuple[str, ...]]
"""Spelling, as its tokens joined by blanks → the values of a column that it stands for."""


class SiteVocabulary:
    """What the columns of one release have.

    A lexicon is made when first needed: 0.2 s for 25,399 names of people, 4 ms for 313 of places.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def named(self, name: Named, said: str) -> tuple[str, str] | None:
        """The field, and the column's own value that a spelling stands for; of several values the spelling."""
        spelling = folded(name.aliases.get(said, said))
        found = {field: values for field in name.fields if (values := self._lexicon(name, field).get(spelling))}
        if not found:
            return None
        field = next(iter(found))
        if name.mostly and len(found) > 1:
            field = max(found, key=lambda each: int(self._columns.rows_with(each, found[each]).sum()))
        return field, _meant(found[field], spelling)

    def longest(self, name: Named, word: str) -> int:
        """How many tokens the longest spelling has that begins with a word, six at most; most words begin none."""
        longest = self._columns.kept(f"longest {_lexicon_key(name)}", name.fields[0], lambda: self._longest(name))
        first = item_tokens(word)[:1]
        return min(longest.get(first[0], 0) if first else max(longest.values(), default=0), MOST_TOKENS)

    def quantile(self, field: str, share: float) -> float | None:
        """The value below which a share of the items lies."""
        return self._columns.quantile(field, share)

    def values(self, name: Named, field: str, said: str) -> tuple[str, ...]:
        """The values of a column that a constraint's value stands for."""
        return self._lexicon(name, field).get(folded(said), ())

    def _longest(self, name: Named) -> dict[str, int]:
        spellings = [said for field in name.fields for said in self._lexicon(name, field)]
        return _longest_by_first([*spellings, *map(folded, name.aliases)]) if spellings else {}

    def _lexicon(self, name: Named, field: str) -> Lexicon:
        return self._columns.kept(
            f"lexicon {_lexicon_key(name)}", field, lambda: _lexicon(self._columns.vocabulary(field), name)
        )


def _lexicon_key(name: Named) -> str:
    """What tells the lexicons of one field apart."""
    return _told_apart(name.keys, name.blocked, bool(name.after))


@lru_cache(64)
def _told_apart(keys: Callable[[str], Iterable[str]], blocked: frozenset[str], is_announced: bool) -> str:
    return f"{keys.__module__}.{keys.__qualname__} {sorted(blocked)} {is_announced}"


class Unknown:
    """A collection of which nothing is known."""

    def named(self, name: Named, said: str) -> tuple[str, str] | None:
        """Nothing has a name here."""

    def longest(self, name: Named, word: str) -> int:  # noqa: ARG002 - as the protocol has it
        """No spelling, so none is long."""
        return 0

    def quantile(self, field: str, share: float) -> float | None:
        """Nothing is known of how much is much."""


def folded(said: str) -> str:
    """A spelling as it is compared: `Taupō` and `taupo` are one."""
    return " ".join(item_tokens(said))


def _meant(values: tuple[str, ...], spelling: str) -> str:
    """The one value of a spelling, or the one that is spelled just so; else the spelling itself."""
    if len(values) == 1:
        return values[0]
    return next((value for value in values if folded(value) == spelling), spelling)


def _longest_by_first(spellings: Iterable[str]) -> dict[str, int]:
    """First token → how many tokens the longest spelling has that begins with it."""
    longest: dict[str, int] = {}
    for first, *rest in (said.split() for said in spellings):
        longest[first] = max(longest.get(first, 0), 1 + len(rest))
    return longest


def _lexicon(values: tuple[str, ...], name: Named) -> Lexicon:
    found: dict[str, dict[str, None]] = {}
    for value in values:
        for key in _keys(value, name):
            found.setdefault(key, {})[value] = None
    return {key: tuple(meant) for key, meant in found.items()}


def _keys(value: str, name: Named) -> Iterator[str]:
    own = {value} if name.after else set()  # read wherever it stands, an author called "a" would be in every question
    for key in {*own, *name.keys(value)}:
        spelling = folded(key)
        if spelling and spelling not in name.blocked:
            yield spelling
