"""What the specification's conformance tool v0.9.1 checks of a registry, a manifest and a publisher, with its client:
the standard library, five seconds a call."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from wire import Service

URN = re.compile(r"^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$")
TIMEOUT_S = 60


def call(url: str, body: object = None) -> tuple[int, Any, Any]:
    """Status, headers and parsed JSON; a reply that is no JSON fails here."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", "Accept": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            return response.status, response.headers, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, json.load(error)


def check_entry(entry: dict[str, Any]) -> None:
    """An ARD entry: identifier, name, type, and its content by value or by reference, never both."""
    assert URN.match(entry["identifier"])
    assert entry["displayName"]
    assert re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", entry["type"])
    assert ("url" in entry) != ("data" in entry)
    assert all(isinstance(query, str) and query for query in entry["representativeQueries"])
    identity = entry.get("trustManifest", {}).get("identity")
    publisher = entry["identifier"].split(":")[2]
    assert identity is None or f".{identity.rpartition(':')[2]}".endswith(f".{publisher}")


@pytest.fixture
def base(gateway: Service) -> str:
    return gateway.url


def first_urn(base: str) -> str:
    return str(call(f"{base}/agents")[2]["items"][0]["identifier"])


def test_registry_1_agents_without_parameters_is_a_list_of_valid_entries(base: str) -> None:
    status, _, reply = call(f"{base}/agents")
    assert status == 200
    assert isinstance(reply["items"], list)
    assert reply["total"] == 15
    for entry in reply["items"]:
        check_entry(entry)


def test_registry_2_a_search_for_a_type_nobody_has_is_an_empty_list(base: str) -> None:
    body = {
        "query": {"text": "weather forecast tools", "filter": {"type": ["application/mcp-server-card+json"]}},
        "federation": "none",
        "pageSize": 2,
    }
    status, _, reply = call(f"{base}/search", body)
    assert (status, reply["results"]) == (200, [])


def test_registry_2_results_have_an_identifier_an_integer_score_and_a_source(base: str) -> None:
    query = {"text": "median household income"}
    status, _, reply = call(f"{base}/search", {"query": query, "federation": "none", "pageSize": 2})
    assert status == 200
    assert 0 < len(reply["results"]) <= 2
    for entry in reply["results"]:
        check_entry(entry)
        assert type(entry["score"]) is int
        assert 0 <= entry["score"] <= 100
        assert entry["source"] == f"{base}/"


def test_registry_3_an_exact_retrieve_gives_the_entry_without_score_and_source(base: str) -> None:
    urn = first_urn(base)
    status, headers, entry = call(f"{base}/agents/{quote(urn, safe='')}")
    assert status == 200
    check_entry(entry)
    assert entry["identifier"] == urn
    assert not entry.keys() & {"score", "source"}
    assert headers["ETag"]
    assert "max-age" in headers["Cache-Control"]


def test_registry_4_an_unknown_urn_is_not_found(base: str) -> None:
    status, headers, reply = call(f"{base}/agents/urn%3Aair%3Aard-conformance.invalid%3Aprobe%3Anot-found")
    assert (status, reply["errorCode"]) == (404, "NOT_FOUND")
    assert reply["message"]
    assert headers["Cache-Control"] == "public, max-age=10"


def test_registry_5_what_is_no_urn_is_an_invalid_argument(base: str) -> None:
    status, _, reply = call(f"{base}/agents/not-a-valid-ard-urn")
    assert (status, reply["errorCode"]) == (400, "INVALID_ARGUMENT")
    assert reply["message"]


def test_registry_6_explore_answers_facets(base: str) -> None:
    body = {"query": {"text": "weather"}, "resultType": {"facets": [{"field": "type"}]}}
    status, _, reply = call(f"{base}/explore", body)
    assert (status, reply["resultType"]) == (200, "facets")
    assert isinstance(reply["facets"], dict)


@pytest.fixture(params=["ard.json", "ai-catalog.json"])
def manifest(request: pytest.FixtureRequest, base: str) -> dict[str, Any]:
    status, headers, reply = call(f"{base}/.well-known/{request.param}")
    assert status == 200
    assert headers["ETag"]
    return dict(reply)


def test_manifest_root_has_the_keys_of_both_versions_and_no_other(manifest: dict[str, Any]) -> None:
    assert manifest.keys() == {"specVersion", "host", "entries"}
    assert manifest["specVersion"] == "1.0"
    assert manifest["host"].keys() == {"displayName", "identifier", "documentationUrl"}
    assert manifest["host"]["identifier"].startswith("did:web:127.0.0.1%3A")


def test_manifest_entries_are_valid_and_ask_two_to_five_questions(manifest: dict[str, Any]) -> None:
    identifiers = [entry["identifier"] for entry in manifest["entries"]]
    assert len(set(identifiers)) == len(identifiers) == 4
    for entry in manifest["entries"]:
        check_entry(entry)
        assert 2 <= len(entry["representativeQueries"]) <= 5
    counts = {entry["okf:sourceDirectory"]: entry["okf:tableCount"] for entry in manifest["entries"][1:]}
    assert counts == {"census": 3, "datacommons": 8, "worldbank": 4}


def test_publisher_links_of_the_manifest_lead_to_the_entries(base: str, manifest: dict[str, Any]) -> None:
    for entry in manifest["entries"][1:]:
        status, _, full = call(entry["url"])
        assert (status, full["identifier"], full["type"]) == (200, entry["identifier"], entry["type"])
        check_entry(full)


def test_publisher_the_manifest_points_to_a_registry_that_answers(base: str, manifest: dict[str, Any]) -> None:
    registries = [entry for entry in manifest["entries"] if entry["type"] == "application/ai-registry+json"]
    assert [entry["url"] for entry in registries] == [f"{base}/"]
    assert call(f"{registries[0]['url']}agents")[0] == 200


def test_publisher_robots_name_the_manifest(gateway: Service) -> None:
    robots = gateway.get("/robots.txt")
    assert robots.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert f"# Agentmap: {gateway.url}/.well-known/ard.json" in robots.content.decode().splitlines()


def test_publisher_the_front_names_the_manifest_in_its_header_and_on_its_page(gateway: Service) -> None:
    for accept in ("application/json", "text/html"):
        front = gateway.get("/", {"Accept": accept})
        assert front.headers["Link"] == '</.well-known/ard.json>; rel="ard"'
    assert b'<link rel="ard" href=".well-known/ard.json"' in front.content


def test_every_listed_entry_can_be_retrieved_by_its_urn_and_by_its_link(base: str) -> None:
    for listed in entries_of(base):
        by_urn = call(f"{base}/agents/{quote(listed['identifier'], safe='')}")[2]
        assert call(listed["url"])[2] == by_urn
        for key in ("identifier", "displayName", "type", "description", "okf:sourceDocument"):
            assert by_urn[key] == listed[key]


def entries_of(base: str) -> Iterator[dict[str, Any]]:
    token = ""
    while token is not None:
        reply = call(f"{base}/agents?pageSize=4&pageToken={token}")[2]
        yield from reply["items"]
        token = reply["pageToken"]
