"""The edge with a toy function: what no real handler can be made to do from the outside."""

from __future__ import annotations

import inspect
import io
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import flask
import pytest
from werkzeug.test import EnvironBuilder

from shared import errors
from shared.edge.app import App
from shared.edge.call import Call
from shared.edge.cors import Cors
from shared.edge.exchange import Answered
from shared.edge.limits import Policy
from shared.edge.log import JsonLines
from shared.edge.process import Hosted
from shared.edge.reply import Reply
from shared.edge.route import Route
from shared.errors import AskbucketError, error_body
from shared.settings import Settings
from shared.timed import timed


class Toy:
    """A function whose handler does what its caller put in."""

    def __init__(self, settings: Settings | None = None, **of_app: Any) -> None:
        self.does: Any = lambda call: {}
        self.told: list[Answered] = []
        self.hosted: Hosted[str] = Hosted(
            lambda progress: "loaded", is_stale=lambda _: False, close=lambda _: None, refresh_s=60
        )
        routes = {
            "/do": {"GET": self._do, "POST": self._do},
            "/raw": {"POST": Route(self._do, raw_body=True), "DELETE": self._do},
            "/paid": {"GET": Route(self._do, paid=True), "POST": Route(self._do, paid=True)},
            "/things/{name}": {"GET": self._do},
        }
        self.app = App(
            self.hosted, routes, describe=lambda loaded: {"holds": loaded, "release": "r-1"},
            settings=settings or Settings(), observers=[self.told.append], **of_app,
        )  # fmt: skip
        assert self.hosted.wait(10)

    def _do(self, call: Call, loaded: str) -> dict[str, Any] | Reply:
        assert loaded == "loaded"
        result: dict[str, Any] | Reply = self.does(call)
        return result

    def ask(self, path: str = "/do", method: str = "GET", **environ: Any) -> flask.Response:
        return self.app(flask.Request(EnvironBuilder(path=path, method=method, **environ).get_environ()))


@pytest.fixture
def toy() -> Iterator[Toy]:
    toy = Toy()
    yield toy
    toy.hosted.close()


@pytest.fixture
def made() -> Iterator[Any]:
    """Makes a toy of one's own settings, and closes it."""
    toys: list[Toy] = []

    def make(settings: Settings | None = None, **of_app: Any) -> Toy:
        toys.append(Toy(settings, **of_app))
        return toys[-1]

    yield make
    for each in toys:
        each.hosted.close()


@pytest.fixture
def log_lines() -> Iterator[list[dict[str, Any]]]:
    """What the log would say of requests, as parsed lines."""
    lines: list[dict[str, Any]] = []
    handler = logging.Handler()
    handler.addFilter(lambda record: record.msg != "loaded")
    handler.emit = lambda record: lines.append(json.loads(JsonLines().format(record)))  # type: ignore[method-assign]
    ours = logging.getLogger("shared")
    level = ours.level
    ours.addHandler(handler)
    ours.setLevel(logging.INFO)
    yield lines
    ours.removeHandler(handler)
    ours.setLevel(level)


def body_of(response: flask.Response) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(response.get_data())
    return body


def raising(error: BaseException) -> Any:
    def handler(call: Call) -> dict[str, Any]:
        raise error

    return handler


def test_what_nobody_foresaw_is_a_500_in_json_that_says_nothing_of_the_inside(
    toy: Toy, log_lines: list[dict[str, Any]]
) -> None:
    toy.does = raising(KeyError("the caller's secret question"))
    response = toy.ask(headers={"X-Request-Id": "r1"})
    assert response.status_code == 500
    body = body_of(response)
    assert (body["code"], body["errorCode"], body["requestId"]) == ("internal_error", "INTERNAL_ERROR", "r1")
    assert "secret" not in response.get_data(as_text=True)
    crash, request = log_lines
    assert (crash["type"], crash["request_id"]) == ("KeyError", "r1")
    assert any(frame.startswith("test_edge:") for frame in crash["at"])
    assert "secret" not in json.dumps(log_lines)
    assert (request["status"], request["route"]) == (500, "/do")


EVERY_ERROR = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, AskbucketError)]


@pytest.mark.parametrize("kind", EVERY_ERROR)
def test_every_error_has_the_one_shape_and_its_own_status(toy: Toy, kind: type[AskbucketError]) -> None:
    takes = {"UnknownName": (["a"],), "MethodNotAllowed": (["GET"],)}.get(kind.__name__, ())
    error = kind("What to do.", *takes)
    toy.does = raising(error)
    response = toy.ask(headers={"X-Request-Id": "r1"})
    assert response.status_code == kind.status
    assert body_of(response) == json.loads(json.dumps(error_body(error, "r1")))
    assert {"error", "message", "code", "errorCode", "requestId"} <= body_of(response).keys()
    assert response.headers["Access-Control-Allow-Origin"] == "*"


def test_an_error_that_may_pass_says_when_to_come_back(toy: Toy) -> None:
    toy.does = raising(errors.Unavailable("Busy.", retry_after_s=7))
    response = toy.ask()
    assert response.headers["Retry-After"] == "7"
    assert body_of(response)["retryAfterSeconds"] == body_of(response)["retry_after"] == 7


def test_half_a_character_in_a_record_is_a_question_mark_on_the_wire(toy: Toy) -> None:
    toy.does = lambda call: {"title": "half \ud83d a face", "whole": "😀 é"}
    assert body_of(toy.ask()) == {"title": "half ? a face", "whole": "😀 é"}


def test_a_number_that_json_lacks_is_a_500_and_not_broken_json(toy: Toy) -> None:
    toy.does = lambda call: {"score": float("nan")}
    response = toy.ask()
    assert (response.status_code, body_of(response)["code"]) == (500, "internal_error")


def test_the_base_url_is_the_requests_unless_it_is_set(toy: Toy) -> None:
    toy.does = lambda call: {"base": call.base_url}
    assert body_of(toy.ask(base_url="https://ard.example.org")) == {"base": "https://ard.example.org/"}


@pytest.mark.parametrize("host", ["a b", "[::", "x" * 3000, "é", ""])
def test_a_strange_host_header_is_no_crash(toy: Toy, host: str) -> None:
    toy.does = lambda call: {"base": call.base_url}
    environ = {**EnvironBuilder(path="/do").get_environ(), "HTTP_HOST": host}
    assert toy.app(flask.Request(environ)).status_code in {200, 400}


def test_a_body_that_ends_early_is_a_400(toy: Toy) -> None:
    response = toy.ask(method="POST", input_stream=io.BytesIO(b"{"), content_length=10)
    assert (response.status_code, body_of(response)["code"]) == (400, "invalid_request")


def test_a_body_that_cannot_be_read_is_a_400(toy: Toy) -> None:
    class Broken(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, _: Any) -> int:
            raise OSError("invalid chunk")

    environ = EnvironBuilder(path="/do", method="POST").get_environ()
    environ.update({"wsgi.input": io.BufferedReader(Broken()), "wsgi.input_terminated": True})
    response = toy.app(flask.Request(environ))
    assert (response.status_code, body_of(response)["code"]) == (400, "invalid_request")


def test_before_it_is_ready_health_says_how_far_and_other_routes_when_to_come_back() -> None:
    reported, go_on = threading.Event(), threading.Event()

    def refused_in_the_end(progress: Any) -> str:
        progress(3, 10)
        reported.set()
        go_on.wait(10)
        raise errors.ReleaseCorrupt("vectors: expected 10 bytes, found 3")

    hosted: Hosted[str] = Hosted(refused_in_the_end, is_stale=lambda _: False, close=lambda _: None, refresh_s=60)
    app = App(hosted, {"/do": {"GET": lambda call, loaded: {}}}, describe=lambda _: {}, settings=Settings())

    def ask(path: str) -> flask.Response:
        return app(flask.Request(EnvironBuilder(path=path).get_environ()))

    hosted.ensure()
    assert reported.wait(10)
    starting, health = ask("/do"), ask("/health")
    assert (starting.status_code, starting.headers["Retry-After"]) == (503, "1")
    assert (body_of(starting)["error"], body_of(starting)["code"]) == ("Service is starting", "starting")
    assert (health.status_code, body_of(health)["ok"], body_of(health)["status"]) == (503, False, "starting")
    assert (body_of(health)["done_bytes"], body_of(health)["total_bytes"]) == (3, 10)
    go_on.set()
    hosted.wait(10)
    for path in ("/do", "/health"):
        assert (ask(path).status_code, body_of(ask(path))["code"]) == (503, "release_corrupt")
        assert body_of(ask(path))["error"] == "vectors: expected 10 bytes, found 3"
    hosted.close()


def test_health_is_answered_from_what_is_loaded(toy: Toy) -> None:
    body = body_of(toy.ask("/health"))
    assert (body["ok"], body["status"], body["holds"]) == (True, "ready", "loaded")


# Replies that are no plain dict.


def test_a_stable_reply_may_be_kept_and_is_not_sent_twice(toy: Toy) -> None:
    toy.does = lambda call: Reply.stable({"a": 1}, max_age_s=60)
    first = toy.ask()
    tag = first.headers["ETag"]
    assert (first.status_code, first.headers["Cache-Control"]) == (200, "public, max-age=60")
    assert tag.startswith('"')
    for known in (tag, f'"x", {tag}', f"W/{tag}", "*"):
        again = toy.ask(headers={"If-None-Match": known})
        assert (again.status_code, again.get_data(), again.headers["ETag"]) == (304, b"", tag)
        assert again.headers["Cache-Control"] == "public, max-age=60"
        assert again.headers["Access-Control-Allow-Origin"] == "*"
        assert "Content-Type" not in again.headers
    for other in ('"x"', "", tag.strip('"')):
        assert toy.ask(headers={"If-None-Match": other}).status_code == 200


def test_the_tag_changes_with_the_bytes_unless_it_is_given(toy: Toy) -> None:
    tags = []
    for body in ({"a": 1}, {"a": 2}, {"a": 1}):
        toy.does = lambda call, body=body: Reply.stable(body, max_age_s=60)
        tags.append(toy.ask().headers["ETag"])
    assert tags[0] == tags[2] != tags[1]
    toy.does = lambda call: Reply.stable({}, max_age_s=60, etag="release-7")
    assert toy.ask().headers["ETag"] == '"release-7"'


def test_bytes_are_sent_as_they_are_and_a_reply_can_have_no_body(toy: Toy) -> None:
    toy.does = lambda call: Reply(200, b"# A leaf", content_type="text/markdown; charset=utf-8")
    response = toy.ask()
    assert (response.get_data(), response.headers["Content-Type"]) == (b"# A leaf", "text/markdown; charset=utf-8")
    toy.does = lambda call: Reply(202, None, {"X-More": "1"})
    response = toy.ask(method="POST", data=b"{}")
    assert (response.status_code, response.get_data(), response.headers["X-More"]) == (202, b"", "1")


# What a handler is told.


def test_a_call_says_who_asks_with_which_method_headers_and_parameter(toy: Toy) -> None:
    toy.does = lambda call: {
        "client": call.client,
        "method": call.method,
        "path": dict(call.path),
        "h": call.headers["x-a"],
    }
    response = toy.ask("/things/a%2Fb", headers={"X-A": "1"}, environ_overrides={"REMOTE_ADDR": "192.0.2.1"})
    assert body_of(response) == {"client": "192.0.2.1", "method": "GET", "path": {"name": "a/b"}, "h": "1"}
    assert toy.ask("/things/%zz").status_code == 400


def test_a_raw_body_is_handed_over_unread_and_within_the_limit(toy: Toy) -> None:
    toy.does = lambda call: {"length": len(call.raw), "body": dict(call.body), "method": call.method}
    assert body_of(toy.ask("/raw", "POST", data=b"not JSON")) == {"length": 8, "body": {}, "method": "POST"}
    assert toy.ask("/raw", "POST", data=b"x" * 65_537).status_code == 413
    assert body_of(toy.ask("/raw", "DELETE"))["method"] == "DELETE"
    assert toy.ask("/raw", "GET").headers["Allow"] == "POST, DELETE, OPTIONS"


def test_every_reply_continues_the_callers_trace_and_says_how_long_it_took(
    toy: Toy, log_lines: list[dict[str, Any]]
) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    for path in ("/do", "/nothing", "/health"):
        response = toy.ask(path, headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
        _, found, span, flags = response.headers["traceparent"].split("-")
        assert (found, flags) == (trace, "01")
        assert (log_lines[-1]["trace_id"], log_lines[-1]["span_id"]) == (trace, span)
        assert response.headers["Server-Timing"].startswith("total;dur=")


def test_the_stages_of_a_request_are_in_its_timing_header_and_its_log_line(
    toy: Toy, log_lines: list[dict[str, Any]]
) -> None:
    def handler(call: Call) -> dict[str, Any]:
        with timed("scan"):
            return {}

    toy.does = handler
    assert toy.ask().headers["Server-Timing"].startswith("scan;dur=")
    assert list(log_lines[-1]["stages"]) == ["scan"]


# Observers and the log.


def test_observers_are_told_of_every_answer_of_a_route_and_of_nothing_else(toy: Toy) -> None:
    toy.does = lambda call: {"eligibility": {}, "usage": {"llm_calls": 2}, "notices": [{"code": "n"}]}
    for path, method in (
        ("/things/x", "GET"),
        ("/nothing", "GET"),
        ("/health", "GET"),
        ("/do", "OPTIONS"),
        ("/do", "PUT"),
    ):
        toy.ask(path, method)
    [told] = toy.told
    assert (told.route, told.method, told.status, told.outcome) == ("/things/{name}", "GET", 200, "no_match")
    assert (told.usage, list(told.notices)) == ({"llm_calls": 2}, [{"code": "n"}])
    assert told.elapsed_s > 0


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(errors.RequestError("no"), "refused"), (errors.Busy("no"), "refused"), (errors.EmbeddingFailed("no"), "failed"),
     (KeyError("no"), "failed")],
)  # fmt: skip
def test_observers_are_told_of_failures_with_what_was_spent(toy: Toy, error: Exception, outcome: str) -> None:
    if isinstance(error, AskbucketError):
        error.usage = {"llm_calls": 1}
    toy.does = raising(error)
    toy.ask()
    [told] = toy.told
    assert told.outcome == outcome
    assert told.usage == ({"llm_calls": 1} if isinstance(error, AskbucketError) else None)


@pytest.mark.parametrize(("status", "outcome"), [(202, "answered"), (404, "refused"), (503, "failed")])
def test_a_reply_with_a_status_of_its_own_is_counted_by_it(toy: Toy, status: int, outcome: str) -> None:
    toy.does = lambda call: Reply(status, {})
    assert toy.ask().status_code == status
    assert [(told.status, told.outcome) for told in toy.told] == [(status, outcome)]
    counted = body_of(toy.ask("/health"))["searches"]
    assert counted["outcomes"] == ({} if outcome == "refused" else {outcome: 1})


def test_a_log_line_says_what_happened_and_not_what_was_asked(toy: Toy, log_lines: list[dict[str, Any]]) -> None:
    usage = {"llm_calls": 3, "total_tokens": 50, "cost_usd": 0.002}
    toy.does = lambda call: {"usage": usage, "notices": [{"code": "query_shortened", "message": "income of Ann"}]}
    toy.ask("/do", "POST", data=b'{"query": {"text": "income of Ann"}}', headers={"X-Request-Id": "r1"},
            environ_overrides={"REMOTE_ADDR": "203.0.113.77"})  # fmt: skip
    [line] = log_lines
    known = {name: line[name] for name in line.keys() - {"ms", "trace_id", "span_id"}}
    assert known == {
        "severity": "INFO", "message": "request", "route": "/do", "method": "POST", "status": 200, "request_id": "r1",
        "client": "203.0.113.0/24", "release": "r-1", "model_calls": 3, "tokens": 50, "usd": 0.002,
        "notices": ["query_shortened"],
    }  # fmt: skip
    toy.does = raising(errors.EmbeddingFailed("no", usage=usage))
    toy.ask()
    assert (log_lines[-1]["status"], log_lines[-1]["code"], log_lines[-1]["usd"]) == (503, "embedding_failed", 0.002)


def test_X07_what_was_asked_is_logged_only_where_a_setting_says_so_and_without_addresses(
    made: Any, log_lines: list[dict[str, Any]]
) -> None:
    toy = made(Settings(log_queries=True))
    toy.ask("/do?x=1", "POST", data=b'{"query": {"text": "income of ann@example.org, token=abc123def"}}')
    [line] = log_lines
    assert '"x": "1"' in line["query"]
    assert "income of [struck]" in line["query"]
    assert "ann@" not in line["query"]
    assert "abc123def" not in line["query"]


# Paid routes.


def limited(made: Any, **settings: Any) -> Toy:
    toy: Toy = made(Settings(**{"search_limit_per_day": 2, **settings}))
    return toy


def test_a_paid_route_is_charged_and_an_unpaid_one_is_not(made: Any) -> None:
    toy = limited(made)
    assert [toy.ask("/paid").status_code for _ in range(3)] == [200, 200, 429]
    assert [toy.ask(path).status_code for path in ("/do", "/things/x", "/health")] == [200, 200, 200]
    refused = toy.ask("/paid")
    assert body_of(refused)["code"] == "quota_exceeded"
    assert int(refused.headers["Retry-After"]) == body_of(refused)["retryAfterSeconds"] <= 86_400
    assert refused.headers["RateLimit"].startswith('"day";r=0;')


def test_Q11_a_wrong_query_costs_one_and_a_body_that_cannot_be_read_costs_nothing(made: Any) -> None:
    toy = limited(made)
    for body, status in ((b"{", 400), (b"x" * 70_000, 413), (b"", 400)):
        assert toy.ask("/paid", "POST", data=body).status_code == status
    toy.does = raising(errors.RequestError("query.text must be a non-empty string"))
    assert [toy.ask("/paid", "POST", data=b"{}").status_code for _ in range(3)] == [400, 400, 429]


@pytest.mark.parametrize("method", ["OPTIONS", "HEAD", "PUT"])
def test_what_starts_no_work_costs_nothing(made: Any, method: str) -> None:
    toy = limited(made)
    toy.does = raising(AssertionError("it worked"))
    assert {toy.ask("/paid", method).status_code for _ in range(5)} == {
        {"OPTIONS": 204, "HEAD": 200, "PUT": 405}[method]
    }
    toy.does = lambda call: {}
    assert toy.ask("/paid").headers["RateLimit"].startswith('"day";r=1;')


def test_a_handler_may_pay_for_some_of_its_requests_only(made: Any) -> None:
    toy = limited(made)

    def handler(call: Call) -> dict[str, Any]:
        if call.query.text("pay"):
            with call.paying():
                return {}
        return {}

    toy.does = handler
    assert [toy.ask("/do?pay=1").status_code for _ in range(3)] == [200, 200, 429]
    assert toy.ask("/do").status_code == 200


def test_C04_more_requests_than_places_are_busy_at_once_and_others_go_on(made: Any) -> None:
    toy = limited(made, search_max_concurrent=1, search_limit_per_day=0)
    inside, go_on = threading.Event(), threading.Event()

    def handler(call: Call) -> dict[str, Any]:
        inside.set()
        assert go_on.wait(10)
        return {}

    toy.does = handler
    first = threading.Thread(target=toy.ask, args=("/paid",))
    first.start()
    assert inside.wait(10)
    busy = toy.ask("/paid")
    assert (busy.status_code, body_of(busy)["code"], busy.headers["Retry-After"]) == (429, "busy", "1")
    assert toy.ask("/health").status_code == 200
    go_on.set()
    first.join()
    assert toy.ask("/paid").status_code == 200


def test_a_policy_of_ones_own_takes_the_place_of_the_tables(made: Any) -> None:
    toy = made(policy=Policy.of_site(Settings(rate_limit_per_minute=1), "recipes"))
    first, second = toy.ask("/paid"), toy.ask("/paid")
    assert (first.status_code, second.status_code) == (200, 429)
    assert first.headers["RateLimit-Policy"].startswith('"minute";q=1;w=60, "hour";q=1000;w=3600')


# Pages of other origins.


def test_X05_any_page_may_ask_and_none_with_credentials(toy: Toy) -> None:
    for path, method in (("/paid", "GET"), ("/paid", "OPTIONS"), ("/nothing", "GET"), ("/health", "GET")):
        response = toy.ask(path, method, headers={"Origin": "https://page.example", "Cookie": "a=b"})
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in response.headers
        exposed = set(response.headers["Access-Control-Expose-Headers"].split(", "))
        assert {"Retry-After", "X-Request-Id", "traceparent"} <= exposed


def test_X05_a_function_with_origins_of_its_own_answers_their_pages_only(made: Any) -> None:
    toy = made(cors=Cors(origins=("https://ours.example",)))
    ours = toy.ask(headers={"Origin": "https://ours.example"})
    assert (ours.headers["Access-Control-Allow-Origin"], ours.headers["Vary"]) == ("https://ours.example", "Origin")
    for origin in ("https://ours.example.evil.org", "null", "http://ours.example", None):
        other = toy.ask(headers={} if origin is None else {"Origin": origin})
        assert "Access-Control-Allow-Origin" not in other.headers
        assert other.headers["Vary"] == "Origin"
