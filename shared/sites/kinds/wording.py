"""The words in which people say what an item of a kind must be like, as a kind declares them.

Phrases are written as they are read: in lower case, one blank between words; a hyphen between words reads as a blank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct, field

from shared.contracts.constraints import Constraint, Op

if TYPE_CHECKING:
    from shared.index.columns import Columns, Verdicts

Family = Literal["money", "length", "time", "area", "count", "year", "score"]
Bare = Literal["=", "<=", ">=", "~", ""]

Evaluate = Callable[[Constraint, "Columns"], "Verdicts"]
"""A verdict a row of a constraint over one field: YES, NO or UNSAID of shared/index/columns.py."""


class Vocabulary(Protocol):
    """What one collection has, as far as reading a question needs it."""

    def named(self, name: Named, said: str) -> tuple[str, str] | None:
        """The field and the value that a spelling stands for in this collection; None where it has no such word."""

    def longest(self, name: Named, word: str) -> int:
        """How many tokens the longest spelling has that begins with a word; 0 where none does."""

    def quantile(self, field: str, share: float) -> float | None:
        """The value below which a share of its items lies; None where no item has one."""


class Claim(Struct, frozen=True):
    """One condition as it was read, before it has an id."""

    field: str
    op: Op
    value: float | str
    unit: str = ""
    hard: bool = True


class Taken(Struct, frozen=True):
    """Tokens up to `end`, without it, were read as these conditions."""

    end: int
    claims: tuple[Claim, ...]


Taker = Callable[[Sequence[str], int, Vocabulary], Taken | None]
"""A kind's own reading at one token. Tokens are in lower case, each sign is one. It may look a few tokens ahead."""


class Measure(Struct, frozen=True, kw_only=True):
    """A column with numbers, in `unit` (as in UNITS of shared/sites/quantities.py; empty for counts and years).

    `most` is the column that upper bounds are for, where it is another one. `nouns` come after a number ("4 beds"),
    `before` in front of it ("rated 4"); `less` and `more` are comparisons of its own ("cheaper than"). `needs_noun`:
    its unit alone does not tell it. `bare` is what a number and its noun mean without a comparison, `~` is within
    `band` of it, softly; empty: nothing. A `plain` number between these, without unit, counts after a comparison.
    """

    field: str
    family: Family
    unit: str = ""
    most: str = ""
    nouns: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    needs_noun: bool = False
    bare: Bare = ""
    plain: tuple[float, float] | None = None
    band: float = 0.2


class Choice(Struct, frozen=True, kw_only=True):
    """A value of a word column, or what stands for it, and the phrases that ask for it.

    `meets` are the column's values that satisfy it (the value itself where none are given), `unsure` those that do
    not settle it. `order` is the whole ladder of an ordered column, from the least; then "no harder than" compares.
    """

    field: str
    value: str
    words: tuple[str, ...]
    meets: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    op: Op = "has"
    hard: bool = True


def as_typed(value: str) -> Iterable[str]:
    """A value is found under its own words only."""
    return (value,)


class Named(Struct, frozen=True, kw_only=True):
    """Words that this collection's columns have: places, people, genres. The first field that has a word is meant.

    `after` are the phrases that announce one; without any it is read wherever it stands. `keys(value)` are the
    spellings under which a column's value is found; `aliases` are more of them, spelling → value; what is in `blocked`
    never counts. Behind a phrase of `sure` a name stands: of one that is not known here the caller is told.
    A constraint's value is the column's own where just one is meant, else the spelling. `mostly`: the field that has
    it in most items is meant, not the first: who acts in ninety films and directed two is an actor.
    """

    fields: tuple[str, ...]
    after: tuple[str, ...] = ()
    sure: tuple[str, ...] = ()
    keys: Callable[[str], Iterable[str]] = as_typed
    aliases: Mapping[str, str] = field(default_factory=dict)
    blocked: frozenset[str] = frozenset()
    hard: bool = True
    mostly: bool = False


class Superlative(Struct, frozen=True, kw_only=True):
    """Words that ask for an order, where they speak of the kind's items: "newest homes", not "newest trends".

    `anything`: whatever noun follows is an item, as in "cheapest headphones".
    """

    words: tuple[str, ...]
    field: str
    descending: bool = False
    anything: bool = False


class Loose(Struct, frozen=True, kw_only=True):
    """Words that mean a number without saying it: a value, or the collection's own quantile. Always soft."""

    words: tuple[str, ...]
    field: str
    op: Op
    unit: str = ""
    value: float | None = None
    quantile: float | None = None
    anything: bool = False


class Wording(Struct, frozen=True, kw_only=True, eq=False):
    """All the words of one kind. `nouns` name its items, in the singular and the plural, `filler` says nothing of them.

    `evaluators` decide a field's constraints where comparing its values does not.
    """

    nouns: frozenset[str] = frozenset()
    filler: frozenset[str] = frozenset()
    measures: tuple[Measure, ...] = ()
    choices: tuple[Choice, ...] = ()
    names: tuple[Named, ...] = ()
    orders: tuple[Superlative, ...] = ()
    loose: tuple[Loose, ...] = ()
    takers: tuple[Taker, ...] = ()
    evaluators: Mapping[str, Evaluate] = field(default_factory=dict)

    def choice(self, field: str, value: str) -> Choice | None:
        """The declared choice of a field with this value."""
        return next((each for each in self.choices if (each.field, each.value) == (field, value)), None)

    def names_of(self, field: str) -> list[Named]:
        """The declared names that a field is looked up by."""
        return [each for each in self.names if field in each.fields]
