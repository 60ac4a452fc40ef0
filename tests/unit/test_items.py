"""records.db of an items release and the files beside it: what is written is read again, what is wrong is refused."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from build_jobs.item_index import write_item_index
from shared.contracts.items import Item
from shared.contracts.release import LEXICAL_ROLES
from shared.errors import BuildError, ReleaseIncompatible
from shared.index.items import FIELDS, IDS_ROLE, VECTOR_ROLES, Items, write_items
from shared.sites.kinds import KINDS

SIGNED = ("a", "b", "c")


def item(id: str, **record) -> Item:
    return Item(id, f"https://films.example/{id}", record.get("name", id), "imdb", {"@type": "Movie", **record})


def unit(rows: int, empty: tuple[int, ...] = ()) -> np.ndarray:
    matrix = np.tile(np.array([1.0, 0, 0, 0], np.float32), (rows, 1))
    matrix[list(empty)] = 0
    return matrix


def index(folder, items, vectors=None, signatures=None):
    vectors = vectors or [unit(len(items))] * 3
    return write_item_index(folder, items, KINDS["movies"], vectors, signatures or [SIGNED] * len(items))


def test_an_item_comes_back_as_it_was_written(tmp_path):
    written = [item("a", name="Amélie", nested={"x": [1, None, "é"]}), item("b", name="七人の侍", price=1.5)]
    write_items(tmp_path / "records.db", written, [{}, {}], [SIGNED, SIGNED])
    with closing(Items(tmp_path / "records.db")) as read:
        read.check(2)
        assert read.items([1, 0]) == {0: written[0], 1: written[1]}
        assert (read.row_of_id("b"), read.row_of_id("c")) == (1, None)


def test_typed_columns_come_back_as_the_kind_gave_them(tmp_path):
    lines = [
        {"year": 1958, "minutes": 128.0, "type": "Movie", "genres": ("noir", "crime"), "dogs": True, "price": 1},
        {"year": None, "minutes": None, "type": None, "genres": (), "dogs": None, "price": 2.5},
        {"year": 1998, "minutes": 90.5, "type": "TVSeries", "genres": None, "dogs": False, "price": None},
    ]
    write_items(tmp_path / "records.db", [item("a"), item("b"), item("c")], lines, [SIGNED] * 3)
    with closing(Items(tmp_path / "records.db")) as read:
        assert read.facts([0, 1, 2]) == dict(enumerate(lines))
        types = {"year": "INTEGER", "minutes": "REAL", "type": "TEXT", "genres": "WORDS INTEGER", "dogs": "BOOLEAN"}
        assert read.columns() == {**types, "price": "REAL"}


def test_every_kind_has_columns_that_can_be_written_and_read(tmp_path):
    for name, kind in KINDS.items():
        path = tmp_path / f"{name}.db"
        write_items(path, [item("a")], [kind.columns({})], [SIGNED])
        with closing(Items(path)) as read:
            assert list(read.facts([0])[0]) == list(kind.columns({}))


@pytest.mark.parametrize("name", ["row", "Year", "a b", 'x"); DROP TABLE item; --', ""])
def test_what_can_be_no_columns_name_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match="column"):
        write_items(tmp_path / "records.db", [item("a")], [{name: 1}], [SIGNED])


def test_signatures_lead_to_the_row_whose_vector_can_be_used_again(tmp_path):
    write_items(tmp_path / "records.db", [item("a"), item("b")], [{}, {}], [("n0", "", "b0"), ("n1", "d1", "b1")])
    with closing(Items(tmp_path / "records.db")) as read:
        assert [read.signatures(field) for field in FIELDS] == [{"n0": 0, "n1": 1}, {"d1": 1}, {"b0": 0, "b1": 1}]


def test_R04_a_file_that_is_no_database_is_refused_by_name(tmp_path):
    path = tmp_path / "records.db"
    path.write_bytes(b"no database" * 1_000)
    with closing(Items(path)) as read, pytest.raises(ReleaseIncompatible, match="records"):
        read.check(1)


def test_R04_another_number_of_items_than_the_manifest_says_is_refused(tmp_path):
    write_items(tmp_path / "records.db", [item("a")], [{}], [SIGNED])
    with closing(Items(tmp_path / "records.db")) as read, pytest.raises(ReleaseIncompatible, match="rows 0 to 1"):
        read.check(2)


def test_a_releases_files_are_those_that_a_site_opens(tmp_path):
    files = index(tmp_path, [item("a", name="Amélie"), item("b", name="Brazil")])
    assert set(files) == {"records", *VECTOR_ROLES, *LEXICAL_ROLES, IDS_ROLE}
    assert all(path.exists() for path in files.values())


def test_the_same_items_give_the_same_bytes(tmp_path):
    items = [item("a", name="Amélie", genre=["Comedy", "Romance"]), item("b", name="Brazil")]
    first, second = (index(tmp_path / name, items) for name in ("one", "two"))
    assert {role: path.read_bytes() for role, path in first.items()} == {r: p.read_bytes() for r, p in second.items()}


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ([], "no items"),
        ([item("b"), item("a")], "rising ids"),
        ([item("a"), item("a")], "rising ids"),
    ],
)
def test_items_out_of_order_are_not_indexed(tmp_path, items, why):
    with pytest.raises(BuildError, match=why):
        index(tmp_path, items)


@pytest.mark.parametrize(
    ("vectors", "signatures", "why"),
    [
        ([unit(1), unit(2), unit(2)], None, "vectors of name: expected 2 rows"),
        ([unit(2), unit(2), unit(2) * 1.5], None, "vectors of body, row 0: expected a unit row"),
        ([unit(2), unit(2, empty=(1,)), unit(2)], None, "vectors of description, row 1: expected a unit row"),
        ([unit(2), unit(2), unit(2) * np.nan], None, "vectors of body, row 0"),
        ([unit(2), unit(2), unit(2)], [SIGNED, ("a", "", "c")], "vectors of description, row 1: expected a zero row"),
    ],
)
def test_B03_vectors_that_cannot_be_the_texts_are_not_indexed(tmp_path, vectors, signatures, why):
    with pytest.raises(BuildError, match=why):
        index(tmp_path, [item("a"), item("b")], vectors, signatures)
