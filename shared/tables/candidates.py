"""What a judge is given of a table: its card, and what retrieval measured of it."""

from __future__ import annotations

import numpy as np

from shared.index.scan import Float32, Rows
from shared.models.provider import Candidate
from shared.tables.cards import card
from shared.tables.pool import Pool, Retrieved
from shared.tables.tables import Tables


def candidates_of(found: Retrieved, pool: Pool, positions: Rows, tables: Tables) -> list[Candidate]:
    """What a judge is given of these positions, in their order: the card, and what retrieval measured."""
    rows = found.rows[positions].tolist()
    hits = tables.hits(rows)
    ranks = _ranks(found.best[positions])
    return [
        Candidate(
            row=row,
            family=hits[row].leaf.family,
            cosines=tuple(found.cosines[:, position].tolist()),
            cosine=float(found.best[position]),
            embed_rank=rank,
            bm25=float(found.keywords[position]),
            found_by=pool.found_by.get(position, ("embedding",)),
            card=card(hits[row].leaf),
        )
        for row, position, rank in zip(rows, positions.tolist(), ranks, strict=True)
    ]


def _ranks(scores: Float32) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return [int(rank) for rank in ranks]
