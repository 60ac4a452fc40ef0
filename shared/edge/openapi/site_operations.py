"""The routes of the sites, as /openapi.json describes them: each behind its kind, and of all sites together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shared.contracts import replies, site_replies
from shared.contracts.ask import MODES, RETRIEVALS
from shared.contracts.schema import Schema, Schemas
from shared.edge.openapi.operation import JSON, RPC_BODY, Operation, Parameter, mcp_body
from shared.errors import BudgetExhausted, Busy, NotFound, QuotaExceeded, ReleaseIncompatible
from shared.sites.kinds import KINDS

STREAM = "text/event-stream"
SITE = "ask_site"

_ASKED = "films by Alfred Hitchcock"
_TEXT: Schema = {"type": "string"}
_SWITCH: Schema = {"type": "boolean"}
_PAID = (QuotaExceeded, Busy, BudgetExhausted, ReleaseIncompatible, NotFound)


# Clients of NLWeb's version 0.54 are answered in their own way.
_ANSWER = site_replies.AskReply | site_replies.AskReply54


def _count(least: int, most: int, default: int | None = None) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most, **({} if default is None else {"default": default})}


_KIND = Parameter("kind", "The site.", "movies", {"enum": list(KINDS)}, required=True, place="path")
_QUERY = Parameter("query", "What is wanted, up to 8,000 characters.", _ASKED, _TEXT, required=True)
_LIST: Schema = {"type": "array", "items": {"type": "string"}}
# Name, what is said of it, an example, its schema.
_ASKING: Sequence[tuple[str, str, str, Schema]] = (
    ("site", "The kind or the collection's name; another one finds nothing.", "movies", _TEXT),
    ("mode", "Items alone, a summary of them too, or an answer.", "list", {"enum": list(MODES), "default": MODES[1]}),
    ("previous_queries", "Earlier questions, oldest first; the last five count.", '["old thrillers"]', _LIST),
    ("previous_results", "Names shown last, ten at most.", '["Vertigo"]', _LIST),
    ("decontextualized_query", "The question as it stands by itself, where the caller has it.", _ASKED, _TEXT),
    ("max_results", "How many results.", "1", _count(1, 200, 10)),
    ("start_num", "How many results to pass over.", "0", _count(0, 1_000_000, 0)),
    ("min_score", "Leaves results out, and never changes one.", "70", _count(0, 100, 70)),
    ("retrieval", "By words, by vectors, or by both.", "compare", {"enum": list(RETRIEVALS), "default": "compare"}),
    ("retrieval_count", "Candidates of each search; more than 200 are 200.", "20", _count(1, 10**6)),
    ("ranking_count", "Candidates that are ranked; more than 200 are 200.", "40", _count(1, 10**6)),
    ("ranking_model", "One of those that `list_sites` names.", "", _TEXT),
    ("streaming", "false: one JSON object.", "false", {**_SWITCH, "default": True}),
    ("query_id", "Comes back in every message.", "mine-1", _TEXT),
)


def ask_body(schemas: Schemas) -> Schema:
    """The body of a site's POST /ask. Its values may be spelled as JSON or as a query string spells them, and clients
    of NLWeb's version 0.54 send objects for some: so none has a type of its own."""
    del schemas
    told = ((_QUERY.name, _QUERY.said), *((name, said) for name, said, _, _ in _ASKING))
    return {"type": "object", "properties": {name: {"description": said} for name, said in told}}


def who_body(schemas: Schemas) -> Schema:
    """The body of POST /who."""
    del schemas
    return {"type": "object", "required": ["query"], "properties": {"query": {**_TEXT, "minLength": 1}}}


def _in_query(name: str, said: str, example: str, schema: Schema) -> Parameter:
    if schema is _LIST:
        return Parameter(name, f"{said} As JSON, or one text.", example, _TEXT)
    return Parameter(name, said, example, schema)


def _of_one(method: str, path: str, summary: str, reply: Any, **more: Any) -> Operation:
    given = more.pop("parameters", ())
    return Operation(SITE, method, f"/sites/{{kind}}{path}", summary, reply, (_KIND, *given), **more)


SITE_OPERATIONS: Sequence[Operation] = (
    _of_one(
        "GET", "/ask", "Real items of a site that answer a question, as an event stream.", _ANSWER,
        parameters=(_QUERY, *(_in_query(*each) for each in _ASKING)),
        errors=_PAID, media=(STREAM, JSON), asked=("mode", "max_results", "streaming", "query_id"),
    ),
    _of_one(
        "POST", "/ask", "The same, with the parameters in a body.", _ANSWER,
        body=ask_body, errors=_PAID, media=(STREAM, JSON),
        body_example={"query": _ASKED, "max_results": 1, "streaming": False, "query_id": "mine-2"},
    ),
    _of_one(
        "GET", "/who", "Whether a site may answer a question.", site_replies.WhoReply, parameters=(_QUERY,),
        errors=(NotFound,),
    ),
    _of_one(
        "POST", "/who", "The same, with the question in a body.", site_replies.WhoReply,
        body=who_body, body_example={"query": _ASKED}, errors=(NotFound,),
    ),
    _of_one(
        "GET", "/sites", "What a site is called, and where it is asked.", site_replies.SitesReply, errors=(NotFound,)
    ),
    _of_one(
        "POST", "/mcp", "The same as tools for language models: one JSON-RPC message.", replies.RpcReply,
        body=mcp_body, body_example={**RPC_BODY, "params": {"name": "list_sites", "arguments": {}}},
        media=(JSON, STREAM), also=(202,), errors=(NotFound,),
    ),
    *(
        _of_one("GET", path, "Is it ready, and what does it hold.", site_replies.SiteHealth, errors=(NotFound,))
        for path in ("/health", "/healthz")
    ),
    Operation(
        SITE, "GET", "/sites", "Every site: what it is called, and where it is asked.", site_replies.SitesReply,
        errors=(NotFound,),
    ),
    Operation(
        SITE, "GET", "/who", "The sites that may answer a question.", site_replies.WhoReply, (_QUERY,),
        errors=(NotFound,),
    ),
    Operation(
        SITE, "POST", "/who", "The same, with the question in a body.", site_replies.WhoReply,
        body=who_body, body_example={"query": _ASKED}, errors=(NotFound,),
    ),
)  # fmt: skip
