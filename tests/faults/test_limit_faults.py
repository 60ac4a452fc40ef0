"""Limits and logs of real servers: rows Q03, Q11, C01-C03, X05 and X07 of the fault table, and a Redis that stops."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from redis_server import Redis, redis_server
from wire import Answer, Service, function, serving

LIMIT = 8
# Charged, then refused: a limit can be reached without a search.
WRONG: dict[str, Any] = {"query": {"text": ""}}
GOOD = {"query": {"text": "median household income"}, "rerank": False, "pageSize": 1}


@pytest.fixture(scope="module")
def limited(tiny_bucket: str) -> Iterator[Service]:
    """Every function, with eight searches a day for each client behind one proxy."""
    with serving(tiny_bucket, {"SEARCH_LIMIT_PER_DAY": str(LIMIT), "TRUST_PROXY": "1"}) as service:
        yield service


@pytest.fixture(scope="module")
def redis() -> Iterator[Redis]:
    with redis_server() as redis:
        yield redis


def ask(service: Service, chain: str | None, body: Any = WRONG, path: str = "/search") -> Answer:
    """A paid request of a client, as a proxy passes it on."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return service.send("POST", path, content, {} if chain is None else {"X-Forwarded-For": chain})


def burst(service: Service, chains: list[str | None]) -> Counter[int]:
    """How many of these requests, sent side by side, got which status."""
    with ThreadPoolExecutor(8) as threads:
        return Counter(threads.map(lambda chain: ask(service, chain).status, chains))


def seconds_to_midnight(answer: Answer) -> float:
    now = parsedate_to_datetime(answer.headers["Date"])
    return 86_400 - (now.hour * 3_600 + now.minute * 60 + now.second)


def test_C01_a_burst_of_twice_the_limit_from_one_client_passes_the_limit_and_no_more(limited: Service) -> None:
    assert burst(limited, ["203.0.113.1"] * 2 * LIMIT) == {400: LIMIT, 429: LIMIT}
    answer = ask(limited, "203.0.113.1", GOOD)
    body = answer.json
    assert (body["code"], body["errorCode"]) == ("quota_exceeded", "RATE_LIMIT_EXCEEDED")
    assert int(answer.headers["Retry-After"]) == body["retryAfterSeconds"] == body["retry_after"]
    assert abs(body["retryAfterSeconds"] - seconds_to_midnight(answer)) <= 1
    assert answer.headers["RateLimit"].startswith('"day";r=0;t=')


def test_C01_a_burst_from_many_clients_gives_each_its_own_limit(limited: Service) -> None:
    clients: list[str | None] = [f"203.0.113.{100 + number}" for number in range(4)]
    assert burst(limited, clients * 2 * LIMIT) == {400: 4 * LIMIT, 429: 4 * LIMIT}


def test_C01_health_and_exact_lookups_are_unaffected_and_ask_is_charged_too(limited: Service) -> None:
    client = {"X-Forwarded-For": "203.0.113.9"}
    assert burst(limited, ["203.0.113.9"] * 2 * LIMIT)[429] == LIMIT
    for path in ("/health", "/variable?id=Count_Person", "/variables?populationType=a&measuredProperty=b&statType=c"):
        for _ in range(2 * LIMIT):
            assert limited.get(path, client).status == 200
    assert limited.get("/ask?query=rain", client).status == 429
    assert ask(limited, "203.0.113.9", GOOD, "/ask").status == 429


def test_C02_forged_chains_make_one_client_no_other_and_no_second_one(limited: Service) -> None:
    forged: list[str | None] = [f"198.51.100.{number}, 203.0.113.2" for number in range(LIMIT)]
    others = [
        f"{word},203.0.113.2:{4000 + number}" for number, word in enumerate(["", "::1", "unknown", "x" * 500] * 2)
    ]
    assert burst(limited, [*forged, *others]) == {400: LIMIT, 429: LIMIT}
    assert ask(limited, "198.51.100.1").status == 400


def test_C02_every_address_of_one_ipv6_network_is_one_client(limited: Service) -> None:
    spelled: list[str | None] = [f"2001:db8:7:7::{number:x}" for number in range(LIMIT)]
    assert burst(limited, [*spelled, *[f"[2001:DB8:7:7:{number:x}::1]:443" for number in range(LIMIT)]]) == {
        400: LIMIT,
        429: LIMIT,
    }


def test_C02_without_the_header_the_peer_counts_and_two_headers_are_one_chain(limited: Service) -> None:
    assert burst(limited, [None] * LIMIT + ["unknown"] * LIMIT) == {400: LIMIT, 429: LIMIT}
    assert burst(limited, ["203.0.113.5"] * LIMIT) == {400: LIMIT}
    head = b"POST /search HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n"
    two = b"X-Forwarded-For: 198.51.100.77\r\nX-Forwarded-For: 203.0.113.5\r\n\r\n{}"
    assert raw(limited, head + two).startswith(b"HTTP/1.1 429 ")


def test_Q11_over_the_quota_a_wrong_query_is_a_429_and_a_broken_body_still_costs_nothing(limited: Service) -> None:
    client = "203.0.113.3"
    for body, status in ((b"{", 400), (b" " * 65_537, 413)):
        assert {ask(limited, client, body).status for _ in range(LIMIT)} == {status}
    assert [ask(limited, client).status for _ in range(LIMIT + 1)] == [400] * LIMIT + [429]
    for body, code in ((b"{", "invalid_request"), (b" " * 65_537, "payload_too_large"), (b"{}", "quota_exceeded")):
        assert ask(limited, client, body).json["code"] == code


def raw(service: Service, request: bytes) -> bytes:
    """All that comes back until the server closes."""
    with socket.create_connection(service.address, timeout=20) as connection:
        with suppress(OSError):  # it may close before it has read everything
            connection.sendall(request)
        found = b""
        while len(found) < 65_536:
            try:
                piece = connection.recv(65_536)
            except OSError:
                break
            if not piece:
                break
            found += piece
        return found


TOO_MUCH = {
    "500 headers": b"".join(b"X-%d: 1\r\n" % number for number in range(500)),
    "a header of 10 kB": b"X-Long: " + b"x" * 10_000 + b"\r\n",
    "a header of 1 MB": b"X-Long: " + b"x" * 1_048_576 + b"\r\n",
}


@pytest.mark.parametrize("headers", TOO_MUCH.values(), ids=TOO_MUCH.keys())
@pytest.mark.parametrize("alone", [False, True], ids=["gateway", "function"])
def test_Q03_too_many_or_too_long_headers_are_the_servers_431_and_the_next_request_is_normal(
    gateway: Service, variable_service: Service, headers: bytes, alone: bool
) -> None:
    service = variable_service if alone else gateway
    head = b"GET /variable?id=Count_Person HTTP/1.1\r\nHost: a\r\n"
    assert raw(service, head + headers + b"\r\n")[:13] in {b"HTTP/1.1 431 ", b""}
    answer = service.get("/variable?id=Count_Person", {f"X-{number}": "1" for number in range(60)})
    assert answer.status == 200


def test_Q03_a_query_string_of_200_kb_is_a_414(gateway: Service, variable_service: Service) -> None:
    for service in (gateway, variable_service):
        for path in ("/variable?id=", "/ask?query=", "/"):
            answer = service.get(path + "x" * 200_000)
            assert (answer.status, answer.json["code"]) == (414, "uri_too_long")


def test_C03_four_instances_with_one_redis_never_pass_more_than_the_quota(tiny_bucket: str, redis: Redis) -> None:
    quota = 40
    settings = {"SEARCH_LIMIT_PER_DAY": str(quota), "RATE_LIMIT_STORAGE_URL": redis.url, "BUCKET_URL": tiny_bucket}
    with ExitStack() as stack:
        services = [stack.enter_context(function("search", settings)) for _ in range(4)]
        for service in services:
            assert service.until_ready().status == 200
        with ThreadPoolExecutor(8) as threads:
            statuses = Counter(threads.map(lambda number: ask(services[number % 4], None).status, range(3 * quota)))
    assert statuses == {400: quota, 429: 2 * quota}


def test_C03_two_instances_without_a_redis_have_a_quota_each_as_documented(tiny_bucket: str) -> None:
    settings = {"SEARCH_LIMIT_PER_DAY": "3", "BUCKET_URL": tiny_bucket}
    with function("search", settings) as first, function("search", settings) as second:
        for service in (first, second):
            assert service.until_ready().status == 200
            assert [ask(service, None).status for _ in range(4)] == [400, 400, 400, 429]


def test_a_redis_that_freezes_and_dies_under_way_loses_no_request_and_is_used_again(tiny_bucket: str) -> None:
    settings = {"SEARCH_LIMIT_PER_DAY": "100000", "SEARCH_MAX_CONCURRENT": "4", "BUCKET_URL": tiny_bucket}
    with redis_server() as redis, function("search", {**settings, "RATE_LIMIT_STORAGE_URL": redis.url}) as service:
        assert service.until_ready().status == 200
        ended, seen = threading.Event(), list[Answer]()

        def keep_asking() -> None:
            while not ended.is_set():
                seen.append(ask(service, None, GOOD))

        askers = [threading.Thread(target=keep_asking) for _ in range(2)]
        for asker in askers:
            asker.start()
        try:
            until(seen, counted=True)
            with redis.frozen():
                until(seen, counted=False)
            until(seen, counted=True)
            redis.stop()
            until(seen, counted=False)
            redis.start()
            until(seen, counted=True)
        finally:
            ended.set()
            for asker in askers:
                asker.join()
        log = service.log.read_text()
    assert Counter(answer.status for answer in seen) == {200: len(seen)}
    assert log.count("limits are not counted") >= 2
    assert log.count("limits are counted again") >= 2


def until(seen: list[Answer], *, counted: bool) -> None:
    """Wait for a new answer that was counted in Redis, or was not."""
    already, deadline = len(seen), time.monotonic() + 30
    while time.monotonic() < deadline:
        if any(("RateLimit" in answer.headers) == counted for answer in seen[already:]):
            return
        time.sleep(0.01)
    raise AssertionError(f"no answer with counted={counted}")


KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"


def test_X07_no_key_question_or_address_gets_into_the_log_of_a_function(tiny_bucket: str) -> None:
    private = "income of ann.lee@example.org with token=tok_51abcdef"
    settings = {"BUCKET_URL": tiny_bucket, "LLM_PROVIDER": "embedded", "OPENROUTER_API_KEY": KEY, "TRUST_PROXY": "1"}
    for queries, expected in (("0", False), ("1", True)):
        with function("search", {**settings, "LOG_QUERIES": queries}) as service:
            assert service.until_ready().status == 200
            body = {"query": {"text": f"{private} {KEY}"}, "rerank": False}
            assert ask(service, "198.51.100.1, 203.0.113.77", body).status == 200
            assert (
                service.get(f"/ask?query={KEY}%20ann.lee%40example.org", {"X-Forwarded-For": "203.0.113.77"}).status
                == 200
            )
            log = service.log.read_text()
        for never in (KEY, "ann.lee", "example.org", "tok_51abcdef", "203.0.113.77", "198.51.100.1"):
            assert never not in log, never
        assert ("income of" in log) == expected
        lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
        [searched] = [line for line in lines if line.get("route") == "/search"]
        assert searched["client"] == "203.0.113.0/24"
        assert searched["stages"]
        assert searched["release"]


def test_X05_a_page_of_any_origin_may_ask_what_is_paid_and_reads_when_to_come_back(limited: Service) -> None:
    page = {"Origin": "https://page.example", "Cookie": "session=1", "X-Forwarded-For": "203.0.113.4"}
    asks = {
        **page,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, traceparent",
    }
    for _ in range(2 * LIMIT):
        preflight = limited.send("OPTIONS", "/search", headers=asks)
        assert preflight.status == 204
        assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
        assert {"Content-Type", "traceparent"} <= set(preflight.headers["Access-Control-Allow-Headers"].split(", "))
    answers = [limited.send("POST", "/search", b"{}", page) for _ in range(LIMIT + 1)]
    assert [answer.status for answer in answers] == [400] * LIMIT + [429]
    for answer in (preflight, *answers):
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.headers["Access-Control-Allow-Credentials"] is None
        assert "Retry-After" in answer.headers["Access-Control-Expose-Headers"]
