"""A page that was written for the services before ours, in plain Python: what it reads and how, and nothing else of us.

It reads the JSON before it looks at the status, shows `error` where there is one and the status where there is none,
takes the length of `results` unguarded, and does sums with the ledger's figures. What it cannot read raises here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from wire import Service

PAGE_SIZE = 10
STAGES = {"embed-query": "embed", "rerank": "rerank"}


@dataclass(frozen=True)
class Hit:
    """What the page shows of a result."""

    title: str
    description: str
    score: float
    tags: list[str]
    questions: list[str]
    document: str
    source: str


@dataclass(frozen=True)
class Shown:
    """What the page shows of an answer."""

    error: str = ""
    hits: tuple[Hit, ...] = ()
    no_match: str = ""
    usage: str = ""
    steps: tuple[str, ...] = ()


def asked(service: Service, text: str, **more: Any) -> Shown:
    """One search, as the page sends it: `limit` and not `pageSize`, and no other field but the question."""
    answer = service.post("/search", {"query": {"text": text}, "limit": PAGE_SIZE, **more})
    body = json.loads(answer.content)
    if answer.status != 200:
        return Shown(error=body.get("error") or f"HTTP {answer.status}")
    hits = tuple(hit(body["results"][at]) for at in range(len(body["results"])))
    return Shown("", hits, no_match(body), spent(body["usage"]), tuple(map(step, body["usage"]["call_events"])))


def hit(entry: dict[str, Any]) -> Hit:
    return Hit(
        title=entry["displayName"],
        description=entry["description"] + "",
        score=entry["score"] + 0,
        tags=[tag + "" for tag in entry["tags"]],
        questions=[question + "" for question in entry["representativeQueries"]],
        document="/blob/main/" + entry["okf:sourceDocument"],
        source=entry["okf:sourceDirectory"] + "",
    )


def no_match(body: dict[str, Any]) -> str:
    found = body.get("eligibility")
    if not found or found["status"] != "no_match":
        return ""
    top = found["topScore"]
    return f"best {'none' if top is None else top + 0} of {found['threshold'] + 0}"


def spent(usage: dict[str, Any]) -> str:
    return f"{usage['total_tokens']:,} tokens ${usage['cost_usd']:.6f}"


def step(event: dict[str, Any]) -> str:
    """A line of the ledger: a tick for success, any other outcome by its word."""
    name = STAGES.get(event["stage"], event["stage"])
    mark = "✓" if event["outcome"] == "success" else event["outcome"]
    rate = event["tokens"] / max(event["elapsed_ms"] / 1000, 0.001)
    return f"{name} {event['model']} {mark} {event['elapsed_ms'] / 1000:.2f} s {rate:.0f} tokens/s"


@pytest.fixture(scope="module")
def service(gateway_url: str, tmp_path_factory: pytest.TempPathFactory) -> Service:
    return Service(gateway_url, tmp_path_factory.getbasetemp())


def test_the_deployed_ard_page_reads_results_as_it_always_did(service: Service) -> None:
    shown = asked(service, "how many people live in poverty in Kenya")
    assert shown.error == shown.no_match == ""
    assert 1 <= len(shown.hits) <= PAGE_SIZE
    first = shown.hits[0]
    assert "overty" in first.title
    assert first.document == f"/blob/main/sources/{first.source}/{first.document.rpartition('/')[2]}"
    assert first.description
    assert first.questions
    assert 50 <= min(each.score for each in shown.hits) <= max(each.score for each in shown.hits) <= 100
    assert [line.split()[0] for line in shown.steps] == ["embed", "rerank"]
    assert all("✓" in line for line in shown.steps)
    assert shown.usage.startswith(f"{sum_of_tokens(service):,} tokens $0.000000")


def sum_of_tokens(service: Service) -> int:
    usage = service.post("/search", {"query": {"text": "how many people live in poverty in Kenya"}}).json["usage"]
    return sum(event["tokens"] for event in usage["call_events"])


def test_the_deployed_ard_page_reads_a_no_match_with_and_without_candidates(service: Service) -> None:
    shown = asked(service, "best pizza dough recipe")
    assert shown.hits == ()
    assert shown.no_match.endswith("of 50")
    assert shown.no_match.split()[1].isdigit()
    nothing = asked(service, "rain", query={"text": "rain", "filter": {"type": "application/mcp-server-card+json"}})
    assert nothing.no_match == "best none of 50"
    assert nothing.steps == ()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"query": {"text": "  "}}, "query.text"),
        ({}, "query"),
        ({"query": {"text": "rain"}, "sources": ["nowhere"]}, "unknown source 'nowhere'"),
        ({"query": {"text": "x" * 70_000}}, "bytes"),
        (b"{", ""),
        (b"[]", ""),
    ],
)
def test_the_deployed_ard_page_shows_the_sentence_of_every_error(service: Service, body: Any, said: str) -> None:
    answer = service.post("/search", body)
    shown = json.loads(answer.content).get("error") or f"HTTP {answer.status}"
    assert answer.status in (400, 413)
    assert said in shown
    assert not shown.startswith("HTTP ")


def test_the_client_library_browses_and_counts_as_it_always_did(service: Service) -> None:
    facets = {"query": {"text": ""}, "resultType": {"facets": [{"field": "publisher", "limit": 100}]}}
    buckets = service.post("/explore", facets).json["facets"]["publisher"]["buckets"]
    assert sum(bucket["count"] for bucket in buckets) == service.get("/agents?pageSize=1").json["totalSize"]
    [most, *_] = buckets
    entries: list[Any] = []
    token = ""
    while token is not None:
        page = service.get(f"/agents?publisher={most['value']}&pageSize=100{token and f'&pageToken={token}'}").json
        entries += page["entries"]
        token = page["pageToken"]
    assert len(entries) == page["totalSize"] == most["count"]
    whole = service.get(f"/agents/entry?id={entries[0]['okf:sourceDocument']}").json
    assert whole["identifier"] == entries[0]["identifier"]
    assert whole["data"]["content"]
    assert service.get("/healthz").json["ok"] is True
    assert service.post("/search", {"query": {"text": "rain"}, "sources": None}).status == 200


def test_programs_get_the_card_at_the_address_where_people_get_the_page(service: Service) -> None:
    card = service.get("/", {"Accept": "application/json"}).json
    assert set(card) == {"name", "store", "endpoints"}
    assert set(card["endpoints"]) == {"search", "explore", "list", "entry", "manifest"}
    people = service.get("/", {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert people.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b'<script type="module" src="js/search/app.js">' in people.content
