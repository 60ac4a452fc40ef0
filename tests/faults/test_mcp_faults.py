"""What goes wrong at /mcp: messages that are none, limits, deadlines, clients that leave, names that lie."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from rpc import call, request, send, stateless
from werkzeug.test import Client
from wire import Service, function

from functions.mcp.service import create
from shared.edge.app import App
from shared.edge.exchange import Answered
from shared.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "mcp"))
from everything import served

EVENTS = {"Accept": "application/json, text/event-stream"}


def error_of(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status == status
    response = json.loads(answer.content)
    assert response["jsonrpc"] == "2.0"
    error: dict[str, Any] = response["error"]
    return error


@pytest.mark.parametrize("accept", [{}, EVENTS])
def test_X06_a_batch_is_an_invalid_request(gateway: Service, accept: dict[str, str]) -> None:
    for batch in ([], [request("ping")], [request("ping"), request("ping", id=2)]):
        assert error_of(send(gateway, batch, accept), 400)["code"] == -32600


def test_X06_a_version_nobody_speaks_is_refused_and_the_known_ones_named(gateway: Service) -> None:
    message, headers = stateless("server/discover")
    meta = message["params"]["_meta"]
    meta["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
    error = error_of(send(gateway, message, {**headers, "MCP-Protocol-Version": "2099-01-01"}), 400)
    assert error["code"] == -32022
    assert "2026-07-28" in error["data"]["supported"]


@pytest.mark.parametrize("accept", [{}, EVENTS])
def test_X06_an_unknown_method_is_not_found_in_both_eras(gateway: Service, accept: dict[str, str]) -> None:
    answer = send(gateway, request("tools/guess"), accept)
    assert answer.status == 200
    assert b"-32601" in answer.content
    message, headers = stateless("tools/guess")
    assert error_of(send(gateway, message, {**headers, **accept}), 404)["code"] == -32601


@pytest.mark.parametrize("id", ["x" * 257, "x" * 60_000, 2**53 + 1, 10**300, None, True, 1.5, [], {}])
def test_X06_an_oversized_or_senseless_id_is_an_invalid_request(gateway: Service, id: Any) -> None:
    answer = send(gateway, request("ping", id=id))
    assert error_of(answer, 400)["code"] == -32600
    assert len(answer.content) < 300


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "notifications/made-up"])
def test_X06_a_notification_is_accepted_without_a_body(gateway: Service, method: str) -> None:
    answer = send(gateway, {"jsonrpc": "2.0", "method": method})
    assert (answer.status, answer.content) == (202, b"")
    _, headers = stateless(method)
    answer = send(gateway, {"jsonrpc": "2.0", "method": method}, headers)
    assert (answer.status, answer.content) == (202, b"")


def test_X06_a_megabyte_of_params_is_too_large_as_on_every_route(gateway: Service) -> None:
    answer = send(gateway, request("tools/call", {"name": "search", "arguments": {"query": "x" * 1_000_000}}))
    assert answer.status == 413
    assert answer.json["code"] == "payload_too_large"
    assert call(gateway, "variable", {"id": "Mean_Rainfall"})["result"]["isError"] is False


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}'])
def test_a_body_that_is_no_json_is_a_parse_error(gateway: Service, body: bytes) -> None:
    assert error_of(send(gateway, body), 400)["code"] == -32700


@contextmanager
def app_with(
    bucket: str, cache: Path, told: Callable[[Answered], None] | None = None, **more: Any
) -> Iterator[App[Any]]:
    settings = Settings(bucket_url=bucket, llm_provider="embedded", cache_dir=str(cache), **more)
    app = create(settings, told)  # type: ignore[arg-type]
    with closing(app.hosted):
        assert app.hosted.wait(60)
        yield app


def post(app: App[Any], message: dict[str, Any], **headers: str) -> Any:
    here = {"REMOTE_ADDR": "127.0.0.1"}
    return Client(app.wsgi).post("/mcp", data=json.dumps(message), headers=headers, environ_base=here)


def search(query: str = "rainfall") -> dict[str, Any]:
    return request("tools/call", {"name": "search", "arguments": {"query": query}})


def test_a_used_up_quota_is_a_result_that_says_when_to_try_again(tiny_bucket: str, tmp_path: Path) -> None:
    with app_with(tiny_bucket, tmp_path, search_limit_per_day=2) as app:
        first = post(app, search())
        assert first.json["result"]["isError"] is False
        assert "r=1" in first.headers["RateLimit"]
        assert post(app, search("x" * 401)).json["error"]["code"] == -32602  # charged, as a 400 of /search is
        refused = post(app, search())
        assert refused.status_code == 200
        assert refused.json["result"]["isError"] is True
        assert refused.json["result"]["_meta"]["error"]["code"] == "quota_exceeded"
        assert "try again in" in refused.json["result"]["content"][0]["text"]
        free = post(app, request("tools/call", {"name": "variable", "arguments": {"id": "Mean_Rainfall"}}))
        assert free.json["result"]["isError"] is False


def test_a_deadline_is_a_result_with_what_was_spent(tiny_bucket: str, tmp_path: Path) -> None:
    with app_with(tiny_bucket, tmp_path, query_timeout_s=0.0) as app:
        late = post(app, search()).json["result"]
        assert late["isError"] is True
        assert late["_meta"]["error"]["code"] == "query_cancelled"
        assert late["_meta"]["error"]["usage"]["llm_calls"] == 0


def test_only_searches_are_counted_as_searches(tiny_bucket: str, tmp_path: Path) -> None:
    told: list[Answered] = []
    with app_with(tiny_bucket, tmp_path, told.append) as app:
        post(app, request("tools/list"))
        post(app, request("tools/call", {"name": "publishers"}))
        post(app, search())
        post(app, search("x" * 401))
    assert [(each.route, each.status, each.outcome) for each in told] == [
        ("/mcp", 200, "answered"),
        ("/mcp", 400, "refused"),
    ]
    assert told[0].usage


def test_what_nobody_foresaw_reaches_the_log_and_not_the_caller(
    tiny_bucket: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(answered: Answered) -> None:
        raise ValueError("a secret path")

    with app_with(tiny_bucket, tmp_path, broken) as app:
        answer = post(app, search())
    assert answer.json["result"]["_meta"]["error"]["code"] == "internal_error"
    assert "secret" not in answer.get_data(as_text=True)
    assert caplog.records


def test_a_page_that_made_its_name_resolve_here_is_refused(tiny_bucket: str, tmp_path: Path) -> None:
    with app_with(tiny_bucket, tmp_path, self_url="https://ard.example.org/") as app:
        for host in ("evil.example.com", "evil.example.com:8080", "127.0.0.1.evil.example.com", "[", ""):
            assert post(app, request("ping"), Host=host).status_code == 400, host
        for host in ("localhost", "127.0.0.1:8080", "[::1]:8080", "ard.example.org"):
            assert post(app, request("ping"), Host=host).status_code == 200, host


def test_a_caller_from_elsewhere_may_call_us_by_any_name(tiny_bucket: str, tmp_path: Path) -> None:
    with app_with(tiny_bucket, tmp_path, trust_proxy=1) as app:
        answer = post(app, request("ping"), Host="ard.example.org", **{"X-Forwarded-For": "203.0.113.7"})
        assert answer.status_code == 200


def test_clients_that_leave_before_the_answer_leave_no_task_behind(tiny_bucket: str, tmp_path: Path) -> None:
    async def tasks() -> set[str]:
        return {task.get_coro().__qualname__ for task in asyncio.all_tasks()}  # type: ignore[union-attr]

    with app_with(tiny_bucket, tmp_path) as app, served(app) as url:
        port = int(url.split(":")[2].split("/")[0])
        assert post(app, search(), **EVENTS).status_code == 200  # the library starts what it keeps for good
        before = app.hosted.run(tasks)
        for headers in ({}, EVENTS) * 3:
            _leave(port, search("average rainfall in Kenya"), headers)
        for _ in range(3):
            assert post(app, search(), **EVENTS).status_code == 200
        after = app.hosted.run(tasks)
    assert after <= before


def _leave(port: int, message: dict[str, Any], headers: dict[str, str]) -> None:
    """Send a whole request, and go without reading a byte."""
    body = json.dumps(message).encode()
    lines = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def test_a_function_that_was_not_asked_yet_has_not_imported_the_library(tiny_bucket: str) -> None:
    code = (
        "import sys; from functions.mcp.service import create; from shared.settings import Settings;"
        f"app = create(Settings(bucket_url={tiny_bucket!r}, llm_provider='embedded')); assert app.hosted.wait(60);"
        "print({'mcp', 'mcp_types', 'pydantic', 'starlette', 'httpx'} & set(sys.modules))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_calls_side_by_side_get_their_own_answers(gateway: Service) -> None:
    def ask(number: int) -> bool:
        accept = EVENTS if number % 2 else {}
        answer = send(
            gateway, request("tools/call", {"name": "variable", "arguments": {"id": f"V{number}"}}, number), accept
        )
        [line] = [line for line in answer.content.decode().splitlines() if '"jsonrpc"' in line]
        response = json.loads(line.removeprefix("data: "))
        return response["id"] == number and response["result"]["structuredContent"]["variable"] == f"V{number}"

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(40)))


def test_an_app_that_was_closed_answers_on_its_next_event_loop(tiny_bucket: str, tmp_path: Path) -> None:
    with app_with(tiny_bucket, tmp_path) as app:
        assert post(app, request("ping"), **EVENTS).status_code == 200
        app.hosted.close()
        assert app.hosted.wait(60)
        assert post(app, request("ping"), **EVENTS).status_code == 200


def test_the_function_alone_as_it_is_deployed_answers(tiny_bucket: str) -> None:
    with function("mcp", {"BUCKET_URL": tiny_bucket, "LLM_PROVIDER": "embedded"}) as service:
        assert service.until_ready().status == 200
        assert call(service, "search", {"query": "rainfall"})["result"]["isError"] is False
        assert service.get("/health").json["calls"]["total"] == 1
