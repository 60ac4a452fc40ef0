"""Replies on their way out: JSON bytes, CORS and the request id on every one of them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import flask

from shared.errors import AskbucketError, error_body

REQUEST_ID = "X-Request-Id"

_SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_EVERY_REPLY = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": f"Retry-After, {REQUEST_ID}",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """A status, a JSON body (None: no body) and the headers that belong to this reply alone."""

    status: int
    body: Mapping[str, Any] | None
    headers: Mapping[str, str] = field(default_factory=dict)


def failure(error: AskbucketError, request_id: str, extra: Mapping[str, Any] | None = None) -> Reply:
    """The reply to an error; `extra` keys come beside the error's own."""
    return Reply(error.status, {**(extra or {}), **error_body(error, request_id)}, error.headers)


def preflight(methods: Iterable[str]) -> Reply:
    """The answer to OPTIONS: any origin may send these methods with a JSON body."""
    allow = ", ".join(methods)
    headers = {
        "Allow": allow,
        "Access-Control-Allow-Methods": allow,
        "Access-Control-Allow-Headers": f"Content-Type, {REQUEST_ID}",
        "Access-Control-Max-Age": "86400",
    }
    return Reply(204, None, headers)


def request_id_of(given: str | None) -> str:
    """The caller's own request id where it is a plain token of at most 64 characters, else a new one."""
    return given if given is not None and _SANE_ID.fullmatch(given) else os.urandom(16).hex()


def render(reply: Reply, request_id: str) -> flask.Response:
    """The Flask response: compact UTF-8 JSON, `?` for a lone surrogate a record may hold."""
    response = flask.Response(status=reply.status, headers={**_EVERY_REPLY, **reply.headers, REQUEST_ID: request_id})
    if reply.body is None:
        del response.headers["Content-Type"]
        return response
    text = json.dumps(reply.body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    response.set_data(text.encode("utf-8", "replace"))
    response.content_type = "application/json; charset=utf-8"
    return response
