"""Exact lookups: the documents of one published variable, and how a quantity is split. No model, no vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from shared.index.records import Quantity
from shared.tables.tables import Tables

VARIABLE_LIMIT = (20, 50)
VARIABLES_LIMIT = (200, 500)


def variable(tables: Tables, *, id: str, limit: int) -> dict[str, Any]:
    """Every source's document for one published variable, over all catalogs, widest coverage first.

    Coverage compares places, then geographic levels, then the span of dates; ties go by path.
    An id nobody publishes gives an empty list: it is an answer, not a fault.
    """
    found = [
        (tuple(-part for part in width), catalog.prefix + path, catalog.first_row + row)
        for catalog in tables.catalogs
        for width, path, row in catalog.records.rows_of_variable(id)
    ]
    found.sort()
    rows = [row for _, _, row in found[:limit]]
    hits = tables.hits(rows)
    return {
        "variable": id,
        "results": [tables.entry(hits[row]) for row in rows],
        "total": len(found),
        "truncated": len(found) > limit,
    }


def variables(
    tables: Tables,
    *,
    population_type: str,
    measured_property: str,
    stat_type: str,
    constraints: Sequence[str] | None,
    limit: int,
) -> dict[str, Any]:
    """How a quantity is split (constraints None), or the variables split by exactly those dimensions.

    An empty list means the unsplit totals.
    """
    quantity = {"populationType": population_type, "measuredProperty": measured_property, "statType": stat_type}
    found = _merged(tables, population_type, measured_property, stat_type)
    if constraints is None:
        return {**quantity, **_dimensions(found, limit)}
    wanted = tuple(sorted(set(constraints)))
    chosen = [each for each in found if each.dimensions == wanted]
    return {
        **quantity,
        "constraints": list(wanted),
        "variables": [
            {"variable": each.variable, "displayName": each.title, "documents": each.documents}
            for each in chosen[:limit]
        ],
        "total": len(chosen),
        "truncated": len(chosen) > limit,
    }


def _dimensions(found: Sequence[Quantity], limit: int) -> dict[str, Any]:
    counts = Counter(each.dimensions for each in found)
    ordered = sorted(counts, key=lambda names: (len(names), names))
    return {
        "dimensions": [{"constraints": list(names), "count": counts[names]} for names in ordered[:limit]],
        "total": len(ordered),
        "truncated": len(ordered) > limit,
    }


def _merged(tables: Tables, *quantity: str) -> list[Quantity]:
    """One line a variable: a variable that two catalogs publish counts once, with the documents of both."""
    merged: dict[tuple[tuple[str, ...], str], Quantity] = {}
    for catalog in tables.catalogs:
        for each in catalog.records.quantities(*quantity):
            key = (each.dimensions, each.variable)
            before = merged.get(key)
            documents = each.documents + (before.documents if before else 0)
            title = min(each.title, before.title) if before else each.title
            merged[key] = Quantity(each.dimensions, each.variable, title, documents)
    return [merged[key] for key in sorted(merged)]
