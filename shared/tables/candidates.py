"""What a judge is given of a table: its card, and what retrieval measured of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shared.index.scan import Float32, Rows
from shared.models.judging import Candidate
from shared.tables.cards import card
from shared.tables.catalogs import Hit
from shared.tables.pool import Pool, Retrieved
from shared.tables.tables import Tables
from shared.timed import timed


def candidates_of(found: Retrieved, pool: Pool, positions: Rows, tables: Tables) -> list[Candidate]:
    """What a judge is given of these positions, in their order: the card, and what retrieval measured."""
    rows = found.rows[positions].tolist()
    hits = tables.hits(rows)
    with timed("cards"):
        return _measured(found, pool, positions, [hits[row] for row in rows])


def _measured(found: Retrieved, pool: Pool, positions: Rows, hits: Sequence[Hit]) -> list[Candidate]:
    # Lists of whole columns: a number at a time out of numpy took a third of this.
    cosines = found.cosines[:, positions].T.tolist()
    best, keywords = found.best[positions].tolist(), found.keywords[positions].tolist()
    ranks = _ranks(found.best[positions])
    return [
        Candidate(
            row=row,
            family=hit.leaf.family,
            cosines=tuple(cosines[place]),
            cosine=best[place],
            embed_rank=ranks[place],
            bm25=keywords[place],
            found_by=pool.found_by.get(position, ("embedding",)),
            card=card(hit.leaf),
        )
        for place, (row, position, hit) in enumerate(
            zip(found.rows[positions].tolist(), positions.tolist(), hits, strict=True)
        )
    ]


def _ranks(scores: Float32) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    found: list[int] = ranks.tolist()
    return found
