"""Questions that a model writes for leaves whose publisher has none, each asked for once.

What was written is kept beside the leaves, in `asked/<source>.jsonl`, under a digest of everything that the model
was shown: the next run takes it from there, on any machine, with or without a model. A batch that fails leaves its
rows to the rules; so does everything after three failures in a row, and the report says how many.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from build_jobs.leaves.family import Family
from build_jobs.leaves.leaf import Draft
from build_jobs.progress import Meter, Told, silent
from build_jobs.text import clean, clean_list
from shared.errors import BudgetExhausted, BuildError, ModelUnavailable
from shared.models.judging import Asked, Asker
from shared.models.ledger import Ledger
from shared.words import counted

BATCH = 20
AT_ONCE = 4
_MOST_FAILURES = 3


class QuestionFile:
    """Questions by key, in a file of one JSON object a line; a line that was cut short is as if it were not there."""

    def __init__(self, root: Path, family: Family) -> None:
        self._path = root / "asked" / f"{family.directory}.jsonl"
        self._known: dict[str, list[str]] = {}
        self._is_whole = True
        if self._path.is_file():
            self._load()

    def _load(self) -> None:
        data = self._path.read_bytes()
        self._is_whole = not data or data.endswith(b"\n")
        for line in data.splitlines():
            entry = _entry(line)
            if entry:
                self._known[entry[0]] = entry[1]

    def __getitem__(self, key: str) -> list[str]:
        return self._known[key]

    def __contains__(self, key: object) -> bool:
        return key in self._known

    def add(self, entries: Mapping[str, Sequence[str]]) -> None:
        """Keep some, at once and for good. Raises BuildError where the file cannot be written."""
        lines = [
            json.dumps({"key": key, "q": list(questions)}, ensure_ascii=False) for key, questions in entries.items()
        ]
        text = ("" if self._is_whole else "\n") + "".join(f"{line}\n" for line in lines)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                file.write(text.encode())
        except OSError as error:
            raise BuildError(f"{self._path} cannot be written: {error.strerror or error}") from error
        self._is_whole = True
        self._known.update({key: list(questions) for key, questions in entries.items()})


def _entry(line: bytes) -> tuple[str, list[str]] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    key, questions = (found.get("key"), clean_list(found.get("q") or [])) if isinstance(found, dict) else ("", [])
    return (key, questions) if isinstance(key, str) and key and questions else None


@dataclass(slots=True)
class AskedReport:
    """Leaves whose questions were kept, whose were written now, and those that a failure left to the rules."""

    kept: int = 0
    written: int = 0
    failed: int = 0
    cost_usd: float = 0.0
    failure: str = ""

    def notes(self) -> list[str]:
        """What has to be said of it."""
        if not self.failed:
            return []
        leaves = counted(self.failed, "leaf asks", "leaves ask")
        return [f"{leaves} by rule, since the model failed: {self.failure}"]


class Asking:
    """Asks a model for questions, a few calls side by side; what it wrote is kept below a leaf root."""

    def __init__(self, asker: Asker, root: Path, told: Told = silent) -> None:
        self.report = AskedReport()
        self._asker = asker
        self._root = root
        self._told = told
        self._ledger = Ledger()
        self._failures_in_a_row = 0

    async def write(self, family: Family, drafts: Sequence[Draft]) -> dict[str, list[str]]:
        """Questions by the code of a draft: those that were kept, and the model's for the rest."""
        kept = QuestionFile(self._root, family)
        asked = {draft.code: _shown(family, draft) for draft in drafts}
        keys = {code: self._key(shown) for code, shown in asked.items()}
        missing = [code for code, key in keys.items() if key not in kept]
        self.report.kept = len(drafts) - len(missing)
        meter, batches = Meter("questions", len(missing), self._told), _batches(missing)

        async def work() -> None:
            for codes in batches:
                await self._ask([asked[code] for code in codes], [keys[code] for code in codes], kept)
                self.report.cost_usd = self._ledger.snapshot()["cost_usd"]
                meter.advance(len(codes), self.report.cost_usd)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return {code: kept[key] for code, key in keys.items() if key in kept}

    def _key(self, shown: Asked) -> str:
        asked = [self._asker.version, self._asker.model, shown.title, shown.description, shown.scope]
        return hashlib.sha256(json.dumps(asked, ensure_ascii=False).encode()).hexdigest()[:24]

    async def _ask(self, measures: Sequence[Asked], keys: Sequence[str], kept: QuestionFile) -> None:
        if self._failures_in_a_row >= _MOST_FAILURES:
            self.report.failed += len(measures)
            return
        try:
            found = await self._asker.ask(measures, self._ledger)
        except (ModelUnavailable, BudgetExhausted) as error:
            self._failures_in_a_row += 1
            self.report.failed += len(measures)
            self.report.failure = error.message
            return
        self._failures_in_a_row = 0
        kept.add({keys[place]: questions for place, questions in found.items()})
        self.report.written += len(found)


def _shown(family: Family, draft: Draft) -> Asked:
    matter: Mapping[str, Any] = draft.front_matter
    return Asked(clean(matter["title"]), clean(matter.get("description")), clean(family.access["entityType"]))


def _batches(codes: Sequence[str]) -> Iterator[Sequence[str]]:
    remaining = iter(codes)
    while batch := list(islice(remaining, BATCH)):
        yield batch
