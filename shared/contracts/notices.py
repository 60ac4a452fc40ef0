"""Notices: whatever was dropped, skipped, replaced or not scored says so, by one of these codes."""

from __future__ import annotations

from typing import Any, Literal

NoticeCode = Literal[
    "answer_failed",
    "answer_from_names",
    "batch_failed",
    "candidates_limited",
    "constraints_unread",
    "context_ignored",
    "describer_failed",
    "descriptions_shortened",
    "embedded_models",
    "embedding_order",
    "expansion_failed",
    "item_too_large",
    "leaf_unreadable",
    "no_results",
    "page_size_clamped",
    "places_set_aside",
    "query_shortened",
    "ranker_fell_back",
    "ranking_model_ignored",
    "ranking_restarted",
    "results_dropped",
    "results_restored",
    "retrieval_order",
    "rewrite_failed",
    "source_failed",
    "source_not_scored",
    "spend_unknown",
    "statements_dropped",
    "stats_unreadable",
    "triage_failed",
    "vector_unusable",
    "vectors_partial",
    "vectors_unavailable",
    "verdicts_missing",
    "verdicts_skipped",
    "widening_stopped",
    "words_set_aside",
]

Notice = dict[str, Any]


def notice(code: NoticeCode, message: str, **details: Any) -> Notice:
    """A typed notice: `code` for programs, `message` for people, the details beside them."""
    return {"code": code, "message": message, **details}
