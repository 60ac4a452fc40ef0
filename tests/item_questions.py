"""The demo's collections and the questions put to them, as the tests read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from shared.contracts.items import Json, Value

DEMO = Path(__file__).resolve().parents[1] / "demo"


@dataclass(frozen=True, slots=True)
class Question:
    """One question of demo/questions/<kind>.yaml; the ids are last parts of urls."""

    text: str
    answers: tuple[str, ...]
    never: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)


def records(kind: str) -> list[Json]:
    """The demo's items of a kind, in the file's order."""
    lines = (DEMO / "items" / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def questions(kind: str) -> list[Question]:
    """The judged questions of a kind; a property that is none of theirs raises TypeError."""
    read = yaml.safe_load((DEMO / "questions" / f"{kind}.yaml").read_text(encoding="utf-8"))
    return [_question(**one) for one in read]


def _question(question: str, answers: list[str], never: tuple[str, ...] = (), **rest: Mapping[str, Any]) -> Question:
    return Question(question, tuple(map(str, answers)), tuple(map(str, never)), **rest)


def short_id(url: str) -> str:
    """The last part of a url, as questions name it."""
    return unquote(url.rstrip("/").rsplit("/", 1)[-1])


def holds(columns: Mapping[str, Value], where: Mapping[str, Any]) -> bool:
    """Whether an item's typed columns are all that `where` says; a column that is not there raises KeyError."""
    return all(_meets(columns[name], wanted) for name, wanted in where.items())


def _meets(value: Value, wanted: Any) -> bool:
    if isinstance(wanted, dict) and "has" in wanted:
        members = value if isinstance(value, tuple) else (value,)
        return any(str(wanted["has"]).lower() in str(member).lower() for member in members)
    if isinstance(wanted, dict):
        known = isinstance(value, int | float)
        return known and wanted.get("least", value) <= value <= wanted.get("most", value)
    return value in (wanted if isinstance(wanted, list) else [wanted])
