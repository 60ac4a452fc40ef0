"""Running judged questions through the search's own steps, up to the judge: what evaluation and the fit look at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_jobs.judged import JudgedQuestion, Target
from shared.index.scan import top
from shared.models.judging import Candidate, Question
from shared.models.ledger import Ledger
from shared.tables.candidates import candidates_of
from shared.tables.pool import Retrieved
from shared.tables.request import parse_search
from shared.tables.scope import Scope
from shared.tables.search import phrase, retrieve
from shared.tables.tables import Tables

Ranks = dict[str, int | None]
# Reciprocal rank fusion's usual constant, and how deep each engine is read.
_FUSION_K = 60
_DEPTH = 300


@dataclass(frozen=True, slots=True)
class Observed:
    """One question as the judge gets it. `right` are the row numbers of its answers."""

    text: str
    question: Question
    candidates: list[Candidate]
    right: frozenset[int]
    retrieved: Retrieved

    @property
    def pool_rank(self) -> int | None:
        """Place of the first right answer in the pool, from 0; None outside it."""
        return next((place for place, each in enumerate(self.candidates) if each.row in self.right), None)


async def observe(tables: Tables, asked: Sequence[tuple[str, frozenset[int]]]) -> AsyncIterator[Observed]:
    """Each text's pool, in order."""
    legs = tables.searched_with
    for text, right in asked:
        request = parse_search({"query": {"text": text}})
        question, _ = phrase(request, legs.embedder.max_chars, tables.settings.strip_places)
        queries = await legs.embedder.embed(question.phrasings, "query", Ledger())
        found, pool, _ = retrieve(question, queries, Scope(None, None), tables)
        yield Observed(text, question, candidates_of(found, pool, pool.positions, tables), right, found)


def rows_of(tables: Tables, targets: Sequence[Target]) -> frozenset[int]:
    """Row numbers of the leaves that carry these codes."""
    wanted = {(target.family, target.code) for target in targets}
    return frozenset(
        catalog.first_row + row
        for catalog in tables.catalogs
        for code, family, row in catalog.records.rows_of_codes(sorted({code for _, code in wanted}))
        if (family, code) in wanted or (None, code) in wanted
    )


def judged_rows(tables: Tables, questions: Sequence[JudgedQuestion]) -> list[tuple[str, frozenset[int]]]:
    """Each question's text with the rows of its right answers."""
    return [(question.text, rows_of(tables, question.targets)) for question in questions]


def baseline_ranks(seen: Observed) -> Ranks:
    """Place of the first right answer by keyword score, by cosine, and by reciprocal rank fusion of both."""
    cosine, keyword = _order(seen.retrieved.best), _order(seen.retrieved.keywords)
    fused = np.zeros(len(seen.retrieved.rows))
    for order in (cosine, keyword):
        fused[order] += 1 / (_FUSION_K + np.arange(len(order)))
    orders = {"bm25": keyword, "embedding": cosine, "fusion": _order(fused)}
    return {name: _place(seen.retrieved.rows[order], seen.right) for name, order in orders.items()}


def _order(scores: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    best = top(scores.astype(np.float32), _DEPTH)
    positive: npt.NDArray[np.int64] = best[scores[best] > 0]
    return positive


def _place(rows: npt.NDArray[np.int64], right: frozenset[int]) -> int | None:
    return next((place for place, row in enumerate(rows.tolist()) if row in right), None)
