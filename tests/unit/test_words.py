"""One thing is not several."""

from __future__ import annotations

import pytest

from shared.words import counted


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (1, ("leaf", "leaves"), "1 leaf"),
        (0, ("leaf", "leaves"), "0 leaves"),
        (1, ("file",), "1 file"),
        (2, ("file",), "2 files"),
        (12_345, ("row",), "12,345 rows"),
        (1, ("source without an access document", "sources without an access document"), None),
    ],
)
def test_one_is_singular_and_every_other_number_plural(number: int, words: tuple[str, ...], said: str | None) -> None:
    assert counted(number, *words) == (said or f"1 {words[0]}")
