"""What the kinds' card texts and columns have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shared.contracts.items import Json, Value
from shared.sites.fields import fields_of
from shared.sites.values import at, clipped, number, whole

MOST_CHARS = 1_200
_MOST_DESCRIPTION = 600


def card(record: Json, *facts: str | Iterable[str], **lists: Sequence[str]) -> str:
    """Name, the facts in one line, the description, then each list by its name; at most 1,200 characters."""
    name, description, _ = fields_of(record)
    told = [one for fact in facts for one in ([fact] if isinstance(fact, str) else fact) if one]
    lines = [name.replace("\n", " / "), "; ".join(dict.fromkeys(told)), clipped(description, _MOST_DESCRIPTION)]
    lines += [f"{what}: {', '.join(members)}" for what, members in lists.items() if members]
    return clipped("\n".join(line for line in lines if line), MOST_CHARS)


def rating(record: Json) -> tuple[float | None, int | None]:
    """The rating as the record gives it, and how many gave it."""
    score = number(at(record, "aggregateRating", "ratingValue"))
    count = whole(at(record, "aggregateRating", "ratingCount"))
    return score, count if count is not None else whole(at(record, "aggregateRating", "reviewCount"))


def listed(value: Value) -> str:
    """The words of a column in one text."""
    return ", ".join(value) if isinstance(value, tuple) else ""
