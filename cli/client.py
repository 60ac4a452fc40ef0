"""A caller of our own service, with errors that say what to do."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from shared.errors import AskbucketError, RequestError, Unavailable

TIMEOUT_S = 120
START = (
    "start a service with `make demo` or `askbucket serve --bucket URL`, name another one with --url,"
    " or read a release without one with --bucket"
)


def post(url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON reply. Raises RequestError for what the caller got wrong, Unavailable for everything else."""
    return _send(url, json.dumps(body).encode())


def get(url: str) -> dict[str, Any]:
    """The JSON reply of a GET, as `post`."""
    return _send(url, None)


def stream(url: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of an event stream as they come. Raises as `post`, also for a stream that ends before its end."""
    request = _request(url, json.dumps(body).encode(), {"Accept": "text/event-stream"})
    with _opened(url, request) as reply:
        if not reply.headers.get("Content-Type", "").startswith("text/event-stream"):
            raise Unavailable("The reply is not a stream: is this an Askbucket site?")
        try:
            yield from (_object(line[5:]) for line in reply if line.startswith(b"data:"))
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"The stream broke off ({error})") from None


def _send(url: str, data: bytes | None) -> dict[str, Any]:
    with _opened(url, _request(url, data)) as reply:
        return _object(reply.read())


def _request(url: str, data: bytes | None, headers: Mapping[str, str] | None = None) -> urllib.request.Request:
    if not url.startswith(("http://", "https://")):
        raise RequestError(f"{url}: expected http://… or https://…")
    try:
        return urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})})  # noqa: S310
    except ValueError as error:
        raise RequestError(f"{url}: expected a URL with a host that can be asked ({error})") from None


@contextmanager
def _opened(url: str, request: urllib.request.Request) -> Iterator[Any]:
    try:
        reply = urllib.request.urlopen(request, timeout=TIMEOUT_S)  # noqa: S310 - checked above
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error.code, error.read()) from None
    except (ValueError, http.client.InvalidURL) as error:
        raise RequestError(f"{url}: expected a URL with a host that can be asked ({error})") from None
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else str(error).strip()
        raise Unavailable(f"No answer from {url} ({reason}); {START}") from None
    with reply:
        yield reply


def _refusal(status: int, body: bytes) -> AskbucketError:
    kind = RequestError if 400 <= status < 500 else Unavailable
    try:
        return kind(f"{_object(body)['error']} (HTTP {status})")
    except (AskbucketError, KeyError):
        return kind(f"HTTP {status}")


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        raise Unavailable("The reply is not JSON: is this an Askbucket service?") from None
    if not isinstance(value, dict):
        raise Unavailable("The reply is not a JSON object: is this an Askbucket service?")
    return value
