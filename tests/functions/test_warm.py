"""The first connection to the model gateway is opened beside the load of a release, and the first call finds it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal
from fakes.openrouter import KEY, OpenRouter
from msgspec.structs import replace
from wire import free_port, function

from cli.bench.made_release import publish
from shared.bucket.base import open_bucket
from shared.models.choice import Models
from shared.models.ledger import Ledger
from shared.settings import Settings

DIMENSION = 64
SAID = "the model gateway could not be reached at start"
QUESTION = {"query": {"text": "word1 word2 word3"}, "rerank": False}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A release whose embedder is the gateway's."""
    folder = tmp_path_factory.mktemp("made")
    url = (folder / "bucket").as_uri()
    publish(open_bucket(url), folder, rows=60, dimension=DIMENSION)
    return url


@pytest.fixture
def fake() -> Iterator[OpenRouter]:
    with OpenRouter(dimension=DIMENSION, key=KEY) as server:
        yield server


def settings_of(url: str) -> Settings:
    return Settings(llm_provider="openrouter", openrouter_api_key=KEY, openrouter_base_url=url)


def until_seen(fake: OpenRouter) -> None:
    """Nobody waits for a connection that is opened ahead, but this."""
    deadline = time.monotonic() + 60
    while not fake.seen:
        assert time.monotonic() < deadline, "no connection was opened"
        time.sleep(0.01)


def test_a_function_connects_before_it_is_asked_and_its_first_call_takes_that_connection(
    made: str, fake: OpenRouter
) -> None:
    asked = {"BUCKET_URL": made, "LLM_PROVIDER": "openrouter", "OPENROUTER_API_KEY": KEY}
    with function("search", {**asked, "OPENROUTER_BASE_URL": fake.url}) as service:
        assert service.until_ready().status == 200
        until_seen(fake)
        [opened] = fake.seen
        assert (opened.method, opened.number) == ("HEAD", 0)
        assert service.post("/search", QUESTION).status == 200
    [embedding] = fake.calls
    assert embedding.connection == opened.connection


def test_a_gateway_that_cannot_be_reached_at_start_is_a_line_in_the_log_and_nothing_else(made: str) -> None:
    nobody = f"http://127.0.0.1:{free_port()}/api/v1"
    asked = {"BUCKET_URL": made, "LLM_PROVIDER": "openrouter", "OPENROUTER_API_KEY": KEY}
    with function("search", {**asked, "OPENROUTER_BASE_URL": nobody}) as service:
        health = service.until_ready()
        assert (health.status, health.json["status"]) == (200, "ready")
        deadline = time.monotonic() + 60
        while SAID not in service.log.read_text():
            assert time.monotonic() < deadline, "nothing was said"
            time.sleep(0.01)
        assert service.get("/health").status == 200
        assert service.log.read_text().count(SAID) == 1


def test_a_connection_is_opened_once_however_often_a_release_is_swapped_in(fake: OpenRouter) -> None:
    models = Models(settings_of(fake.url))
    with start_blocking_portal() as portal:
        for _ in range(3):
            models.warm(portal)
        until_seen(fake)
        embedder = models._gateway.embedder("openai/text-embedding-3-small", DIMENSION)
        portal.call(embedder.embed, ["rain"], "query", Ledger())
        models.close()
    assert [seen.method for seen in fake.seen] == ["HEAD", "POST"]


@pytest.mark.parametrize("provider", ["embedded", "none"])
def test_who_does_not_judge_by_the_gateway_opens_no_connection(fake: OpenRouter, provider: str) -> None:
    models = Models(replace(settings_of(fake.url), llm_provider=provider))
    with start_blocking_portal() as portal:
        models.warm(portal)
        embedder = models._gateway.embedder("openai/text-embedding-3-small", DIMENSION)
        portal.call(embedder.embed, ["rain"], "query", Ledger())
        models.close()
    assert [seen.method for seen in fake.seen] == ["POST"]


def test_a_start_that_is_given_up_meanwhile_leaves_no_complaint(fake: OpenRouter, capfd: pytest.CaptureFixture[str]):
    models = Models(settings_of(fake.url))
    with start_blocking_portal() as portal:
        pass
    models._gateway._warm(portal)
    assert fake.seen == []
    assert capfd.readouterr().err == ""
