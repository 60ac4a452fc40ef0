"""The routes of every function, as /openapi.json describes them: parameters, bodies, replies, errors, examples.

A test holds this table against the routes that the functions answer, in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shared.contracts import replies
from shared.contracts.schema import Schema, Schemas
from shared.contracts.tables import (
    FILTER_KEYS,
    MAX_ASK_CHARS,
    MAX_PAGE_SIZE,
    MAX_SOURCES,
    MAX_TEXTS,
    ORDERS,
    SearchRequest,
)
from shared.edge.openapi.operation import JSON, RPC_BODY, Operation, Parameter, mcp_body
from shared.edge.openapi.site_operations import SITE_OPERATIONS
from shared.edge.stats.sums import DAYS_SHOWN
from shared.errors import (
    BucketError,
    BudgetExhausted,
    Busy,
    EmbeddingFailed,
    ModelUnavailable,
    NotFound,
    QueryCancelled,
    QuotaExceeded,
    ReleaseError,
    ReleaseIncompatible,
    RelevanceScoringFailed,
    UnknownName,
)
from shared.tables.exact import VARIABLE_LIMIT, VARIABLES_LIMIT
from shared.tables.registry.browse import FILTERS, LISTED, MOST_LISTED
from shared.tables.registry.documents import FILES, MOST_FILES
from shared.tables.registry.explore import BUCKETS, FIELDS, MOST_BUCKETS

_ASKED = "how long do people live in Japan?"
_QUESTIONS = ("query", "question", "q", "text")
_RESTRICTIONS = ("sources", "excludeSources", "catalogs")
# A whole number as JSON, a form or a query string spell it.
_SIZE: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string", "pattern": r"^\s*[+-]?[0-9]{1,18}\s*$"}, {"type": "null"}]
}
_SAID: Schema = {"type": "string", "minLength": 1}
_FILTER_VALUES: Schema = {"anyOf": [_SAID, {"type": "array", "items": _SAID}]}
_NAMES: Schema = {"type": "array", "items": {"type": "string"}, "maxItems": MAX_SOURCES}


def search_body(schemas: Schemas) -> Schema:
    """The body of POST /search: the contract's fields, with the rules that parse_search states in sentences.

    What a field may be beyond its type: null, which means not given; a page size in digits; a filter's one value.
    """
    schemas.of(SearchRequest)
    request, query = schemas.components.pop("SearchRequest"), schemas.components.pop("SearchQuery")
    texts: Schema = {"type": ["array", "null"], "items": _SAID, "minItems": 1, "maxItems": MAX_TEXTS}
    query["properties"] |= {
        "text": {**_SAID, "description": "What the judge reads."},
        "texts": {**texts, "description": "What is embedded, with a twin of each without its places."},
        "filter": {"type": ["object", "null"], "properties": dict.fromkeys(FILTER_KEYS, _FILTER_VALUES)},
    }
    held = f"Held between 1 and {MAX_PAGE_SIZE}."
    request["properties"] |= {
        "query": query,
        "pageSize": {**_SIZE, "default": 10, "description": held},
        "limit": {**_SIZE, "description": f"Another name of pageSize. {held}"},
        "rerank": {"type": ["boolean", "null"], "default": True},
        "order": {"enum": [*ORDERS, None], "default": ORDERS[0]},
        "federation": {"enum": ["auto", "referrals", "none", None], "default": "auto"},
        **{name: {**_NAMES, "type": ["array", "null"]} for name in _RESTRICTIONS},
    }
    return request


def ask_body(schemas: Schemas) -> Schema:
    """The body of POST /ask: its parameters as JSON, or spelled as a query string spells them."""
    del schemas
    text: Schema = {"type": ["string", "null"], "minLength": 1}
    names: Schema = {"anyOf": [{"type": "string"}, _NAMES, {"type": "null"}]}
    return {
        "type": "object",
        "anyOf": [{"required": [name]} for name in _QUESTIONS],
        "properties": {
            **dict.fromkeys(_QUESTIONS, text),
            **dict.fromkeys(("pageSize", "limit", "k", "max_results"), _SIZE),
            **dict.fromkeys(_RESTRICTIONS, names),
            "rerank": {"enum": [True, False, "true", "false", "1", "0", None]},
            "order": {"enum": [*ORDERS, None]},
        },
    }


def explore_body(schemas: Schemas) -> Schema:
    """The body of POST /explore."""
    del schemas
    facet: Schema = {
        "type": "object",
        "required": ["field"],
        "properties": {
            "field": {"enum": list(FIELDS)},
            "limit": {**_SIZE, "default": BUCKETS, "description": f"Held between 1 and {MOST_BUCKETS}."},
            "minCount": {**_SIZE, "default": 1},
        },
    }
    facets: Schema = {"type": "array", "items": facet, "minItems": 1}
    filters: Schema = {"type": ["object", "null"], "properties": dict.fromkeys(FILTER_KEYS, _FILTER_VALUES)}
    return {
        "type": "object",
        "required": ["resultType"],
        "properties": {
            "resultType": {"type": "object", "required": ["facets"], "properties": {"facets": facets}},
            "query": {
                "type": ["object", "null"],
                "properties": {"text": {"type": ["string", "null"]}, "filter": filters},
            },
            **{name: {**_NAMES, "type": ["array", "null"]} for name in _RESTRICTIONS},
        },
    }


_QUESTION = Parameter(
    "query", f"The question, at most {MAX_ASK_CHARS} characters once blanks are single; also as question, q or text.",
    _ASKED, _SAID, required=True,
)  # fmt: skip


def _size(default: int, most: int, name: str = "pageSize") -> Parameter:
    said = f"How many: {default} unless given, held between 1 and {most}."
    return Parameter(name, said, "3", {"type": "integer", "default": default})


def _listed(name: str, said: str, example: str) -> Parameter:
    return Parameter(name, f"{said}, with commas between them.", example, {"type": "string"})


_ASK = (
    _QUESTION,
    _size(10, MAX_PAGE_SIZE),
    _listed("sources", "Sources to search", "worldbank,datacommons"),
    _listed("excludeSources", "Sources to leave out", "census"),
    _listed("catalogs", "Catalogs to search", "built-in"),
    Parameter("rerank", "false: embedding order.", "true", {"type": "boolean", "default": True}),
    Parameter("order", "The best of each source first, or plain score order.", "source", {"enum": list(ORDERS)}),
)
_PAID = (
    UnknownName, QuotaExceeded, Busy, EmbeddingFailed, RelevanceScoringFailed,
    ModelUnavailable, BudgetExhausted, QueryCancelled,
)  # fmt: skip
_QUANTITY = tuple(
    Parameter(name, said, example, {"type": "string", "minLength": 1}, required=True)
    for name, said, example in (
        ("populationType", "What is counted or measured.", "Person"),
        ("measuredProperty", "Which of its properties.", "count"),
        ("statType", "Which statistic of it.", "measuredValue"),
    )
)


_ANY: Schema = {"type": "string"}
_TOKEN = Parameter("pageToken", "The token of the page before, to the same question.", "", _ANY)
_CALLED = {
    "name": "variables",
    "arguments": {"populationType": "Person", "measuredProperty": "count", "statType": "measuredValue"},
}
_A_TABLE = "urn:air:worldbank.org:okf:worldbank.sp-dyn-le00-in"
_FILTERED = (
    ("displayName", "Life expectancy at birth, total (years) — World Bank"),
    ("type", "application/okf-table+markdown"),
    ("publisherId", "worldbank.org"),
    ("createdAfter", "2026-01-31T12:00:00Z"),
    ("updatedAfter", "2026-01-31"),
)

OPERATIONS: Sequence[Operation] = (
    Operation(
        "search", "POST", "/search", "The tables that describe a quantity.", replies.SearchReply,
        body=search_body, body_example={"query": {"text": _ASKED}, "pageSize": 1}, errors=_PAID,
    ),
    Operation(
        "search", "GET", "/ask", "The same from a plain question.", replies.SearchReply, _ASK, errors=_PAID,
        media=(JSON, "text/plain"), asked=("pageSize",),
    ),
    Operation(
        "search", "POST", "/ask", "The same, with the parameters in a body.", replies.SearchReply,
        body=ask_body, body_example={"query": _ASKED, "pageSize": 1}, errors=_PAID,
        media=(JSON, "text/plain"),
    ),
    Operation(
        "variable", "GET", "/variable", "Every source's document for one published variable.", replies.VariableReply,
        (
            Parameter("id", "The variable, as its publisher spells it.", "LifeExpectancy_Person",
                      {"type": "string", "minLength": 1}, required=True),
            _size(*VARIABLE_LIMIT),
            _size(*VARIABLE_LIMIT, name="limit"),
        ),
    ),
    Operation(
        "variable", "GET", "/variables", "How a quantity is split, or the variables split exactly so.",
        replies.VariablesReply,
        (
            *_QUANTITY,
            _listed("constraints", "Dimensions; empty means split by nothing", "gender"),
            _size(*VARIABLES_LIMIT),
            _size(*VARIABLES_LIMIT, name="limit"),
        ),
    ),
    Operation(
        "registry", "GET", "/", "The registry's name, and where to go on; its page for those who read HTML.",
        replies.Card, media=(JSON, "text/html"),
    ),
    Operation("registry", "GET", "/publishers", "The domains that a filter may name.", replies.PublishersReply),
    Operation(
        "registry", "GET", "/agents", "All tables, or those that filters leave, page by page.", replies.AgentsReply,
        (
            Parameter("q", "Words in a title, description, identifier, path or question.", "life expectancy", _ANY),
            Parameter("publisher", "A domain or a source directory.", "worldbank.org", _ANY),
            Parameter("filter", f"`name=value,…`, joined by `;`: {', '.join(FILTERS)}.", "type=…", _ANY),
            *(Parameter(name, "The same as a parameter of its own.", example, _ANY) for name, example in _FILTERED),
            Parameter("orderBy", "displayName, identifier or publisherId, with asc or desc.", "displayName desc", _ANY),
            _size(LISTED, MOST_LISTED),
            _size(LISTED, MOST_LISTED, name="limit"),
            _TOKEN,
        ),
        errors=(UnknownName,), asked=("publisher", "pageSize"),
    ),
    Operation(
        "registry", "GET", "/agents/entry", "One table or source whole, by identifier or path.", replies.Entry,
        (Parameter("id", "The identifier, or the document's path.", _A_TABLE, _SAID, required=True),),
        errors=(NotFound,),
    ),
    Operation(
        "registry", "GET", "/agents/{identifier}", "One table or source whole, by its identifier.", replies.Entry,
        (Parameter("identifier", "The URN, percent-encoded.", _A_TABLE, _SAID, required=True, place="path"),),
        errors=(NotFound,),
    ),
    Operation(
        "registry", "POST", "/explore", "How matching tables spread over a field's values.", replies.ExploreReply,
        body=explore_body, errors=(UnknownName,),
        body_example={"query": {"text": "life"}, "resultType": {"facets": [{"field": "publisher", "limit": 3}]}},
    ),
    *(
        Operation("registry", "GET", path, "The ARD manifest: this registry and its sources.", replies.Manifest)
        for path in ("/.well-known/ard.json", "/.well-known/ai-catalog.json")
    ),
    Operation(
        "registry", "GET", "/robots.txt", "What crawlers may do, and where the manifest is.", None,
        media=("text/plain",),
    ),
    Operation(
        "registry", "GET", "/okf/index", "The folders and documents in a folder.", replies.FolderReply,
        (
            Parameter("dir", "The folder; the root unless given.", "sources/worldbank", _ANY),
            _size(FILES, MOST_FILES),
            _size(FILES, MOST_FILES, name="limit"),
            _TOKEN,
        ),
        errors=(NotFound,), asked=("dir", "pageSize"),
    ),
    Operation(
        "registry", "GET", "/okf/file", "A document as it was published.", None,
        (Parameter("path", "Its path.", "sources/worldbank/_access.md", _SAID, required=True),),
        errors=(NotFound, ReleaseIncompatible), media=("text/markdown",),
    ),
    Operation("registry", "GET", "/openapi.json", "This document.", dict[str, Any]),
    Operation(
        "mcp", "POST", "/mcp", "The same as tools for language models: one JSON-RPC message.", replies.RpcReply,
        body=mcp_body, body_example={**RPC_BODY, "params": _CALLED},
        media=(JSON, "text/event-stream"), also=(202,), errors=(NotFound,),
    ),
    Operation(
        "stats", "GET", "/stats.json", "Searches and what they cost, by day and by model.", replies.StatsReply,
        (Parameter("days", f"UTC days: {DAYS_SHOWN[0]} unless given, held between 1 and {DAYS_SHOWN[1]}.", "7",
                   {"type": "integer", "default": DAYS_SHOWN[0]}),),
        errors=(BucketError,),
    ),
    Operation(
        "stats", "GET", "/status.json", "What sample questions got from the releases that are current.",
        replies.StatusReply, errors=(BucketError, ReleaseError),
    ),
    *(
        Operation("every", "GET", path, "Is it ready, what does it serve, what did it answer.", replies.Health)
        for path in ("/health", "/healthz")
    ),
    *SITE_OPERATIONS,
)  # fmt: skip
