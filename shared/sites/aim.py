"""What one question is after: what was read from its words, the rows that may answer, and how each of them stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from shared.contracts.constraints import Constraint, Met, Reading
from shared.contracts.notices import Notice, notice

if TYPE_CHECKING:
    from shared.index.columns import Mask
    from shared.models.provider import Ranker
    from shared.sites.eligible import Eligibility
    from shared.sites.site import Site


class Standing(Struct, frozen=True):
    """How an item stands to what was read: as the wire has it, and what it is sorted by.

    `leads` is compared before any band: whether a hard constraint is left open, then the place in the question's
    order. `misses` is 1 where a soft constraint is not met or not said. `is_told` is false where the question has an
    order and no constraint, so that there is nothing to meet.
    """

    met: Met
    unknown: tuple[str, ...]
    leads: tuple[int, int]
    misses: int
    is_told: bool = True

    @property
    def is_open(self) -> bool:
        """Whether the record leaves out something that the question demands."""
        return self.is_told and bool(self.leads[0])


class Pool(Struct, frozen=True):
    """Rows to search, None for all of them, and the constraints that made it.

    Each of its rows meets all of these; or, where it `is_open`, breaks none and does not say how it stands to one.
    """

    rows: Mask | None
    constraints: tuple[Constraint, ...] = ()
    is_open: bool = False


class Aim(Struct, frozen=True):
    """One wording of a question; `fit` is None where it demands nothing, and then every row may answer.

    `unread` is the code of the failure for which its words could not be read; empty where they were.
    """

    query: str
    reading: Reading
    fit: Eligibility | None = None
    unread: str = ""

    @property
    def searched(self) -> str:
        """What is looked up: the subject, since the rest is what decided which rows are searched.

        Left in, "4 bedrooms under $2M" finds records by their 4 and their 2m. Empty where nothing else was asked.
        """
        return self.reading.subject

    @property
    def pools(self) -> Sequence[Pool]:
        """The rows to search, the next pool only where one has too few: those that meet all, then the open ones.

        Where nothing is looked up, soft constraints are all there is to choose by, and those that meet them lead.
        """
        if self.fit is None:
            return [Pool(None)]
        hard = self.reading.hard
        if self.searched:
            return [Pool(self.fit.met, hard), Pool(self.fit.open, hard, is_open=True)]
        whole = self.fit.whole
        return [
            Pool(whole, self.reading.constraints),
            Pool(self.fit.met & ~whole, hard),
            Pool(self.fit.open, hard, is_open=True),
        ]

    def ranked_as(self, ranker: Ranker) -> str:
        """The question as a ranker reads it: whole, but for one that tells no number from another."""
        return self.query if reads_whole(ranker) else self.searched or self.query

    def needs_no(self, ranker: Ranker) -> bool:
        """Whether the columns have said all: nothing is left to compare items by, and either an order was asked for or
        this ranker would read nothing else."""
        return not self.searched and (self.reading.order is not None or not reads_whole(ranker))

    def standing_of(self, row: int) -> Standing | None:
        """How the item of a row stands; None where the question demands nothing."""
        if self.fit is None:
            return None
        met, unknown = self.fit.met_of(row)
        leads = (int(not self.fit.met[row]), self.fit.place_of(row))
        return Standing(met, unknown, leads, int(met is not True), bool(self.reading.constraints))

    @property
    def emptied(self) -> list[Notice]:
        """Where no row is left: by which words."""
        if self.fit is None or self.fit.emptied is None:
            return []
        left = self.fit.emptied
        until = [each.text for each in self.reading.hard][: 1 + self.reading.hard.index(left)]
        all_of = "all of " if len(until) > 1 else ""
        message = f"No matching results found: nothing here meets {all_of}{', '.join(f'“{text}”' for text in until)}."
        return [notice("no_results", message, candidates=0, constraint=left.wire())]


def reads_whole(ranker: Ranker) -> bool:
    """Whether a ranker understands figures and conditions: all do but the embedded one, which explains without chat."""
    return ranker.wants_batches or not ranker.explains


def aimed(query: str, site: Site) -> Aim:
    """The aim of a question that stands by itself. It may read columns: not for the event loop."""
    reading = site.read(query)
    return Aim(query, reading, site.eligible(reading) if reading.says_anything else None)


def unread_notices(aim: Aim) -> list[Notice]:
    """What was not read of a question: all of it, what is too long, names that nobody here has."""
    notices = []
    if aim.unread:
        message = "Conditions in the question could not be read; results are held to none of them by their columns."
        notices.append(notice("constraints_unread", message, reason=aim.unread))
    if aim.reading.is_partial:
        message = "The question is long: conditions were read from its beginning only; results are held to no others."
        notices.append(notice("constraints_unread", message, reason="question_too_long"))
    if aim.reading.unknown:
        said = ", ".join(f"“{each}”" for each in aim.reading.unknown)
        message = f"Nothing here names anybody so, and results are not held to it: {said}."
        notices.append(notice("constraints_unread", message, reason="name_unknown", texts=list(aim.reading.unknown)))
    return notices
