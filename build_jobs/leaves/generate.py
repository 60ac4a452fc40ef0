"""`askbucket leaves FAMILY`: a publisher's catalog becomes a directory of leaf files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from build_jobs.leaves.families import FAMILIES
from build_jobs.leaves.family import Family
from build_jobs.leaves.leaf import Draft, document, stems
from build_jobs.leaves.reading import Reading, read
from build_jobs.leaves.rows import BadRow, Located, Row, RowError
from build_jobs.text import clean
from shared.errors import BuildError, UnknownName
from shared.words import counted

Told = Callable[[int], None]
Asks = Callable[[Family, Sequence[Draft]], Mapping[str, Sequence[str]]]
"""Somebody who has better questions than the rules: questions by the code of a draft, of those that have some."""


@dataclass(slots=True)
class LeavesReport:
    """What became of the rows. `bad` names each row that is no leaf, `skipped` counts records that are none by rule.

    `written` leaves are `made_queries` that ask by rule, `model_queries` whose questions a model wrote, and the rest,
    which brought their own.
    """

    family: str
    directory: str
    rows: int = 0
    written: int = 0
    made_queries: int = 0
    model_queries: int = 0
    other_directories: int = 0
    bad: list[BadRow] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left_over: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "directory": self.directory,
            "rows": self.rows,
            "written": self.written,
            "madeQueries": self.made_queries,
            "modelQueries": self.model_queries,
            "otherDirectories": self.other_directories,
            "bad": [_bad_json(row) for row in self.bad],
            "skipped": self.skipped,
            "notes": self.notes,
            "leftOver": self.left_over,
        }


def _bad_json(row: BadRow) -> dict[str, Any]:
    return {"line": row.line, "reason": row.reason, **({"file": row.file} if row.file else {})}


def write_leaves(
    family_name: str, sources: str | Sequence[str], to: Path, told: Told | None = None, asks: Asks | None = None
) -> LeavesReport:
    """Write `to/sources/<family>/*.md` from the rows of some files (`-` is standard input).

    The same rows give the same bytes, whatever their order. Rows of other directories are skipped, bad rows are
    reported with their place. Files of an earlier run that this one did not write are reported, never removed.
    Raises BuildError, before anything is written, for a file that is none of the family's, and where no row
    becomes a leaf.
    """
    if family_name not in FAMILIES:
        raise UnknownName(f"no leaf maker for {family_name!r}; there is {', '.join(sorted(FAMILIES))}", list(FAMILIES))
    family = FAMILIES[family_name]
    files = [sources] if isinstance(sources, str) else list(sources)
    directory = to / "sources" / family.directory
    report = LeavesReport(family.directory, str(directory))
    drafts = _asked(family, _Drafts(family, report).read(files), report, asks)
    if not drafts:
        raise BuildError(f"no row of {', '.join(files)} became a {family.directory} leaf ({_reasons(report)})")
    try:
        _write(family, drafts, directory, report, told or (lambda _: None))
    except OSError as error:
        raise BuildError(f"--to {to} cannot be written: {error.strerror or error}; give a folder that can") from error
    return report


def _reasons(report: LeavesReport) -> str:
    first = f"; {report.bad[0]}" if report.bad else ""
    skipped = f", {sum(report.skipped.values())} no measures" if report.skipped else ""
    read = counted(report.rows, "row")
    return f"{read} read, {report.other_directories} of other directories{skipped}, {len(report.bad)} bad{first}"


@dataclass(slots=True)
class _Drafts:
    """The drafts of some files by their code; what is none goes into the report."""

    family: Family
    report: LeavesReport
    found: dict[str, tuple[Draft, bool]] = field(default_factory=dict)

    def read(self, files: Sequence[str]) -> list[tuple[Draft, bool]]:
        """Every draft, and whether its questions are made by rule."""
        reading = Reading()
        records = self._records(read(files, self.family.shapes, reading))
        for each in self.family.join(records) if self.family.join else records:
            if isinstance(each, BadRow):
                self.report.bad.append(each)
            else:
                self._draft(each)
        self.report.skipped = dict(sorted(reading.skipped.items()))
        self.report.notes += reading.notes
        self.report.rows += sum(reading.skipped.values())
        return list(self.found.values())

    def _records(self, rows: Iterator[Located | BadRow]) -> Iterator[Located]:
        """The publisher's records, one by one; a row of ours says everything by itself and is drafted at once."""
        for each in rows:
            self.report.rows += 1
            if isinstance(each, BadRow):
                self.report.bad.append(each)
            elif each.published:
                yield each
            elif _directory_of(each.row, self.family) != self.family.directory:
                self.report.other_directories += 1
            else:
                self._draft(each)

    def _draft(self, located: Located) -> None:
        try:
            draft = self.family.draft(located.row)
        except RowError as refusal:
            self.report.bad.append(located.bad(refusal.message))
            return
        if draft.code in self.found:
            self.report.bad.append(located.bad(f"id {draft.code!r} was seen before"))
            return
        self.found[draft.code] = (draft, not located.row.get("queries"))


def _directory_of(row: Row, family: Family) -> str:
    """Where a row belongs: mix rows say `directory`, the publisher's rows say `source` or nothing."""
    return clean(row.get("directory")) or clean(row.get("source")) or family.directory


def _asked(
    family: Family, drafts: Sequence[tuple[Draft, bool]], report: LeavesReport, asks: Asks | None
) -> list[Draft]:
    """The drafts, with better questions where there are some for those whose questions are made by rule."""
    by_rule = [draft for draft, made in drafts if made]
    better = asks(family, by_rule) if asks and by_rule else {}
    report.model_queries = len(better)
    report.made_queries = len(by_rule) - len(better)
    return [_with_queries(draft, better.get(draft.code)) for draft, _ in drafts]


def _with_queries(draft: Draft, queries: Sequence[str] | None) -> Draft:
    if not queries:
        return draft
    return replace(draft, front_matter={**draft.front_matter, "representativeQueries": list(queries)})


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
