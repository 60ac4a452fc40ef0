"""Which rows a question may find: an oracle that reads records row by row agrees, and a constraint only removes."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.openrouter import KEY, OpenRouter, embed
from fakes.site import DIMENSION, nearest, publish
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.contracts.constraints import Constraint, Order, Reading
from shared.contracts.items import Item, Value
from shared.index.columns import Columns
from shared.index.items import Items, write_items
from shared.models.choice import Models
from shared.settings import Settings
from shared.sites.constraints import read
from shared.sites.eligible import Eligibility, eligible
from shared.sites.kinds import KINDS
from shared.sites.site import Site, open_site
from shared.sites.vocabulary import SiteVocabulary

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}
LADDER = ("easy", "moderate", "hard", "expert")


def walk(**told: Value) -> dict[str, Value]:
    return {**dict.fromkeys(KINDS["trails"].columns({})), **told}


def home(**told: Value) -> dict[str, Value]:
    return {**dict.fromkeys(KINDS["homes"].columns({})), **told}


WALKS = [
    walk(length_km=3.0, hours=1.0, hours_most=1.5, difficulty="easy", dogs="yes", region="Otago", shape="loop"),
    walk(length_km=5.0, hours=2.0, hours_most=2.0, difficulty="moderate", dogs="leash", region="Otago"),
    walk(length_km=12.5, hours=4.0, hours_most=6.0, difficulty="hard", dogs="no", region="Nelson/Tasman"),
    walk(hours=24.0, hours_most=48.0, difficulty="expert", dogs="permit", locality="Taupō area", wheelchairs=False),
    walk(length_km=0.5, difficulty="easy", wheelchairs=True, activities=("walking", "mountain biking")),
    walk(),
]
HOMES = [
    home(price=150_000.0, beds=3.0, features=("2-car garage", "1 fireplace"), town="Ames"),
    home(price=250_000.0, beds=4.0, features=("no garage", "wood deck"), town="Ames"),
    home(price=90_000.0, beds=3.0, features=(), town="Cedar Falls"),
    home(beds=2.0, features=("3-car garage",), parking=1),
]


def columns_of(folder: Path, lines: list[dict[str, Value]]) -> Columns:
    path = folder / "records.db"
    items = [Item(f"{n}", "", f"item {n}", "test", {}) for n in range(len(lines))]
    write_items(path, items, lines, [("s", "", "")] * len(lines))
    return Columns(Items(path), len(lines))


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    return columns_of(tmp_path_factory.mktemp("walks"), WALKS)


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    return columns_of(tmp_path_factory.mktemp("homes"), HOMES)


def decided(columns: Columns, kind: str, *constraints: tuple[str, str, Any]) -> Eligibility:
    made = [Constraint(f"c{n}", f, op, value, "", "said") for n, (f, op, value) in enumerate(constraints, 1)]  # type: ignore[arg-type]
    return eligible(Reading("", tuple(made)), columns, KINDS[kind].wording)


def split(fit: Eligibility) -> tuple[list[int], list[int]]:
    return np.flatnonzero(fit.met).tolist(), np.flatnonzero(fit.open).tolist()


@pytest.mark.parametrize(
    ("constraint", "met", "unsaid"),
    [
        (("length_km", "<", 5.0), [0, 4], [3, 5]),
        (("length_km", "<=", 5.0), [0, 1, 4], [3, 5]),
        (("hours_most", ">", 24.0), [3], [4, 5]),
        (("difficulty", "has", "easy"), [0, 4], [5]),
        (("difficulty", "<=", "moderate"), [0, 1, 4], [5]),
        (("difficulty", ">", "moderate"), [2, 3], [5]),
        (("difficulty", "lacks", "hard"), [0, 1, 3, 4], [5]),
        (("difficulty", "has", "easy or hard"), [0, 2, 4], [5]),
        (("difficulty", "lacks", "easy or hard"), [1, 3], [5]),
        (("dogs", "has", "yes"), [0, 1], [3, 4, 5]),  # with a permit only: that depends
        (("dogs", "has", "off leash"), [0], [3, 4, 5]),
        (("dogs", "has", "no"), [2], [4, 5]),
        (("wheelchairs", "has", "yes"), [4], [0, 1, 2, 5]),
        (("wheelchairs", "lacks", "yes"), [3], [0, 1, 2, 5]),
        (("activities", "has", "mountain biking"), [4], [0, 1, 2, 3, 5]),
        (("region", "has", "Otago"), [0, 1], [4, 5]),
        (("region", "has", "Nelson/Tasman"), [2], [4, 5]),
        (("region", "lacks", "Otago"), [2, 3], [4, 5]),
        (("locality", "has", "Taupō area"), [3], [4, 5]),
    ],
)  # fmt: skip
def test_a_walk_that_says_nothing_neither_meets_nor_fails(walks, constraint, met, unsaid):
    assert split(decided(walks, "trails", constraint)) == (met, unsaid)


@pytest.mark.parametrize(
    ("constraint", "met", "unsaid"),
    [
        (("features", "has", "garage"), [0, 3], [2]),
        (("features", "lacks", "garage"), [1], [2]),
        (("features", "has", "pool"), [], [0, 1, 2, 3]),  # no list of features is whole
        (("parking", ">=", 2.0), [0], [2]),  # a garage's cars, but the given spaces first
        (("parking", "<=", 0.0), [1], [2]),
        (("price", "<", 200_000.0), [0, 2], [3]),
        (("hoa_fee", "<=", 0.0), [], [0, 1, 2, 3]),
    ],
)  # fmt: skip
def test_what_a_home_lists_decides_what_it_has(homes, constraint, met, unsaid):
    assert split(decided(homes, "homes", constraint)) == (met, unsaid)


def test_no_row_is_left_by_the_first_constraint_that_refutes_the_last(homes):
    fit = decided(homes, "homes", ("beds", ">=", 3.0), ("price", "<", 50_000.0), ("beds", ">", 9.0))
    assert fit.emptied
    assert fit.emptied.id == "c2"
    assert not (fit.met | fit.open).any()


def test_soft_constraints_leave_every_row_and_are_told_of_each(homes):
    soft = Constraint("c1", "price", "<", 200_000.0, "USD", "cheap", hard=False)
    fit = eligible(Reading("", (soft,)), homes, KINDS["homes"].wording)
    assert fit.met.all()
    assert [fit.met_of(row) for row in range(4)] == [(True, ()), (False, ()), (True, ()), (None, ("c1",))]


def test_an_order_puts_what_says_nothing_last_and_ties_by_row(homes, walks):
    def ordered(columns: Columns, kind: str, field: str, descending: bool) -> list[int]:
        fit = eligible(Reading("", (), Order(field, descending, "said")), columns, KINDS[kind].wording)
        return fit.ordered(fit.met, 9)

    assert ordered(homes, "homes", "price", False) == [2, 0, 1, 3]
    assert ordered(homes, "homes", "price", True) == [1, 0, 2, 3]
    assert ordered(homes, "homes", "beds", True) == [1, 0, 2, 3]
    assert ordered(walks, "trails", "difficulty", False) == [0, 4, 1, 2, 3, 5]


def test_equal_values_have_one_place_and_without_an_order_all_do(homes):
    fit = eligible(Reading("", (), Order("beds", True, "said")), homes, KINDS["homes"].wording)
    assert [fit.place_of(row) for row in range(4)] == [1, 0, 1, 2]
    plain = eligible(Reading(""), homes, KINDS["homes"].wording)
    assert {plain.place_of(row) for row in range(4)} == {0}
    assert plain.ordered(plain.met, 2) == [0, 1]


def test_a_column_that_no_record_fills_or_nobody_has_says_nothing(walks):
    assert np.isnan(walks.numbers("rating")).all()
    assert np.isnan(walks.numbers("nobody_has_it")).all()
    assert not walks.told("nobody_has_it").any()
    assert walks.vocabulary("nobody_has_it") == ()
    assert walks.quantile("rating", 0.5) is None
    assert not walks.rows_with("nobody_has_it", ["x"]).any()


# An oracle that knows only one row at a time

numbers = st.tuples(
    st.sampled_from(["length_km", "hours", "hours_most"]), st.sampled_from(list(COMPARE)),
    st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 12.5, 24.0, 48.0]),
)  # fmt: skip
grades = st.tuples(
    st.just("difficulty"), st.sampled_from(["<", "<=", ">", ">=", "has", "lacks"]), st.sampled_from(LADDER)
)
dogs = st.tuples(st.just("dogs"), st.sampled_from(["has", "lacks"]), st.sampled_from(["yes", "off leash", "no"]))
CONSTRAINTS = st.lists(numbers | grades | dogs, max_size=4)
WELCOME = {"yes": {"yes", "leash"}, "off leash": {"yes"}, "no": {"no"}}


def truth(line: dict[str, Value], field: str, op: str, value: Any) -> bool | None:
    said = line[field]
    if said is None or (field == "dogs" and said == "permit" and value != "no"):
        return None
    if field == "dogs":
        return (said in WELCOME[value]) == (op == "has")
    if op in ("has", "lacks"):
        return (said == value) == (op == "has")
    if field == "difficulty":
        return bool(COMPARE[op](LADDER.index(str(said)), LADDER.index(value)))
    return bool(COMPARE[op](said, value))


@settings(max_examples=200)
@given(constraints=CONSTRAINTS)
def test_an_oracle_that_reads_row_by_row_agrees(walks, constraints):
    fit = decided(walks, "trails", *constraints)
    for row, line in enumerate(WALKS):
        verdicts = [truth(line, *each) for each in constraints]
        assert fit.met[row] == all(verdict is True for verdict in verdicts)
        assert fit.open[row] == (False not in verdicts and None in verdicts)
        unknown = tuple(f"c{n}" for n, verdict in enumerate(verdicts, 1) if verdict is None)
        assert fit.met_of(row) == (False if False in verdicts else None if unknown else True, unknown)


@settings(max_examples=200)
@given(constraints=CONSTRAINTS, more=numbers | grades | dogs)
def test_one_constraint_more_never_adds_an_item(walks, constraints, more):
    fewer, with_it = decided(walks, "trails", *constraints), decided(walks, "trails", *constraints, more)
    assert not (with_it.met & ~fewer.met).any()
    assert not ((with_it.met | with_it.open) & ~(fewer.met | fewer.open)).any()


QUESTIONS = ("easy", "under 2 hours", "dogs allowed", "not a loop", "in Otago", "at most 5 km", "multi-day", "no dogs")


@given(parts=st.lists(st.sampled_from(QUESTIONS), min_size=1, max_size=5, unique=True))
def test_words_added_to_a_question_never_add_an_item(walks, parts):
    def fit(said: list[str]) -> Eligibility:
        trails = KINDS["trails"]
        return eligible(read(", ".join(said), trails, SiteVocabulary(walks)), walks, trails.wording)

    fewer, more = fit(parts[:-1] or [""]), fit(parts)
    assert not ((more.met | more.open) & ~(fewer.met | fewer.open)).any()


# Searching among them


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    items = [
        Item(f"{n:02}", "", f"River walk {n}", "doc", {
            "@type": "Trail", "name": f"River walk {n}", "description": "A walk along the river.",
            "additionalProperty": [{"@type": "PropertyValue", "name": "Distance", "value": f"{n + 1} km"}],
        })
        for n in range(8)
    ]  # fmt: skip
    with OpenRouter(dimension=DIMENSION) as fake:
        url = publish(folder, items, KINDS["trails"])
        given = Settings(
            bucket_url=url, cache_dir=str(folder / "cache"), openrouter_api_key=KEY, openrouter_base_url=fake.url
        )
        opened = open_site(given, KINDS["trails"], Models(given, may_lack_a_key=True))
        yield opened
        opened.close()


def test_only_rows_of_the_mask_are_found_by_words_and_by_vector(site: Site):
    fit = site.eligible(site.read("river walk under 4 km"))
    assert split(fit) == ([0, 1, 2], [])
    query = np.array(embed("river walk", DIMENSION), np.float32)
    assert sorted(row for row, _ in site.bm25("river", 10, fit.met)) == [0, 1, 2]
    assert sorted(row for row, _ in nearest(site, query, 10, rows=fit.met)) == [0, 1, 2]
    assert sorted(row for row, _ in nearest(site, query, 10, without=[1], rows=fit.met)) == [0, 2]


def test_a_search_among_rows_keeps_scores_and_order_of_the_whole_one(site: Site):
    mask = np.zeros(site.count, np.bool_)
    mask[[1, 4, 6]] = True
    query = np.array(embed("walk 5", DIMENSION), np.float32)
    assert site.bm25("walk 5", 9, mask) == [each for each in site.bm25("walk 5", 9) if mask[each[0]]]
    assert nearest(site, query, 9, rows=mask) == [each for each in nearest(site, query, 9) if mask[each[0]]]


def test_nothing_is_found_among_no_rows(site: Site):
    nothing = np.zeros(site.count, np.bool_)
    query = np.array(embed("walk", DIMENSION), np.float32)
    assert site.bm25("walk", 9, nothing) == []
    assert nearest(site, query, 9, rows=nothing) == []
