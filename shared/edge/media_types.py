"""What a caller sends and wants back, by its media types: a question in several forms, an answer in two."""

from __future__ import annotations

from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from shared.edge.body import parse_object
from shared.errors import RequestError

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def wants_text(accept: str | None) -> bool:
    """Whether an Accept header asks for plain text, by name or weight, rather than JSON. Without a preference, JSON."""
    return parse_accept_header(accept, MIMEAccept).best_match(("application/json", "text/plain")) == "text/plain"


def read_question(body: bytes, content_type: str) -> dict[str, object]:
    """The parameters in a question's body: a JSON object, a text that is the question itself, or nothing.

    `curl -d` calls everything a form, so what begins like JSON is JSON. Raises RequestError for a real form.
    """
    if not body.strip():
        return {}
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "text/plain":
        return {"query": _utf8(body)}
    if kind in _FORMS and not body.lstrip().startswith((b"{", b"[", b'"')):
        raise RequestError('The body is a form: send JSON ({"query": "…"}), a text/plain question or a query string')
    return parse_object(body)


def _utf8(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(f"The body is not UTF-8 (byte {error.start})") from error
