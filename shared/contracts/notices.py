"""Notices: whatever was dropped, skipped, replaced or not scored says so, by one of these codes."""

from __future__ import annotations

from typing import Any, Literal

NoticeCode = Literal[
    "answer_failed",
    "answer_from_names",
    "batch_failed",
    "embedded_models",
    "embedding_order",
    "leaf_unreadable",
    "no_results",
    "page_size_clamped",
    "places_set_aside",
    "query_shortened",
    "ranking_model_ignored",
    "ranking_restarted",
    "retrieval_order",
    "rewrite_failed",
    "source_failed",
    "source_not_scored",
    "spend_unknown",
    "stats_unreadable",
    "vector_unusable",
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
