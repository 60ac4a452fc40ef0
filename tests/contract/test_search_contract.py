"""POST /search on the wire: the requests existing callers send, and the shape of what they get back."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from wire import Service

URN = re.compile(r"urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+")
ENVELOPE = {"@context", "results", "referrals", "pageToken", "usage", "notices"}
ENTRY = {
    "@context": list,
    "identifier": str,
    "displayName": str,
    "type": str,
    "description": str,
    "representativeQueries": list,
    "tags": list,
    "okf:sourceDocument": str,
    "okf:sourceDirectory": str,
    "okf:accessDescriptor": str,
    "okf:type": str,
    "okf:source": str,
    "okf:entityType": str,
    "okf:access": dict,
    "trustManifest": dict,
    "data": dict,
}
SCORED = {"score": int, "source": str, "embedScore": (int, float), "foundBy": list}
MAY_HAVE = {"rerankScore"}
NUMBERS = (
    "llm_calls",
    "chat_calls",
    "embed_calls",
    "prompt_tokens",
    "completion_tokens",
    "embed_tokens",
    "total_tokens",
)
EVENT_NUMBERS = ("elapsed_ms", "prompt_tokens", "completion_tokens", "tokens", "cost_usd")


def search(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """A reply whose every part has been checked."""
    answer = service.post("/search", body)
    assert answer.status == 200, answer.content
    reply: dict[str, Any] = answer.json
    check_envelope(reply)
    for entry in reply["results"]:
        check_entry(entry, scored=True)
    return reply


def check_envelope(reply: dict[str, Any]) -> None:
    assert set(reply) - {"eligibility", "filter"} == ENVELOPE
    assert reply["referrals"] == []
    assert reply["pageToken"] is None
    assert reply["results"] or "eligibility" in reply, "an empty result always says why"
    check_usage(reply["usage"])
    for notice in reply["notices"]:
        assert isinstance(notice["code"], str)
        assert isinstance(notice["message"], str)


def check_entry(entry: dict[str, Any], *, scored: bool) -> None:
    expected = {**ENTRY, **(SCORED if scored else {})}
    assert expected.keys() <= entry.keys()
    for key, kind in expected.items():
        assert isinstance(entry[key], kind), key
    own = entry.keys() - expected.keys() - (MAY_HAVE if scored else set())
    assert all(key.startswith("okf:") for key in own), own
    assert URN.fullmatch(entry["identifier"])
    assert entry["type"] == "application/okf-table+markdown"
    assert entry["okf:source"] == "./_access.md"
    assert entry["okf:sourceDocument"].startswith(f"sources/{entry['okf:sourceDirectory']}/")
    assert entry["okf:accessDescriptor"] == f"sources/{entry['okf:sourceDirectory']}/_access.md"
    assert entry["trustManifest"]["identity"] == f"did:web:{entry['identifier'].split(':')[2]}"
    assert set(entry["data"]) == {"content"}
    assert entry["data"]["content"].startswith("# Schema")
    assert not {"url", "okf:title", "okf:tags", "okf:trust"} & entry.keys()
    if scored:
        assert type(entry["score"]) is int
        assert 0 <= entry["score"] <= 100
        assert entry["source"].startswith("http")


def check_usage(usage: dict[str, Any]) -> None:
    assert all(type(usage[name]) is int for name in NUMBERS)
    assert isinstance(usage["cost_usd"], int | float)
    assert usage["cost_source"] in {"provider", "price-table"}
    assert len(usage["call_events"]) + usage["call_events_dropped"] >= usage["llm_calls"]
    for spent in (*usage["by_model"].values(), *usage["by_stage"].values()):
        assert set(spent) == {"calls", "tokens", "cost_usd"}
    for event in usage["call_events"]:
        assert all(isinstance(event[name], int | float) for name in EVENT_NUMBERS)
        assert event["outcome"] in {"success", "rate_limited", "cancelled", "timeout", "error"}


def test_the_knowledge_graphs_request_works_as_it_sends_it(gateway: Service) -> None:
    text = (
        "Find tables for: rainfall kenya. Background only, not the search: "
        'the user\'s full question is "How much does it rain in Kenya?".'
    )
    body = {
        "query": {"text": text, "texts": ["rainfall kenya", "How much does it rain in Kenya?", "rainfall"]},
        "pageSize": 10,
        "rerank": True,
        "sources": ["datacommons"],
    }
    reply = search(gateway, body)
    assert reply["results"][0]["okf:variable"] == "Mean_Rainfall"
    assert {entry["okf:sourceDirectory"] for entry in reply["results"]} == {"datacommons"}


def test_the_knowledge_graphs_second_try_gets_as_many_as_it_asks_for(gateway: Service) -> None:
    body = {"query": {"text": "purple elephants"}, "pageSize": 8, "rerank": False, "sources": ["datacommons"]}
    reply = search(gateway, body)
    assert len(reply["results"]) == 8
    assert "embedding_order" in {notice["code"] for notice in reply["notices"]}


def test_the_pages_request_works_as_it_sends_it(gateway: Service) -> None:
    reply = search(gateway, {"query": {"text": "How much is rent?"}, "limit": 2, "sources": ["census", "worldbank"]})
    assert 1 <= len(reply["results"]) <= 2
    assert reply["results"][0]["okf:sourceDocument"] == "sources/census/dp04-0134e.md"


def test_the_librarys_request_works_as_it_sends_it(gateway: Service) -> None:
    unrestricted = search(gateway, {"query": {"text": "life expectancy"}, "pageSize": 5, "sources": None})
    plain = search(gateway, {"query": {"text": "life expectancy"}, "pageSize": 5})
    assert [e["identifier"] for e in unrestricted["results"]] == [e["identifier"] for e in plain["results"]]
    assert unrestricted["results"][0]["identifier"] == "urn:air:worldbank.org:okf:worldbank.sp-dyn-le00-in"


def test_an_entry_carries_its_own_words_and_what_it_inherits(gateway: Service) -> None:
    entry = search(gateway, {"query": {"text": "average rainfall by country"}})["results"][0]
    assert entry["identifier"] == "urn:air:datacommons.org:okf:datacommons.mean-rainfall"
    assert entry["displayName"] == "Mean annual rainfall — Data Commons (World Bank Climate)"
    assert entry["okf:coverage"]["dates"] == {"first": "2010", "last": "2023"}
    assert entry["okf:access"]["operations"]["observation"]["method"] == "GET"
    assert entry["okf:type"] == "Data Commons Variable", "the leaf's own type, not its source's"
    assert "okf:constraints" not in entry, "empty terms are dropped"
    assert entry["source"] == f"{gateway.url}/"


def test_nonsense_gets_no_match_that_says_how_far_it_was(gateway: Service) -> None:
    reply = search(gateway, {"query": {"text": "best lasagna recipe with spinach"}})
    assert reply["results"] == []
    assert reply["eligibility"]["status"] == "no_match"
    assert reply["eligibility"]["threshold"] == 50
    assert reply["eligibility"]["topScore"] is None or 0 <= reply["eligibility"]["topScore"] < 50


def test_filters_that_leave_nothing_cost_nothing(gateway: Service) -> None:
    query = {"text": "weather forecast tools", "filter": {"type": ["application/mcp-server-card+json"], "colour": 1}}
    reply = search(gateway, {"query": query, "federation": "none", "pageSize": 2})
    assert reply["eligibility"] == {"status": "no_match", "threshold": 50, "topScore": None}
    assert reply["filter"] == {"ignored": ["colour"]}
    assert reply["usage"]["llm_calls"] == 0


@pytest.mark.parametrize("key", ["sources", "excludeSources", "catalogs"])
def test_an_unknown_name_is_a_400_with_the_valid_ones(gateway: Service, key: str) -> None:
    answer = gateway.post("/search", {"query": {"text": "rain"}, key: ["nowhere"]})
    assert answer.status == 400
    assert answer.json["code"] == "unknown_name"
    assert answer.json["valid"] == (["built-in"] if key == "catalogs" else ["census", "datacommons", "worldbank"])


def test_unknown_root_keys_are_ignored(gateway: Service) -> None:
    assert gateway.post("/search", {"query": {"text": "rain"}, "colour": "blue", "@context": {}}).status == 200


def test_the_callers_request_id_comes_back_and_a_strange_one_does_not(gateway: Service) -> None:
    assert gateway.get("/health", {"X-Request-Id": "abc-123.X_9"}).headers["X-Request-Id"] == "abc-123.X_9"
    for strange in ("a b", "x" * 65, "<script>", ""):
        assert re.fullmatch(r"[0-9a-f]{32}", gateway.get("/health", {"X-Request-Id": strange}).headers["X-Request-Id"])


def test_the_log_has_a_line_a_request_and_never_the_question(gateway: Service) -> None:
    gateway.post("/search", {"query": {"text": "my secret is hunter2 rain"}})
    gateway.get("/variable?id=hunter2")
    gateway.post("/search", b'{"query": {"text": "hunter2"')
    log = gateway.log.read_text()
    assert '"route": "/search"' in log
    assert '"route": "/variable"' in log
    assert "hunter2" not in log


def test_health_counts_searches_and_their_latency(search_service: Service) -> None:
    before = search_service.get("/health").json["searches"]
    search_service.post("/search", {"query": {"text": "rain"}})
    search_service.post("/search", {"query": {"text": ""}})
    after = search_service.get("/healthz").json["searches"]
    assert after["total"] == before["total"] + 1, "what the caller got wrong is no search"
    assert datetime.strptime(after["last_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) <= datetime.now(UTC)
    assert 0 < after["latency_seconds"]["median"] <= after["latency_seconds"]["p95"]
    assert after["failures_by_status"] == {}


def test_a_search_past_its_deadline_is_a_504_with_what_it_spent(tiny_bucket: str) -> None:
    from wire import function

    with function("search", {"BUCKET_URL": tiny_bucket, "AGENT_FINDER_QUERY_TIMEOUT": "0.001"}) as service:
        assert service.until_ready().status == 200
        answer = service.post("/search", {"query": {"text": "rain"}})
        assert (answer.status, answer.json["code"]) == (504, "query_cancelled")
        check_usage(answer.json["usage"])
        assert service.get("/health").json["searches"]["failures_by_status"] == {"504": 1}
