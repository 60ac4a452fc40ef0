"""Whatever Cosmos DB does, a question is answered: by words and vectors, or by words and a notice that says why."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from fakes import cosmos
from fakes.asking import Clock
from fakes.cosmos import Account, Fault, cosmos_account
from fakes.openrouter import KEY, OpenRouter
from fakes.site import DIMENSION as SITE_DIMENSION
from fakes.site import Here, movies, site_here
from msgspec.structs import replace
from stock import DIMENSION, Stock, ask, behaving, stock, store_at, towards
from wire import Service, function

from functions.ask_site.service import create
from shared.contracts.notices import Notice
from shared.errors import ReleaseIncompatible, SettingsError, StoreBusy, StoreError, StoreMissing, StoreRefused
from shared.index.cosmos_documents import documents, matrices_of, read_ids
from shared.index.item_vectors import Charge, Nearest, Sought
from shared.index.items import IDS_ROLE
from shared.models.choice import Models
from shared.models.ledger import Ledger
from shared.release.reader import fetch
from shared.settings import Settings
from shared.sites.aim import aimed
from shared.sites.kinds import KINDS
from shared.sites.retrieve import Found, Plan, retrieve
from shared.sites.site import open_site
from shared.sites.store_choice import store_of
from shared.sites.stores import FAILURES, OPEN_S

SOUGHT = Sought(towards(1), 20)
UNAVAILABLE = "Vector retrieval unavailable; returning BM25 results."


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return stock(tmp_path_factory.mktemp("stock"))


@pytest.fixture(scope="module")
def shared_account(items: Stock) -> Iterator[Account]:
    with cosmos_account() as account:
        account.create(DIMENSION).put(items.documents())
        yield account


@pytest.fixture
def account(shared_account: Account) -> Iterator[Account]:
    shared_account.mend()
    yield shared_account
    shared_account.mend()


@pytest.fixture(scope="module")
def expected(items: Stock) -> list[int]:
    vectors = items.memory()
    [found] = ask(vectors, SOUGHT)
    vectors.close()
    assert isinstance(found, Nearest)
    return [row for row, _ in found.ranked]


def found_by(items: Stock, account: Account, **given: Any) -> Nearest | StoreError:
    """What one question finds; afterwards no connection is left."""
    store = store_at(account, **given)
    [found] = ask(items.cosmos(store), SOUGHT, store=store)
    until(lambda: account.open_connections == 0)
    return found


def rows_of(found: Nearest | StoreError) -> list[int]:
    assert isinstance(found, Nearest), found
    return [row for row, _ in found.ranked]


def until(holds: Callable[[], bool]) -> None:
    """Wait for what must come about, however long that takes."""
    waiting = threading.Event()
    while not holds():
        waiting.wait(0.01)


def calls_of(items: Stock, account: Account) -> int:
    """How many requests a question is, past the account document."""
    before = len(account.seen)
    found_by(items, account)
    return sum(seen.kind != "account" for seen in account.seen[before:])


# The k-th call


@pytest.mark.parametrize("plan", [False, True], ids=["passed through", "by a plan"])
@pytest.mark.parametrize("broken", ["throttled", "throttled for long", "closed", "cut", "500", "503", "lost"])
def test_S01_whichever_call_breaks_the_nearest_are_found_or_the_failure_is_said(items, account, expected, broken, plan):
    faults: dict[str, tuple[Fault, int]] = {
        "throttled": (cosmos.throttled(1), 1),
        "throttled for long": (cosmos.throttled(1), 9),
        "closed": (cosmos.closed(), 1),
        "cut": (cosmos.cut(), 1),
        "500": (cosmos.status(500), 1),
        "503": (cosmos.status(503), 1),
        "lost": (cosmos.lost(), 1),
    }
    fault, times = faults[broken]
    with behaving(account, needs_plan=plan, shuffled=True, most_page_items=90):
        calls = calls_of(items, account)
        assert calls >= 4
        every = range(1, calls + 1)
        for number in every if broken == "throttled" else (1, 2, calls // 2, calls):
            account.mend()
            for more in range(times):
                account.fail(fault, on=number + more)
            found = found_by(items, account)
            if broken == "throttled":
                assert rows_of(found) == expected, number
            elif isinstance(found, StoreError):
                assert "Cosmos DB" in found.message
            else:
                assert rows_of(found) == expected, number


def test_S02_a_throttled_question_waits_as_long_as_it_is_told_within_its_time(items, account, expected):
    account.fail(cosmos.throttled(retry_after_ms=60_000), on=2)
    found = found_by(items, account, cosmos_timeout_s=0.3)
    assert isinstance(found, StoreError)
    account.mend()
    assert rows_of(found_by(items, account)) == expected


def test_S03_an_account_that_is_throttled_on_and_on_is_store_busy(items, account):
    account.fail(cosmos.throttled(1), times=10_000, of="query")
    assert isinstance(found_by(items, account), StoreBusy)


def test_S04_a_silent_account_costs_the_question_its_time_and_no_connection(items, account):
    account.fail(cosmos.slow(3.0), times=10, of="query")
    found = found_by(items, account, cosmos_timeout_s=0.2)
    assert isinstance(found, StoreError)
    assert "did not answer within 0.2 s" in found.message


def test_S05_a_dead_account_is_a_store_error(items):
    with cosmos_account() as account:
        account.create(DIMENSION).put(items.documents())
        store = store_at(account)

        async def run() -> list[Any]:
            vectors, found = items.cosmos(store), []
            try:
                for _ in range(2):
                    try:
                        found.append(await vectors.nearest(SOUGHT, Charge()))
                    except StoreError as error:
                        found.append(error)
                    await anyio.to_thread.run_sync(account.die)
            finally:
                await store.connection.aclose()
            return found

        alive, dead = anyio.run(run)
    assert isinstance(alive, Nearest)
    assert isinstance(dead, StoreError)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"cosmos_key": "bm9ib2R5J3Mga2V5"}, StoreRefused),
        ({"cosmos_database": "none"}, StoreMissing),
        ({"cosmos_container": "none"}, StoreMissing),
    ],
)
def test_S06_what_is_wrong_with_the_account_has_a_name_of_its_own(items, account, given, error):
    store = store_at(account)
    store.connection._settings = replace(store.settings, **given)
    [found] = ask(items.cosmos(store), SOUGHT, store=store)
    assert type(found) is error


def test_S07_a_release_that_was_never_loaded_is_said_and_finds_no_other_releases_items(tmp_path, account):
    other = stock(tmp_path, seed=5)
    found = found_by(other, account)
    assert isinstance(found, StoreMissing)
    assert "askbucket load-cosmos" in found.message


@pytest.mark.parametrize(
    "documents", [[5], ["x"], [{}], [{"id": 7}], [{"id": "a", "name": "near"}], [{"id": "a", "name": True}], {"a": 1}]
)
def test_S08_an_answer_that_is_none_is_a_store_error(items, account, documents, monkeypatch):
    answers = Account._rows
    monkeypatch.setattr(
        Account, "_rows", lambda self, seen, container, rows, token: answers(self, seen, container, documents, "")
    )
    assert isinstance(found_by(items, account), StoreError)


# What many questions cost


def test_S09_connections_are_kept_alive_from_question_to_question(items, account):
    store = store_at(account)
    before = len(account.seen)
    found = ask(items.cosmos(store), *[SOUGHT] * 5, store=store)
    assert all(isinstance(each, Nearest) for each in found)
    queries = [seen for seen in account.seen[before:] if seen.kind == "query"]
    assert len({seen.connection for seen in queries}) <= 4 < len(queries)
    until(lambda: account.open_connections == 0)


def test_S10_a_dead_account_is_left_alone_after_a_few_questions_and_asked_again_later(items, account, expected):
    clock = Clock()
    store = store_at(account, clock)
    vectors = items.cosmos(store)
    account.fail(cosmos.status(503), times=10_000, of="query")
    ask(vectors, *[SOUGHT] * FAILURES, store=store)
    assert vectors.describe() == {"store": "cosmos", "degraded": True}
    before = len(account.seen)
    [refused] = ask(vectors, SOUGHT, store=store)
    assert (type(refused), len(account.seen)) == (StoreError, before)
    assert "left alone" in str(refused)
    account.mend()
    clock.now += OPEN_S
    [found] = ask(vectors, SOUGHT, store=store)
    assert rows_of(found) == expected
    assert vectors.describe() == {"store": "cosmos", "degraded": False}


def test_S20_what_one_sites_items_lack_takes_the_vectors_from_no_other_site(items, account, expected, tmp_path):
    store = store_at(account)
    loaded, unloaded = items.cosmos(store), stock(tmp_path, seed=5).cosmos(store)
    refused = ask(unloaded, *[SOUGHT] * (FAILURES + 1), store=store)
    assert {type(each) for each in refused} == {StoreMissing}
    [found] = ask(loaded, SOUGHT, store=store)
    assert rows_of(found) == expected
    assert loaded.describe() == {"store": "cosmos", "degraded": False}
    assert unloaded.describe() == {"store": "cosmos", "degraded": True}


@pytest.mark.parametrize(
    ("fault", "error", "is_answer"),
    [
        (cosmos.status(400), StoreRefused, True),
        (cosmos.status(403), StoreRefused, True),
        (cosmos.status(404), StoreMissing, True),
        (cosmos.throttled(1), StoreBusy, False),
        (cosmos.status(500), StoreError, False),
        (cosmos.status(503), StoreError, False),
        (cosmos.closed(), StoreError, False),
        (cosmos.cut(), StoreError, False),
        (cosmos.slow(3.0), StoreError, False),
    ],
    ids=["400", "403", "404", "429", "500", "503", "closed", "cut", "slow"],
)
def test_S21_a_service_that_says_no_is_asked_again_and_one_that_does_not_answer_is_left_alone(
    items, account, expected, fault, error, is_answer
):
    store = store_at(account, Clock(), cosmos_timeout_s=0.2 if fault == cosmos.slow(3.0) else 60.0)
    vectors = items.cosmos(store)
    account.fail(fault, times=10_000, of="query")
    failed = ask(vectors, *[SOUGHT] * FAILURES, store=store)
    assert {type(each) for each in failed} == {error}
    assert vectors.describe() == {"store": "cosmos", "degraded": True}
    account.mend()
    [found] = ask(vectors, SOUGHT, store=store)
    if is_answer:
        assert rows_of(found) == expected
        assert vectors.describe() == {"store": "cosmos", "degraded": False}
    else:
        assert "left alone" in str(found)


def test_S22_a_probe_that_is_told_no_ends_the_pause_of_every_site(items, account, expected):
    clock = Clock()
    store = store_at(account, clock)
    vectors = items.cosmos(store)
    account.fail(cosmos.status(503), times=10_000, of="query")
    ask(vectors, *[SOUGHT] * FAILURES, store=store)
    until(lambda: account.open_connections == 0)  # what was given up may still arrive, and is no probe
    account.mend()
    account.fail(cosmos.status(400), on=1, of="query")
    clock.now += OPEN_S
    answers = ask(vectors, SOUGHT, SOUGHT, store=store)
    assert type(answers[0]) is StoreRefused
    assert rows_of(answers[1]) == expected


def test_S23_a_token_that_cannot_be_had_is_no_answer_of_the_service(items, account, monkeypatch):
    """Asking for one may take as long as a question has."""
    from azure.core.exceptions import ClientAuthenticationError

    def refuse(*_: Any, **__: Any) -> Any:
        raise ClientAuthenticationError("no identity")

    store = store_at(account)
    vectors = items.cosmos(store)
    monkeypatch.setattr("azure.cosmos.aio.ContainerProxy.query_items", refuse)
    failed = ask(vectors, *[SOUGHT] * (FAILURES + 1), store=store)
    assert [type(each) for each in failed] == [*[StoreRefused] * FAILURES, StoreError]
    assert "left alone" in str(failed[-1])


def test_S11_a_question_that_is_cancelled_leaves_no_connection_and_no_mark(items, account, expected):
    store = store_at(account)
    vectors = items.cosmos(store)
    account.fail(cosmos.slow(1.0), times=3, of="query")

    async def run() -> Any:
        try:
            for _ in range(FAILURES):
                began = len(account.of("query"))
                with anyio.CancelScope() as scope:
                    async with anyio.create_task_group() as group:
                        group.start_soon(vectors.nearest, SOUGHT, Charge())
                        while len(account.of("query")) == began:
                            await anyio.sleep(0.01)
                        scope.cancel()
                account.mend()
            return await vectors.nearest(SOUGHT, Charge())
        finally:
            await store.connection.aclose()

    assert rows_of(anyio.run(run)) == expected
    until(lambda: account.open_connections == 0)


def test_what_a_question_costs_is_charged_also_where_it_fails(items, account):
    charges = [Charge(), Charge()]
    store = store_at(account)

    async def run() -> None:
        vectors = items.cosmos(store)
        try:
            await vectors.nearest(SOUGHT, charges[0])
            account.fail(cosmos.status(400), on=4, of="query")  # of the second round
            with pytest.raises(StoreError):
                await vectors.nearest(SOUGHT, charges[1])
        finally:
            await store.connection.aclose()

    before = account.charge
    anyio.run(run)
    spent = sum(charge.units for charge in charges)
    assert charges[0].units > charges[1].units > 0
    assert charges[0].requests >= 3
    assert spent <= account.charge - before


# A site


@pytest.fixture(scope="module")
def gateway() -> Iterator[OpenRouter]:
    with OpenRouter(dimension=SITE_DIMENSION) as fake:
        yield fake


@pytest.fixture(scope="module")
def here(gateway: OpenRouter) -> Iterator[Here]:
    """Films whose vectors are in Cosmos DB."""
    with cosmos_account() as account, site_at(account, gateway) as here:
        load(account, here)
        yield here


def site_at(account: Account, gateway: OpenRouter, **given: Any) -> Any:
    cosmos_db = {"cosmos_endpoint": account.endpoint, "cosmos_key": account.key, "cosmos_timeout_s": 60.0}
    return site_here(gateway, movies(), **{**cosmos_db, "llm_max_retries": 0, **given})


def candidates(here: Here, query: str) -> tuple[list[Found], list[Notice]]:
    async def run() -> tuple[list[Found], list[Notice]]:
        try:
            return await retrieve(aimed(query, here.site), here.site, Plan(), Ledger())
        finally:
            await here.aclose()

    return anyio.run(run)


def load(account: Account, here: Here) -> None:
    release = fetch(here.site.bucket, "movies", None, Path(here.settings.cache_dir))
    container = account.create(SITE_DIMENSION)
    rows = range(here.site.count)
    container.put(documents("movies", here.site.records, matrices_of(release.paths), rows))
    here.account = account  # type: ignore[attr-defined]


def test_S12_a_site_finds_the_same_candidates_from_both_stores(here: Here, gateway: OpenRouter):
    with site_here(gateway, movies(), store="memory") as memory:
        for query in ("a crew in space", "mountain orchestra", "movies from the 1980s", "heist after 1990", "zyzzyva"):
            (expected, said), (found, notices) = candidates(memory, query), candidates(here, query)
            assert [each.row for each in found] == [each.row for each in expected], query
            assert [each.source for each in found] == [each.source for each in expected], query
            scores = [(each.vector_score or 0.0) for each in found], [(each.vector_score or 0.0) for each in expected]
            np.testing.assert_allclose(*scores, atol=2e-6)
            assert notices == said
            assert here.ask(query).names == memory.ask(query).names


def test_S13_a_site_fetches_words_and_ids_and_no_vectors(here: Here):
    fetched = set(here.site.release.paths)
    assert "cosmos_ids" in fetched
    assert not {role for role in fetched if role.startswith("vectors")}
    assert here.site.describe()["store"] == "cosmos"


def test_usage_says_what_the_account_was_charged(here: Here):
    usage = here.ask("a crew in space").usage
    [store] = usage["stores"]
    assert (store["store"], store["searches"], store["failed_searches"]) == ("cosmos", 1, 0)
    assert store["request_units"] > 0
    assert store["requests"] >= 1
    assert store["latency_ms"] >= 0


def test_S14_a_site_whose_account_is_dead_answers_by_words_and_says_so(gateway: OpenRouter):
    with cosmos_account() as account, site_at(account, gateway) as here:
        load(account, here)
        expected = here.ask("a crew in space", retrieval="bm25").names
        account.die()
        for _ in range(FAILURES + 1):
            asked = here.ask("a crew in space")
            assert asked.names == expected
            assert asked.error is None
            [notice] = [each for each in asked.usage["notices"] if each["code"] == "vectors_unavailable"]
            assert (notice["message"], notice["reason"]) == (UNAVAILABLE, "store_error")
            assert asked.usage["stores"][0]["failed_searches"] == 1
        assert here.site.describe()["degraded"] is True


def test_S15_a_search_that_was_not_sure_says_so(here: Here, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shared.index.cosmos.MOST_BY_IDS", 0)
    monkeypatch.setattr("shared.index.cosmos.MOST_DEPTH", 21)
    asked = here.ask("a crew in space")
    assert "vectors_partial" in asked.codes
    assert asked.names


def test_S24_items_that_are_too_large_for_cosmos_db_are_counted_in_a_notice(gateway: OpenRouter):
    films = movies()
    films[0] = replace(films[0], record={**films[0].record, "x-notes": "x" * 2_100_000})
    with cosmos_account() as account:
        cosmos_db = {"cosmos_endpoint": account.endpoint, "cosmos_key": account.key, "cosmos_timeout_s": 60.0}
        with site_here(gateway, films, llm_max_retries=0, **cosmos_db) as here:
            release = fetch(here.site.bucket, "movies", None, Path(here.settings.cache_dir))
            rows = np.flatnonzero(read_ids(release.paths[IDS_ROLE], here.site.count) != b"").tolist()
            assert len(rows) == here.site.count - 1
            container = account.create(SITE_DIMENSION)
            container.put(documents("movies", here.site.records, matrices_of(release.paths), rows))
            _, notices = candidates(here, "a crew in space")
    assert [(each["code"], each["items"]) for each in notices] == [("vector_unusable", 1)]


def test_S16_a_new_release_is_asked_for_its_own_items_and_the_old_one_until_its_end(gateway: OpenRouter):
    films = movies()
    with cosmos_account() as account, site_at(account, gateway) as old:
        load(account, old)
        renamed = [
            replace(item, name=f"New {item.name}", record={**item.record, "name": f"New {item.name}"}) for item in films
        ]
        cosmos_db = {"cosmos_endpoint": account.endpoint, "cosmos_key": account.key}
        with site_here(gateway, renamed, **cosmos_db) as new:
            release = fetch(new.site.bucket, "movies", None, Path(new.settings.cache_dir))
            container = account.container()
            container.put(documents("movies", new.site.records, matrices_of(release.paths), range(new.site.count)))
            assert len(container.ids()) == 2 * len(films)
            for site, is_new in ((old, False), (new, True)):
                asked = site.ask("a crew in space", retrieval="vector")
                assert asked.candidates
                assert {item["name"].startswith("New") for item in asked.candidates} == {is_new}


def test_S19_the_deployed_function_asks_cosmos_db_after_its_fork_and_outlives_it(here: Here, gateway: OpenRouter):
    with cosmos_account() as account:
        load(account, here)
        settings = {
            "SITE": "movies",
            "BUCKET_URL": here.settings.bucket_url,
            "OPENROUTER_API_KEY": KEY,
            "OPENROUTER_BASE_URL": gateway.url,
            "COSMOS_ENDPOINT": account.endpoint,
            "COSMOS_KEY": account.key,
        }
        with function("ask_site", settings) as service:
            health = service.until_ready().json
            assert (health["store"], health["degraded"]) == ("cosmos", False)
            asked = [parsed(service) for _ in range(5)]
            assert all("vectors_unavailable" not in codes(each) for each in asked)
            assert all(used(each)["stores"][0]["failed_searches"] == 0 for each in asked)
            assert len({seen.connection for seen in account.of("query")}) <= 2
            account.die()
            while not service.get("/health").json["degraded"]:
                assert "vectors_unavailable" in codes(parsed(service))
            assert service.get("/health").status == 200
            assert account.key not in service.log.read_text()
        until(lambda: account.open_connections == 0)


def parsed(service: Service) -> list[dict[str, Any]]:
    answer = service.get("/ask?query=a+crew+in+space&mode=list")
    assert answer.status == 200
    return [json.loads(line[6:]) for line in answer.content.decode("ascii").split("\n") if line.startswith("data: ")]


def used(events: list[dict[str, Any]]) -> dict[str, Any]:
    [usage] = [event["content"] for event in events if event["message_type"] == "usage"]
    return usage


def codes(events: list[dict[str, Any]]) -> list[str]:
    return [notice["code"] for notice in used(events)["notices"]]


# Settings


@pytest.mark.parametrize(
    ("given", "kind", "store"),
    [
        ({}, "movies", "memory"),
        ({"cosmos_endpoint": "https://a.example/"}, "movies", "cosmos"),
        ({"cosmos_endpoint": "https://a.example/"}, "trails", "cosmos"),
        ({"cosmos_endpoint": "https://a.example/"}, "homes", "cosmos"),
        ({"cosmos_endpoint": "https://a.example/"}, "recipes", "memory"),
        ({"cosmos_endpoint": "https://a.example/"}, "reviews", "memory"),
        ({"cosmos_endpoint": "https://a.example/", "store": "memory"}, "movies", "memory"),
        ({"cosmos_endpoint": "https://a.example/", "store": "cosmos"}, "recipes", "cosmos"),
        ({"cosmos_endpoint": "http://127.0.0.1:1/"}, "movies", "cosmos"),
    ],
)
def test_each_kind_has_a_store_of_its_own_unless_one_is_named(given, kind, store):
    assert store_of(Settings(**given), kind) == store


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"store": "cosmos"}, "COSMOS_ENDPOINT is not set"),
        ({"cosmos_endpoint": "http://a.example/"}, "COSMOS_ENDPOINT='http://a.example/'"),
        ({"cosmos_endpoint": "somewhere"}, "COSMOS_ENDPOINT='somewhere'"),
    ],
)
def test_S17_a_store_that_cannot_be_reached_is_refused_before_anything_is_served(given, names):
    with pytest.raises(SettingsError, match=names):
        create(Settings(site="movies", bucket_url="file:///nowhere", llm_provider="none", **given))


def test_S18_a_release_that_does_not_list_its_documents_is_refused_with_what_mends_it(here, monkeypatch):
    manifest = here.site.release.manifest
    less = replace(manifest, files=[file for file in manifest.files if file.role != "cosmos_ids"])
    monkeypatch.setattr("shared.release.reader.read_manifest", lambda *_: less)
    with pytest.raises(ReleaseIncompatible, match=r"askbucket build items.*load-cosmos"):
        open_site(here.settings, KINDS["movies"], Models(here.settings))
