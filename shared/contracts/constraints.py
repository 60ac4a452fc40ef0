"""What a question demands of an item, read from its words: conditions over the kind's typed columns, and an order."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Op = Literal["<=", "<", ">=", ">", "=", "has", "lacks"]
"""Numbers and years are compared; a word column `has` or `lacks` a word. A range is two constraints; a number column
`lacks` a value or a stretch ("1980 to 1989") that a question leaves out."""

OR, TO = " or ", " to "
"""Between the values of a `has` or `lacks` that names several, and between the ends of a stretch of numbers."""

Met = Literal[True, False] | None
"""Whether an item meets a constraint; None: its record does not say."""


class Constraint(Struct, frozen=True):
    """One condition. `id` tells it from the others of its question; `text` are the words it was read from.

    `field` is a typed column of the kind, `value` is in that column's unit, which `unit` names ("USD", "sqft", "min";
    empty for a count, a year or a word). A hard one decides which items are searched at all; another one is left to
    the ranker.
    """

    id: str
    field: str
    op: Op
    value: float | str
    unit: str
    text: str
    hard: bool = True

    def wire(self) -> dict[str, Any]:
        """As the `restrictions` event has it."""
        value = int(self.value) if isinstance(self.value, float) and self.value.is_integer() else self.value
        return {
            "id": self.id, "field": self.field, "op": self.op, "value": value, "unit": self.unit, "text": self.text,
            "hard": self.hard,
        }  # fmt: skip


class Order(Struct, frozen=True):
    """Items sorted by a column, because the question says so ("cheapest"); what has no value comes last."""

    field: str
    descending: bool
    text: str

    def wire(self) -> dict[str, Any]:
        """As the `restrictions` event has it."""
        return {"field": self.field, "descending": self.descending, "text": self.text}


class Reading(Struct, frozen=True):
    """What was read from a question. `subject` is the rest of it: what the thing is, with nothing read left in it.

    `subject` is empty where the question says nothing else ("4 bedrooms under $300k"): then every item that meets
    the constraints is an answer. `is_partial`: the question goes on behind what is read of one. `unknown` are words
    that name somebody whom nothing here names, so that they are no condition.
    """

    subject: str
    constraints: tuple[Constraint, ...] = ()
    order: Order | None = None
    is_partial: bool = False
    unknown: tuple[str, ...] = ()

    @property
    def says_anything(self) -> bool:
        """Whether there is anything to filter or sort by."""
        return bool(self.constraints) or self.order is not None

    @property
    def hard(self) -> tuple[Constraint, ...]:
        """Those that decide which items are searched."""
        return tuple(each for each in self.constraints if each.hard)
