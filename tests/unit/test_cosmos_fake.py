"""The fake of Cosmos DB answers the real client, on a loop and without one, as its wire was measured to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from azure.core.exceptions import AzureError, ServiceRequestError, ServiceResponseError
from azure.cosmos import ContainerProxy, CosmosClient, PartitionKey
from azure.cosmos.aio import CosmosClient as AsyncCosmosClient
from azure.cosmos.exceptions import (
    CosmosAccessConditionFailedError,
    CosmosBatchOperationError,
    CosmosHttpResponseError,
    CosmosResourceExistsError,
    CosmosResourceNotFoundError,
)
from fakes.cosmos import Account, Container, Seen, closed, cosmos_account, cut, lost, slow, status, throttled

from shared.index.cosmos_client import policies

DIMENSION = 8
ROWS = 40
NEAREST = (
    "SELECT TOP 20 c.id, VectorDistance(c.name_v, @v) AS score FROM c WHERE c.n >= @n"
    " ORDER BY VectorDistance(c.name_v, @v)"
)
PARTITION = "movies"


def vector(number: int, dimension: int = DIMENSION) -> list[float]:
    found = np.random.default_rng(number).normal(size=dimension).astype(np.float32)
    return [float(each) for each in found / np.linalg.norm(found)]


def item(number: int, **more: Any) -> dict[str, Any]:
    """Every fourth has no vector."""
    holds = {"name_v": vector(number)} if number % 4 else {}
    return {"id": f"i{number:02}", "site": PARTITION, "n": number, "words": ["a", f"w{number % 3}"], **holds, **more}


PARAMETERS: list[dict[str, Any]] = [{"name": "@v", "value": vector(1_000)}, {"name": "@n", "value": 5}]


@pytest.fixture
def account() -> Iterator[Account]:
    with cosmos_account() as account:
        account.create(DIMENSION)
        yield account


@pytest.fixture
def client(account: Account) -> Iterator[CosmosClient]:
    with closing(CosmosClient(account.endpoint, account.key)) as client:
        yield client


@pytest.fixture
def stored(account: Account) -> Container:
    """Forty items of one partition and one of another."""
    container = account.create(DIMENSION, container="rows")
    container.put([*(item(number) for number in range(ROWS)), {"id": "other", "site": "homes", "n": 9}])
    return container


@pytest.fixture
def rows(stored: Container, client: CosmosClient) -> ContainerProxy:
    return client.get_database_client("samples").get_container_client("rows")


def expected() -> list[str]:
    """The ids that NEAREST finds, by a plain look at every vector."""
    query = np.array(PARAMETERS[0]["value"])
    scores = {item(n)["id"]: float(np.dot(item(n)["name_v"], query)) for n in range(5, ROWS) if n % 4}
    return sorted(scores, key=lambda key: -scores[key])[:20]


def asked(rows: ContainerProxy, query: str, parameters: Any = None, **options: Any) -> list[Any]:
    options = options or {"partition_key": PARTITION}
    return list(rows.query_items(query, parameters=parameters, **options))


def asked_async(account: Account, query: str, parameters: Any, **options: Any) -> list[Any]:
    async def main() -> list[Any]:
        async with AsyncCosmosClient(account.endpoint, account.key, retry_total=2) as client:
            container = client.get_database_client("samples").get_container_client("rows")
            found = container.query_items(query, parameters=parameters, partition_key=PARTITION, **options)
            return [each async for each in found]

    return asyncio.run(main())


def test_a_database_and_a_container_are_made_once_and_keep_their_policies(account, client):
    for _ in range(2):
        database = client.create_database_if_not_exists("made")
        made = database.create_container_if_not_exists(
            "vectors", partition_key=PartitionKey(path="/site"), **policies(DIMENSION)
        )
    properties = made.read()
    assert [each["path"] for each in properties["vectorEmbeddingPolicy"]["vectorEmbeddings"]] == [
        "/name_v", "/description_v", "/body_v",
    ]  # fmt: skip
    assert {each["type"] for each in properties["indexingPolicy"]["vectorIndexes"]} == {"quantizedFlat"}
    with pytest.raises(CosmosResourceExistsError):
        client.create_database("made")
    with pytest.raises(CosmosResourceNotFoundError):
        client.get_database_client("made").get_container_client("none").read()


def test_a_vector_index_without_a_policy_is_refused(client):
    database = client.create_database_if_not_exists("made")
    with pytest.raises(CosmosHttpResponseError) as refused:
        database.create_container(
            "odd",
            partition_key=PartitionKey(path="/site"),
            indexing_policy={"vectorIndexes": [{"path": "/v", "type": "quantizedFlat"}]},
        )
    assert refused.value.status_code == 400


def test_an_item_is_made_read_replaced_patched_and_removed_as_it_was_written(rows):
    written = item(90, text="Amélie", deep={"a": [1, 2.5, None, True]}, name_v=vector(90))
    rows.create_item(written)
    with pytest.raises(CosmosResourceExistsError):
        rows.create_item(written)
    read = rows.read_item("i90", PARTITION)
    assert {name: value for name, value in read.items() if name[0] != "_"} == written
    rows.replace_item("i90", {**written, "n": 91}, match_condition=None)
    patched = rows.patch_item("i90", PARTITION, [{"op": "incr", "path": "/n", "value": 1}])
    assert patched["n"] == 92
    rows.delete_item("i90", PARTITION)
    with pytest.raises(CosmosResourceNotFoundError):
        rows.read_item("i90", PARTITION)


def test_a_version_that_is_not_the_last_one_is_neither_replaced_nor_removed(rows):
    from azure.core import MatchConditions

    old = rows.upsert_item(item(1))
    rows.upsert_item(item(1, n=7))
    condition = {"etag": old["_etag"], "match_condition": MatchConditions.IfNotModified}
    with pytest.raises(CosmosAccessConditionFailedError):
        rows.replace_item("i01", item(1), **condition)
    with pytest.raises(CosmosAccessConditionFailedError):
        rows.delete_item("i01", PARTITION, **condition)


@pytest.mark.parametrize("shape", ["wrong dimension", "partition of another", "too large"])
def test_an_item_that_the_container_cannot_hold_is_refused(rows, stored, shape):
    document = {
        "wrong dimension": item(1, name_v=[1.0, 2.0]),
        "partition of another": {"id": "x", "n": 1},
        "too large": item(1, text="x" * 2_100_000),
    }[shape]
    with pytest.raises(CosmosHttpResponseError) as refused:
        rows.upsert_item(document)
    assert refused.value.status_code == (413 if shape == "too large" else 400)
    assert stored.writes == 0


@pytest.mark.parametrize("needs_plan", [False, True], ids=["passthrough", "plan"])
@pytest.mark.parametrize("empty_pages", [False, True], ids=["full", "empty"])
@pytest.mark.parametrize("page", [None, 7])
def test_a_vector_query_of_one_partition_finds_the_nearest_on_both_paths(
    account, rows, stored, needs_plan, empty_pages, page
):
    account.behaviour.needs_plan, account.behaviour.empty_pages = needs_plan, empty_pages
    found = asked(rows, NEAREST, PARAMETERS, partition_key=PARTITION, max_item_count=page)
    assert [row["id"] for row in found] == expected()
    assert found == asked_async(account, NEAREST, PARAMETERS, max_item_count=page)
    assert bool(account.of("plan")) or not needs_plan


def test_shuffled_pages_reach_the_caller_unsorted_without_a_plan_and_sorted_with_one(account, rows, stored):
    account.behaviour.shuffled = True
    found = [row["id"] for row in asked(rows, NEAREST, PARAMETERS, partition_key=PARTITION, max_item_count=8)]
    assert found != expected()
    assert sorted(found) == sorted(expected())
    account.behaviour.needs_plan = True
    found = [row["id"] for row in asked(rows, NEAREST, PARAMETERS, partition_key=PARTITION, max_item_count=8)]
    assert found == expected()


def test_a_query_over_all_partitions_needs_the_flag_and_a_plan(account, rows, stored):
    with pytest.raises(CosmosHttpResponseError) as refused:
        list(rows.query_items(NEAREST, parameters=PARAMETERS))
    assert refused.value.status_code == 400
    found = asked(rows, NEAREST, PARAMETERS, enable_cross_partition_query=True)
    assert [row["id"] for row in found] == expected()
    assert asked(rows, "SELECT VALUE COUNT(1) FROM c", enable_cross_partition_query=True) == [ROWS + 1]


def test_a_page_goes_on_from_its_token_in_another_client(account, rows, stored):
    options: dict[str, Any] = {"partition_key": PARTITION, "max_item_count": 9}
    pages = rows.query_items("SELECT c.id FROM c", **options).by_page()
    first = list(next(pages))
    with closing(CosmosClient(account.endpoint, account.key)) as other:
        again = other.get_database_client("samples").get_container_client("rows")
        rest = list(again.query_items("SELECT c.id FROM c", **options).by_page(pages.continuation_token))
    ids = [row["id"] for page in [first, *rest] for row in page]
    assert ids == [item(number)["id"] for number in range(ROWS)]


QUERIES: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
    ("c.n < 5 OR c.n >= 35", lambda each: each["n"] < 5 or each["n"] >= 35),
    ("NOT (c.n < 5 OR c.n >= 35) AND c.n != 20", lambda each: 5 <= each["n"] < 35 and each["n"] != 20),
    ("ARRAY_CONTAINS(c.words, 'w1')", lambda each: "w1" in each["words"]),
    ("ARRAY_CONTAINS(@ids, c.id)", lambda each: each["id"] in ("i03", "i07")),
    ("c.id IN ('i03', 'i07')", lambda each: each["id"] in ("i03", "i07")),
    ("c.id NOT IN ('i03', 'i07')", lambda each: each["id"] not in ("i03", "i07")),
    ("IS_DEFINED(c.name_v) = false", lambda each: "name_v" not in each),
    ("c.none = null", lambda each: False),
    ("NOT (c.none = 1)", lambda each: False),
    ("IS_NULL(c.none)", lambda each: False),
    ("c.n BETWEEN 3 AND 4", lambda each: each["n"] in (3, 4)),
    ("c['words'][1] = \"w2\"", lambda each: each["words"][1] == "w2"),
    ("c.n * 2 - 1 = 9", lambda each: each["n"] == 5),
    ("c.n = '5'", lambda each: False),
    ("STARTSWITH(LOWER(c.id), 'i0')", lambda each: each["id"].startswith("i0")),
]


@pytest.mark.parametrize(("where", "holds"), QUERIES, ids=[where for where, _ in QUERIES])
def test_a_condition_holds_as_the_service_says(rows, stored, where, holds):
    found = asked(rows, f"SELECT c.id FROM c WHERE {where}", [{"name": "@ids", "value": ["i03", "i07"]}])
    assert [row["id"] for row in found] == [each["id"] for each in map(item, range(ROWS)) if holds(each)]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.name_v, @v) DESC", "ASC nor DESC"),
        ("SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.name_v, @v) + 1", "nothing made of it"),
        ("SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.name_v, @short)", "dimensions"),
        ("SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.other_v, @v)", "policy"),
        ("SELECT c.id FROM c WHERE c.id IN ()", "incorrect syntax"),
        ("SELECT c.id FROM c WHERE c.id = @none", "not given"),
        ("SELECT d.id FROM c", "could not be resolved"),
        ("SELECT c.id FROM c WHERE FORGET(c.id)", "built-in function"),
        ("SELECT c.id FROM c WHERE c.id LIKE", "incorrect syntax"),
    ],
)
def test_a_query_that_the_service_does_not_take_is_refused_with_a_reason(rows, query, reason):
    parameters = [*PARAMETERS, {"name": "@short", "value": [1.0]}]
    with pytest.raises(CosmosHttpResponseError, match=reason) as refused:
        asked(rows, query, parameters)
    assert refused.value.status_code == 400


def test_distances_can_be_selected_added_and_are_left_out_where_there_is_no_vector(rows):
    query = "SELECT c.id, VectorDistance(c.name_v, @v) AS one, VectorDistance(c.name_v, @v) * 2 AS two FROM c"
    for row in asked(rows, query, PARAMETERS):
        assert ("one" in row) is bool(int(row["id"][1:]) % 4)
        if "one" in row:
            assert row["two"] == 2 * row["one"]


def test_rows_come_in_the_order_of_a_column_where_it_is_asked_for(rows):
    query = "SELECT VALUE c.n FROM c WHERE c.n < 6 ORDER BY c.n DESC"
    assert asked(rows, query) == [5, 4, 3, 2, 1, 0]
    assert asked(rows, "SELECT VALUE MAX(c.n) FROM c") == [ROWS - 1]


def test_several_items_are_read_by_their_ids_in_one_request_with_their_vectors(account, rows):
    before = len(account.of("query"))
    found = rows.read_items([("i01", PARTITION), ("i02", PARTITION), ("none", PARTITION)])
    assert [each["id"] for each in found] == ["i01", "i02"]
    assert found[0]["name_v"] == vector(1)
    assert len(account.of("query")) == before + 1


def test_a_batch_is_written_whole_or_not_at_all(rows, stored):
    done = rows.execute_item_batch([("upsert", (item(50 + n),)) for n in range(10)], PARTITION)
    assert [each["statusCode"] for each in done] == [201] * 10
    before = (stored.writes, stored.ids())
    with pytest.raises(CosmosBatchOperationError) as refused:
        rows.execute_item_batch([("upsert", (item(70),)), ("create", (item(1),)), ("delete", ("i02",))], PARTITION)
    assert (refused.value.status_code, refused.value.error_index) == (409, 1)
    assert [each["statusCode"] for each in refused.value.operation_responses] == [424, 409, 424]
    assert (stored.writes, stored.ids()) == before
    with pytest.raises(CosmosHttpResponseError) as refused:
        rows.execute_item_batch([("upsert", (item(n),)) for n in range(101)], PARTITION)
    assert refused.value.status_code == 400
    with pytest.raises(CosmosHttpResponseError) as refused:
        rows.execute_item_batch([("upsert", (item(n, text="x" * 700_000),)) for n in range(3)], PARTITION)
    assert refused.value.status_code == 413


def test_a_wrong_key_is_refused_and_a_known_token_is_taken(account):
    with pytest.raises(CosmosHttpResponseError) as refused:
        CosmosClient(account.endpoint, "d3Jvbmc=", retry_total=1)
    assert refused.value.status_code == 401
    account.tokens = {"known"}
    seen = Seen(0, "account", "GET", "/", {"authorization": _token("known")}, b"", 0)
    assert account.answer(seen).status == 200
    seen.headers = {"authorization": _token("other")}
    assert account.answer(seen).status == 401


def _token(text: str) -> str:
    return f"type%3Daad%26ver%3D1.0%26sig%3D{text}"


def test_a_throttled_request_is_sent_again_and_given_up_when_its_tries_are_used_up(account, rows, stored):
    account.fail(throttled(), times=3, of="query")
    assert asked(rows, "SELECT VALUE COUNT(1) FROM c") == [ROWS]
    account.fail(throttled(), times=100, of="query")
    with pytest.raises(CosmosHttpResponseError) as refused:
        asked_async(account, NEAREST, PARAMETERS)
    assert refused.value.status_code == 429
    assert refused.value.headers["x-ms-retry-after-ms"] == "1"


def test_a_fault_happens_to_the_request_it_was_planned_for(account, rows, stored):
    account.fail(status(400), on=2, of="query")
    count = "SELECT VALUE COUNT(1) FROM c"
    assert asked(rows, count) == [ROWS]
    with pytest.raises(CosmosHttpResponseError):
        asked(rows, count)
    assert asked(rows, count) == [ROWS]


@pytest.mark.parametrize("fault", [closed(), cut(), lost()], ids=["closed", "cut", "lost"])
def test_a_connection_that_dies_is_an_error_to_the_client_whatever_was_done(account, stored, fault):
    with closing(CosmosClient(account.endpoint, account.key)) as client:
        rows = client.get_database_client("samples").get_container_client("rows")
        rows.read()
        account.fail(fault, of="batch")
        with pytest.raises(AzureError):
            rows.execute_item_batch([("upsert", (item(60),))], PARTITION)
    assert ("i60" in stored.ids()) is not fault.closes


def test_a_slow_answer_is_waited_for_no_longer_than_the_client_has_patience(account, stored):
    with closing(CosmosClient(account.endpoint, account.key)) as client:
        rows = client.get_database_client("samples").get_container_client("rows")
        rows.read()
        account.fail(slow(0.3), of="query")
        assert asked(rows, "SELECT VALUE COUNT(1) FROM c") == [ROWS]
        account.fail(slow(0.3), times=100, of="query")
        with pytest.raises((ServiceResponseError, ServiceRequestError)):
            asked(rows, "SELECT VALUE COUNT(1) FROM c", partition_key=PARTITION, read_timeout=0.05)


def test_a_closed_client_leaves_no_connection_and_a_dead_account_takes_none():
    with cosmos_account() as account:
        account.create(DIMENSION, container="rows").put([item(1)])
        asked_async(account, "SELECT VALUE COUNT(1) FROM c", None)
        with closing(CosmosClient(account.endpoint, account.key)) as client:
            rows = client.get_database_client("samples").get_container_client("rows")
            assert asked(rows, "SELECT VALUE COUNT(1) FROM c") == [1]
            assert account.open_connections > 0
            account.die()
            with pytest.raises((ServiceRequestError, ServiceResponseError)):
                rows.read_item("i01", PARTITION)
        until(lambda: account.open_connections == 0)


def test_the_request_units_of_every_answer_can_be_read(account, rows, stored):
    told: list[float] = []
    list(
        rows.query_items(
            NEAREST,
            parameters=PARAMETERS,
            partition_key=PARTITION,
            max_item_count=8,
            response_hook=lambda headers, _: told.append(float(headers["x-ms-request-charge"])),
        )
    )
    assert len(told) == 3
    assert sum(told) == pytest.approx(sum(seen.charge for seen in account.of("query")))


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another thread is about to do."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
