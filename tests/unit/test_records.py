"""records.db: what is written is what is read, and the exact lookups order and group as documented."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest

from shared.contracts.leaf import Leaf, Source
from shared.errors import ReleaseIncompatible
from shared.index.records import Records, coverage, dimensions, write_records


def leaf(stem: str, **changes) -> Leaf:
    values = {
        "path": f"sources/dc/{stem}.md", "urn": f"urn:air:dc.org:okf:dc.{stem}", "family": "dc", "source": "dc",
        "publisher": "dc.org", "code": stem, "title": stem.title(), "description": "About it.", "queries": ("what?",),
        "tags": ("country",), "scope": "a place", "front_matter": {"title": stem}, "body": "# Schema\n",
    }  # fmt: skip
    return Leaf(**{**values, **changes})


def source(directory: str = "dc") -> Source:
    return Source(
        directory, directory, "dc.org", f"urn:air:dc.org:okf:{directory}", f"sources/{directory}/_access.md", {}, ""
    )


@pytest.fixture
def write(tmp_path):
    opened = []

    def make(*leaves: Leaf, sources=None) -> Records:
        path = tmp_path / "records.db"
        write_records(path, leaves, sources or [source()], [f"sig{i}" for i in range(len(leaves))])
        opened.append(Records(path))
        return opened[-1]

    yield make
    for records in opened:
        records.close()


def test_a_leaf_comes_back_as_it_was_written(write):
    written = leaf("gdp", queries=("a?", "b?"), front_matter={"x": [1, None, {"y": "é"}]}, unreadable="no front matter")
    assert write(written).leaves([0]) == {0: written}


def test_a_leaf_that_was_read_can_be_written_again_as_it_was(write):
    written = leaf("gdp", front_matter={"x": [1, None, {"y": "é"}], "title": "gdp"})
    [read] = write(written).leaves([0]).values()
    assert write(read).leaves([0]) == {0: written}
    assert (list(read.front_matter), read.front_matter["x"], len(read.front_matter)) == (
        ["x", "title"],
        [1, None, {"y": "é"}],
        2,
    )


def test_no_rows_are_no_leaves(write):
    assert write(leaf("a")).leaves([]) == {}


def test_more_rows_than_one_statement_holds_are_read_all(write):
    records = write(*(leaf(f"l{i:04}") for i in range(1_203)))
    assert sorted(records.leaves(list(range(1_203)))) == list(range(1_203))


def test_documents_of_a_variable_carry_their_coverage(write):
    wide = {
        "variable": "Count_Person",
        "coverage": {"places": 9, "levels": ["country"], "dates": {"first": "1990", "last": "2020"}},
    }
    records = write(leaf("a", code="Count_Person"), leaf("b", code="Count_Person", front_matter=wide), leaf("c"))
    found = {row: width for width, _, row in records.rows_of_variable("Count_Person")}
    assert found == {0: (0, 0, 0), 1: (9, 1, 31 * 372 - 1)}
    assert records.rows_of_variable("count_person") == []


def test_a_quantity_lists_its_variables_with_the_dimensions_they_are_split_by(write):
    base = {"populationType": "Person", "measuredProperty": "count", "statType": "measuredValue"}
    split = {**base, "variable": "F", "constraints": {"gender": "Female", "age": "Years5"}}
    records = write(
        leaf("t1", front_matter={**base, "variable": "T", "constraints": {}}),
        leaf("t2", front_matter={**base, "variable": "T"}),
        leaf("f", front_matter=split),
    )
    found = [(q.dimensions, q.variable, q.documents) for q in records.quantities("Person", "count", "measuredValue")]
    assert found == [((), "T", 2), (("age", "gender"), "F", 1)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, (0, 0, 0)), ("wide", (0, 0, 0)), ({"places": "many"}, (0, 0, 0)),
        ({"places": 3, "levels": ["a", "b"], "dates": {"first": "2020-01", "last": "2020-12-31"}}, (3, 2, 371)),
        ({"dates": {"first": "2021", "last": "2001"}}, (0, 0, 0)),
    ],
)  # fmt: skip
def test_coverage_counts_only_what_the_leaf_says(value, expected):
    assert coverage(value) == expected


def test_dimensions_are_names_in_order_whatever_holds_them():
    assert dimensions({"gender": "Female", "age": "X"}) == dimensions(["gender", "age", "age"]) == ["age", "gender"]
    assert dimensions("gender") == []


def test_rows_are_found_by_source_and_tag(write):
    records = write(
        leaf("a"), leaf("b", tags=("state", "state")), leaf("c", source="other"), sources=[source(), source("other")]
    )
    assert records.rows_of_sources(["dc"]) == [0, 1]
    assert records.rows_of_tags(["state", "city"]) == [1]
    assert records.publishers() == {"dc.org": ["dc", "other"]}


def test_a_row_count_unlike_the_manifest_is_refused(write):
    with pytest.raises(ReleaseIncompatible, match=r"expected rows 0 to 4, found 1"):
        write(leaf("a")).check(5)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "records.db").write_bytes(b"not a database, but long enough to look like one" * 100)
    refused = pytest.raises(ReleaseIncompatible, match=r"records: expected")
    with closing(Records(tmp_path / "records.db")) as records, refused:
        records.sources()


def test_a_file_that_is_not_there_is_refused_the_same_way(tmp_path):
    refused = pytest.raises(ReleaseIncompatible, match=r"records: expected")
    with closing(Records(tmp_path / "records.db")) as records, refused:
        records.sources()


def test_readers_in_many_threads_share_few_connections(write):
    records = write(*(leaf(f"l{i}") for i in range(50)))
    wrong = []

    def read():
        wrong.extend(row for row in range(50) if records.leaves([row])[row].code != f"l{row}")

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(records._db._idle) <= 8


@pytest.mark.parametrize(
    "change",
    ["DROP TABLE variable", "ALTER TABLE leaf DROP COLUMN unreadable", "ALTER TABLE source RENAME COLUMN body TO text"],
)
def test_R04_a_release_of_another_shape_is_refused_when_it_is_opened(write, change):
    records = write(leaf("a"))
    with closing(sqlite3.connect(records._db._path)) as db:
        db.execute(change)
        db.commit()
    with pytest.raises(ReleaseIncompatible, match="records: expected the tables of a table release"):
        records.check(1)
