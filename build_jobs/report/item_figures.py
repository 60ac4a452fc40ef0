"""The figures of `askbucket evaluate items`, for programs and for a terminal."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shared.words import counted

PAGE = 10
TOGETHER = "all kinds"


@dataclass(frozen=True, slots=True)
class Shown:
    """A result: `marked` is what the service says of it, `states` what its record says of the question's conditions.

    `marked` and `states` are None where the service or the record does not say.
    """

    name: str
    url: str
    marked: bool | None
    states: bool | None
    answers: bool
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question and what came of it. `right` counts the collection's right answers, None where nobody knows."""

    kind: str
    question: str
    states: bool
    is_answerable: bool
    right: int | None
    shown: Sequence[Shown]
    is_best_first: bool | None
    read: Sequence[str] | None
    said: Sequence[str]
    failed: bool
    took_ms: float

    @property
    def marked(self) -> list[Shown]:
        """Results that the service marks as meeting what the question states; it can promise nothing else of them."""
        return [each for each in self.shown if each.marked is True] if self.states else []

    @property
    def wrongly_marked(self) -> list[Shown]:
        return [each for each in self.marked if each.states is not True]

    @property
    def is_answered(self) -> bool:
        return any(each.answers for each in self.shown[:PAGE])

    def faults(self) -> Iterator[str]:
        """What is wrong with it, in words."""
        if self.failed:
            yield "failed"
        if self.wrongly_marked:
            yield "marked and does not satisfy: " + ", ".join(each.name for each in self.wrongly_marked)
        if self.is_answerable and not self.is_answered:
            yield "no right one shown" if self.shown else "nothing shown"
        if self.is_best_first is False:
            yield "another one comes first"


@dataclass(frozen=True, slots=True)
class ItemFigures:
    """Counts over some questions, and the shares that are promised: None where there is nothing to share out.

    `marked_right` of `marked` results satisfy; `answered` of `answerable` questions show a right one among ten;
    `best_first` of `superlatives` begin with the least or most. `violating` and `unknown` count results of questions
    that state something and whose record denies it or does not say. `silent` of `unanswerable` mark nothing.
    """

    questions: int
    marked: int
    marked_right: int
    marked_share: float | None
    answerable: int
    answered: int
    answered_share: float | None
    superlatives: int
    best_first: int
    shown: int
    violating: int
    unknown: int
    unanswerable: int
    silent: int
    failed: int
    p50_ms: float


@dataclass(frozen=True, slots=True)
class ItemReport:
    """Figures by kind and together, and every question that something is wrong with."""

    where: Mapping[str, str]
    parts: Mapping[str, ItemFigures]
    outcomes: Sequence[Outcome]

    @property
    def misses(self) -> list[Outcome]:
        return [each for each in self.outcomes if any(each.faults())]


def item_report(outcomes: Sequence[Outcome], where: Mapping[str, str]) -> ItemReport:
    """The report of at least one outcome."""
    kinds = dict.fromkeys(each.kind for each in outcomes)
    parts = {kind: figures([each for each in outcomes if each.kind == kind]) for kind in kinds}
    together = {TOGETHER: figures(outcomes)} if len(kinds) > 1 else {}
    return ItemReport(where, {**parts, **together}, outcomes)


def figures(outcomes: Sequence[Outcome]) -> ItemFigures:
    """The counts of at least one outcome."""
    marked = [each for one in outcomes for each in one.marked]
    right = sum(each.states is True for each in marked)
    answerable = [each for each in outcomes if each.is_answerable]
    answered = sum(each.is_answered for each in answerable)
    stating = [each for one in outcomes if one.states for each in one.shown]
    none = [each for each in outcomes if not each.is_answerable]
    ordered = [each.is_best_first for each in outcomes if each.is_best_first is not None]
    return ItemFigures(
        questions=len(outcomes),
        marked=len(marked),
        marked_right=right,
        marked_share=_share(right, len(marked)),
        answerable=len(answerable),
        answered=answered,
        answered_share=_share(answered, len(answerable)),
        superlatives=len(ordered),
        best_first=sum(ordered),
        shown=sum(len(each.shown) for each in outcomes),
        violating=sum(each.states is False for each in stating),
        unknown=sum(each.states is None for each in stating),
        unanswerable=len(none),
        silent=sum(not each.marked for each in none),
        failed=sum(each.failed for each in outcomes),
        p50_ms=round(statistics.median(each.took_ms for each in outcomes), 1),
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def items_as_json(report: ItemReport) -> dict[str, Any]:
    """The report as one JSON object."""
    return {
        "where": dict(report.where),
        "parts": {name: asdict(part) for name, part in report.parts.items()},
        "misses": [_miss(each) for each in report.misses],
    }


def _miss(each: Outcome) -> dict[str, Any]:
    return {
        "kind": each.kind,
        "question": each.question,
        "faults": list(each.faults()),
        "right": each.right,
        "read": None if each.read is None else list(each.read),
        "said": list(each.said),
        "shown": [asdict(one) for one in each.shown],
    }


_HEADER = f"{'':12}{'marked, right':>20}{'answered':>18}{'best first':>12}{'violating':>11}{'unknown':>9}{'silent':>9}"


def items_as_text(report: ItemReport) -> str:
    """A table of the kinds, then each question that something is wrong with."""
    lines = [_HEADER, *(_line(name, part) for name, part in report.parts.items()), ""]
    lines += [f"asked  {kind}: {where}" for kind, where in report.where.items()]
    for each in report.misses:
        read = "nothing" if not each.read else ", ".join(each.read)
        lines += ["", f"{each.kind}: {each.question}", f"  {'; '.join(each.faults())}", f"  read: {read}"]
    return "\n".join([*lines, "", counted(len(report.misses), "question") + " with something wrong"])


def _line(name: str, part: ItemFigures) -> str:
    marked = _of(part.marked_right, part.marked, part.marked_share)
    answered = _of(part.answered, part.answerable, part.answered_share)
    best, quiet = f"{part.best_first}/{part.superlatives}", f"{part.silent}/{part.unanswerable}"
    return f"{name:12}{marked:>20}{answered:>18}{best:>12}{part.violating:>11}{part.unknown:>9}{quiet:>9}"


def _of(part: int, whole: int, share: float | None) -> str:
    return "-" if share is None else f"{part}/{whole} {share:.1%}"
