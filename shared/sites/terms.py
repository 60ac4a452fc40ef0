"""What a question demands, as terms that a store with the same columns can filter by.

A term holds of every row of the pool it was made for; what has none is left to the mask of rows, which decides in any
case.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from shared.contracts.constraints import OR, Constraint
from shared.index.columns import Columns
from shared.index.item_vectors import Compared, Has, Term, Unsaid
from shared.sites.eligible import words_by_column
from shared.sites.kinds.wording import Wording

_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
}  # fmt: skip
# A name that stands for more words than this would make a statement that costs more than it saves.
_MOST_PARTS = 100


def terms_where_met(constraints: Iterable[Constraint], columns: Columns, wording: Wording) -> tuple[Term, ...]:
    """The terms of rows that meet every one of these."""
    terms = (_holds(each, columns, wording) for each in constraints)
    return tuple(term for term in terms if 0 < len(term) <= _MOST_PARTS)


def terms_where_open(constraints: Iterable[Constraint], columns: Columns, wording: Wording) -> tuple[Term, ...]:
    """The terms of rows that break none of these, and do not say how they stand to at least one."""
    terms: list[Term] = []
    somewhere: list[Term] = []
    for each in constraints:
        holds, unsaid = _holds(each, columns, wording), _unsaid(each, columns, wording)
        terms += [holds + unsaid] if holds and unsaid else []
        somewhere.append(unsaid)
    terms += [sum(somewhere, ())] if all(somewhere) else []
    return tuple(term for term in terms if 0 < len(term) <= _MOST_PARTS)


def _holds(constraint: Constraint, columns: Columns, wording: Wording) -> Term:
    """What holds wherever the constraint is met; nothing where that cannot be said so."""
    if constraint.field in wording.evaluators or constraint.op == "lacks":
        return ()
    if constraint.op != "has":
        return _compares(constraint, wording)
    return tuple(dict.fromkeys(part for value in _values(constraint) for part in _has(value, columns, wording)))


def _unsaid(constraint: Constraint, columns: Columns, wording: Wording) -> Term:
    """What holds wherever a row does not say whether it meets the constraint; nothing where that cannot be said so."""
    is_step = constraint.op not in ("has", "lacks") and isinstance(constraint.value, str)
    if constraint.field in wording.evaluators or is_step:
        return ()
    if constraint.op not in ("has", "lacks") or any(each.field == constraint.field for each in wording.measures):
        return (Unsaid((constraint.field,)),)
    return tuple(dict.fromkeys(part for value in _values(constraint) for part in _says_no(value, columns, wording)))


def _values(constraint: Constraint) -> list[Constraint]:
    """A constraint for each of the values that will do."""
    return [replace(constraint, value=value) for value in str(constraint.value).split(OR)]


def _compares(constraint: Constraint, wording: Wording) -> Term:
    if isinstance(constraint.value, str):
        return tuple(Has(constraint.field, step) for step in _steps(constraint, constraint.value, wording))
    if constraint.op == "has" or constraint.op == "lacks":  # noqa: PLR1714 - mypy narrows by these and not by `in`
        return ()
    return (Compared(constraint.field, constraint.op, float(constraint.value)),)


def _steps(constraint: Constraint, value: str, wording: Wording) -> Iterable[str]:
    """The steps of an ordered column that compare as they should."""
    steps = next((each.order for each in wording.choices if each.field == constraint.field and each.order), ())
    if value not in steps:
        return ()
    place, holds = steps.index(value), _COMPARE[constraint.op]
    return [step for number, step in enumerate(steps) if holds(number, place)]


def _has(constraint: Constraint, columns: Columns, wording: Wording) -> Term:
    value = str(constraint.value)
    if (choice := wording.choice(constraint.field, value)) is not None:
        return tuple(Has(choice.field, meets) for meets in choice.meets or (choice.value,))
    named = words_by_column(constraint.field, value, columns, wording)
    return tuple(Has(column, word) for column, words in named.items() for word in words)


def _says_no(constraint: Constraint, columns: Columns, wording: Wording) -> Term:
    """Where nothing is said of it, or what does not settle it."""
    value = str(constraint.value)
    if (choice := wording.choice(constraint.field, value)) is not None:
        return (Unsaid((choice.field,)), *(Has(choice.field, unsure) for unsure in choice.unsure))
    return (Unsaid(tuple(words_by_column(constraint.field, value, columns, wording))),)
