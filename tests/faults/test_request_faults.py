"""Bad requests against a real server: rows Q01-Q08 of the fault table.

Whatever comes in, the reply is JSON with a request id, its status is a documented one, and the next request
is normal.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from wire import Answer, Service, serving

LIMIT = 65_536
GOOD = {"query": {"text": "median household income"}}


@pytest.fixture(autouse=True)
def _the_next_request_is_normal(gateway: Service) -> Iterator[None]:
    yield
    assert gateway.get("/health").json["ok"] is True


def refusal(answer: Answer, status: int, code: str) -> str:
    """Check the shape every error has; its message."""
    body = answer.json
    assert (answer.status, body["code"]) == (status, code)
    assert body["error"] == body["message"]
    assert "\n" not in body["error"]
    assert body["requestId"] == answer.headers["X-Request-Id"]
    assert body["errorCode"] in {"INVALID_ARGUMENT", "NOT_FOUND"}
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    return str(body["error"])


BROKEN_BODIES = {
    "empty": b"",
    "blank": b" \n ",
    "not JSON": b"query=rain",
    "truncated": b'{"query": {"text": "rain"',
    "two values": b"{} {}",
    "list": b"[1, 2]",
    "null": b"null",
    "string": b'"rain"',
    "number": b"7",
    "true": b"true",
    "deep list": b"[" * 10_000 + b"]" * 10_000,
    "deep object": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "duplicate root key": b'{"query": {"text": "a"}, "query": {"text": "b"}}',
    "duplicate inner key": b'{"query": {"text": "a", "text": "b"}}',
    "NaN": b'{"query": {"text": "a"}, "pageSize": NaN}',
    "Infinity": b'{"query": {"text": "a"}, "pageSize": -Infinity}',
    "infinite number": b'{"query": {"text": "a"}, "pageSize": 1e999}',
    "5,000 digits": b'{"query": {"text": "a"}, "pageSize": ' + b"9" * 5_000 + b"}",
    "invalid UTF-8": b'{"query": {"text": "\xff\xfe"}}',
    "UTF-16": '{"query": {"text": "a"}}'.encode("utf-16"),
    "lone surrogate": b'{"query": {"text": "\\ud800"}}',
    "lone surrogate in a key": b'{"query": {"text": "a"}, "\\uDFFF": 1}',
}


@pytest.mark.parametrize("body", BROKEN_BODIES.values(), ids=BROKEN_BODIES.keys())
def test_Q01_a_body_that_is_no_json_object_is_a_400_with_one_line(gateway: Service, body: bytes) -> None:
    message = refusal(gateway.post("/search", body), 400, "invalid_request")
    assert message.startswith("The body ")


def test_Q01_an_escaped_backslash_before_ud800_is_text_not_a_surrogate(gateway: Service) -> None:
    assert gateway.post("/search", b'{"query": {"text": "rain \\\\ud800"}}').status == 200


def test_Q02_a_body_at_the_limit_is_read_and_one_byte_more_is_not(gateway: Service) -> None:
    body = json.dumps(GOOD).encode()
    assert gateway.post("/search", body.ljust(LIMIT)).status == 200
    refusal(gateway.post("/search", body.ljust(LIMIT + 1)), 413, "payload_too_large")


def test_Q02_a_chunked_body_is_judged_by_the_bytes_that_came(gateway: Service) -> None:
    body = json.dumps(GOOD).encode()
    assert gateway.send("POST", "/search", iter([body[:7], body[7:]])).status == 200
    answer = gateway.send("POST", "/search", iter([body.ljust(LIMIT), b" "]))
    refusal(answer, 413, "payload_too_large")


def test_Q02_a_client_that_sends_a_megabyte_too_much_can_read_its_413(gateway: Service) -> None:
    refusal(gateway.post("/search", b" " * 1_000_000), 413, "payload_too_large")


def test_Q02_of_50_mb_a_megabyte_is_read_and_the_answer_does_not_wait_for_the_rest(gateway: Service) -> None:
    with socket.create_connection(gateway.address, timeout=30) as connection:
        connection.sendall(b"POST /search HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n")
        for _ in range(20):
            connection.sendall(b" " * 65_536)
        assert connection.recv(4_096).startswith(b"HTTP/1.1 413 ")


METHODS = {"/search": {"POST"}, "/variable": {"GET", "HEAD"}, "/variables": {"GET", "HEAD"}, "/health": {"GET", "HEAD"}}
WRONG = [
    (path, method)
    for path, right in METHODS.items()
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "PROPFIND", "FROB")
    if method not in right
]


@pytest.mark.parametrize(("path", "method"), WRONG)
def test_Q04_a_wrong_method_is_a_405_that_says_which_are_right(gateway: Service, path: str, method: str) -> None:
    answer = gateway.send(method, path)
    assert set(answer.headers["Allow"].split(", ")) == METHODS[path] | {"OPTIONS"}
    if method == "HEAD":
        assert (answer.status, answer.content) == (405, b"")
    else:
        refusal(answer, 405, "method_not_allowed")


@pytest.mark.parametrize("path", METHODS)
def test_Q04_options_answers_any_origin(gateway: Service, path: str) -> None:
    asked = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}
    answer = gateway.send("OPTIONS", path, headers=asked)
    assert (answer.status, answer.content) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert METHODS[path] < set(answer.headers["Access-Control-Allow-Methods"].split(", "))
    assert "Content-Type" in answer.headers["Access-Control-Allow-Headers"]
    assert answer.headers["Access-Control-Max-Age"] == "86400"
    assert "Retry-After" in answer.headers["Access-Control-Expose-Headers"]


UNKNOWN = [
    "/nothing",
    "//search",
    "/SEARCH",
    "/Search",
    "/search//",
    "/search/x",
    "/%2Fsearch",
    "/search%00",
    "/../search",
]


@pytest.mark.parametrize("path", [*UNKNOWN, "/favicon.png", "/variable.json", "/h%C3%A9alth", "/%ff"])
def test_Q05_an_unknown_path_is_a_404_in_json(gateway: Service, path: str) -> None:
    refusal(gateway.get(path), 404, "not_found")
    refusal(gateway.send("OPTIONS", path), 404, "not_found")


@pytest.mark.parametrize("path", ["/variable/?id=Count_Person", "/health/", "/healthz/"])
def test_Q05_a_trailing_slash_answers_as_without(gateway: Service, path: str) -> None:
    assert gateway.get(path).status == gateway.get(path.replace("/?", "?").rstrip("/")).status == 200


def test_Q05_a_trailing_slash_answers_a_post_as_without(gateway: Service) -> None:
    with_slash, without = (gateway.post(path, GOOD).json for path in ("/search/", "/search"))
    assert [hit["identifier"] for hit in with_slash["results"]] == [hit["identifier"] for hit in without["results"]]


AWKWARD_TEXTS = {
    "one character": ("a", 200),
    "8,000 characters": ("income " * 1_143, 200),
    "right to left": ("ما هو متوسط دخل الأسرة؟", 200),
    "emoji": ("🌧️ rain 👩‍👩‍👧", 200),
    "NUL": ("median\x00income", 200),
    "zero width": ("me\u200bdian in\u200bcome", 200),
    "combining flood": ("i" + "́" * 2_000 + "ncome", 200),
    "control characters": ("\x1b[31mincome\x07", 200),
    "markup": ('<script>alert("1")</script> income', 200),
    "only zero width": ("\u200b\u200b", 400),
    "only NUL": ("\x00", 400),
    "empty": ("", 400),
    "spaces": ("   \t\n", 400),
}


@pytest.mark.parametrize(("text", "status"), AWKWARD_TEXTS.values(), ids=AWKWARD_TEXTS.keys())
def test_Q06_awkward_text_is_searched_or_refused_and_never_a_500(gateway: Service, text: str, status: int) -> None:
    answer = gateway.post("/search", {"query": {"text": text}})
    assert answer.status == status, answer.content
    if status == 400:
        refusal(answer, 400, "invalid_request")
    else:
        assert isinstance(answer.json["results"], list)


def test_Q06_two_spellings_of_one_text_find_the_same(gateway: Service) -> None:
    replies = [
        gateway.post("/search", {"query": {"text": text}}).json for text in ("caf\u00e9 rent", "cafe\u0301  rent ")
    ]
    first, second = [[(hit["identifier"], hit["score"]) for hit in reply["results"]] for reply in replies]
    assert first == second


@pytest.mark.parametrize(
    ("texts", "rule"),
    [
        ([], "1 to 4"),
        (["a", "b", "c", "d", "e"], "1 to 4"),
        (["a", 7], "string"),
        (["a", " "], "string"),
        ("a", "1 to 4"),
        ({"0": "a"}, "1 to 4"),
    ],
)
def test_Q07_texts_that_break_the_rule_are_a_400_that_states_it(gateway: Service, texts: object, rule: str) -> None:
    message = refusal(gateway.post("/search", {"query": {"text": "rain", "texts": texts}}), 400, "invalid_request")
    assert "texts" in message
    assert rule in message


@pytest.mark.parametrize("texts", [["rainfall"], ["rainfall", "rain", "how wet", "annual rain"]])
def test_Q07_one_to_four_texts_are_searched(gateway: Service, texts: list[str]) -> None:
    assert gateway.post("/search", {"query": {"text": "rainfall", "texts": texts}}).status == 200


def test_Q07_equal_phrasings_are_embedded_once(gateway: Service) -> None:
    once = gateway.post("/search", {"query": {"text": "rainfall", "texts": ["rainfall"]}}).json
    thrice = gateway.post(
        "/search", {"query": {"text": "rainfall", "texts": ["rainfall", " rainfall", "rainfall "]}}
    ).json
    assert thrice["usage"]["embed_tokens"] == once["usage"]["embed_tokens"] > 0


def test_Q07_a_query_that_is_only_a_place_is_searched_as_written(gateway: Service) -> None:
    reply = gateway.post("/search", {"query": {"text": "India"}, "rerank": False}).json
    assert reply["results"]
    assert reply["usage"]["embed_calls"] >= 1


CLAMPED = [(-1, 1), (0, 1), (1, 1), (3, 3), (100, 15), (101, 15), ("3", 3), (1_000_000_000, 15), (3.0, 3)]


@pytest.mark.parametrize("name", ["pageSize", "limit"])
@pytest.mark.parametrize(("size", "found"), CLAMPED)
def test_Q08_a_page_size_out_of_range_is_clamped(gateway: Service, name: str, size: object, found: int) -> None:
    reply = gateway.post("/search", {**GOOD, "rerank": False, name: size}).json
    assert len(reply["results"]) == found


@pytest.mark.parametrize("name", ["pageSize", "limit"])
@pytest.mark.parametrize("size", [True, False, "ten", "", 1.5, [10], {"n": 10}, "1e3"])
def test_Q08_a_page_size_that_is_no_integer_is_a_400(gateway: Service, name: str, size: object) -> None:
    message = refusal(gateway.post("/search", {**GOOD, name: size}), 400, "invalid_request")
    assert "integer" in message


@pytest.mark.parametrize(("size", "shown"), [("-1", 1), ("0", 1), ("1", 1), ("51", 2), ("%2B1", 1), ("1000000000", 2)])
@pytest.mark.parametrize("name", ["pageSize", "limit"])
def test_Q08_a_page_size_in_a_query_string_is_clamped_too(gateway: Service, name: str, size: str, shown: int) -> None:
    assert len(gateway.get(f"/variable?id=Count_Person&{name}={size}").json["results"]) == shown


@pytest.mark.parametrize("size", ["ten", "", "1.5", "true", "0x10", "1_0", "%D9%A3"])
def test_Q08_a_page_size_in_a_query_string_that_is_no_integer_is_a_400(gateway: Service, size: str) -> None:
    answer = gateway.get(f"/variable?id=Count_Person&limit={size}")
    assert "integer" in refusal(answer, 400, "invalid_request")


def test_a_uri_over_the_limit_is_a_414(gateway: Service) -> None:
    refusal(gateway.get("/variable?id=" + "x" * 200_000), 414, "uri_too_long")


@pytest.mark.parametrize(
    "chunks",
    [b"zz\r\n{}\r\n0\r\n\r\n", b"-5\r\n{}\r\n0\r\n\r\n", b"2\r\n{}XX0\r\n\r\n"],
    ids=["no-number", "negative", "no-line-end"],
)
def test_Q02_a_malformed_chunked_body_is_a_400(gateway: Service, chunks: bytes) -> None:
    head = b"POST /search HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert raw(gateway, head + chunks).startswith(b"HTTP/1.1 400 ")


def test_Q02_a_body_that_stops_half_way_is_a_400_and_frees_its_thread(tiny_bucket: str) -> None:
    head = b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
    with serving(tiny_bucket, {"BODY_TIMEOUT": "0.2"}) as service:
        answer = raw(service, head)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"did not arrive in time" in answer
        assert service.get("/health").status == 200


def test_Q02_a_413_does_not_wait_for_bytes_that_never_come(tiny_bucket: str) -> None:
    head = b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n1234567"
    with serving(tiny_bucket, {"BODY_TIMEOUT": "0.2"}) as service:
        assert raw(service, head).startswith(b"HTTP/1.1 413 ")


def raw(service: Service, request: bytes) -> bytes:
    """The whole answer to these bytes: what its head announces, or what comes until the server closes."""
    with socket.create_connection(service.address, timeout=60) as connection:
        connection.sendall(request)
        found = b""
        with suppress(ConnectionError):  # it may close before it has read everything
            while not _is_whole(found) and (piece := connection.recv(65_536)):
                found += piece
        return found


def _is_whole(answer: bytes) -> bool:
    head, ended, body = answer.partition(b"\r\n\r\n")
    announced = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    return bool(ended and announced) and len(body) >= int(announced[1])
