"""Which items a question may find at all: every hard constraint, decided for every row of a site at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from shared.contracts.constraints import OR, TO, Constraint, Met, Order, Reading
from shared.index.columns import NO, UNSAID, YES, Columns, Mask, Numbers, Verdicts, denied
from shared.sites.kinds.wording import Choice, Named, Wording
from shared.sites.vocabulary import SiteVocabulary

_COMPARE: Mapping[str, Callable[[Numbers, float], Mask]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "=": np.equal,
}  # fmt: skip
Places = npt.NDArray[np.int64]


class Eligibility(Struct, frozen=True):
    """How each row stands to what was read.

    In `met` every hard constraint is true; in `open` none is false and at least one is not said. All other rows are
    out. `emptied` is the first hard constraint that left neither, in the question's order.
    """

    met: Mask
    open: Mask
    emptied: Constraint | None
    _verdicts: Mapping[str, Verdicts]
    _places: Places | None

    @property
    def whole(self) -> Mask:
        """The rows of which every constraint is true, the soft ones too."""
        return reduce(np.logical_and, (verdicts == YES for verdicts in self._verdicts.values()), self.met)

    def met_of(self, row: int) -> tuple[Met, tuple[str, ...]]:
        """Whether a row meets every constraint, the soft ones too, and the ids of those its record does not say."""
        said = {name: int(verdicts[row]) for name, verdicts in self._verdicts.items()}
        unknown = tuple(name for name, verdict in said.items() if verdict == UNSAID)
        if NO in said.values():
            return False, unknown
        return (None if unknown else True), unknown

    def ordered(self, rows: Mask, limit: int) -> list[int]:
        """The first of these rows in the question's order; ties, and all without an order, as they lie."""
        chosen = np.flatnonzero(rows)
        if self._places is not None:
            chosen = chosen[np.argsort(self._places[chosen], kind="stable")]
        return [int(row) for row in chosen[:limit]]

    def place_of(self, row: int) -> int:
        """Where a row stands in the question's order, 0 the first, equal values together; 0 for all without one."""
        return 0 if self._places is None else int(self._places[row])


def eligible(reading: Reading, columns: Columns, wording: Wording) -> Eligibility:
    """Decide a reading over a site's columns. Raises ReleaseIncompatible where a column cannot be read."""
    verdicts = {each.id: _verdicts(each, columns, wording) for each in reading.constraints}
    hard = [each for each in reading.constraints if each.hard]
    left = np.ones(columns.rows, np.bool_)
    sure = np.ones(columns.rows, np.bool_)
    emptied: Constraint | None = None
    for each in hard:
        left = left & (verdicts[each.id] != NO)
        sure &= verdicts[each.id] == YES
        if emptied is None and not left.any():
            emptied = each
    places = _places(reading.order, columns, wording) if reading.order else None
    return Eligibility(sure, left & ~sure, emptied, verdicts, places)


def _verdicts(constraint: Constraint, columns: Columns, wording: Wording) -> Verdicts:
    """A verdict a row. Where several values are named, any of them will do; none of them, where they are denied."""
    values = constraint.value.split(OR) if isinstance(constraint.value, str) else [constraint.value]
    each = [_decided(replace(constraint, value=value), columns, wording) for value in values]
    return reduce(_both if constraint.op == "lacks" else _either, each)


def _either(one: Verdicts, other: Verdicts) -> Verdicts:
    """True where one is, not said where one is not said, else false."""
    neither = np.where((one == NO) & (other == NO), NO, UNSAID)
    return np.where((one == YES) | (other == YES), YES, neither).astype(np.int8)


def _both(one: Verdicts, other: Verdicts) -> Verdicts:
    return denied(_either(denied(one), denied(other)))


def _decided(constraint: Constraint, columns: Columns, wording: Wording) -> Verdicts:
    evaluate = wording.evaluators.get(constraint.field)
    if evaluate is not None:
        return evaluate(constraint, columns)
    if constraint.op == "lacks" and any(each.field == constraint.field for each in wording.measures):
        return denied(_within(str(constraint.value), columns.numbers(constraint.field)))
    if constraint.op in ("has", "lacks"):
        verdicts = _has(constraint, columns, wording)
        return denied(verdicts) if constraint.op == "lacks" else verdicts
    if isinstance(constraint.value, str):
        ladder = _ladder_of(constraint.field, wording)
        rank = float(ladder.index(constraint.value)) if constraint.value in ladder else np.nan
        return compared(_ranks(constraint.field, columns, ladder), constraint.op, rank)
    return compared(columns.numbers(constraint.field), constraint.op, constraint.value)


def _within(stretch: str, numbers: Numbers) -> Verdicts:
    """Whether a number is a value, or lies from one to another."""
    ends = [float(end) for end in stretch.split(TO)]
    return _both(compared(numbers, ">=", ends[0]), compared(numbers, "<=", ends[-1]))


def compared(numbers: Numbers, op: str, value: float) -> Verdicts:
    """A verdict a row; not said where there is no number. Halves of a thousandth are no difference."""
    near = round(value, 6)
    held = _COMPARE[op](np.round(numbers, 6), near)
    return np.where(np.isnan(numbers), UNSAID, np.where(held, YES, NO)).astype(np.int8)


def _has(constraint: Constraint, columns: Columns, wording: Wording) -> Verdicts:
    value = str(constraint.value)
    if (choice := wording.choice(constraint.field, value)) is not None:
        return _chosen(choice, columns)
    named = words_by_column(constraint.field, value, columns, wording)
    found = reduce(np.logical_or, [columns.rows_with(field, words) for field, words in named.items()])
    return settled(found, reduce(np.logical_or, [columns.told(field) for field in named]))


def words_by_column(field: str, value: str, columns: Columns, wording: Wording) -> dict[str, list[str]]:
    """The columns that a name is looked up in, and the words of each that it stands for. One of them is enough."""
    names, known = wording.names_of(field), SiteVocabulary(columns)
    found: dict[str, list[str]] = {}
    for asked in _asked(field, names, columns):
        values = [one for each in names if asked in each.fields for one in known.values(each, asked, value)]
        found[asked] = values or [value]
    return found


def _asked(field: str, names: Sequence[Named], columns: Columns) -> Sequence[str]:
    """The columns to look in: a place may be a town's or a region's name, but who directs is not asked of who acts."""
    together = dict.fromkeys(each for name in names for each in name.fields)
    return (field,) if not together or any(columns.has_words(each) for each in together) else tuple(together)


def _chosen(choice: Choice, columns: Columns) -> Verdicts:
    found = columns.rows_with(choice.field, choice.meets or (choice.value,))
    verdicts = settled(found, columns.told(choice.field))
    if choice.unsure:
        verdicts[columns.rows_with(choice.field, choice.unsure) & ~found] = UNSAID
    return verdicts


def settled(found: Mask, told: Mask) -> Verdicts:
    """True where found, false where anything else was told, else not said."""
    return np.where(found, YES, np.where(told, NO, UNSAID)).astype(np.int8)


def _ladder_of(field: str, wording: Wording) -> tuple[str, ...]:
    return next((each.order for each in wording.choices if each.field == field and each.order), ())


def _ranks(field: str, columns: Columns, ladder: Sequence[str]) -> Numbers:
    def made() -> Numbers:
        rank = {value: float(place) for place, value in enumerate(ladder)}
        return np.array([rank.get(text or "", np.nan) for text in columns.texts(field)], np.float64)

    return columns.kept("ranks", field, made)


def _places(order: Order, columns: Columns, wording: Wording) -> Places:
    """The place of each row, equal values on one; what says nothing comes last."""
    values = _sortable(order.field, columns, wording)
    _, places = np.unique(-values if order.descending else values, return_inverse=True)
    return np.where(np.isnan(values), len(values), places).astype(np.int64)


def _sortable(field: str, columns: Columns, wording: Wording) -> Numbers:
    ladder = _ladder_of(field, wording)
    return _ranks(field, columns, ladder) if ladder else columns.numbers(field)
