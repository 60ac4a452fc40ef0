"""The envelope of a search: results, eligibility, filter, notices, usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shared.contracts.notices import Notice, notice
from shared.contracts.tables import MAX_PAGE_SIZE, SearchRequest
from shared.models.judging import Candidate, Judge
from shared.models.ledger import Ledger
from shared.tables.catalogs import Hit
from shared.tables.entry import context
from shared.tables.judge import Judged
from shared.tables.merge import Scored
from shared.tables.scope import Scope
from shared.tables.tables import Tables
from shared.timed import timed


class Outcome(Struct, frozen=True):
    """What a search came to. `judged` says whether scores are a judge's verdicts or embedding scores."""

    request: SearchRequest
    scope: Scope
    hits: tuple[Scored, ...] = ()
    judged: bool = False
    best: float | None = None
    notices: tuple[Notice, ...] = ()

    def noting(self, notices: Sequence[Notice]) -> Outcome:
        """The same with more to say."""
        return replace(self, notices=(*self.notices, *notices))

    def unjudged(self, hits: Sequence[Scored], because: str) -> Outcome:
        """Results in embedding order: their scores are on another scale, and the reply says so."""
        said = notice("embedding_order", f"Results are in embedding order, on its own score scale, {because}.")
        return replace(self.noting([said]), hits=tuple(hits))

    def judged_by(self, judge: Judge, hits: Sequence[Scored], judged: Judged) -> Outcome:
        """Results with verdicts, and who gave them where it was no chat model."""
        said = self.noting([*judged.notices, *_who_judged(judge)])
        return replace(said, hits=tuple(hits), judged=True, best=judged.best)


def _who_judged(judge: Judge) -> list[Notice]:
    if judge.provider != "embedded":
        return []
    message = "Judged by an embedded model: scores are calibrated from retrieval, no chat model read the documents."
    return [notice("embedded_models", message, model=judge.model)]


def reply(outcome: Outcome, tables: Tables, ledger: Ledger, base_url: str) -> dict[str, Any]:
    """The envelope as it goes over the wire."""
    found = tables.hits(candidate.row for candidate, _ in outcome.hits)
    with timed("reply"):
        return _envelope(outcome, found, tables, ledger, base_url)


def _envelope(
    outcome: Outcome, found: Mapping[int, Hit], tables: Tables, ledger: Ledger, base_url: str
) -> dict[str, Any]:
    registry = base_url or tables.settings.self_url
    results = [
        {**tables.entry(found[candidate.row]), **_scores(candidate, score, outcome), "source": registry}
        for candidate, score in outcome.hits
    ]
    return {
        "@context": context(tables.settings.okf_namespace),
        "results": results,
        "referrals": [],
        "pageToken": None,
        **({} if results else {"eligibility": _no_match(outcome, tables)}),
        **({} if outcome.scope.ignored is None else {"filter": {"ignored": list(outcome.scope.ignored)}}),
        "notices": [*outcome.notices, *_page_notices(outcome.request), *_leaf_notices(list(found.values()))],
        "usage": ledger.snapshot(),
    }


def _scores(candidate: Candidate, score: float, outcome: Outcome) -> dict[str, Any]:
    """The score as an integer 0-100, the raw values behind it, and which leg found the document."""
    return {
        "score": _points(score),
        "embedScore": round(candidate.cosine * 100, 1),
        **({"rerankScore": round(score, 1)} if outcome.judged else {}),
        "foundBy": list(candidate.found_by),
    }


def _points(score: float) -> int:
    return min(max(round(score), 0), 100)


def _no_match(outcome: Outcome, tables: Tables) -> dict[str, Any]:
    best = None if outcome.best is None else _points(outcome.best)
    return {"status": "no_match", "threshold": tables.settings.min_rerank_score, "topScore": best}


def _page_notices(request: SearchRequest) -> list[Notice]:
    if request.page == request.page_size:
        return []
    message = f"pageSize is held between 1 and {MAX_PAGE_SIZE}."
    return [notice("page_size_clamped", message, asked=request.page_size, used=request.page)]


def _leaf_notices(hits: list[Hit]) -> list[Notice]:
    broken = sorted(hit.leaf.urn for hit in hits if hit.leaf.unreadable)
    message = "The front matter of these documents could not be read; they carry no terms of their own."
    return [notice("leaf_unreadable", message, identifiers=broken)] if broken else []
