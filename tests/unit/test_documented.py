"""The reference pages say what the code does: every setting, every error, nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from shared.contracts.notices import NoticeCode
from shared.errors import AskbucketError, error_body
from shared.settings import ROWS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def table(page: str) -> list[list[str]]:
    """The cells of every table row of a page whose first cell is code or a number."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in rows if re.match(r"`|\d", row[0])]


def tree(root: type[AskbucketError] = AskbucketError) -> Iterator[type[AskbucketError]]:
    """The errors of ours; a test may have made one of its own."""
    yield root
    for child in root.__subclasses__():
        if child.__module__ == root.__module__:
            yield from tree(child)


def shown(default: object) -> str:
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"`{default}`" if default != "" else ""


def test_settings_page_is_the_settings_table():
    code = [[f"`{row.name}`", shown(row.default), row.phase, row.help] for row in ROWS.values()]
    assert table("settings.md") == code


def test_errors_page_has_every_error_with_its_status_and_word():
    code = {(str(e.status), f"`{e.code}`", e.error_code) for e in tree()}
    assert {tuple(row[:3]) for row in table("errors.md")} == code


def test_notices_page_has_every_notice_that_a_reply_can_carry():
    assert [row[0].strip("`") for row in table("notices.md")] == sorted(get_args(NoticeCode))


def test_every_notice_is_made_somewhere():
    code = "".join(path.read_text(encoding="utf-8") for path in (DOCS.parent / "shared").rglob("*.py"))
    assert [name for name in get_args(NoticeCode) if f'notice("{name}"' not in code] == []


def test_every_error_has_a_code_of_its_own_and_stands_in_the_tree_drawn_at_the_top():
    import shared.errors

    classes = list(tree())
    assert len({e.code for e in classes}) == len(classes)
    drawn = dict(re.findall(r"(\w+) +(\d{3} \w+)", shared.errors.__doc__))
    assert drawn == {e.__name__: f"{e.status} {e.code}" for e in classes}


def test_an_error_body_is_the_union_that_every_caller_reads():
    body = error_body(AskbucketError("It broke.", detail={"k": 1}, usage={"llm_calls": 2}, retry_after_s=7), "id-1")
    assert body == {
        "error": "It broke.", "message": "It broke.", "code": "internal_error", "errorCode": "INTERNAL_ERROR",
        "requestId": "id-1", "retryAfterSeconds": 7, "retry_after": 7, "detail": {"k": 1}, "usage": {"llm_calls": 2},
    }  # fmt: skip


@pytest.mark.parametrize("page", ["degradation.md", "guarantees.md"])
def test_every_row_names_a_test_that_exists(page):
    rows = [row for row in rows_of(page) if not row[0].startswith(("what ", "we ", "--"))]
    named, known = [row[-1].strip("`") for row in rows], names_of_tests()
    assert rows
    assert [name for name in named if name not in known] == []


def test_every_notice_of_a_reply_has_its_row_on_the_degradation_page():
    text = (DOCS / "degradation.md").read_text(encoding="utf-8")
    assert [code for code in get_args(NoticeCode) if f"`{code}`" not in text] == []


def rows_of(page: str) -> list[list[str]]:
    """The cells of every table row of a page, headings included."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def names_of_tests() -> set[str]:
    """The names of all tests."""
    texts = (path.read_text(encoding="utf-8") for path in (DOCS.parent / "tests").rglob("test_*.py"))
    return {name for text in texts for name in re.findall(r"^ *def (test_\w+)\(", text, re.MULTILINE)}
