"""A site as tools for language models: what it holds, and a question asked and answered whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from shared.contracts.ask import MODES, RETRIEVALS, AskRequest
from shared.contracts.events import Event
from shared.errors import RequestError
from shared.models.ranking_models import default_ranking_model, ranking_models
from shared.settings import Settings
from shared.sites.request import MAX_QUERY_CHARS, MAX_RESULTS, parse_ask
from shared.sites.site import Site

Json = dict[str, Any]

_READS = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
_STRINGS = {"type": "array", "items": {"type": "string"}}
_ASK_TAKES: Json = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARS, "description": "What to find."},
        "site": {"type": "string", "description": "Only items of this collection; list_sites names them."},
        "mode": {
            "type": "string",
            "enum": list(MODES),
            "default": "summarize",
            "description": "Items alone, with a summary of them, or with an answer to the question.",
        },
        "previous_queries": {**_STRINGS, "description": "Earlier questions that this one follows, oldest first."},
        "max_results": {
            "type": ["integer", "null"],
            "minimum": 0,
            "maximum": MAX_RESULTS,
            "description": "At most so many items; 0 or nothing means 10.",
        },
        "retrieval": {"type": "string", "enum": list(RETRIEVALS), "default": "compare"},
        "ranking_model": {"type": "string", "description": "One of list_sites' ranking_models."},
    },
    "required": ["query"],
}
_ASK_GIVES: Json = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "effective_query": {"type": "string", "description": "What was searched: the query, or its rewrite."},
        "items": {"type": "array", "items": {"type": "object"}},
        "notices": _STRINGS,
        "restrictions": {"type": "object", "description": "What the items were held to, where the question says so."},
        "answer": {"type": "string"},
        "usage": {"type": "object"},
    },
    "required": ["query", "effective_query", "items", "notices"],
}
_LIST_GIVES: Json = {
    "type": "object",
    "properties": {
        "sites": _STRINGS,
        "items": {"type": "integer"},
        "ranking_models": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "label": {"type": "string"}},
                "required": ["id", "label"],
            },
        },
        "default_ranking_model": {"type": ["string", "null"]},
    },
    "required": ["sites", "items", "ranking_models", "default_ranking_model"],
}


def instructions(site: Site) -> str:
    """What a client is told of the server as a whole."""
    return f"Finds real items of {site.label} ({site.kind.name}): ask in plain words; each item comes with its record."


def listed(site: Site) -> list[Json]:
    """Both tools as `tools/list` has them."""
    return [
        {
            "name": "ask",
            "title": f"Ask {site.label}",
            "description": f"Find items of {site.label} ({site.kind.name}) that answer a question in plain words, best"
            " first, each with its schema.org record and a reason, and a short answer unless mode is list.",
            "inputSchema": _ASK_TAKES,
            "outputSchema": _ASK_GIVES,
            "annotations": _READS,
        },
        {
            "name": "list_sites",
            "title": "What there is to ask",
            "description": "The collections that can be asked here, how many items they hold, and the ranking models.",
            "inputSchema": {"type": "object", "properties": {}},
            "outputSchema": _LIST_GIVES,
            "annotations": _READS,
        },
    ]


def sites_reply(site: Site, settings: Settings, *, chooses: bool) -> Json:
    """What `list_sites` answers. `chooses` says whether a ranking model can be chosen here at all."""
    models = ranking_models(settings) if chooses else ()
    return {
        "sites": sorted(site.release.manifest.families[0].sources),
        "items": site.count,
        "ranking_models": [{"id": model.id, "label": model.label} for model in models],
        "default_ranking_model": default_ranking_model(settings) if chooses else None,
    }


def parse_call(arguments: Mapping[str, Any], settings: Settings) -> AskRequest:
    """The question in a call of `ask`. Raises RequestError; an argument nobody knows is one, too."""
    unknown = set(arguments) - set(_ASK_TAKES["properties"])
    if unknown:
        raise RequestError(f"{min(unknown)} is no argument of ask; there are: {', '.join(_ASK_TAKES['properties'])}")
    given = dict(arguments)
    # Models fill in what they leave open with 0; False equals 0 in Python and is a mistake all the same.
    if given.get("max_results") == 0 and given["max_results"] is not False:
        del given["max_results"]
    request = parse_ask(given, [model.id for model in ranking_models(settings)])
    if not request.query:
        raise RequestError("query must be a non-empty string")
    return request


async def drained(query: str, events: AsyncIterator[Event]) -> Json:
    """All of an answer as one object; `restrictions`, `answer` and `usage` are left out where there are none.

    `notices` are the sentences that were said on the way, errors among them.
    """
    reply: Json = {"query": query, "effective_query": query, "items": [], "notices": []}
    async for event in events:
        match event.message_type:
            case "decontextualized_query":
                reply["effective_query"] = event.content
            case "restrictions":
                reply["restrictions"] = event.content
            case "result":
                reply["items"] += event.content or []
            case "intermediate_message" | "error":
                reply["notices"].append(event.content)
            case "nlws" if isinstance(event.content, dict) and event.content["answer"]:
                reply["answer"] = event.content["answer"]
            case "usage" if event.content:
                reply["usage"] = event.content
    return reply
