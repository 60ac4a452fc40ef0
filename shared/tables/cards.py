"""The card of a table: what a judge is shown of it, taken from the leaf and from nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

from shared.contracts.leaf import Leaf
from shared.models.judging import Card
from shared.tables.coverage import coverage

MAX_CARD_QUERIES = 6

_LEVELS = {
    "continent": "continents",
    "region": "world regions",
    "country": "countries",
    "state": "states",
    "county": "counties",
    "metro": "metropolitan areas",
    "city": "cities",
    "place": "places",
    "district": "districts",
    "tract": "census tracts",
    "zip": "ZIP codes",
}
_ABOVE_COUNTRIES = {"continent", "region", "country"}


def card(leaf: Leaf) -> Card:
    """The card of one leaf."""
    return Card(
        title=leaf.title,
        description=leaf.description,
        queries=leaf.queries[:MAX_CARD_QUERIES],
        scope=leaf.scope,
        geography=geography(leaf.tags),
        coverage=coverage(leaf),
        code=leaf.code or "",
    )


def geography(tags: Sequence[str]) -> str:
    """The geographic levels among a leaf's tags, in words; a countries-only table also says what it lacks.

    A judge once chose a table of US states for New Zealand, and one of 45 countries for Africa: the levels
    have to reach it.
    """
    levels = [level for level in _LEVELS if level in tags]
    if not levels:
        return ""
    words = ", ".join(_LEVELS[level] for level in levels)
    return words if set(levels) - _ABOVE_COUNTRIES else f"{words}; not published for any area inside a country"
