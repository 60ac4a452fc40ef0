"""A recipe's diets and what it lacks, decided for every row of a site at once: what `diets` says, over its columns."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from shared.contracts.constraints import Constraint
from shared.index.columns import NO, UNSAID, YES, Columns, Mask, Verdicts, denied
from shared.sites.kinds.diets import RULES, groups_called, holds, sounds_like
from shared.sites.kinds.foods import tokens


def diets(constraint: Constraint, columns: Columns) -> Verdicts:
    """Which recipes suit the diet the constraint names, or, where it says `lacks`, do not."""
    verdicts = _suits(str(constraint.value), columns)
    return verdicts if constraint.op == "has" else denied(verdicts)


def ingredients(constraint: Constraint, columns: Columns) -> Verdicts:
    """Which recipes are made without the food the constraint names, or, where it says `has`, with it."""
    verdicts = _lacks(str(constraint.value), columns)
    return verdicts if constraint.op == "lacks" else denied(verdicts)


def _suits(diet: str, columns: Columns) -> Verdicts:
    rule = RULES.get(diet)
    if rule is None:
        return _settled(columns, yes=columns.rows_with("diets", [diet]))
    no = columns.rows_with("contains", rule.refused)
    if rule.together:
        no |= np.logical_and.reduce([columns.rows_with("contains", [group]) for group in sorted(rule.together)])
    open_ = _may_hold(columns, rule.refused | rule.replaced)
    declared = columns.rows_with("diets", [diet, *rule.declared_by])
    return _settled(columns, yes=declared | (columns.told("ingredients") & ~open_ & ~no), no=no & ~declared)


def _lacks(food: str, columns: Columns) -> Verdicts:
    listed = columns.told("ingredients")
    if groups := groups_called(food):
        no = columns.rows_with("contains", groups)
        return _settled(columns, yes=listed & ~_may_hold(columns, groups), no=no)
    words = tokens(food)
    phrases = columns.vocabulary("ingredients")
    no = columns.rows_with("ingredients", [phrase for phrase in phrases if holds(phrase, words)])
    open_ = columns.rows_with("ingredients", [phrase for phrase in phrases if sounds_like(phrase, words)])
    return _settled(columns, yes=listed & ~no & ~open_, no=no)


def _may_hold(columns: Columns, groups: Iterable[str]) -> Mask:
    wanted = sorted(groups)
    return columns.rows_with("contains", wanted) | columns.rows_with("may_contain", wanted)


def _settled(columns: Columns, yes: Mask, no: Mask | None = None) -> Verdicts:
    verdicts = np.full(columns.rows, UNSAID, np.int8)
    if no is not None:
        verdicts[no] = NO
    verdicts[yes] = YES
    return verdicts
