"""Where this registry is: the base URL of a request, from AGENT_FINDER_SELF or what the client called us by."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from shared.errors import RequestError, SettingsError
from shared.settings import without_userinfo

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

# A name, an address of version 4, or one of version 6 in brackets; with a port or without.
_HOST = re.compile(
    r"(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]{2,45}\])(?::(?P<port>[0-9]{0,5}))?",
    re.ASCII | re.IGNORECASE,
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def self_url_of(given: str) -> str:
    """AGENT_FINDER_SELF as a base URL, which ends in a slash; empty for none. Raises SettingsError."""
    if not given:
        return ""
    try:
        url = urlsplit(given)
        good = url.scheme in _DEFAULT_PORTS and _HOST.fullmatch(url.netloc) is not None and url.port != 0
    except ValueError:
        good = False
    if not good or not given.isascii() or url.query or url.fragment or any(letter <= " " for letter in given):
        shown = without_userinfo(given)
        raise SettingsError(f"AGENT_FINDER_SELF={shown!r}: must be an http or https address without a query or user")
    return f"{given.rstrip('/')}/"


def base_url_of(environ: WSGIEnvironment) -> str:
    """The base URL that a request was sent to, which ends in a slash.

    Raises RequestError for a Host that is none: what it says is in links that caches may keep.
    """
    scheme = environ["wsgi.url_scheme"]
    host = environ.get("HTTP_HOST") or _own_host(environ)
    found = _HOST.fullmatch(host)
    if found is None:
        raise RequestError("The Host header is not a host's name or address, with a port or without")
    port = found["port"]
    return f"{scheme}://{found['name']}{f':{port}' if port and port != _DEFAULT_PORTS.get(scheme) else ''}/"


def _own_host(environ: WSGIEnvironment) -> str:
    """Where the server listens: HTTP/1.0 clients may name no host."""
    name = environ["SERVER_NAME"]
    return f"{f'[{name}]' if ':' in name else name}:{environ['SERVER_PORT']}"
