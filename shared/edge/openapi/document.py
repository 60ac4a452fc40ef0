"""/openapi.json: made from the table of operations, the contracts' types and the error tree.

The examples are what the demo answered: `python -m tests.examples` asks it and writes them here and into docs/api.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shared.contracts import replies
from shared.contracts.schema import Schema, Schemas
from shared.edge.openapi.operation import JSON, Operation
from shared.edge.openapi.operations import OPERATIONS
from shared.errors import AskbucketError, UnknownName, error_body
from shared.version import VERSION

# A stream is read event by event, each of which has one of our messages as its data.
_TEXTS: dict[str, Schema] = {"text/event-stream": {"type": ["string", "object"]}}
EXAMPLES = Path(__file__).with_name("examples.json")


def document(base_url: str) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a registry at this URL."""
    schemas, examples = Schemas(), json.loads(EXAMPLES.read_text(encoding="utf-8"))
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        shown = _operation(operation, schemas, examples.get(operation.id))
        paths.setdefault(operation.path, {})[operation.method.lower()] = shown
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Askbucket",
            "version": VERSION,
            "summary": "Which published tables describe this quantity? And: find real items on a site.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url.rstrip("/")}],
        "paths": paths,
        "components": {"schemas": schemas.components},
    }


def statuses(method: str, path: str) -> frozenset[int]:
    """The statuses that are documented for a route."""
    found = next(each for each in OPERATIONS if (each.method, each.path) == (method, path))
    return frozenset((200, *found.also, *(kind.status for kind in found.failures)))


def _operation(operation: Operation, schemas: Schemas, example: Any) -> Schema:
    return {
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [operation.function],
        **({"parameters": [each.shown() for each in operation.parameters]} if operation.parameters else {}),
        **({"requestBody": _request_body(operation, schemas)} if operation.body else {}),
        "responses": {
            "200": _answer(operation, schemas, example),
            **{str(status): {"description": "Accepted, with nothing to say."} for status in operation.also},
            **_failures(operation, schemas),
        },
    }


def _request_body(operation: Operation, schemas: Schemas) -> Schema:
    schema = operation.body(schemas) if operation.body else {}
    return {
        "required": bool({"required", "anyOf"} & schema.keys()),
        "content": {JSON: {"schema": schema, "example": operation.body_example}},
    }


def _answer(operation: Operation, schemas: Schemas, example: Any) -> Schema:
    content: dict[str, Any] = {}
    for media in operation.media:
        schema = schemas.of(operation.reply) if media == JSON else _TEXTS.get(media, {"type": "string"})
        content[media] = {"schema": schema, **({"example": example} if media == JSON and example else {})}
    return {"description": operation.summary, "content": content}


def _failures(operation: Operation, schemas: Schemas) -> Schema:
    """Status → the errors that have it, each with an example. A JSON-RPC route has errors of its own kind beside."""
    shapes = [replies.ErrorBody, *([replies.RpcReply] if operation.reply is replies.RpcReply else [])]
    schema = schemas.of(shapes[0]) if len(shapes) == 1 else {"anyOf": [schemas.of(each) for each in shapes]}
    by_status: dict[int, list[type[AskbucketError]]] = {}
    for kind in operation.failures:
        by_status.setdefault(kind.status, []).append(kind)
    return {
        str(status): {
            "description": ", ".join(kind.code for kind in kinds),
            "content": {
                JSON: {
                    "schema": schema,
                    "examples": {kind.code: {"value": _error_example(kind)} for kind in kinds},
                }
            },
        }
        for status, kinds in sorted(by_status.items())
    }


def _error_example(kind: type[AskbucketError]) -> Schema:
    said = (kind.__doc__ or "").partition("\n")[0]
    takes: tuple[Any, ...] = (["census", "worldbank"],) if kind is UnknownName else ()
    return error_body(kind(said, *takes), "5f1e0c7a9b3d4e6f")
