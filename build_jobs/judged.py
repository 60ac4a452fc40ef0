"""Judged questions and plain lists of questions, as files give them."""

from __future__ import annotations

import json
import lzma
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.contracts.leaf import family_of
from shared.errors import BuildError

# What the judged files call a family that has another name as a source.
_FAMILIES = {"sec_edgar": "sec-edgar", "census_acs_variables": "census"}
_WITH_FAMILY = re.compile(r"([a-z][a-z0-9_-]*):(.+)", re.DOTALL)
_HARD_RANK = 10


@dataclass(frozen=True, slots=True)
class Target:
    """A right answer: the leaf of this published code, in this family, or in any where the judgement names none."""

    family: str | None
    code: str

    @classmethod
    def parse(cls, judgement: str) -> Target:
        """`sec_edgar:Revenues` or a bare code."""
        found = _WITH_FAMILY.fullmatch(judgement)
        if found is None:
            return cls(None, judgement)
        return cls(_FAMILIES.get(found[1], found[1]), found[2])

    def is_entry(self, entry: Mapping[str, Any]) -> bool:
        """Whether a search result is this leaf: one of its own terms is the code."""
        if self.family not in (None, family_of(str(entry.get("okf:sourceDirectory")))):
            return False
        return any(value in (self.code, f"NAME,{self.code}") for key, value in entry.items() if key.startswith("okf:"))


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question, its right answers, and whether a plain keyword engine fails at it (None where nobody measured)."""

    id: str
    text: str
    targets: tuple[Target, ...]
    hard: bool | None


def read_judged(questions: Path, qrels: Path) -> list[JudgedQuestion]:
    """Questions (JSON Lines: `_id`, `text`, perhaps `bm25Rank`) with their judgements (TSV: question, leaf, score).

    Both may be xz. A question without a judgement above 0 is left out. Raises BuildError where a file is not that.
    """
    targets: dict[str, list[Target]] = {}
    for line in list(_lines(qrels))[1:]:
        question, _, rest = line.partition("\t")
        judgement, _, score = rest.rpartition("\t")
        if not judgement:
            raise BuildError(f"{qrels.name}: expected three columns separated by tabs, found {line!r}")
        if score.strip() != "0":
            targets.setdefault(question, []).append(Target.parse(judgement))
    asked = [(str(row["_id"]), row) for row in _rows(questions)]
    return [
        JudgedQuestion(name, str(row["text"]), tuple(targets[name]), _is_hard(row))
        for name, row in asked
        if name in targets
    ]


def read_texts(path: Path) -> list[str]:
    """One question a line (text, or JSON Lines with `text` or `name`); blank lines are skipped."""
    if ".jsonl" in path.suffixes:
        return [text for row in _rows(path) if (text := str(row.get("text") or row.get("name") or "").strip())]
    return [text for line in _lines(path) if (text := line.strip())]


def sample(items: Sequence[Any], size: int | None) -> list[Any]:
    """`size` of the items, the same ones every time; all of them for None."""
    return list(items) if size is None or size >= len(items) else random.Random(0).sample(items, size)  # noqa: S311


def _is_hard(row: Mapping[str, Any]) -> bool | None:
    if "bm25Rank" not in row:
        return None
    rank = row["bm25Rank"]
    return rank is None or rank > _HARD_RANK


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(_lines(path), start=1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise BuildError(f"{path.name}: line {number} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise BuildError(f"{path.name}: line {number}: expected an object, found {line[:40]!r}")
        yield row


def _lines(path: Path) -> Iterator[str]:
    try:
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
            yield from (line.rstrip("\n") for line in file if line.strip())
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise BuildError(f"{path.name} cannot be read: {error}") from error
