"""The stream's wire contract: envelope, frames, headers, one JSON instead, refusals; on a real function."""

from __future__ import annotations

import http.client
import json
import re
import socket
import uuid
from collections.abc import Iterator
from datetime import datetime

import pytest
from fakes.scripted.script import NASTY
from stream_reader import read_all, reading, scripted, types, until
from wire import Service

KEYS = ["message_id", "message_type", "query_id", "sequence", "timestamp", "content"]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with scripted({"MAX_CONCURRENT": "20"}) as (service, _):
        yield service


def test_a_stream_begins_and_ends_as_nlwebs_clients_expect(service: Service):
    events = read_all(service, "items=2")
    assert types(events) == [
        "begin-nlweb-response", "decontextualized_query", "candidate", "candidate", "result", "result", "nlws",
        "intermediate_message", "intermediate_message", "usage", "complete", "end-nlweb-response",
    ]  # fmt: skip


def test_the_envelope_has_its_six_keys_in_order_and_counts_from_one(service: Service):
    events = read_all(service, "items=1")
    assert [list(event)[:6] for event in events] == [KEYS] * len(events)
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert len({uuid.UUID(event["message_id"], version=4) for event in events}) == len(events)
    assert all(datetime.fromisoformat(event["timestamp"]).utcoffset() is not None for event in events)
    assert [event["content"] for event in events[-2:]] == [None, None]


def test_the_callers_query_id_is_echoed_and_one_is_made_where_there_is_none(service: Service):
    assert {event["query_id"] for event in read_all(service, "items=1", query_id="q-7")} == {"q-7"}
    [made] = {event["query_id"] for event in read_all(service, "items=1")}
    assert uuid.UUID(made)


def test_nlwebs_top_level_keys_stand_beside_content(service: Service):
    by_type = {event["message_type"]: event for event in read_all(service, "items=1")}
    assert by_type["result"]["results"] == by_type["result"]["content"]
    assert by_type["nlws"]["items"] == by_type["nlws"]["content"]["items"]
    assert by_type["nlws"]["answer"] == "All of them."
    assert by_type["intermediate_message"]["message"] == by_type["intermediate_message"]["content"]
    rewritten = by_type["decontextualized_query"]
    assert (rewritten["decontextualized_query"], rewritten["original_query"]) == ("standalone", "items=1")
    assert list(by_type["candidate"]) == KEYS


def test_T03_nothing_in_a_record_can_break_a_frame(service: Service):
    events = read_all(service, "items=2 nasty=1")
    texts = [e["content"][0]["schema_object"]["description"] for e in events if e["message_type"] == "result"]
    assert texts == [NASTY, NASTY]
    assert events[2]["content"][0]["schema_object"]["rating"] is None, "NaN is no JSON"


def test_T03_a_record_of_a_megabyte_arrives_whole(service: Service):
    events = read_all(service, "items=1 size=1000000")
    assert [len(e["content"][0]["schema_object"]["description"]) for e in events if e["message_type"] == "result"] == [
        1_000_000
    ]


def test_T07_no_proxy_is_let_to_hold_a_stream_back(service: Service):
    with reading(service, "items=1") as stream:
        head = stream.head.lower()
    assert "content-type: text/event-stream; charset=utf-8" in head
    assert re.search(r"cache-control: .*no-cache.*no-store.*no-transform", head)
    assert "x-accel-buffering: no" in head
    assert "transfer-encoding: chunked" in head
    assert "content-length" not in head


def test_T07_a_silent_stream_is_kept_alive_by_comments():
    with scripted({"STREAM_HEARTBEAT": "0.3"}) as (service, _), reading(service, "items=1 first=1.5") as stream:
        assert types(list(stream.events()))[-1] == "end-nlweb-response"
    assert 2 <= len(stream.comments) <= 5
    assert set(stream.comments) == {": keepalive"}


def test_a_connection_is_used_again_after_a_stream(service: Service):
    connection = http.client.HTTPConnection(*service.address, timeout=30)
    try:
        for _ in range(3):
            connection.request("GET", "/ask?query=items%3D2+pause%3D0.01")
            reply = connection.getresponse()
            assert reply.read().count(b"data: ") == 12
            first = connection.sock
        assert connection.sock is first
    finally:
        connection.close()


def test_a_client_of_http_1_0_reads_until_the_connection_ends(service: Service):
    with socket.create_connection(service.address, timeout=30) as connection:
        connection.sendall(b"GET /ask?query=items%3D2 HTTP/1.0\r\n\r\n")
        got = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = got.partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert body.count(b"data: ") == 12
    assert body.endswith(b"\n\n")


def test_post_and_get_ask_alike_and_the_body_wins(service: Service):
    answer = service.send("POST", "/ask?query=items%3D1&query_id=url", json.dumps({"query_id": "body"}).encode())
    assert b'"query_id":"body"' in answer.content
    assert answer.content.count(b'"message_type":"result"') == 1
    assert service.send("POST", "/ask?query=items%3D1").status == 200


def test_streaming_false_is_one_json_with_a_key_a_message(service: Service):
    answer = service.get("/ask?query=items%3D2&streaming=false&query_id=q1")
    assert answer.status == 200
    assert answer.json["query_id"] == "q1"
    assert [item["name"] for item in answer.json["results"]] == ["Item 0", "Item 1"]
    assert answer.json["intermediate_message"] == {"message": "One notice. Another."}
    assert answer.json["decontextualized_query"]["original_query"] == "items=2"
    assert answer.json["nlws"]["answer"] == "All of them."
    assert answer.json["usage"]["total_tokens"] == 7
    assert not answer.json.keys() & {"candidate", "complete", "error", "begin-nlweb-response"}


@pytest.mark.parametrize(
    ("path", "body"),
    [("/ask?bad=1", None), ("/ask?query=a&query=b", None), ("/ask", b"[1]"), ("/ask", b"{"), ("/ask", b"query=x")],
)
def test_what_is_no_question_is_a_400_in_json_and_starts_nothing(service: Service, path: str, body: bytes | None):
    before = service.get("/seen").json["started"]
    answer = service.send("GET" if body is None else "POST", path, body)
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")
    assert service.get("/seen").json["started"] == before


def test_M02_a_pipeline_that_raises_ends_with_one_error_complete_and_end(service: Service):
    events = read_all(service, "items=3 crash=1")
    assert types(events)[-3:] == ["error", "complete", "end-nlweb-response"]
    assert events[-3]["message"] == events[-3]["content"] == "Something went wrong here, not in the request"
    assert "a secret" not in service.log.read_text()


def test_a_pipeline_that_stops_short_ends_with_an_error_complete_and_end(service: Service):
    assert types(read_all(service, "items=3 stop=1"))[-3:] == ["error", "complete", "end-nlweb-response"]


def test_streaming_false_says_an_error_too(service: Service):
    answer = service.get("/ask?query=items%3D3+crash%3D1&streaming=false")
    assert answer.json["error"] == {"message": "Something went wrong here, not in the request"}


def test_M10_a_pipeline_beyond_its_deadline_is_cut_off_with_an_end(monkeypatch: pytest.MonkeyPatch):
    with scripted({"ASKHUB_QUERY_TIMEOUT": "0.1"}) as (service, _):
        events = read_all(service, "items=100 pause=30")
        assert types(events)[-3:] == ["error", "complete", "end-nlweb-response"]
        assert until(lambda: service.get("/seen").json, lambda seen: seen["ended"] == 1)["model_calls"] == 1


def test_a_stream_is_logged_and_counted_once_at_its_end(service: Service):
    before = service.get("/health").json["searches"]["outcomes"].get("answered", 0)
    with reading(service, "items=3 pause=0.05") as stream:
        list(stream.events())
    request_id = re.search(r"X-Request-Id: (\w+)", stream.head)
    assert request_id

    def line() -> list[dict[str, object]]:
        lines = [json.loads(each) for each in service.log.read_text().splitlines()]
        return [each for each in lines if each.get("request_id") == request_id[1]]

    [said] = until(line, len)
    assert (said["outcome"], said["usd"], said["tokens"], said["notices"]) == ("answered", 0.5, 7, ["batch_failed"])
    assert said["stages"]["model"] >= 150  # type: ignore[index]
    assert service.get("/health").json["searches"]["outcomes"]["answered"] == before + 1


def test_a_refusal_for_the_minute_has_nlwebs_words_and_the_wait():
    with scripted({"RATE_LIMIT_PER_MINUTE": "2"}) as (service, _):
        assert service.send("POST", "/ask", b"{").status == 400, "counted before it is read"
        assert service.send("OPTIONS", "/ask").status == 204
        assert service.send("HEAD", "/ask?query=items%3D1").status == 200
        assert types(read_all(service, "items=1"))[-1] == "end-nlweb-response"
        refused = service.get("/ask?query=items%3D1")
    assert refused.status == 429
    body = refused.json
    assert (body["error"], body["detail"]) == ("Rate limit exceeded", "Client query limit reached.")
    assert int(refused.headers["Retry-After"]) == body["retry_after"] >= 1
    assert refused.headers["Cache-Control"] == "no-store"


def test_one_stream_too_many_is_refused_and_the_place_comes_back_with_the_end():
    with scripted({"MAX_CONCURRENT": "1"}) as (service, _), reading(service, "items=1 first=30") as stream:
        next(stream.events())
        refused = service.get("/ask?query=items%3D1")
        assert (refused.status, refused.json["detail"]) == (429, "Too many queries are already running.")
        assert refused.json["retry_after"] == 1
        stream.connection.close()
        until(lambda: service.get("/ask?query=items%3D1").status, lambda status: status == 200)
