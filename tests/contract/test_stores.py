"""Vectors are found alike wherever they lie: the same rows in the same order, from memory and from Cosmos DB.

The account is a fake at the wire, which is asked by the real client. What it cannot show is said in docs/cosmos.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.cosmos import Account, cosmos_account
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stock import ALIKE, DIMENSION, PARTITION, Stock, ask, behaving, stock, store_at, towards

from shared.errors import ReleaseIncompatible
from shared.index import cosmos
from shared.index.cosmos import CosmosVectors
from shared.index.cosmos_ids import ReleaseIds
from shared.index.cosmos_query import Weighed, nearest_by
from shared.index.item_vectors import Compared, Has, Nearest, Ranked, Sought, Term
from shared.sites.stores import CosmosStore, GuardedVectors

# How the service may answer: in order and whole, or as it is free to.
BEHAVIOURS: dict[str, dict[str, Any]] = {
    "plainly": {},
    "in shuffled pages": {"shuffled": True, "most_page_items": 37},
    "with empty pages": {"empty_pages": True, "most_page_items": 50},
    "by a plan": {"needs_plan": True},
    "by a plan, in shuffled pages": {"needs_plan": True, "shuffled": True, "empty_pages": True, "most_page_items": 41},
}


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return stock(tmp_path_factory.mktemp("stock"))


@pytest.fixture(scope="module")
def account(items: Stock) -> Iterator[Account]:
    with cosmos_account() as account:
        account.create(DIMENSION).put(items.documents())
        yield account


@pytest.fixture
def store(account: Account) -> CosmosStore:
    return store_at(account)


def found_by(items: Stock, store: CosmosStore, sought: Sought, weights: tuple[float, ...] = ALIKE) -> Nearest:
    [found] = ask(items.cosmos(store, weights), sought, store=store)
    assert isinstance(found, Nearest), found
    return found


def in_memory(items: Stock, sought: Sought, weights: tuple[float, ...] = ALIKE) -> Ranked:
    vectors = items.memory(weights)
    [found] = ask(vectors, sought)
    vectors.close()
    assert isinstance(found, Nearest)
    return found.ranked


def same(found: Ranked, expected: Ranked) -> None:
    """The same rows, and scores within the rounding of float32."""
    assert [row for row, _ in found] == [row for row, _ in expected]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], atol=2e-6)


def oracle(items: Stock, vector: Any, rows: Any = None) -> Ranked:
    """Every row by the sum of its cosines."""
    asked = vector.astype(np.float16).astype(np.float32)
    scores = sum(matrix.astype(np.float32) @ asked for matrix in items.matrices)
    chosen = range(items.rows) if rows is None else rows
    return sorted(((row, float(scores[row])) for row in chosen), key=lambda pair: (-pair[1], pair[0]))


# The promises


@pytest.mark.parametrize("how", BEHAVIOURS)
def test_C01_the_nearest_are_the_same_however_the_service_answers(items, account, store, how):
    with behaving(account, **BEHAVIOURS[how]):
        for seed in range(4):
            sought = Sought(towards(seed), 20)
            same(found_by(items, store, sought).ranked, in_memory(items, sought))
            same(in_memory(items, sought), oracle(items, sought.vector)[:20])


def test_what_is_known_already_is_left_out_and_made_up_for(items, store):
    every = [row for row, _ in oracle(items, towards(1))]
    sought = Sought(towards(1), 20, without=frozenset(every[:20]))
    same(found_by(items, store, sought).ranked, oracle(items, towards(1))[20:40])
    same(in_memory(items, sought), oracle(items, towards(1))[20:40])


@pytest.mark.parametrize("every", [2, 5])
def test_only_rows_of_the_mask_are_found_however_many_there_are(items, store, every):
    mask = np.zeros(items.rows, np.bool_)
    mask[::every] = True
    assert (mask.sum() > cosmos.MOST_BY_IDS) == (every == 2)
    sought = Sought(towards(2), 20, among=mask)
    same(found_by(items, store, sought).ranked, oracle(items, towards(2), np.flatnonzero(mask))[:20])


def test_a_small_pool_is_asked_for_by_its_ids_in_one_request(items, account, store):
    mask = np.zeros(items.rows, np.bool_)
    mask[10:60] = True
    before = len(account.of("query"))
    same(found_by(items, store, Sought(towards(3), 60, among=mask)).ranked, oracle(items, towards(3), range(10, 60)))
    [asked] = account.of("query")[before:]
    assert "ORDER BY" not in asked.json["query"]


@pytest.mark.parametrize("limit", [0, 1, 599, 600, 1_000])
def test_as_many_as_are_wanted_or_as_there_are(items, store, limit):
    same(found_by(items, store, Sought(towards(4), limit)).ranked, oracle(items, towards(4))[:limit])


def test_no_row_may_be_found_where_none_is_left(items, store, account):
    before = len(account.seen)
    nothing = np.zeros(items.rows, np.bool_)
    assert found_by(items, store, Sought(towards(4), 20, among=nothing)) == Nearest([])
    assert found_by(items, store, Sought(towards(4), 20, without=frozenset(range(items.rows)))) == Nearest([])
    assert len(account.seen) == before


@pytest.mark.parametrize("weights", [(0.0, 1.0, 0.0), (2.0, 0.5, 0.0), (0.0, 0.0, 0.0)])
def test_fields_count_by_their_weights_and_one_without_is_not_asked(items, account, store, weights):
    before = len(account.of("query"))
    for limit in (20, 600):
        sought = Sought(towards(5), limit)
        same(found_by(items, store, sought, weights).ranked, in_memory(items, sought, weights))
    asked = {line for seen in account.of("query")[before:] for line in [seen.json["query"].rpartition("ORDER BY")[2]]}
    assert len(asked) == sum(weight > 0 for weight in weights)


@pytest.mark.parametrize(
    ("term", "holds"),
    [
        ((Compared("year", ">=", 1960.0),), lambda facts: facts["year"] is not None and facts["year"] >= 1960),
        ((Compared("year", "<", 1950.0),), lambda facts: facts["year"] is not None and facts["year"] < 1950),
        ((Has("genres", "g1"), Has("genres", "g2")), lambda facts: {"g1", "g2"} & set(facts["genres"])),
        ((Has("dogs", "yes"),), lambda facts: facts["dogs"]),
        ((Has("dogs", "no"), Has("genres", "g0")), lambda facts: not facts["dogs"] or "g0" in facts["genres"]),
    ],
    ids=["from a year", "before a year", "either word", "a switch", "a switch or a word"],
)
def test_a_term_lets_the_service_look_at_fewer_rows_and_changes_nothing(items, account, store, term: Term, holds):
    mask = np.array([bool(holds(items.facts(row))) for row in range(items.rows)])
    assert mask.sum() > cosmos.MOST_BY_IDS
    before = len(account.of("query"))
    found = found_by(items, store, Sought(towards(6), 20, among=mask, terms=(term,)))
    same(found.ranked, oracle(items, towards(6), np.flatnonzero(mask))[:20])
    asked = account.of("query")[before:]
    assert len(asked) >= 3
    assert all(" WHERE " in seen.json["query"] for seen in asked)


@pytest.mark.parametrize("year", [1911.0, 1911.0 + 4e-7, 1911.0 - 4e-7])
def test_an_equal_number_is_found_within_the_rounding_of_the_columns(items, account, year):
    asked = nearest_by(0, items.rows, Weighed.of(ALIKE), towards(7), ((Compared("year", "=", year),),))
    parameters = {each["name"]: each["value"] for each in asked.parameters}
    rows = account.container().ask(asked.query, parameters, f'"{PARTITION}"').rows
    expected = [name for row, name in enumerate(items.ids) if items.facts(row)["year"] == 1911]
    assert sorted(row["id"] for row in rows) == expected


def test_words_and_vectors_never_stand_in_a_statement(items, account, store):
    hostile = "x' OR 1=1 --"
    before = len(account.of("query"))
    found_by(items, store, Sought(towards(8), 5, terms=((Has("genres", hostile), Has("genres", "drama")),)))
    assert all(
        hostile not in seen.json["query"] and "0." not in seen.json["query"] for seen in account.of("query")[before:]
    )
    with pytest.raises(ValueError, match="can be no column's name"):
        found_by(items, store, Sought(towards(8), 5, terms=((Compared("year OR true", ">", 1.0),),)))


SHARED = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@SHARED
@given(data=st.data())
def test_C02_any_question_gives_the_same_rows_from_both_stores(items: Stock, account: Account, data):
    random = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    mask = random.random(items.rows) < data.draw(st.sampled_from([0.01, 0.2, 0.5, 0.9, 1.0]))
    without = frozenset(random.choice(items.rows, data.draw(st.sampled_from([0, 20, 300])), replace=False).tolist())
    weights = data.draw(st.sampled_from([ALIKE, (3.0, 1.0, 0.5), (0.0, 1.0, 1.0), (1.0, 0.0, 0.0)]))
    sought = Sought(towards(data.draw(st.integers(0, 50))), data.draw(st.sampled_from([1, 20, 100])), without, mask)
    with behaving(account, **BEHAVIOURS[data.draw(st.sampled_from(sorted(BEHAVIOURS)))]):
        same(found_by(items, store_at(account), sought, weights).ranked, in_memory(items, sought, weights))


# How deep it looks


def _even(folder: Path, rows: int = 2_000) -> Stock:
    """Items near to one direction in one field each, and a few that are rather near in all three."""
    made = stock(folder, rows, seed=9)
    asked = towards(9)
    for place, matrix in enumerate(made.matrices):
        away = matrix - np.outer(matrix.astype(np.float32) @ asked, asked)
        near = np.zeros((rows, 1), np.float32)
        near[place::3] = 0.9
        near[-30:] = 0.6
        mixed = near * asked + np.sqrt(1 - near**2) * away / np.maximum(
            np.linalg.norm(away, axis=1, keepdims=True), 1e-6
        )
        matrix[:] = mixed.astype(np.float16)
    return made


def test_C03_items_that_lead_in_no_field_are_found_by_their_sum(tmp_path: Path):
    items = _even(tmp_path)
    with cosmos_account() as account:
        account.create(DIMENSION).put(items.documents())
        found = found_by(items, store_at(account), Sought(towards(9), 20))
        depths = {int(seen.json["query"].split()[2]) for seen in account.of("query")}
    expected = oracle(items, towards(9))[:20]
    assert {row for row, _ in expected} <= set(range(items.rows - 30, items.rows))
    same(found.ranked, expected)
    assert found.is_whole
    assert len(depths) > 1, "one round was enough: this shows nothing"


def test_C04_a_search_that_is_ended_before_it_is_sure_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    items = _even(tmp_path)
    monkeypatch.setattr(cosmos, "MOST_DEPTH", 150)
    with cosmos_account() as account:
        account.create(DIMENSION).put(items.documents())
        found = found_by(items, store_at(account), Sought(towards(9), 20))
    assert not found.is_whole
    assert len(found.ranked) == 20


# A container that holds more than one release


def test_C05_items_of_another_release_are_never_found_and_take_no_place(tmp_path: Path):
    mine, other = stock(tmp_path, seed=1), stock(tmp_path, seed=2)
    with cosmos_account() as account:
        container = account.create(DIMENSION)
        container.put([*mine.documents(), *other.documents()])
        for sought in (Sought(towards(1), 20), Sought(towards(1), 600)):
            same(found_by(mine, store_at(account), sought).ranked, oracle(mine, sought.vector)[: sought.limit])
            same(found_by(other, store_at(account), sought).ranked, oracle(other, sought.vector)[: sought.limit])


# Items that are too large to be there


def _partly(items: Stock, store: CosmosStore, absent: range) -> GuardedVectors:
    """The same items, of which the release says that these are too large for Cosmos DB."""
    path = items.folder / "ids.partly.npy"
    names = [b"" if row in absent else name.encode() for row, name in enumerate(items.ids)]
    np.save(path, np.array(names, "S41"))
    ids = ReleaseIds(path, items.rows)
    return GuardedVectors(CosmosVectors(store.connection, PARTITION, ids, ALIKE), store)


@pytest.mark.parametrize("limit", [20, 600])
def test_C06_items_that_are_too_large_are_counted_and_left_out_of_every_pool(items, account, store, limit):
    absent = range(100, 250)
    vectors = _partly(items, store, absent)
    assert vectors.unusable == 150
    there = [row for row in range(items.rows) if row not in absent]
    small = np.zeros(items.rows, np.bool_)
    small[90:110] = True
    whole, pooled = ask(vectors, Sought(towards(1), limit), Sought(towards(1), limit, among=small), store=store)
    assert isinstance(whole, Nearest)
    assert isinstance(pooled, Nearest)
    same(whole.ranked, oracle(items, towards(1), there)[:limit])
    same(pooled.ranked, oracle(items, towards(1), range(90, 100))[:limit])


def test_C07_a_pool_of_nothing_else_is_empty_and_asks_nothing(items, account, store):
    only = np.zeros(items.rows, np.bool_)
    only[100:110] = True
    before = len(account.of("query"))
    assert ask(_partly(items, store, range(100, 250)), Sought(towards(1), 20, among=only), store=store) == [Nearest([])]
    every = _partly(items, store, range(items.rows))
    assert ask(every, Sought(towards(1), 20), store=store) == [Nearest([])]
    assert (len(account.of("query")), every.unusable) == (before, items.rows)


def test_a_row_without_an_id_is_nobodys(items, store, tmp_path):
    np.save(tmp_path / "ids.npy", np.array([b"a" * 41, b"", b"b" * 41, b""], "S41"))
    ids = ReleaseIds(tmp_path / "ids.npy", 4)
    assert ids.rows_of(["b" * 41, "", "a" * 41]).tolist() == [2, -1, 0]
    assert (ids.listed.tolist(), ids.unlisted) == ([True, False, True, False], 2)


@pytest.mark.parametrize(
    "made",
    [np.array([b"a" * 41, b"b" * 41]), np.array([b"a" * 41] * 3), np.array([1, 2, 3]), np.array([["a", "b", "c"]])],
)
def test_a_list_of_ids_that_is_not_one_a_row_is_refused_by_name(tmp_path: Path, made: Any):
    np.save(tmp_path / "ids.npy", made)
    with pytest.raises(ReleaseIncompatible, match=r"^cosmos_ids"):
        ReleaseIds(tmp_path / "ids.npy", 3)


def test_R06_a_list_of_ids_that_is_a_pickle_is_refused(tmp_path: Path):
    np.save(tmp_path / "ids.npy", np.array([{"a": 1}, None, "x"], dtype=object), allow_pickle=True)
    with pytest.raises(ReleaseIncompatible, match=r"^cosmos_ids"):
        ReleaseIds(tmp_path / "ids.npy", 3)


def test_an_id_is_found_by_its_row_and_a_row_by_its_id(items: Stock):
    ids = items.release_ids()
    rows = [5, 0, 599, 17]
    assert ids.rows_of([*ids.of(rows), "nobody", "é", ""]).tolist() == [*rows, -1, -1, -1]
