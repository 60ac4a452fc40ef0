"""Measures that are declared here, since their publisher serves records and no list of what the records measure.

The publisher's file shows that the fields are still there and which years it speaks of; the words are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from build_jobs.leaves.family import Joined
from build_jobs.leaves.rows import BadRow, Located, Row


@dataclass(frozen=True, slots=True)
class Measure:
    """One leaf of such a source; `terms` are the keys of its family."""

    id: str
    title: str
    description: str
    queries: tuple[str, ...]
    terms: Mapping[str, Any] = field(default_factory=dict)

    def row(self) -> Row:
        """The measure as a row of its family."""
        return {
            "id": self.id,
            "title": self.title,
            "description": self.description,
            "queries": list(self.queries),
            **self.terms,
        }


def measured_by(measures: Sequence[Measure]) -> Joined:
    """A join that makes each measure of any number of records; their `year`, where they have one, gives `years`."""

    def join(rows: Iterable[Located]) -> Iterator[Located | BadRow]:
        first: Located | None = None
        years: set[str] = set()
        for each in rows:
            first = first or each
            years |= {each.row["year"]} if each.row.get("year") else set()
        if first:
            said = {"years": [min(years), max(years)]} if years else {}
            for measure in measures:
                yield Located(first.line, {**measure.row(), **said}, first.file, published=True)

    return join


def coverage_of(row: Row, levels: Sequence[str]) -> dict[str, Any] | None:
    """Levels and the years that a row's file spoke of; None where it spoke of none."""
    years = row.get("years")
    if not isinstance(years, list) or len(years) != 2:
        return None
    return {"levels": list(levels), "dates": {"first": str(years[0]), "last": str(years[1])}}
