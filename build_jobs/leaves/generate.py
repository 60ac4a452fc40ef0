"""`askbucket leaves FAMILY`: a publisher's catalog becomes a directory of leaf files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from build_jobs.leaves import census, datacommons, sec_edgar, treasury, worldbank
from build_jobs.leaves.family import Family
from build_jobs.leaves.leaf import Draft, document, stems
from build_jobs.leaves.rows import BadRow, Row, RowError, read_rows
from build_jobs.text import clean
from shared.errors import BuildError, UnknownName
from shared.words import counted

FAMILIES = {module.FAMILY.directory: module.FAMILY for module in (datacommons, census, sec_edgar, worldbank, treasury)}

Told = Callable[[int], None]


@dataclass(slots=True)
class LeavesReport:
    """What became of the rows. `bad` names each row that is no leaf by its line; `made` leaves ask by rule."""

    family: str
    directory: str
    rows: int = 0
    written: int = 0
    made_queries: int = 0
    other_directories: int = 0
    bad: list[BadRow] = field(default_factory=list)
    left_over: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "directory": self.directory,
            "rows": self.rows,
            "written": self.written,
            "madeQueries": self.made_queries,
            "otherDirectories": self.other_directories,
            "bad": [{"line": row.line, "reason": row.reason} for row in self.bad],
            "leftOver": self.left_over,
        }


def write_leaves(family_name: str, source: str, to: Path, told: Told | None = None) -> LeavesReport:
    """Write `to/sources/<family>/*.md` from the rows of `source` (a file, or `-`).

    The same rows give the same bytes, whatever their order. Rows of other directories are skipped, bad rows are
    reported with their line. Files of an earlier run that this one did not write are reported, never removed.
    Raises BuildError where no row becomes a leaf.
    """
    if family_name not in FAMILIES:
        raise UnknownName(f"no leaf maker for {family_name!r}; there is {', '.join(sorted(FAMILIES))}", list(FAMILIES))
    family = FAMILIES[family_name]
    directory = to / "sources" / family.directory
    report = LeavesReport(family.directory, str(directory))
    drafts = _drafts(family, source, report)
    if not drafts:
        raise BuildError(f"no row of {source} became a {family.directory} leaf ({_reasons(report)})")
    try:
        _write(family, drafts, directory, report, told or (lambda _: None))
    except OSError as error:
        raise BuildError(f"--to {to} cannot be written: {error.strerror or error}; give a folder that can") from error
    return report


def _reasons(report: LeavesReport) -> str:
    first = f"; line {report.bad[0].line}: {report.bad[0].reason}" if report.bad else ""
    read = counted(report.rows, "row")
    return f"{read} read, {report.other_directories} of other directories, {len(report.bad)} bad{first}"


def _drafts(family: Family, source: str, report: LeavesReport) -> list[Draft]:
    drafts: dict[str, Draft] = {}
    for line, row in read_rows(source):
        report.rows += 1
        if isinstance(row, BadRow):
            report.bad.append(row)
        elif _directory_of(row, family) != family.directory:
            report.other_directories += 1
        else:
            _add(family, line, row, drafts, report)
    return list(drafts.values())


def _directory_of(row: Row, family: Family) -> str:
    """Where a row belongs: mix rows say `directory`, the publisher's rows say `source` or nothing."""
    return clean(row.get("directory")) or clean(row.get("source")) or family.directory


def _add(family: Family, line: int, row: Row, drafts: dict[str, Draft], report: LeavesReport) -> None:
    try:
        draft = family.draft(row)
    except RowError as refusal:
        report.bad.append(BadRow(line, refusal.message))
        return
    if draft.code in drafts:
        report.bad.append(BadRow(line, f"id {draft.code!r} was seen before"))
        return
    drafts[draft.code] = draft
    report.made_queries += not row.get("queries")


def _write(family: Family, drafts: list[Draft], directory: Path, report: LeavesReport, told: Told) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "_access.md").write_bytes(document(family.access, family.about))
    written = {"_access.md"}
    for draft, stem in zip(drafts, stems(drafts), strict=True):
        name = f"{stem}.md"
        (directory / name).write_bytes(document(draft.front_matter, draft.body))
        written.add(name)
        report.written += 1
        told(report.written)
    report.left_over = sorted(path.name for path in directory.glob("*.md") if path.name not in written)
