"""The HTTP side of a function: routes, limits, errors and health around one thing that is loaded.

A function is `App(hosted, routes, describe, settings)`. Its handlers take a `Call` and what is loaded, and
return a JSON-ready dict, a `Reply` or a `Stream`, or raise one of shared/errors.py. Everything else (404, 405, 413,
414, 429, CORS, request ids, traces, 503 while starting, the log line) is here, the same for every function.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import flask
from werkzeug.exceptions import ClientDisconnected

from shared.edge import log
from shared.edge.address import base_url_of, self_url_of
from shared.edge.body import patience, read_body
from shared.edge.call import Call, Query
from shared.edge.client import client_of
from shared.edge.cors import ANY_ORIGIN, REQUEST_ID, TRACEPARENT, Cors
from shared.edge.counters import Counters
from shared.edge.exchange import Exchange, Observer, spent
from shared.edge.limits import Gate, Policy
from shared.edge.process import Hosted
from shared.edge.reply import Reply, failure, render, request_id_of
from shared.edge.route import Found, Route, Routes, RouteTable, route_of
from shared.edge.stream import Stream
from shared.edge.trace import trace_of
from shared.errors import AskbucketError, MethodNotAllowed, NotFound, RequestError, UriTooLong
from shared.settings import Settings, secrets_of
from shared.timed import recording

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from shared.edge.streaming import Running

T = TypeVar("T")
Answering = Callable[[flask.Request, Exchange], Reply]
HEALTH = ("/health", "/healthz")
# The key of a WSGI environ under which a gateway says below which path it mounted this function: "sites/trails/".
MOUNTED = "askbucket.mounted"
_MOST_LOGGED = 2_000
_WITH_BODY = {"POST", "PUT", "PATCH"}


class App(Generic[T]):
    """One function. Call it with a Flask request, or mount `wsgi`.

    `routes` is path → method → handler or `Route`, as `RouteTable` says; `describe` turns what is loaded into the
    keys /health shows; `counted` names the block of its counters; `policy` is what paid routes allow a client
    and `cors` which pages may ask; each of `observers` is told of every answer but /health's; `headers` come with
    every reply, an error's too.
    """

    def __init__(
        self,
        hosted: Hosted[T],
        routes: Routes[T],
        *,
        describe: Callable[[T], dict[str, Any]],
        settings: Settings,
        counted: str = "searches",
        policy: Policy | None = None,
        cors: Cors = ANY_ORIGIN,
        observers: Sequence[Observer] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.hosted = hosted
        self._routes = RouteTable(routes)
        self._describe = describe
        self._settings = settings
        self._self_url = self_url_of(settings.self_url)
        self._counted = counted
        self._counters = Counters()
        self._gate = Gate(policy or Policy.of_tables(settings), settings)
        self._cors = cors
        self._observers = observers
        self._own_headers = headers or {}

    @property
    def paths(self) -> frozenset[str]:
        """Every path that is answered, without trailing slashes; one with a parameter as its pattern."""
        return self._routes.paths | frozenset(HEALTH)

    @property
    def secrets(self) -> list[str]:
        """What no log line may show."""
        return secrets_of(self._settings)

    def answers(self, environ: WSGIEnvironment) -> bool:
        """Whether one of this function's own routes (not /health) answers this path, patterns included."""
        return self._routes.find(environ) is not None

    def __call__(self, request: flask.Request) -> flask.Response:
        """Answer one request. Never raises."""
        return self._served(request, self._reply)

    def refuse(self, error: AskbucketError, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request with this error as a WSGI application, with all that other replies of this function have."""

        def refused(request: flask.Request, exchange: Exchange) -> Reply:
            del exchange
            self._check_uri(request.environ)
            raise error

        return self._served(flask.Request(environ), refused)(environ, start_response)

    def _served(self, request: flask.Request, reply: Answering) -> flask.Response:
        exchange = self._begin(request)
        self.hosted.ensure()
        response = self._answer(request, exchange, reply)
        exchange.status = response.status_code
        if not exchange.streamed:  # else there is nothing to tell before its end
            self._tell(exchange)
        return response

    def _tell(self, exchange: Exchange) -> None:
        """The log line and the observers, once a request is over."""
        log.request_line(exchange)
        if exchange.counted:
            for observer in self._observers:
                observer(exchange.said())

    def wsgi(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The same as a WSGI application."""
        return self(flask.Request(environ))(environ, start_response)

    def _begin(self, request: flask.Request) -> Exchange:
        headers = request.headers
        return Exchange(
            request.method,
            request_id_of(headers.get(REQUEST_ID)),
            trace_of(headers.get(TRACEPARENT)),
            client_of(request.environ, self._settings.trust_proxy),
        )

    def _answer(self, request: flask.Request, exchange: Exchange, reply: Answering) -> flask.Response:
        def rendered(made: Reply) -> flask.Response:
            return render(made, self._headers(request, exchange))

        try:
            return rendered(reply(request, exchange))
        except AskbucketError as error:
            exchange.failed(error)
            return rendered(failure(error, exchange.request_id))
        except Exception as error:  # noqa: BLE001 - the one place: whatever a handler raises, the caller gets JSON
            log.crash(error, exchange.request_id)
            unforeseen = AskbucketError("Something went wrong here, not in the request")
            exchange.failed(unforeseen)
            return rendered(failure(unforeseen, exchange.request_id))

    def _headers(self, request: flask.Request, exchange: Exchange) -> dict[str, str]:
        """What every reply carries, whatever its status."""
        return {
            **self._own_headers,
            **self._cors.on_every_reply(request.headers.get("Origin")),
            **exchange.headers,
            REQUEST_ID: exchange.request_id,
            TRACEPARENT: exchange.trace.header,
            "Server-Timing": log.server_timing(exchange),
        }

    def _reply(self, request: flask.Request, exchange: Exchange) -> Reply:
        self._check_uri(request.environ)
        found = self._find(request.environ)
        exchange.route = found.pattern
        if request.method == "OPTIONS":
            return Reply(204, None, {"Allow": ", ".join(found.methods), **self._cors.on_preflight(found.methods)})
        if request.method not in found.methods:
            raise MethodNotAllowed(f"{found.pattern} answers {', '.join(found.methods)}", found.methods)
        if found.pattern in HEALTH:
            return self._health(exchange)
        return self._handle(found, request, exchange)

    def _find(self, environ: WSGIEnvironment) -> Found[T]:
        path = route_of(environ)
        if path in HEALTH:
            return Found(path, {"GET": Route(_health_is_the_apps_own)}, {})
        found = self._routes.find(environ)
        if found is None:
            raise NotFound("No such route: see /openapi.json")
        return found

    def _handle(self, found: Found[T], request: flask.Request, exchange: Exchange) -> Reply:
        exchange.counted = True
        route = found.routes["GET" if request.method == "HEAD" else request.method]
        with ExitStack() as lent, ExitStack() as paid:
            loaded = lent.enter_context(self.hosted.borrow())
            exchange.release = self._describe(loaded).get("release")
            if route.paid and request.method == "HEAD":
                return Reply(200, None)  # a question nobody would read the answer to starts no work
            if route.charged_first:
                paid.enter_context(self._paying(exchange))
            call = self._call(found, route, request, exchange)
            if self._settings.log_queries:
                exchange.asked = _asked(call)
            if route.paid and not route.charged_first:
                paid.enter_context(call.paying())
            with self._counting(exchange):
                result = route.handler(call, loaded)
                if isinstance(result, Stream):
                    return self._stream(result, request, exchange, paid.pop_all(), lent.pop_all())
                reply = _as_reply(result)
                exchange.answered(reply.stands_for or reply.status, reply.said or reply.body)
        return reply.unless_known(request.headers.get("If-None-Match"))

    def _stream(
        self, stream: Stream, request: flask.Request, exchange: Exchange, paid: ExitStack, lent: ExitStack
    ) -> Reply:
        """Send what comes of it. `paid` is given back when the reader has it all or left, `lent` when nobody needs it.

        Nothing of the request is read from here on.
        """
        from shared.edge.sse import EVENT_STREAM, HEADERS, Frames, encoded  # 5 ms that other functions need not pay
        from shared.edge.streaming import Body, Running, sending

        connection = request.environ.get("gunicorn.socket")
        running = Running(stream, lambda: self.hosted.portal, connection, exchange.request_id)
        frames = stream.renderer or Frames(stream.query_id, stream.query)
        paid.enter_context(sending(connection))
        paid.callback(self._streamed, exchange, running)
        body = Body(running, frames, self._settings.heartbeat_s, on_end=paid.close, on_over=lent.close)
        exchange.streamed = True
        if not stream.as_json:
            return Reply(200, body, HEADERS, EVENT_STREAM)
        with closing(body):
            whole = frames.whole(event for event in running.events() if event is not None)
        return Reply(200, encoded(whole))

    def _streamed(self, exchange: Exchange, running: Running) -> None:
        """A stream is over: count it, and tell of it."""
        exchange.status = 200
        exchange.streamed_out(running.outcome, spent(running.used, running.calls))
        if running.began:
            self._counters.record(200, exchange.elapsed_s, exchange.outcome)
        self._tell(exchange)

    def _paying(self, exchange: Exchange) -> AbstractContextManager[None]:
        return self._gate.passing(exchange.client, exchange.headers)

    @contextmanager
    def _counting(self, exchange: Exchange) -> Iterator[None]:
        """Count what comes of a handler among /health's figures."""
        began = time.perf_counter()
        status, outcome = 500, "failed"
        try:
            with recording() as timings:
                exchange.stages = timings.ms
                yield
            status, outcome = exchange.status, exchange.outcome
        except AskbucketError as error:
            status = error.status
            raise
        finally:
            if not exchange.streamed:
                self._counters.record(status, time.perf_counter() - began, outcome)

    def _call(self, found: Found[T], route: Route[T], request: flask.Request, exchange: Exchange) -> Call:
        query = Query.parse(request.environ.get("QUERY_STRING", ""))
        raw = self._body(request) if request.method in _WITH_BODY else b""
        parsed = request.method in _WITH_BODY and not route.raw_body
        return Call(
            query=query,
            body=route.reads(raw, request.headers.get("Content-Type", "")) if parsed else {},
            base_url=(self._self_url or base_url_of(request.environ)) + request.environ.get(MOUNTED, ""),
            request_id=exchange.request_id,
            headers={name.lower(): value for name, value in request.headers},
            client=exchange.client,
            path=found.parameters(),
            method=request.method,
            sent_path=request.environ.get("PATH_INFO", "") or "/",
            raw=raw if route.raw_body else b"",
            paying=partial(self._paying, exchange),
        )

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

    def _health(self, exchange: Exchange) -> Reply:
        """Readiness and counters, from memory."""
        state = self.hosted.state()
        known = {"status": state.pop("state"), **state, self._counted: self._counters.snapshot()}
        try:
            with self.hosted.borrow() as loaded:
                return Reply(200, {"ok": True, **known, **self._describe(loaded)})
        except AskbucketError as error:
            exchange.failed(error)
            return failure(error, exchange.request_id, {"ok": False, **known})


def _asked(call: Call) -> str:
    """The parameters and the body of a request, as much as a log line should hold; no word is cut in two."""
    text = json.dumps({**dict(call.query.pairs), **call.body}, ensure_ascii=False) + call.raw.decode("utf-8", "replace")
    return text if len(text) <= _MOST_LOGGED else f"{text[:_MOST_LOGGED].rpartition(' ')[0]} …"


def _as_reply(result: dict[str, Any] | Reply) -> Reply:
    return result if isinstance(result, Reply) else Reply(200, result)


def _health_is_the_apps_own(call: Call, loaded: Any) -> Reply:
    raise NotImplementedError(f"{call.request_id}: {loaded}")
