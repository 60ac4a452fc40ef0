"""The HTTP side of a function: routes, limits, errors and health around one thing that is loaded.

A function is `App(hosted, routes, describe, settings)`. Its handlers take a `Call` and what is loaded, and
return a JSON-ready dict or raise one of shared/errors.py. Everything else (404, 405, 413, 414, CORS, request
ids, 503 while starting, the log line) is here, the same for every function.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import flask
from werkzeug.exceptions import ClientDisconnected

from shared.edge import log
from shared.edge.body import parse_object, patience, read_body
from shared.edge.call import Call, Query
from shared.edge.counters import Counters
from shared.edge.process import Hosted
from shared.edge.reply import REQUEST_ID, Reply, failure, preflight, render, request_id_of
from shared.errors import AskbucketError, MethodNotAllowed, NotFound, RequestError, UriTooLong
from shared.settings import Settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

T = TypeVar("T")
Handler = Callable[[Call, T], dict[str, Any]]
HEALTH = ("/health", "/healthz")


class App(Generic[T]):
    """One function. Call it with a Flask request, or mount `wsgi`.

    `routes` is path → method → handler, paths without a trailing slash (each answers with one too);
    `describe` turns what is loaded into the keys /health shows; `counted` names the block of its counters.
    """

    def __init__(
        self,
        hosted: Hosted[T],
        routes: Mapping[str, Mapping[str, Handler[T]]],
        *,
        describe: Callable[[T], dict[str, Any]],
        settings: Settings,
        counted: str = "searches",
    ) -> None:
        self.hosted = hosted
        self._routes = routes
        self._describe = describe
        self._settings = settings
        self._counted = counted
        self._counters = Counters()

    @property
    def paths(self) -> frozenset[str]:
        """Every path that is answered, without trailing slashes."""
        return frozenset((*self._routes, *HEALTH))

    def __call__(self, request: flask.Request) -> flask.Response:
        """Answer one request. Never raises."""
        began = time.perf_counter()
        self.hosted.ensure()
        request_id = request_id_of(request.headers.get(REQUEST_ID))
        response = self._answer(request, request_id)
        route = route_of(request.environ) if route_of(request.environ) in self.paths else "-"
        elapsed_ms = (time.perf_counter() - began) * 1000
        log.request_line(route, request.method, response.status_code, elapsed_ms, request_id)
        return response

    def wsgi(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The same as a WSGI application."""
        return self(flask.Request(environ))(environ, start_response)

    def _answer(self, request: flask.Request, request_id: str) -> flask.Response:
        try:
            return render(self._reply(request, request_id), request_id)
        except AskbucketError as error:
            return render(failure(error, request_id), request_id)
        except Exception as error:  # noqa: BLE001 - the one place: whatever a handler raises, the caller gets JSON
            log.crash(error, request_id)
            return render(
                failure(AskbucketError("Something went wrong here, not in the request"), request_id), request_id
            )

    def _reply(self, request: flask.Request, request_id: str) -> Reply:
        self._check_uri(request.environ)
        path = route_of(request.environ)
        methods = self._methods(path)
        if request.method == "OPTIONS":
            return preflight(methods)
        if request.method not in methods:
            raise MethodNotAllowed(f"{path} answers {', '.join(methods)}", methods)
        if path in HEALTH:
            return self._health(request_id)
        return self._handle(self._routes[path]["POST" if request.method == "POST" else "GET"], request, request_id)

    def _methods(self, path: str) -> list[str]:
        handlers = {"GET": None} if path in HEALTH else self._routes.get(path)
        if handlers is None:
            raise NotFound("No such route")
        return [*handlers, *(["HEAD"] if "GET" in handlers else []), "OPTIONS"]

    def _handle(self, handler: Handler[T], request: flask.Request, request_id: str) -> Reply:
        with self.hosted.borrow() as loaded:
            call = self._call(request, request_id)
            began = time.perf_counter()
            status, outcome = 500, "failed"
            try:
                body = handler(call, loaded)
                status, outcome = 200, "no_match" if "eligibility" in body else "answered"
            except AskbucketError as error:
                status = error.status
                raise
            finally:
                self._counters.record(status, time.perf_counter() - began, outcome)
        return Reply(200, body)

    def _call(self, request: flask.Request, request_id: str) -> Call:
        query = Query.parse(request.environ.get("QUERY_STRING", ""))
        body = parse_object(self._body(request)) if request.method == "POST" else {}
        return Call(query, body, self._settings.self_url or request.host_url, request_id)

    def _body(self, request: flask.Request) -> bytes:
        try:
            with patience(request.environ.get("gunicorn.socket"), self._settings.body_timeout_s):
                return read_body(request.stream, request.content_length, self._settings.max_body_bytes)
        except ClientDisconnected as error:
            raise RequestError("The body ended early") from error

    def _check_uri(self, environ: WSGIEnvironment) -> None:
        path_and_query = environ.get("RAW_URI") or f"{environ['PATH_INFO']}?{environ.get('QUERY_STRING', '')}"
        if len(path_and_query) > self._settings.max_uri_bytes:
            raise UriTooLong(f"The path and query string are over {self._settings.max_uri_bytes} bytes")

    def _health(self, request_id: str) -> Reply:
        """Readiness and counters, from memory."""
        state = self.hosted.state()
        known = {"status": state.pop("state"), **state, self._counted: self._counters.snapshot()}
        try:
            with self.hosted.borrow() as loaded:
                return Reply(200, {"ok": True, **known, **self._describe(loaded)})
        except AskbucketError as error:
            return failure(error, request_id, {"ok": False, **known})


def route_of(environ: WSGIEnvironment) -> str:
    """The path of a request without one trailing slash; `//search` stays what it is."""
    path: str = environ.get("PATH_INFO", "") or "/"
    return path[:-1] if len(path) > 1 and path.endswith("/") else path
