"""GET and POST /ask on the wire: the same search from a plain question."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from test_search_contract import check_entry, check_envelope
from wire import Answer, Service

QUESTION = "average rainfall in Kenya"


def get(service: Service, headers: dict[str, str] | None = None, **parameters: str) -> Answer:
    return service.get(f"/ask?{urlencode(parameters)}", headers)


def post(service: Service, body: bytes, content_type: str, path: str = "/ask") -> Answer:
    return service.send("POST", path, body, {"Content-Type": content_type} if content_type else {})


def found(answer: Answer) -> list[str]:
    """The identifiers of a reply whose every part has been checked."""
    assert answer.status == 200, answer.content
    check_envelope(answer.json)
    for entry in answer.json["results"]:
        check_entry(entry, scored=True)
    return [entry["identifier"] for entry in answer.json["results"]]


def refusal(answer: Answer) -> str:
    assert (answer.status, answer.json["code"], answer.json["errorCode"]) == (
        400,
        "invalid_request",
        "INVALID_ARGUMENT",
    )
    return str(answer.json["error"])


@pytest.fixture(scope="module")
def searched(gateway: Service) -> list[str]:
    """What POST /search finds."""
    answer = gateway.post("/search", {"query": {"text": QUESTION}, "pageSize": 3})
    return [entry["identifier"] for entry in answer.json["results"]]


WAYS: dict[str, dict[str, Any]] = {
    "query string": {"path": "/ask?" + urlencode({"query": QUESTION, "pageSize": "3"}), "method": "GET"},
    "trailing slash": {"path": "/ask/?" + urlencode({"q": QUESTION, "k": "3"}), "method": "GET"},
    "JSON": {"body": json.dumps({"question": QUESTION, "limit": 3}).encode(), "type": "application/json"},
    "JSON that curl calls a form": {
        "body": json.dumps({"text": QUESTION, "max_results": 3}).encode(), "type": "application/x-www-form-urlencoded",
    },
    "JSON without a type": {"body": json.dumps({"query": QUESTION, "pageSize": 3}).encode(), "type": ""},
    "both": {"path": "/ask?pageSize=3", "body": json.dumps({"query": QUESTION}).encode(), "type": "application/json"},
    "text": {"path": "/ask?pageSize=3", "body": QUESTION.encode(), "type": "text/plain; charset=utf-8"},
    "an empty body": {"path": "/ask?" + urlencode({"query": QUESTION, "pageSize": "3"}), "body": b"", "type": ""},
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_however_it_is_asked_it_is_the_same_search(gateway: Service, searched: list[str], way: dict[str, Any]) -> None:
    if way.get("method") == "GET":
        answer = gateway.get(way["path"])
    else:
        answer = post(gateway, way["body"], way["type"], way.get("path", "/ask"))
    assert found(answer) == searched != []


def test_where_nothing_matches_the_envelope_says_so(gateway: Service) -> None:
    answer = get(gateway, query="rain", sources="worldbank", excludeSources="worldbank")
    assert found(answer) == []
    assert answer.json["eligibility"] == {"status": "no_match", "threshold": 50, "topScore": None}


def test_a_source_nobody_has_is_named_with_those_that_exist(gateway: Service) -> None:
    answer = get(gateway, query="rain", sources="nowhere")
    assert (answer.status, answer.json["code"]) == (400, "unknown_name")
    assert "worldbank" in answer.json["valid"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/ask", "query is missing"),
        ("/ask?query=", "non-empty"),
        ("/ask?query=" + "x" * 401, "400 characters"),
        ("/ask?query=a&query=b", "more than once"),
        ("/ask?query=a&q=b", "different values"),
        ("/ask?query=rain&pageSize=ten", "integer"),
        ("/ask?query=%ff", "UTF-8"),
    ],
)
def test_a_wrong_question_is_a_400_that_says_what_is_wrong(gateway: Service, path: str, says: str) -> None:
    assert says in refusal(gateway.get(path))


@pytest.mark.parametrize("form", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_form_is_refused_with_what_is_taken(gateway: Service, form: str) -> None:
    message = refusal(post(gateway, b"query=rain", form))
    assert "JSON" in message
    assert "text/plain" in message
    assert "query string" in message


@pytest.mark.parametrize("body", [b"[1]", b"null", b"{", b'{"query": "a", "query": "b"}', b"\xff"])
def test_Q01_a_body_that_is_no_json_object_is_a_400(gateway: Service, body: bytes) -> None:
    assert refusal(post(gateway, body, "application/json")).startswith("The body ")


def test_Q01_a_text_that_is_not_utf_8_is_a_400(gateway: Service) -> None:
    assert "UTF-8" in refusal(post(gateway, b"\xff\xfe", "text/plain"))


TEXT = {"Accept": "text/plain"}


def test_text_is_a_list_that_people_read(gateway: Service) -> None:
    answer = get(gateway, TEXT, query=QUESTION, pageSize="1")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert answer.headers["Vary"] == "Accept"
    first, *_ = answer.content.decode().splitlines()
    assert first == "1. Mean annual rainfall — Data Commons (World Bank Climate) (score 100)"
    assert "   urn:air:datacommons.org:okf:datacommons.mean-rainfall\n" in answer.content.decode()
    assert "\nNote: " in answer.content.decode()


def test_text_says_that_nothing_matches(gateway: Service) -> None:
    text = get(gateway, TEXT, query="rain", sources="worldbank", excludeSources="worldbank").content.decode()
    assert text.startswith("No published table matches this question")


def test_an_error_is_json_also_where_text_was_asked_for(gateway: Service) -> None:
    assert "non-empty" in refusal(get(gateway, TEXT, query=" "))


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("text/plain, application/json", "application/json"),
        ("application/json, text/plain, */*", "application/json"),
        ("text/plain;q=0.5, application/json", "application/json"),
        ("text/html", "application/json"),
        ("text/plain;q=0", "application/json"),
        ("x;;q=?", "application/json"),
        ("text/plain, */*;q=0.1", "text/plain"),
        ("text/plain", "text/plain"),
        ("text/*", "text/plain"),
    ],
)
def test_text_is_sent_only_to_those_who_want_it_more_than_json(gateway: Service, accept: str, kind: str) -> None:
    answer = get(gateway, {"Accept": accept}, query="rain", rerank="false", pageSize="1")
    assert answer.headers["Content-Type"] == f"{kind}; charset=utf-8"


def test_head_starts_no_work_and_other_methods_are_refused(gateway: Service) -> None:
    head = gateway.send("HEAD", "/ask?query=rain")
    assert (head.status, head.content, head.headers["RateLimit"]) == (200, b"", None)
    assert gateway.send("PUT", "/ask").headers["Allow"] == "GET, POST, HEAD, OPTIONS"
