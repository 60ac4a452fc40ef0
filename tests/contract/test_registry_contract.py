"""The registry's routes on the wire: what they take, what they answer, how they refuse."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from wire import ROOT, Service, function

GITHUB = "https://github.com/GoogleCloudPlatform/knowledge-catalog/okf/ns#"


@pytest.fixture(scope="module")
def registry(tiny_bucket: str) -> Iterator[Service]:
    """The registry function alone, as deployed."""
    with function("registry", {"BUCKET_URL": tiny_bucket, "AGENT_FINDER_SELF": "https://ard.example.org/"}) as service:
        assert service.until_ready().status == 200
        yield service


def facets(registry: Service, **body: Any) -> dict[str, dict[str, int]]:
    """Field → value → count."""
    found = registry.post("/explore", body).json["facets"]
    return {field: {each["value"]: each["count"] for each in facet["buckets"]} for field, facet in found.items()}


def test_a_route_that_is_none_says_where_the_routes_are(registry: Service) -> None:
    answer = registry.get("/serch")
    assert (answer.status, answer.json["error"]) == (404, "No such route: see /openapi.json")


def test_the_card_has_three_keys_and_absolute_addresses(registry: Service) -> None:
    answer = registry.get("/", {"Accept": "application/json"})
    assert answer.json.keys() == {"name", "store", "endpoints"}
    assert answer.json["store"] == "object storage"
    assert answer.json["endpoints"] == {
        "search": "https://ard.example.org/search",
        "explore": "https://ard.example.org/explore",
        "list": "https://ard.example.org/agents",
        "entry": "https://ard.example.org/agents/entry",
        "manifest": "https://ard.example.org/.well-known/ard.json",
    }
    assert answer.headers["Link"] == '</.well-known/ard.json>; rel="ard"'


def test_publishers_come_with_their_sources_and_entries(registry: Service) -> None:
    assert registry.get("/publishers").json == {
        "publishers": [
            {"publisher": "census.gov", "sources": ["census"], "entries": 3},
            {"publisher": "datacommons.org", "sources": ["datacommons"], "entries": 8},
            {"publisher": "worldbank.org", "sources": ["worldbank"], "entries": 4},
        ],
        "total": 3,
    }


@pytest.mark.parametrize(
    "path",
    ["/", "/publishers", "/agents", "/agents/entry/?id=sources/census/_access.md", "/.well-known/ard.json/",
     "/robots.txt", "/okf/index", "/okf/file/?path=sources/census/_access.md"],
)  # fmt: skip
def test_what_is_stable_has_a_tag_and_is_not_sent_twice(registry: Service, path: str) -> None:
    first = registry.get(path)
    assert first.status == 200
    assert first.headers["Cache-Control"] == "public, max-age=60"
    again = registry.get(path, {"If-None-Match": first.headers["ETag"]})
    assert (again.status, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])


# GET /agents


def listed(registry: Service, query: str = "") -> list[str]:
    return [
        entry["identifier"].rpartition(":")[2] for entry in registry.get(f"/agents?pageSize=100&{query}").json["items"]
    ]


def test_a_list_is_there_under_the_names_of_both_versions(registry: Service) -> None:
    reply = registry.get("/agents?pageSize=2").json
    assert reply.keys() == {
        "@context", "items", "entries", "total", "totalSize", "pageSize", "offset", "pageToken",
    }  # fmt: skip
    assert reply["items"] == reply["entries"]
    assert (reply["total"], reply["totalSize"], reply["pageSize"], reply["offset"]) == (15, 15, 2, 0)
    entry = reply["items"][0]
    assert entry.keys() == {
        "@context", "identifier", "displayName", "type", "description", "representativeQueries", "tags",
        "okf:sourceDocument", "okf:sourceDirectory", "okf:accessDescriptor", "trustManifest", "url",
    }  # fmt: skip
    assert entry["tags"] == ["census"]
    assert entry["url"] == "https://ard.example.org/agents/entry?id=sources/census/dp02-0068e.md"


@pytest.mark.parametrize(
    ("query", "size"),
    [("", 20), ("publisher=census", 50), ("filter=publisher=census", 50), ("filter=publisherId=census", 20)],
)
def test_a_page_is_20_entries_and_50_for_who_asks_in_the_older_words(registry: Service, query: str, size: int) -> None:
    assert registry.get(f"/agents?{query}").json["pageSize"] == size


@pytest.mark.parametrize(("asked", "size"), [("0", 1), ("-1", 1), ("101", 100), ("100", 100), ("%2B7", 7)])
def test_a_page_size_is_held_between_1_and_100(registry: Service, asked: str, size: int) -> None:
    assert registry.get(f"/agents?pageSize={asked}").json["pageSize"] == size


@pytest.mark.parametrize("named", ["publisher=census", "publisher=census.gov", "filter=publisher=census",
                                   "filter=publisher%3Dcensus.gov", "filter=publisherId=census.gov",
                                   "publisherId=census.gov"])  # fmt: skip
def test_a_publisher_is_a_domain_or_a_directory_in_any_spelling(registry: Service, named: str) -> None:
    assert sorted(listed(registry, named)) == ["census.dp02-0068e", "census.dp03-0062e", "census.dp04-0134e"]


def test_entries_of_one_publisher_come_by_name(registry: Service) -> None:
    names = [entry["displayName"] for entry in registry.get("/agents?publisher=census").json["items"]]
    assert names == sorted(names, key=str.casefold)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=HOUSEHOLD%20INCOME", ["census.dp03-0062e", "datacommons.median-income-household"]),
        ("q=ny-gdp", ["worldbank.ny-gdp-pcap-cd"]),
        ("q=ny%00gdp", []),
        ("q=100%25", []),
        ("q=dp0_", []),
        ("q=%C3%89", []),
        ("displayName=gross%20rent,gdp", ["census.dp04-0134e", "worldbank.ny-gdp-pcap-cd"]),
        ("filter=displayName=median;publisherId=census.gov", ["census.dp03-0062e", "census.dp04-0134e"]),
        ("filter=displayName=median%26publisherId=census.gov", ["census.dp03-0062e", "census.dp04-0134e"]),
        ("filter=displayName=median&filter=displayName=rent", ["census.dp04-0134e"]),
        ("type=application/okf-source%2Bmarkdown", []),
        ("type=application/okf-table+markdown,x/y&q=ny-gdp", ["worldbank.ny-gdp-pcap-cd"]),
        ("publisher=census&filter=publisherId=worldbank.org", []),
        ("createdAfter=2020-01-01&q=ny-gdp", ["worldbank.ny-gdp-pcap-cd"]),
        ("filter=updatedAfter=2999-01-01T00:00:00Z", []),
    ],
)
def test_commas_are_alternatives_and_parameters_are_all_required(
    registry: Service, query: str, found: list[str]
) -> None:
    assert sorted(listed(registry, query)) == found


def test_an_order_is_kept_and_can_be_turned(registry: Service) -> None:
    for field, key in (("displayName", "displayName"), ("identifier", "identifier")):
        values = [entry[key] for entry in registry.get(f"/agents?orderBy={field}").json["items"]]
        assert values == sorted(values, key=str.casefold)
        turned = registry.get(f"/agents?orderBy={field}%20desc").json["items"]
        assert [entry[key] for entry in turned] == values[::-1]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("publisher=nobody", "census.gov"),
        ("filter=colour=blue", "displayName"),
        ("filter=census", "displayName"),
        ("publisher=", "publisher"),
        ("orderBy=score", "displayName"),
        ("orderBy=displayName%20up", "displayName"),
        ("createdAfter=yesterday", "createdAfter"),
        ("filter=updatedAfter=soon", "updatedAfter"),
        ("pageSize=many", "pageSize"),
        ("q=a&q=b", "q"),
        ("q=%00", "q"),
        ("displayName=%00,%00", "displayName"),
    ],
)
def test_what_no_filter_is_a_400_that_says_what_is_valid(registry: Service, query: str, named: str) -> None:
    answer = registry.get(f"/agents?{query}")
    assert (answer.status, answer.json["errorCode"]) == (400, "INVALID_ARGUMENT")
    assert named in answer.json["error"]


def test_an_unknown_publisher_lists_the_valid_ones(registry: Service) -> None:
    assert registry.get("/agents?publisher=nobody").json["valid"] == ["census.gov", "datacommons.org", "worldbank.org"]


@pytest.mark.parametrize("token", ["x", "MDA", "%C3%A9", "AAAA", "....", "LTE", quote("a" * 3000), "%00"])
def test_a_page_token_we_did_not_issue_is_a_400_never_page_one(registry: Service, token: str) -> None:
    for path in ("/agents?", "/okf/index?dir=sources/census&"):
        answer = registry.get(f"{path}pageToken={token}")
        assert (answer.status, answer.json["errorCode"]) == (400, "INVALID_ARGUMENT")
        assert "pageToken" in answer.json["error"]


def test_a_page_token_of_another_question_is_a_400(registry: Service) -> None:
    token = registry.get("/agents?pageSize=1").json["pageToken"]
    assert registry.get(f"/agents?pageSize=5&pageToken={token}").json["offset"] == 1
    for path in ("/agents?q=income&", "/agents?orderBy=displayName&", "/okf/index?dir=sources/census&"):
        assert registry.get(f"{path}pageToken={token}").status == 400
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    assert registry.get(f"/agents?pageToken={changed}").status == 400


# GET /agents/entry and /agents/{identifier}


def test_an_entry_is_found_by_urn_and_by_path_whole(registry: Service) -> None:
    urn = "urn:air:census.gov:okf:census.dp03-0062e"
    spelled = [f"/agents/entry?id={urn}", "/agents/entry/?id=sources/census/dp03-0062e.md", f"/agents/{urn}",
               f"/agents/{quote(urn, safe='')}", f"/agents/{quote(urn, safe='').lower()}/"]  # fmt: skip
    replies = [registry.get(path) for path in spelled]
    assert {reply.status for reply in replies} == {200}
    assert len({reply.content for reply in replies}) == 1
    entry = replies[0].json
    assert entry["okf:variable"] == "DP03_0062E"
    assert entry["data"]["content"].startswith("# Schema")
    assert "url" not in entry


@pytest.mark.parametrize("identifier", ["urn:air:census.gov:okf:census", "sources/census/_access.md"])
def test_a_source_is_an_entry_with_its_access_kept(registry: Service, identifier: str) -> None:
    entry = registry.get(f"/agents/entry?id={identifier}").json
    assert (entry["identifier"], entry["type"]) == ("urn:air:census.gov:okf:census", "application/okf-source+markdown")
    assert entry["okf:access"]["auth"] == "none"
    assert entry["okf:sourceDocument"] == "sources/census/_access.md"
    assert entry["data"]["content"].startswith("# About")
    assert entry["trustManifest"] == {"identity": "did:web:census.gov", "identityType": "did"}
    assert not entry.keys() & {"score", "source", "okf:accessDescriptor"}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/agents/entry", 400),
        ("/agents/entry?id=", 400),
        ("/agents/entry?id=urn:air:census.gov:okf:census.DP03-0062E", 404),
        ("/agents/entry?id=urn:nothing", 404),
        ("/agents/entry?id=sources/census/../census/_access.md", 404),
        ("/agents/entry?id=open-data:sources/census/_access.md", 404),
        ("/agents/urn:air:census.gov:okf:census.DP03-0062E", 404),
        ("/agents/urn%253Aair%253Acensus.gov%253Aokf%253Acensus", 400),
        ("/agents/urn:air:census.gov", 400),
        ("/agents/urn:ai:census.gov:okf:census", 400),
        ("/agents/urn%ZZ", 400),
        ("/agents/%ff", 400),
        ("/agents/urn:air:census.gov:okf:census/x", 404),
    ],
)
def test_an_entry_that_is_not_there_is_a_404_and_a_broken_identifier_a_400(
    registry: Service, path: str, status: int
) -> None:
    answer = registry.get(path)
    assert (answer.status, answer.json["errorCode"]) == (status, {400: "INVALID_ARGUMENT", 404: "NOT_FOUND"}[status])
    assert answer.json["error"] == answer.json["message"]


# POST /explore


def test_an_empty_text_is_no_text_and_facets_come_by_count(registry: Service) -> None:
    body = {"query": {"text": ""}, "resultType": {"facets": [{"field": "publisher", "limit": 100}]}}
    reply = registry.post("/explore", body).json
    assert "textMatch" not in reply
    assert reply["total"] == 15
    assert reply["facets"] == {
        "publisher": {
            "buckets": [
                {"value": "datacommons.org", "count": 8},
                {"value": "worldbank.org", "count": 4},
                {"value": "census.gov", "count": 3},
            ],
            "otherCount": 0,
        }
    }


def test_what_is_cut_is_counted_in_entries(registry: Service) -> None:
    body = {"resultType": {"facets": [{"field": "source", "limit": 1}, {"field": "publisher", "minCount": 4}]}}
    found = registry.post("/explore", body).json["facets"]
    assert found["source"] == {"buckets": [{"value": "datacommons", "count": 8}], "otherCount": 7}
    assert [each["value"] for each in found["publisher"]["buckets"]] == ["datacommons.org", "worldbank.org"]
    assert found["publisher"]["otherCount"] == 3


def test_text_narrows_by_words_and_says_that_it_does(registry: Service) -> None:
    body = {"query": {"text": "what is the gross rent in dollars"}, "resultType": {"facets": [{"field": "source"}]}}
    reply = registry.post("/explore", body).json
    assert reply["textMatch"] == "lexical"
    assert reply["facets"]["source"]["buckets"] == [{"value": "census", "count": 1}]
    nothing = registry.post("/explore", {**body, "query": {"text": "?!"}}).json
    assert (nothing["total"], nothing["facets"]["source"]["buckets"]) == (0, [])


@pytest.mark.parametrize(
    ("restriction", "sources"),
    [
        ({"query": {"filter": {"publisher": "census.gov"}}}, {"census": 3}),
        ({"query": {"filter": {"publisher": ["census", "worldbank.org"]}}}, {"census": 3, "worldbank": 4}),
        ({"query": {"filter": {"publisher": "census.gov"}}, "excludeSources": ["census"]}, {}),
        ({"query": {"filter": {"type": "application/mcp-server-card+json"}}}, {}),
        ({"query": {"filter": {"tags": ["county", "nowhere"]}}}, {"census": 3, "datacommons": 5}),
        ({"sources": ["worldbank"]}, {"worldbank": 4}),
        ({"sources": None, "excludeSources": ["datacommons"]}, {"census": 3, "worldbank": 4}),
        ({"query": {"filter": {"okf:sourceDirectory": "census"}}}, {"census": 3}),
        ({"query": {"filter": {f"{GITHUB}sourceDirectory": ["census"]}}}, {"census": 3}),
        ({"query": {"filter": {"https://openknowledgeformat.org/ns#sourceDirectory": "census"}}}, {"census": 3}),
        (
            {"query": {"@context": [{"k": "https://openknowledgeformat.org/ns#"}],
                       "filter": {"k:sourceDirectory": "census"}}},
            {"census": 3},
        ),
    ],
)  # fmt: skip
def test_facets_count_what_the_filters_leave(
    registry: Service, restriction: dict[str, Any], sources: dict[str, int]
) -> None:
    assert facets(registry, resultType={"facets": [{"field": "source"}]}, **restriction) == {"source": sources}


def test_filter_keys_that_nobody_reads_are_reported(registry: Service) -> None:
    body = {"query": {"filter": {"colour": 1, "okf:unit": "x"}}, "resultType": {"facets": [{"field": "type"}]}}
    assert registry.post("/explore", body).json["filter"] == {"ignored": ["colour", "okf:unit"]}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "resultType"),
        ({"resultType": "facets"}, "resultType"),
        ({"resultType": {"facets": []}}, "resultType"),
        ({"resultType": {"facets": ["type"]}}, "resultType"),
        ({"resultType": {"facets": [{"field": "colour"}]}}, "publisher, source, tags, type"),
        ({"resultType": {"facets": [{}]}}, "field"),
        ({"resultType": {"facets": [{"field": "type"}, {"field": "type"}]}}, "once"),
        ({"resultType": {"facets": [{"field": "type", "limit": "many"}]}}, "limit"),
        ({"resultType": {"facets": [{"field": "type", "minCount": True}]}}, "minCount"),
        ({"query": {"text": 7}, "resultType": {"facets": [{"field": "type"}]}}, "query.text"),
        ({"query": {"filter": []}, "resultType": {"facets": [{"field": "type"}]}}, "query.filter"),
        (
            {"query": {"filter": {"okf:sourceDirectory": 3}}, "resultType": {"facets": [{"field": "type"}]}},
            "okf:source",
        ),
        ({"query": {"filter": {"publisher": "nobody"}}, "resultType": {"facets": [{"field": "type"}]}}, "census.gov"),
        ({"sources": ["nobody"], "resultType": {"facets": [{"field": "type"}]}}, "census"),
        ({"catalogs": ["nobody"], "resultType": {"facets": [{"field": "type"}]}}, "built-in"),
        ({"sources": ["x"] * 51, "resultType": {"facets": [{"field": "type"}]}}, "50"),
    ],
)
def test_an_exploration_that_is_wrong_is_a_400_that_says_how(
    registry: Service, body: dict[str, Any], named: str
) -> None:
    answer = registry.post("/explore", body)
    assert (answer.status, answer.json["errorCode"]) == (400, "INVALID_ARGUMENT")
    assert named in answer.json["error"]


# GET /okf/index and /okf/file


def test_folders_have_titles_and_files_are_paged(registry: Service) -> None:
    assert registry.get("/okf/index").json["dirs"] == [{"path": "sources", "title": "sources", "documents": 18}]
    sources = registry.get("/okf/index/?dir=sources/").json
    assert sources["dirs"][0] == {"path": "sources/census", "title": "US Census Bureau (access)", "documents": 4}
    first = registry.get("/okf/index?dir=sources/census&pageSize=3").json
    rest = registry.get(f"/okf/index?dir=sources/census&pageSize=3&pageToken={first['pageToken']}").json
    assert (first["dir"], first["dirs"], first["total"], rest["pageToken"]) == ("sources/census", [], 4, None)
    assert [each["path"] for each in first["files"] + rest["files"]] == [
        f"sources/census/{name}.md" for name in ("_access", "dp02-0068e", "dp03-0062e", "dp04-0134e")
    ]
    assert rest["files"][0]["title"].startswith("Median gross rent")


@pytest.mark.parametrize("folder", ["nowhere", "sources/cens", "sources//census", "../", "sources/census/x", "."])
def test_a_folder_that_is_not_there_is_a_404(registry: Service, folder: str) -> None:
    answer = registry.get(f"/okf/index?dir={folder}")
    assert (answer.status, answer.json["error"]) == (404, "no such folder")


def test_a_file_is_sent_as_markdown(registry: Service) -> None:
    answer = registry.get("/okf/file?path=sources/census/_access.md")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.content.startswith(b"---\ntype: Data Source\n")


def test_every_document_of_the_demo_is_sent_byte_for_byte(demo_gateway: Service) -> None:
    connection = http.client.HTTPConnection(*demo_gateway.address, timeout=60)
    documents = sorted((ROOT / "demo/sources").rglob("*.md"))
    for document in documents:
        connection.request("GET", f"/okf/file?path={quote(document.relative_to(ROOT / 'demo').as_posix())}")
        response = connection.getresponse()
        assert (response.status, response.read()) == (200, document.read_bytes()), document
    connection.close()
    assert len(documents) == demo_gateway.get("/okf/index").json["dirs"][0]["documents"] > 500


def test_a_file_without_a_path_is_a_400(registry: Service) -> None:
    assert registry.get("/okf/file").status == registry.get("/okf/file?path=").status == 400


def test_health_counts_lookups_and_names_the_release(registry: Service) -> None:
    health = registry.get("/health").json
    assert (health["ok"], health["entries"], health["catalogs"]) == (True, 15, {"built-in": 15})
    assert health["lookups"]["total"] > 0


def test_a_crawler_can_be_asked_to_keep_off(tiny_bucket: str) -> None:
    with function("registry", {"BUCKET_URL": tiny_bucket, "ROBOTS_NOINDEX": "1", "ARD_NAME": "Tables"}) as service:
        assert service.until_ready().status == 200
        for path in ("/", "/health", "/agents/entry", "/nowhere"):
            assert service.get(path).headers["X-Robots-Tag"] == "noindex", path
        assert service.send("OPTIONS", "/explore").headers["X-Robots-Tag"] == "noindex"
        tag = service.get("/publishers").headers["ETag"]
        known = service.get("/publishers", {"If-None-Match": tag})
        assert (known.status, known.headers["X-Robots-Tag"]) == (304, "noindex")
        lines = service.get("/robots.txt").content.decode().splitlines()
        assert lines[:3] == ["User-agent: *", "Allow: /.well-known/ard.json", "Disallow: /"]
        assert service.get("/.well-known/ard.json").json["host"]["displayName"] == "Tables"


def test_crawlers_are_told_nothing_unless_asked(registry: Service) -> None:
    assert "X-Robots-Tag" not in registry.get("/").headers
    assert registry.get("/robots.txt").content.startswith(b"User-agent: *\nAllow: /\n")
