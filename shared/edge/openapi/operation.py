"""What /openapi.json says of one method of one path, and of a parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from shared.contracts.schema import Schema, Schemas
from shared.errors import AskbucketError, PayloadTooLarge, RequestError, Starting, Unavailable, UriTooLong

JSON = "application/json"
RPC_BODY = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}

_EVERYWHERE = (RequestError, UriTooLong, AskbucketError, Unavailable, Starting)


class Parameter(Struct, frozen=True):
    """A parameter of a query string, or of the path."""

    name: str
    said: str
    example: str
    schema: Mapping[str, Any]
    required: bool = False
    place: str = "query"

    def shown(self) -> Schema:
        """As OpenAPI has it."""
        return {
            "name": self.name,
            "in": self.place,
            "description": self.said,
            "required": self.required,
            "schema": dict(self.schema),
            "example": self.example,
        }


class Operation(Struct, frozen=True):
    """One method of one path. `reply` is a type of contracts/replies.py, or None for a text of `media`.

    `body` makes the schema of its body; `errors` are those of its own, beside what every route can answer; `media`
    lists what a 200 may be. Its example asks with the required parameters and those of `asked`;
    `also` are statuses without a body.
    """

    function: str
    method: str
    path: str
    summary: str
    reply: Any
    parameters: tuple[Parameter, ...] = ()
    body: Callable[[Schemas], Schema] | None = None
    body_example: Any = None
    errors: tuple[type[AskbucketError], ...] = ()
    media: tuple[str, ...] = (JSON,)
    asked: tuple[str, ...] = ()
    also: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        """Its operationId: `get_agents_entry`."""
        words = "".join(letter if letter.isalnum() else " " for letter in self.path).split()
        return "_".join([self.method.lower(), *words])

    @property
    def failures(self) -> Sequence[type[AskbucketError]]:
        """Every error it can answer with, but those of a wrong path or method."""
        large = (PayloadTooLarge,) if self.body else ()
        return (*_EVERYWHERE, *large, *self.errors)


def mcp_body(schemas: Schemas) -> Schema:
    """A JSON-RPC message; without an `id` it is a notification, and answered with 202."""
    del schemas
    return {
        "type": "object",
        "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "integer"]},
            "method": {"type": "string"},
            "params": {"type": "object"},
        },
    }
