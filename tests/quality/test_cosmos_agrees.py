"""Real questions find the same candidates in both stores: over the demo's items, with the embedded models.

`askbucket load-cosmos --compare 200` does it over any release; docs/cosmos.md has what it gave over real collections.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import anyio
import pytest
from fakes.cosmos import Account, cosmos_account

from build_jobs.cosmos.compare import Comparison, compare_stores
from build_jobs.load_cosmos import load_cosmos
from cli.main import main
from shared.index import cosmos
from shared.settings import Settings

QUESTIONS = 12
KINDS = ("homes", "movies", "trails")


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    with cosmos_account() as account:
        yield account


@pytest.fixture(scope="module")
def settings(account: Account, demo_bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The demo's sites, loaded."""
    given = Settings(
        bucket_url=demo_bucket,
        cache_dir=str(tmp_path_factory.mktemp("cache")),
        llm_provider="embedded",
        cosmos_endpoint=account.endpoint,
        cosmos_key=account.key,
        cosmos_timeout_s=60.0,
    )
    for kind in KINDS:
        load_cosmos(demo_bucket, settings=given, catalog=kind)
    return given


def compared(settings: Settings, kind: str) -> Comparison:
    found = anyio.run(compare_stores, settings, kind, QUESTIONS)
    assert len(found.compared) == QUESTIONS
    return found


@pytest.mark.parametrize("deep", [False, True], ids=["by ids", "by rounds"])
@pytest.mark.parametrize("kind", KINDS)
def test_C07_questions_find_the_same_candidates_in_both_stores(kind, settings, account, deep, monkeypatch):
    if deep:
        monkeypatch.setattr(cosmos, "MOST_BY_IDS", 3)
        monkeypatch.setattr(cosmos, "MOST_BY_IDS_ALONE", 3)
        account.behaviour.shuffled = True
    found = compared(settings, kind)
    account.behaviour.shuffled = False
    assert [each for each in found.compared if not each.is_same] == []
    assert sum(each.requests for each in found.compared) >= QUESTIONS / 2
    assert found.as_json()["furthest"] < 1e-5


def test_the_command_says_how_many_questions_agree_and_what_they_took(settings, monkeypatch, capsys):
    given = {"COSMOS_ENDPOINT": settings.cosmos_endpoint, "COSMOS_KEY": settings.cosmos_key, "LLM_PROVIDER": "embedded"}
    for name, value in (given | {"CACHE_DIR": settings.cache_dir, "COSMOS_TIMEOUT_S": "60"}).items():
        monkeypatch.setenv(name, value)
    command = ["load-cosmos", "--site", "homes", "--bucket", settings.bucket_url, "--compare", "5"]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["questions"], told["same"], told["different"]) == (5, 5, [])
    assert told["requestUnits"]["most"] > 0
    assert main(command) == 0
    assert "5 of 5 questions find the same candidates in the same order" in capsys.readouterr().out


def test_C08_a_store_that_holds_other_vectors_does_not_compare_as_the_same(settings, account):
    container = account.container()
    before = [each for each in container.documents('"trails"') if "body_v" in each]
    vectors = [each["body_v"] for each in before]
    container.put({**each, "body_v": other} for each, other in zip(before, vectors[1:] + vectors[:1], strict=True))
    try:
        found = compared(settings, "trails")
    finally:
        container.put(before)
    assert found.same < QUESTIONS
