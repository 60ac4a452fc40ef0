"""Replies on their way out: bytes, an entity tag where a reply is stable, and what every one of them carries."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import flask
from msgspec import Struct, field

from shared.errors import AskbucketError, error_body

JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"

_SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_TAG = re.compile(r'(?:W/)?("[^"]*")')
_UNLESS_SAID = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
# What a 304 has in common with the 200 it stands for (RFC 9110, 15.4.5).
_OF_304 = ("Cache-Control", "ETag", "Vary")


class Reply(Struct, frozen=True):
    """A status, a body (a mapping is sent as JSON, bytes as they are, an iterator piece by piece, None is no body) and
    headers of its own.

    `stands_for` is the status it would have in a protocol that sends none with its failures, for the log and the
    counters. `said` holds `usage`, `notices` and `eligibility` for them, where the body itself does not.
    """

    status: int
    body: Mapping[str, Any] | bytes | Iterator[bytes] | None
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = JSON
    said: Mapping[str, Any] | None = None
    stands_for: int = 0

    @classmethod
    def stable(
        cls, body: Mapping[str, Any] | bytes, *, max_age_s: int, etag: str | None = None, content_type: str = JSON
    ) -> Reply:
        """A 200 that caches may keep this long, with a strong entity tag: `etag`, or a digest of the bytes.

        A request whose If-None-Match names the tag is answered with 304 and no body.
        """
        content = body if isinstance(body, bytes) else encoded(body)
        tag = hashlib.sha256(content).hexdigest()[:32] if etag is None else etag
        headers = {"Cache-Control": f"public, max-age={max_age_s}", "ETag": f'"{tag}"'}
        return cls(200, content, headers, content_type)

    def unless_known(self, if_none_match: str | None) -> Reply:
        """This reply, or the 304 in its place where the caller has it already."""
        tag = self.headers.get("ETag")
        if self.status != 200 or tag is None or if_none_match is None:
            return self
        if if_none_match.strip() != "*" and tag not in _TAG.findall(if_none_match):
            return self
        return Reply(304, None, {name: self.headers[name] for name in _OF_304 if name in self.headers})


def failure(error: AskbucketError, request_id: str, extra: Mapping[str, Any] | None = None) -> Reply:
    """The reply to an error; `extra` keys come beside the error's own."""
    return Reply(error.status, {**(extra or {}), **error_body(error, request_id)}, error.headers)


def request_id_of(given: str | None) -> str:
    """The caller's own request id where it is a plain token of at most 64 characters, else a new one."""
    return given if given is not None and _SANE_ID.fullmatch(given) else os.urandom(16).hex()


def encoded(body: Mapping[str, Any]) -> bytes:
    """Compact UTF-8 JSON, `?` for a lone surrogate a record may hold. Raises ValueError for NaN or Infinity."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def render(reply: Reply, every: Mapping[str, str]) -> flask.Response:
    """The Flask response; `every` are headers that each reply of this request carries."""
    headers = {**_UNLESS_SAID, **every, **reply.headers}
    if vary := [given["Vary"] for given in (every, reply.headers) if "Vary" in given]:
        headers["Vary"] = ", ".join(vary)
    response = flask.Response(status=reply.status, headers=headers)
    if reply.body is None:
        del response.headers["Content-Type"]
        return response
    if isinstance(reply.body, Iterator):
        response.response = reply.body
    else:
        response.set_data(reply.body if isinstance(reply.body, bytes) else encoded(reply.body))
    response.content_type = reply.content_type
    return response
