"""JSON-RPC 2.0: what one message is, and the errors that answer what is none.

Checked here before the MCP library sees a body, so that every protocol revision refuses the same things in the
same words, and as strictly as every other route reads JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.edge.body import decode_json
from shared.edge.reply import Reply
from shared.errors import RequestError

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602

MessageId = str | int

# An id comes back with the answer; what is longer than this names nothing, it carries something.
MAX_ID_CHARS = 256
# Beyond this a client in JavaScript could not tell its own ids apart.
_MOST_ID = 2**53


class Malformed(Exception):
    """A body that is no message. `id` is the message's own where it has a usable one."""

    def __init__(self, code: int, message: str, id: MessageId | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id

    @property
    def reply(self) -> Reply:
        """What the client gets: 400 and a JSON-RPC error."""
        error = {"code": self.code, "message": self.message}
        return Reply(400, {"jsonrpc": "2.0", "id": self.id, "error": error})


def read_message(body: bytes) -> Mapping[str, Any]:
    """The one message in a body: a request, a notification or a response. Raises Malformed."""
    try:
        message = decode_json(body)
    except RequestError as error:
        raise Malformed(PARSE_ERROR, error.message) from error
    if isinstance(message, list):
        raise Malformed(INVALID_REQUEST, "A batch is not answered: send one message in a request")
    if not isinstance(message, dict):
        raise Malformed(INVALID_REQUEST, "A message is a JSON object")
    _check(message, _id_of(message))
    return message


def _id_of(message: Mapping[str, Any]) -> MessageId | None:
    """The id; None where there is none, which makes it a notification. A null id would be no id, and is refused."""
    if "id" not in message:
        return None
    given = message["id"]
    if isinstance(given, str) and len(given) <= MAX_ID_CHARS:
        return given
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) <= _MOST_ID:
        return given
    raise Malformed(INVALID_REQUEST, f"id must be an integer up to 2^53 or a text of at most {MAX_ID_CHARS} characters")


def _check(message: Mapping[str, Any], id: MessageId | None) -> None:
    if message.get("jsonrpc") != "2.0":
        raise Malformed(INVALID_REQUEST, 'jsonrpc must be "2.0"', id)
    if "method" not in message and ("result" in message or "error" in message):
        return
    if not isinstance(message.get("method"), str):
        raise Malformed(INVALID_REQUEST, "method must be a text", id)
    if not isinstance(message.get("params", {}), dict):
        raise Malformed(INVALID_PARAMS, "params must be an object", id)
