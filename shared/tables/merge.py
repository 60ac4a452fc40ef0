"""The order of the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from shared.models.judging import Candidate

Scored = tuple[Candidate, float]


def merge(eligible: Sequence[Scored], order: Literal["source", "score"], sources: int, page: int) -> list[Scored]:
    """The page: by score, or source-first.

    Source-first leads with the best result of each source family, up to `sources` of them, so that a large
    source cannot fill the page; the rest follow by score.
    """
    ranked = sorted(eligible, key=lambda scored: (-scored[1], scored[0].embed_rank))
    if order == "score":
        return ranked[:page]
    best: dict[str, Scored] = {}
    for scored in ranked:
        best.setdefault(scored[0].family, scored)
    leaders = list(best.values())[:sources]
    led = {id(scored) for scored in leaders}
    return [*leaders, *(scored for scored in ranked if id(scored) not in led)][:page]
