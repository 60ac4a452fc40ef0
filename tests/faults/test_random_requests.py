"""Random requests over every route, each drawn from its seed: whatever comes, the reply is one that is documented.

200 seeds in the suite; 1,000 of them are asked with

    ASKBUCKET_SEEDS=1000 .venv/bin/python -m pytest tests/faults/test_random_requests.py

A seed that fails is asked alone with `-k seed_137`, and draws the same request each time.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from jsonschema import Draft202012Validator
from wire import Answer, Service

from shared.edge.openapi.document import document, statuses
from shared.edge.openapi.operation import JSON, Operation
from shared.edge.openapi.operations import OPERATIONS

SEEDS = int(os.environ.get("ASKBUCKET_SEEDS", "200"))
DOCUMENT = document("http://127.0.0.1:8080/")
PATHS = {each.path for each in OPERATIONS}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND")
TEXTS = (
    "", " ", "rain", "average rainfall in Kenya", "a" * 401, "x" * 2_000, "é ü ß", "降水量", "مطر", "🌧️", "\u200b",
    "a\u0300" * 50,
    "nul \0 byte", "'; DROP TABLE rows; --", "<script>alert(1)</script>", "../../etc/passwd", "%2e%2e%2f", "%", "%zz",
    "null", "true", "-1", "0", "1", "100", "101", "1e9", "10.0", "١٢", "999999999999999999999", "a,b,,c",
    "census", "worldbank",
    "worldbank,datacommons", "nowhere", "urn:air:worldbank.org:okf:worldbank.sp-dyn-le00-in", "urn:air:x",
    "sources/census/_access.md",
    "sources/census", "built-in", "open-data", "score", "source", "displayName desc", "type=a;b=c",
    "publisher=census",
    "2026-01-31", "Person", "count", "measuredValue", "Mean_Rainfall", "gender,age",
)  # fmt: skip
HEADERS: tuple[dict[str, str], ...] = (
    {}, {}, {}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"},
    {"Accept": "text/plain"},
    {"Accept": "*/*;q=0"}, {"If-None-Match": "*"}, {"If-None-Match": '"x'}, {"Origin": "https://evil.example"},
    {"X-Request-Id": "mine-1"}, {"X-Request-Id": "not a plain token"}, {"X-Forwarded-For": "1.2.3.4, ::1, junk"},
    {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, {"traceparent": "zz"},
    {"Accept": "text/event-stream"}, {"MCP-Protocol-Version": "1999-01-01"},
)  # fmt: skip
KEYS = (
    "query", "text", "texts", "filter", "pageSize", "limit", "rerank", "order", "sources", "excludeSources",
    "catalogs",
    "federation", "pageToken", "resultType", "facets", "field", "minCount", "publisher", "type", "tags", "q",
    "question",
    "k", "@context", "jsonrpc", "id", "method", "params", "name", "arguments", "a\u0000b", "",
)  # fmt: skip


@dataclass
class Drawn:
    """A request, and the operation it was drawn for."""

    method: str
    path: str
    route: str
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


def drawn(seed: int) -> Drawn:
    """The request of a seed."""
    chance = random.Random(seed)
    operation = chance.choice(OPERATIONS)
    method = operation.method if chance.random() < 0.85 else chance.choice(METHODS)
    path = _path(operation, chance)
    query = _query(operation, chance) if chance.random() < 0.9 else ""
    body = _body(operation, chance) if method in ("POST", "PUT", "PATCH") else None
    request = Drawn(method, path + query, operation.path, body, dict(chance.choice(HEADERS)))
    if chance.random() < 0.05:
        request.path = request.route = chance.choice(
            ["/nothing", "//search", "/Search", "/search/x", "/okf", "/%2e%2e/health"]
        )
    return request


def _path(operation: Operation, chance: random.Random) -> str:
    path = operation.path
    for each in operation.parameters:
        if each.place == "path":
            value = each.example if chance.random() < 0.4 else chance.choice([text for text in TEXTS if text])
            path = path.replace(f"{{{each.name}}}", quote(value, safe=""))
    return path + "/" if chance.random() < 0.1 and path != "/" else path


def _query(operation: Operation, chance: random.Random) -> str:
    """Each parameter as its example, as another text, twice, or not at all; now and then broken escapes."""
    pairs = []
    for each in operation.parameters:
        value = each.example if chance.random() < 0.6 else chance.choice(TEXTS)
        if each.place == "query" and chance.random() < (0.9 if each.required else 0.4):
            pairs += [(each.name, value)] * (2 if chance.random() < 0.04 else 1)
    if chance.random() < 0.1:
        pairs.append((chance.choice(KEYS), chance.choice(TEXTS)))
    query = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in pairs)
    query += chance.choice(["", "", "", "&", "&=", "&%zz=1", "&a=%ff", "&;"])
    return f"?{query}" if query else ""


def _body(operation: Operation, chance: random.Random) -> bytes:
    if chance.random() < 0.12:
        raw = (
            b"",
            b"{",
            b"[]",
            b"null",
            b'"text"',
            b"\xff\xfe",
            b'{"a": NaN}',
            b'{"a": 1, "a": 2}',
            b"[" * 5_000,
            b'{"a": "\\ud800"}',
        )
        return chance.choice([*raw, b" " * 70_000, chance.randbytes(64)])
    base = json.loads(json.dumps(operation.body_example)) if isinstance(operation.body_example, dict) else {}
    body = _changed(base, chance) if chance.random() < 0.8 else _value(chance, 3)
    return json.dumps(body, ensure_ascii=chance.random() < 0.5).encode("utf-8", "replace")


def _changed(value: Any, chance: random.Random) -> Any:
    """The example with some members changed, dropped or added, at any depth."""
    if not isinstance(value, dict):
        return value if chance.random() < 0.7 else _value(chance, 2)
    kept = {key: _changed(each, chance) for key, each in value.items() if chance.random() < 0.93}
    return kept | {chance.choice(KEYS): _value(chance, 2) for _ in range(chance.choice([0, 0, 1, 1, 2]))}


def _value(chance: random.Random, depth: int) -> Any:
    makers: list[Callable[[], Any]] = [
        lambda: chance.choice(TEXTS), lambda: chance.choice([0, 1, -1, 10, 10**9, 10**30, 1.5, -0.0, 1e300]),
        lambda: chance.choice([True, False, None]),
    ]  # fmt: skip
    if depth:
        makers += [
            lambda: [_value(chance, depth - 1) for _ in range(chance.randrange(5))],
            lambda: {chance.choice(KEYS): _value(chance, depth - 1) for _ in range(chance.randrange(4))},
            lambda: ["census"] * chance.choice([1, 50, 51]),
        ]
    return chance.choice(makers)()


@pytest.mark.parametrize("seed", range(SEEDS), ids=lambda seed: f"seed_{seed}_")
def test_Q12_whatever_is_asked_the_reply_is_one_that_is_documented(demo_gateway: Service, seed: int):
    request = drawn(seed)
    answer = demo_gateway.send(request.method, request.path, request.body, request.headers)
    assert answer.headers["X-Request-Id"], request
    assert answer.status != 500, request
    assert answer.status in allowed(request), (request, answer.content[:300])
    if answer.status in (202, 204, 304) or request.method == "HEAD":
        assert answer.content == b""
    elif answer.status >= 400:
        assert_error(answer, request)
    else:
        assert_documented(answer, request)


def allowed(request: Drawn) -> frozenset[int]:
    """The statuses that the documents give a route, and what holds for every route."""
    if request.route not in PATHS:
        return frozenset({404, 405, 414})
    if request.route.startswith("/sites/{kind}") and not request.path.startswith("/sites/movies"):
        return frozenset({404, 414})  # no such site: what it would take is not asked
    methods = {each.method for each in OPERATIONS if each.path == request.route}
    asked = "GET" if request.method == "HEAD" else request.method
    if request.method == "OPTIONS":
        return frozenset({204, 414})
    if asked not in methods:
        return frozenset({405, 414})
    return statuses(asked, request.route) | {304}


def assert_error(answer: Answer, request: Drawn) -> None:
    body = json.loads(answer.content)
    if "jsonrpc" in body:
        assert {"code", "message"} <= body["error"].keys(), request
        return
    assert body["requestId"] == answer.headers["X-Request-Id"], request
    assert validator("ErrorBody").is_valid(body), (request, body)
    assert body["message"].strip(), request
    assert "\n" not in body["message"], request


def assert_documented(answer: Answer, request: Drawn) -> None:
    found = next(each for each in OPERATIONS if (each.method, each.path) == (request.method, request.route))
    kind = answer.headers["Content-Type"].partition(";")[0]
    assert kind in found.media, request
    if kind == JSON:
        answers = DOCUMENT["paths"][found.path][found.method.lower()]["responses"]["200"]
        schema = {**DOCUMENT, **answers["content"][JSON]["schema"]}
        assert Draft202012Validator(schema).is_valid(json.loads(answer.content)), (request, answer.content[:300])
    else:
        answer.content.decode("utf-8")


def validator(component: str) -> Draft202012Validator:
    return Draft202012Validator({**DOCUMENT, "$ref": f"#/components/schemas/{component}"})


def test_Q12_a_seed_draws_the_same_request_each_time():
    assert [drawn(seed) for seed in range(50)] == [drawn(seed) for seed in range(50)]


def test_Q12_the_seeds_reach_every_operation():
    asked = {(each.method, each.route) for each in map(drawn, range(1_000))}
    assert {(each.method, each.path) for each in OPERATIONS} <= asked
