"""What a site's routes answer, as types: the shapes that callers may rely on. More keys may come beside these."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from shared.contracts.replies import Score, Told

Item = TypedDict(
    "Item",
    {
        "@type": Literal["Item"],
        "url": str,
        "name": str,
        "site": str,
        "score": Score,
        "relevance": Literal["strong", "relevant", "retrieval", "exclude"],
        "description": str,
        "vector_score": float | None,
        "bm25_score": float | None,
        "retrieval_source": Literal["bm25", "vector", "columns"],
        "schema_object": dict[str, Any],
        "constraints_met": NotRequired[bool | None],
        "unknown": NotRequired[list[str]],
    },
)
Item.__doc__ = """One real item: its record whole, what was found it by, and a sentence on why it is shown."""


class Constraint(TypedDict):
    """A condition that results are held to, and the words of the question that it was read from."""

    id: str
    field: str
    op: str
    value: Any
    unit: str
    text: str
    hard: bool


class Restrictions(TypedDict):
    """Diets in words, conditions over fields, an order or null, and the model that ranks."""

    restrictions: list[str]
    ranking_model: str
    constraints: list[Constraint]
    order: dict[str, Any] | None


class Prose(TypedDict):
    """A summary or an answer, and the items it speaks of."""

    answer: str
    items: list[Item]


class Sentence(TypedDict):
    """What has to be said of an answer, for people."""

    message: str


class Rewrite(TypedDict):
    """What was searched instead of what was typed."""

    decontextualized_query: str
    original_query: str


class SiteUsage(TypedDict):
    """What an answer cost, whole and by model; `rejected` are verdicts that could not be used."""

    query_id: str
    calls: int
    total_tokens: int
    cost: float
    models: list[dict[str, Any]]
    rejected: int
    notices: list[Told]


class AskReply(TypedDict):
    """The answer as one object, as `streaming=false` has it; a stream has the same in messages."""

    query_id: str
    results: list[Item]
    decontextualized_query: NotRequired[Rewrite]
    triage: NotRequired[dict[str, Any]]
    restrictions: NotRequired[Restrictions]
    nlws: NotRequired[Prose]
    intermediate_message: NotRequired[Sentence]
    error: NotRequired[Sentence]
    usage: SiteUsage


class AskReply54(TypedDict):
    """The answer as clients of NLWeb's version 0.54 read it: what was sent last under `_meta`, and every result."""

    _meta: dict[str, Any]


SiteLine = TypedDict(
    "SiteLine",
    {
        "@type": Literal["WebSite"],
        "@id": str,
        "site": str,
        "collection": str,
        "name": str,
        "description": str,
        "url": str,
        "items": int,
        "score": NotRequired[Score],
    },
)
SiteLine.__doc__ = """A site: `site` is what a request calls it, `url` where it is asked."""

SitesReply = TypedDict(
    "SitesReply",
    {
        "message-type": Literal["sites"],
        "sites": list[str],
        "details": list[SiteLine],
        "unavailable": NotRequired[list[str]],
    },
)
SitesReply.__doc__ = """The sites there are; `unavailable` names those that do not answer now."""

WhoReply = TypedDict(
    "WhoReply",
    {
        "message-type": Literal["who"],
        "query": str,
        "results": list[SiteLine],
        "unavailable": NotRequired[list[str]],
    },
)
WhoReply.__doc__ = """The sites that may answer a question, the best first."""


class SiteHealth(TypedDict):
    """Readiness, counters and what a site holds, from memory."""

    ok: bool
    status: Literal["ok"]
    items: int
    sites: list[str]
    collections: dict[str, int]
    embedding_cache_hit: bool
    corpus: dict[str, Any]
    sources: dict[str, Any]
