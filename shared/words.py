"""How many of something, in words."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """`1 leaf`, `2,000 leaves`. `many` is the plural where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
