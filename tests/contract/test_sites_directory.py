"""/sites and /who: which sites there are, and which of them may answer a question; of one site and of all."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from fakes.site import movies, publish
from wire import ROOT, Service, function, serving

from cli.main import main
from shared.sites.kinds import KINDS

NO_MODEL = {"LLM_PROVIDER": "none"}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Films and trails."""
    url = publish(tmp_path_factory.mktemp("sites"), movies(), KINDS["movies"])
    trails = str(ROOT / "demo" / "items" / "trails.jsonl")
    build = ["build", "items", "--site", "trails", "--items", trails, "--bucket", url, "--embedder", "embedded"]
    assert main(build) == 0
    return url


@pytest.fixture(scope="module")
def sites(bucket: str) -> Iterator[Service]:
    with serving(bucket, NO_MODEL) as service:
        yield service


@pytest.fixture(scope="module")
def alone(bucket: str) -> Iterator[Service]:
    with function("ask_site", {**NO_MODEL, "BUCKET_URL": bucket, "SITE": "trails"}) as service:
        assert service.until_ready().status == 200
        yield service


def test_a_site_says_what_it_is(alone: Service):
    body = alone.get("/sites").json
    assert (body["message-type"], body["sites"]) == ("sites", ["trails"])
    [trails] = body["details"]
    assert (trails["@type"], trails["collection"], trails["url"]) == ("WebSite", "demo-trails", f"{alone.url}/ask")
    assert trails["items"] == alone.get("/health").json["items"]


@pytest.mark.parametrize("path", ["/sites", "/sites/"])
def test_all_sites_behind_one_port_are_listed_with_where_each_is_asked(sites: Service, path: str):
    body = sites.get(path).json
    assert (body["message-type"], set(body["sites"])) == ("sites", {"movies", "trails"})
    for each in body["details"]:
        assert each["url"] == f"{sites.url}/sites/{each['site']}/ask"
        answer = sites.get(each["url"].removeprefix(sites.url) + "?query=lake&streaming=false&mode=list")
        assert answer.status == 200


@pytest.mark.parametrize(
    ("query", "site"), [("a crew in a submarine", "movies"), ("an easy hike to a lake", "trails"), ("Movies", "movies")]
)
def test_the_site_that_can_answer_comes_first(sites: Service, query: str, site: str):
    by_get = sites.get(f"/who?{urlencode({'query': query})}").json
    assert by_get["results"][0]["site"] == site
    scores = [each["score"] for each in by_get["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(1 <= score <= 100 for score in scores)
    assert by_get["message-type"] == "who"
    assert sites.post("/who", {"query": query}).json == by_get
    assert sites.post("/who", {"query": {"text": query}, "meta": {"api_version": "0.54"}}).json == by_get


def test_one_site_behind_the_port_answers_for_itself(sites: Service):
    found = sites.get("/sites/trails/who?query=lake").json["results"]
    assert [(each["site"], each["url"]) for each in found] == [("trails", f"{sites.url}/sites/trails/ask")]
    assert sites.get("/sites/trails/sites").json["sites"] == ["trails"]


def test_a_site_that_has_none_of_the_words_is_not_among_them(sites: Service):
    assert sites.get("/who?query=zyzzyva").json["results"] == []


@pytest.mark.parametrize("path", ["/who", "/who?query=", "/who?query=%20", "/sites/trails/who"])
def test_a_question_without_words_is_a_400(sites: Service, path: str):
    answer = sites.get(path)
    assert (answer.status, answer.json["error"]) == (400, "query must be a non-empty string")


def test_a_body_that_is_no_object_and_a_method_nobody_answers_are_refused(sites: Service):
    assert sites.post("/who", [1]).status == 400
    assert sites.post("/who", {"query": "x" * 8_001}).status == 400
    assert sites.post("/sites", {}).status == 405
    assert sites.send("OPTIONS", "/who").status == 204
    assert sites.send("HEAD", "/sites").status == 200


def test_asking_who_costs_none_of_a_clients_questions(bucket: str):
    limited = {**NO_MODEL, "RATE_LIMIT_PER_MINUTE": "1", "BUCKET_URL": bucket, "SITE": "trails"}
    with function("ask_site", limited) as service:
        assert service.until_ready().status == 200
        for _ in range(3):
            assert service.get("/who?query=lake").status == 200
        assert service.get("/ask?query=lake").status == 200
        assert service.get("/ask?query=lake").status == 429
