"""Which handler answers a path, and what the path's one parameter holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import unquote, unquote_to_bytes

from msgspec import Struct

from shared.edge.body import parse_object
from shared.edge.call import Call
from shared.edge.reply import Reply
from shared.edge.stream import Stream
from shared.errors import RequestError

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

T = TypeVar("T")
Handler = Callable[[Call, T], "dict[str, Any] | Reply | Stream"]
BodyReader = Callable[[bytes, str], dict[str, Any]]

# Only at the very start: looked for anywhere, 200 kB of letters kept a processor for half a minute.
_ORIGIN = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def json_object(body: bytes, content_type: str) -> dict[str, Any]:
    """What a POST takes unless its route says otherwise: one JSON object, whatever the content type says."""
    del content_type
    return parse_object(body)


class Route(Struct, Generic[T], frozen=True):
    """How one method of one path is answered.

    `paid` routes are charged against the app's limits once the body is read, before the handler runs; with
    `charged_first` before the body is read, so that a request nobody can read costs as much as any other.
    `raw_body` hands the handler the body unparsed, as `call.raw`; else `reads` makes `call.body` of it from
    the bytes and the content type, and what it raises costs the caller nothing.
    """

    handler: Handler[T]
    paid: bool = False
    charged_first: bool = False
    raw_body: bool = False
    reads: BodyReader = json_object


Routes = Mapping[str, Mapping[str, Route[T] | Handler[T]]]


class Found(Struct, Generic[T], frozen=True):
    """A path that is answered: its pattern, the routes by method, and the parameter as it was sent."""

    pattern: str
    routes: Mapping[str, Route[T]]
    raw_parameters: Mapping[str, str]

    @property
    def methods(self) -> list[str]:
        """What `Allow` says."""
        return [*self.routes, *(["HEAD"] if "GET" in self.routes else []), "OPTIONS"]

    def parameters(self) -> dict[str, str]:
        """The parameters, percent-decoded exactly once. Raises RequestError for a broken escape or no UTF-8."""
        return {name: _decoded(raw, name) for name, raw in self.raw_parameters.items()}


class RouteTable(Generic[T]):
    """Paths → routes. A path may end in one parameter, `/agents/{identifier}`, which is one segment, never empty.

    The segment is cut where the request as sent has a slash, so `%2F` inside it does not end it. An exact path
    wins over a parameter. Paths are given without a trailing slash, and each answers with one too.
    """

    def __init__(self, routes: Routes[T]) -> None:
        made = {path: {method: _route(it) for method, it in methods.items()} for path, methods in routes.items()}
        self._exact = {path: methods for path, methods in made.items() if "{" not in path}
        self._patterns = {tuple(path.split("/")[:-1]): (path, methods) for path, methods in made.items() if "{" in path}

    @property
    def paths(self) -> frozenset[str]:
        """Every path and pattern."""
        return frozenset((*self._exact, *(path for path, _ in self._patterns.values())))

    def find(self, environ: WSGIEnvironment) -> Found[T] | None:
        """What answers this request's path, whatever its method."""
        path = route_of(environ)
        if path in self._exact:
            return Found(path, self._exact[path], {})
        *before, last = _raw_path(environ).split("/")
        pattern = self._patterns.get(tuple(unquote(segment) for segment in before))
        if pattern is None or not last:
            return None
        name, methods = pattern
        return Found(name, methods, {name.rpartition("{")[2].rstrip("}"): last})


def route_of(environ: WSGIEnvironment) -> str:
    """The path of a request without one trailing slash; `//search` stays what it is."""
    return _without_slash(environ.get("PATH_INFO", "") or "/")


def _route(given: Route[T] | Handler[T]) -> Route[T]:
    return given if isinstance(given, Route) else Route(given)


def _raw_path(environ: WSGIEnvironment) -> str:
    """The path as it was sent, without one trailing slash. A server that does not show it gives the decoded one."""
    raw = environ.get("RAW_URI")
    if raw is None:
        return route_of(environ).replace("%", "%25")
    return _without_slash(_ORIGIN.sub("", raw, count=1).partition("?")[0].partition("#")[0])


def _without_slash(path: str) -> str:
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


def _decoded(raw: str, name: str) -> str:
    if _BROKEN_ESCAPE.search(raw):
        raise RequestError(f"{name} has a % that is not followed by two hexadecimal digits")
    try:
        return unquote_to_bytes(raw.encode("latin-1")).decode("utf-8")
    except UnicodeError as error:
        raise RequestError(f"{name} is not UTF-8") from error
