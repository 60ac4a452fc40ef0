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
from shared.edge.log import JsonLines
from shared.edge.process import Hosted
from shared.errors import AskbucketError, error_body
from shared.settings import Settings


class Toy:
    """A function whose handler does what its caller put in."""

    def __init__(self) -> None:
        self.does: Any = lambda call: {}
        self.hosted: Hosted[str] = Hosted(
            lambda progress: "loaded", is_stale=lambda _: False, close=lambda _: None, refresh_s=60
        )
        routes = {"/do": {"GET": self._do, "POST": self._do}}
        self.app = App(self.hosted, routes, describe=lambda loaded: {"holds": loaded}, settings=Settings())
        assert self.hosted.wait(10)

    def _do(self, call: Call, loaded: str) -> dict[str, Any]:
        assert loaded == "loaded"
        result: dict[str, Any] = self.does(call)
        return result

    def ask(self, path: str = "/do", method: str = "GET", **environ: Any) -> flask.Response:
        return self.app(flask.Request(EnvironBuilder(path=path, method=method, **environ).get_environ()))


@pytest.fixture
def toy() -> Iterator[Toy]:
    toy = Toy()
    yield toy
    toy.hosted.close()


@pytest.fixture
def log_lines() -> Iterator[list[dict[str, Any]]]:
    """What the log would say, as parsed lines."""
    lines: list[dict[str, Any]] = []
    handler = logging.Handler()
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
