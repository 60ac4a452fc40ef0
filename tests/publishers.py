"""The samples of publishers' files under fixtures/publishers, and leaves made of them."""

from __future__ import annotations

from pathlib import Path

from build_jobs.leaves.families import FAMILIES
from build_jobs.leaves.generate import LeavesReport, write_leaves

SAMPLES = Path(__file__).parent / "fixtures" / "publishers"


def samples(family: str) -> list[str]:
    """The files of one family, as their publisher would serve them."""
    return sorted(str(path) for path in (SAMPLES / family).iterdir())


def write_all(to: Path) -> dict[str, LeavesReport]:
    """Leaves of every family's samples below one root, and what became of the rows."""
    return {family: write_leaves(family, samples(family), to) for family in FAMILIES}
