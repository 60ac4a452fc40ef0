"""The gate: whether a release may take the place of the current one, each check with what it found, in words.

`files`, `urns` and `vectors` are about the release alone: one that fails there could not be served right, and no flag
publishes it. `sources` and `scores` compare it with the current release, `beside` one that extends the built-in catalog
with that, and `current` is there where the current release cannot be compared with: who knows better says `--force`,
and that is written into the manifest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shared.contracts.status import Check, Scores
from shared.errors import BuildError
from shared.settings import Settings

Counts = Mapping[str, Mapping[str, int]]
"""Of each source directory or site: what is counted, such as `rows`, and how many there are."""

_MOST_NAMED = 5
# What is counted of a source, the reason before what follows from it.
_TOLD_FIRST = ("rows", "readable", "described", "told", "coded")
_ROUNDING = 1e-9
_CALLED = {"recall_at_10": "R@10", "mrr": "MRR@10", "no_match_right": "no match where nothing answers"}


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a release may fall behind the current one: shares of a source's rows, and of a score's 1."""

    most_shrink: float
    score_margin: float

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """As the settings say."""
        return cls(settings.gate_most_shrink, settings.gate_score_margin)


@dataclass(slots=True)
class Gate:
    """The checks of one build, in the order in which they were made. `force` lets those pass that compare."""

    limits: Limits
    force: bool = False
    checks: list[Check] = field(default_factory=list)

    def passed(self, name: str, message: str) -> None:
        """Write down a check of the release alone, which raises where it fails."""
        self.checks.append(Check(name=name, verdict="passed", message=message))

    def skipped(self, name: str, message: str) -> None:
        """Write down a check that could not be made, and why."""
        self.checks.append(Check(name=name, verdict="skipped", message=message))

    def compare_sources(self, before: Counts | None, after: Counts) -> None:
        """Whether a source has lost more than the share that is allowed. Raises BuildError naming each, unless forced.

        `before` is None where there is no current release.
        """
        if before is None:
            self.skipped("sources", "no current release to compare with")
            return
        lost = list(_lost(before, after, self.limits.most_shrink))
        self._settle("sources", lost, f"no source lost more than {self.limits.most_shrink:.0%}")

    def refuse_current(self, fault: str) -> None:
        """The current release is one that this build cannot be held against. Raises BuildError, unless forced."""
        self._settle("current", [fault], "")

    def compare_scores(self, before: Mapping[str, Scores], after: Mapping[str, Scores]) -> None:
        """Whether judged questions score worse by more than the margin. Raises BuildError, unless forced.

        Both have the same suites, asked of the same judge.
        """
        worse = [said for suite, own in after.items() for said in _worse(suite, before[suite], own, self._margin)]
        fine = f"{told(after)}; no worse than the current release by more than {self._margin:g}"
        self._settle("scores", worse, fine)

    def compare_beside(self, faults: Sequence[str], fine: str) -> None:
        """Whether it can be mounted beside the built-in catalog. Raises BuildError for faults, unless forced."""
        self._settle("beside", faults, fine)

    @property
    def refusals(self) -> list[str]:
        """What failed so far, in words."""
        return [f"{check.name}: {check.message}" for check in self.checks if check.verdict == "failed"]

    @property
    def was_forced(self) -> bool:
        """Whether a check failed and the release is to be published all the same."""
        return any(check.verdict == "failed" for check in self.checks)

    @property
    def _margin(self) -> float:
        return self.limits.score_margin

    def _settle(self, name: str, faults: Sequence[str], fine: str) -> None:
        if not faults:
            self.passed(name, fine)
            return
        more = len(faults) - _MOST_NAMED
        said = "; ".join(faults[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
        self.checks.append(Check(name=name, verdict="failed", message=said))
        if not self.force:
            raise BuildError(f"the gate refuses this release ({name}): {said}. --force publishes it all the same")


def _lost(before: Counts, after: Counts, most: float) -> list[str]:
    """What each source has too few of: where it is rows, nothing else is worth saying of it."""
    found = []
    for source, counted in sorted(before.items()):
        for what in (each for each in _TOLD_FIRST if each in counted):
            had, has = counted[what], after.get(source, {}).get(what, 0)
            if has < had * (1 - most) - _ROUNDING:
                called = what if what == "rows" else f"{what} rows"
                found.append(f"source {source}: {called} fell from {had:,} to {has:,}")
                break
    return found


def _worse(suite: str, before: Scores, after: Scores, margin: float) -> list[str]:
    found = []
    for name, called in _CALLED.items():
        had, has = getattr(before, name), getattr(after, name)
        if had is not None and has is not None and has < had - margin - _ROUNDING:
            found.append(f"suite {suite}: {called} fell from {had:.3f} to {has:.3f}")
    return found


def told(scores: Mapping[str, Scores]) -> str:
    """The scores of all suites in a line."""
    return "; ".join(f"{suite}: {_scored(own)}" for suite, own in scores.items())


def _scored(scores: Scores) -> str:
    known = {called: getattr(scores, name) for name, called in _CALLED.items()}
    return ", ".join(f"{called} {value:.3f}" for called, value in known.items() if value is not None)
