"""How functions start: alone as deployed, behind the gateway, and when they must not."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from wire import ROOT, Service, deployed, function, ready_url, running, serving


@pytest.mark.parametrize("name", ["search", "variable"])
def test_R11_what_is_loaded_after_the_fork_makes_the_function_ready(tiny_bucket: str, name: str) -> None:
    """The framework imports main.py in the gunicorn master: a loader started there would never be seen here."""
    with function(name, {"BUCKET_URL": tiny_bucket}) as service:
        health = service.until_ready()
        assert (health.status, health.json["status"]) == (200, "ready")


def test_the_search_function_boots_alone_and_answers_only_its_own_routes(search_service: Service) -> None:
    assert search_service.post("/search", {"query": {"text": "rainfall"}}).status == 200
    assert search_service.get("/variable?id=Count_Person").status == 404


def test_the_variable_function_boots_alone_and_answers_only_its_own_routes(variable_service: Service) -> None:
    assert variable_service.get("/variable?id=Count_Person").status == 200
    assert variable_service.post("/search", {"query": {"text": "rainfall"}}).status == 404


@pytest.mark.parametrize("path", ["//variable", "/robots.txt", "/favicon.ico", "/variable/x"])
def test_the_frameworks_own_routing_is_out_of_the_way(variable_service: Service, path: str) -> None:
    answer = variable_service.get(path)
    assert (answer.status, answer.json["code"]) == (404, "not_found")


@pytest.mark.parametrize("name", ["search", "variable"])
@pytest.mark.parametrize("url", ["", "ftp://example.org/bucket", "/srv/bucket"])
def test_a_wrong_bucket_url_stops_the_process_and_says_what_to_set(name: str, url: str) -> None:
    command, env = deployed(name)
    with running(command, {**env, "HOST": "127.0.0.1", "PORT": "0", "BUCKET_URL": url}) as (process, log):
        assert process.wait(timeout=30) != 0
        assert "BUCKET_URL" in log.read_text()
        assert "file:///" in log.read_text()


@pytest.mark.parametrize("name", ["search", "variable"])
def test_an_empty_bucket_keeps_the_port_open_and_every_route_says_why(tmp_path: Path, name: str) -> None:
    path = {"search": "/search", "variable": "/variable?id=a"}[name]
    with function(name, {"BUCKET_URL": tmp_path.as_uri()}) as service:
        health = service.until_ready()
        assert (health.status, health.json["code"]) == (503, "release_missing")
        assert (health.json["ok"], health.json["status"]) == (False, "refused")
        method = "POST" if name == "search" else "GET"
        answer = service.send(method, path, b'{"query": {"text": "a"}}' if name == "search" else None)
        assert (answer.status, answer.json["code"]) == (503, "release_missing")
        assert answer.json["error"] == health.json["error"]
        assert service.get("/nothing").status == 404


def serve(*flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cli.main", "serve", "--port", "0", *flags],
        cwd=ROOT, text=True, capture_output=True, timeout=60, check=False,
    )  # fmt: skip


def test_serve_over_an_empty_bucket_says_so_in_one_line_and_exits_1(tmp_path: Path) -> None:
    ended = serve("--bucket", tmp_path.as_uri())
    assert ended.returncode == 1
    assert ended.stdout == ""
    [line] = ended.stderr.splitlines()
    assert "built-in" in line


@pytest.mark.parametrize("flags", [("--bucket", "ftp://nowhere"), ("--bucket", "file:///tmp", "--only", "nothing")])
def test_serve_with_a_wrong_flag_says_so_in_one_line_and_exits_1(flags: tuple[str, ...]) -> None:
    ended = serve(*flags)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (1, 1)


def test_serve_on_a_port_that_is_taken_says_so_in_one_line_and_exits_1(gateway: Service, tiny_bucket: str) -> None:
    ended = serve("--bucket", tiny_bucket, "--port", str(gateway.address[1]))
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert f"port {gateway.address[1]} of 127.0.0.1 is taken" in line


def test_serve_can_be_one_function_only(tiny_bucket: str) -> None:
    command = [sys.executable, "-m", "cli.main", "serve", "--bucket", tiny_bucket, "--port", "0", "--only", "variable"]
    with running(command, {}) as (process, log):
        service = Service(ready_url(process, log), log)
        assert service.get("/variable?id=Count_Person").status == 200
        assert service.post("/search", {"query": {"text": "a"}}).status == 404
        assert "lookups" in service.get("/health").json
        process.terminate()
        assert process.wait(timeout=40) == 0


def test_the_gateway_serves_every_function_and_health_is_the_searchs(gateway: Service) -> None:
    assert gateway.post("/search", {"query": {"text": "rainfall"}}).status == 200
    assert gateway.get("/variable?id=Count_Person").status == 200
    assert gateway.get("/variables?populationType=a&measuredProperty=b&statType=c").status == 200
    assert "searches" in gateway.get("/health").json


def test_one_process_can_serve_two_buckets(tiny_bucket: str, tmp_path: Path) -> None:
    """No module-level state: the second app neither sees nor disturbs the first."""
    from flask import Request
    from werkzeug.test import EnvironBuilder

    from functions.variable.service import create
    from shared.settings import Settings

    full, empty = (create(Settings(bucket_url=url)) for url in (tiny_bucket, tmp_path.as_uri()))
    asked = EnvironBuilder(path="/variable", query_string="id=Count_Person").get_environ()
    full.hosted.ensure()
    full.hosted.wait(60)
    assert full(Request(asked)).status_code == 200
    assert empty(Request(asked)).status_code == 503
    full.hosted.close()
    empty.hosted.close()


def test_serving_is_ready_when_it_says_so(tiny_bucket: str) -> None:
    with serving(tiny_bucket) as service:
        assert service.get("/health").status == 200
        assert service.get("/variable?id=Count_Person").status == 200


@pytest.mark.parametrize("after_s", [0.15, 0.3, 0.45])
def test_a_service_told_to_stop_while_it_loads_ends_without_a_complaint(tiny_bucket: str, after_s: float) -> None:
    command = [sys.executable, "-m", "cli.main", "serve", "--bucket", tiny_bucket, "--port", "0"]
    with running(command, {}) as (process, log):
        time.sleep(after_s)
        process.terminate()
        assert process.wait(timeout=30) in (0, -signal.SIGTERM)  # the latter before Python has taken the signal over
        assert "Traceback" not in log.read_text()
