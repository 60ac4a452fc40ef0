"""records.db: what is written is what is read, and the exact lookups order and group as documented."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest

from shared.contracts.leaf import Leaf, Source
from shared.errors import ReleaseIncompatible
from shared.index.records import Records, coverage, dimensions, write_records
from shared.index.selection import Selection


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


def changed(records: Records, statement: str, *values: object) -> Records:
    """The records with a change that no build makes, as in a release that somebody else wrote."""
    with closing(sqlite3.connect(records._db._path)) as db:
        db.execute(statement, values)
        db.commit()
    return records


TEXT_COLUMNS = (
    "path", "urn", "family", "source", "publisher", "code", "title", "description", "queries", "tags", "scope",
    "front_matter", "body", "unreadable",
)  # fmt: skip
BLOB = b"\x00\xff"


@pytest.mark.parametrize("column", TEXT_COLUMNS)
@pytest.mark.parametrize("value", [BLOB, b"text", "text \ud800".encode("utf-8", "surrogatepass")])
def test_R04_a_blob_where_a_leaf_has_text_is_refused_with_its_row_and_column(write, column, value):
    records = changed(write(leaf("a"), leaf("b")), f"UPDATE leaf SET {column} = ? WHERE row = 1", value)
    assert list(records.leaves([0])) == [0]
    with pytest.raises(ReleaseIncompatible, match=f"records: expected text as {column} of row 1, found a blob"):
        records.leaves([0, 1])


def test_R04_text_that_is_no_utf_8_is_refused(write):
    records = changed(write(leaf("a")), "UPDATE leaf SET title = CAST(x'ff' AS TEXT)")
    with pytest.raises(ReleaseIncompatible, match="records: expected"):
        records.leaves([0])


BROKEN = ["", "{", "nonsense", "1", "null", '"text"', "[" * 100_000, '"\\ud800"', "9" * 5_000, "NaN"]
NO_LISTS = [*BROKEN, "{}", "[1]", "[null]", "[[]]", '["a"],["b"]', '["\\udfff"]', '["a", NaN]', '["a"']
NO_OBJECTS = [*BROKEN, "[]", '{"a": NaN}', '{"a": [-Infinity]}', '{"a": 1e999}', '{"a": {"\\ud800": 1}}', '{"a": 1} {}']


def shortened(value: str) -> str:
    return repr(value[:20])


@pytest.mark.parametrize("column", ["queries", "tags"])
@pytest.mark.parametrize("value", NO_LISTS, ids=shortened)
def test_R04_a_list_of_a_leaf_that_cannot_be_read_is_refused_with_its_row(write, column, value):
    records = changed(write(leaf("a"), leaf("b")), f"UPDATE leaf SET {column} = ? WHERE row = 1", value)
    assert list(records.leaves([0])) == [0]
    with pytest.raises(ReleaseIncompatible, match=rf"records: expected a list of texts as {column} of row 1$"):
        records.leaves([0, 1])


@pytest.mark.parametrize("value", NO_OBJECTS, ids=shortened)
def test_R04_front_matter_that_cannot_be_read_is_refused_with_its_row_when_it_is_looked_into(write, value):
    records = changed(write(leaf("a"), leaf("b")), "UPDATE leaf SET front_matter = ? WHERE row = 1", value)
    found = records.leaves([0, 1])
    assert found[0].front_matter["title"] == "a"
    for look in (dict, len, lambda matter: matter.get("title")):
        with pytest.raises(ReleaseIncompatible, match=r"records: expected a JSON object as front_matter of row 1$"):
            look(found[1].front_matter)


@pytest.mark.parametrize("value", NO_OBJECTS, ids=shortened)
def test_R04_an_access_documents_front_matter_that_cannot_be_read_is_refused_by_name(write, value):
    records = changed(write(leaf("a")), "UPDATE source SET front_matter = ?", value)
    with pytest.raises(ReleaseIncompatible, match=r"records: expected a JSON object as front_matter of source 'dc'$"):
        records.sources()


READS = {
    "source SET publisher": lambda records: records.publishers(),
    "source SET body": lambda records: records.sources(),
    "variable SET places": lambda records: records.rows_of_variable("a"),
    "variable SET days": lambda records: records.rows_of_variable("a"),
    "quantity SET dimensions": lambda records: records.quantities("P", "c", "m"),
    "quantity SET title": lambda records: records.quantities("P", "c", "m"),
    "quantity SET documents": lambda records: records.quantities("P", "c", "m"),
    "tag SET row": lambda records: records.rows_of_tags(["country"]),
    "tag SET tag": lambda records: records.tags_where(Selection()),
    "leaf SET urn": lambda records: records.urns(["dc"]),
    "leaf SET path": lambda records: records.folders(),
    "leaf SET title": lambda records: records.keys_where("title", Selection()),
    "leaf SET source": lambda records: records.sources_where(Selection()),
    "leaf SET family": lambda records: records.rows_of_codes(["a"]),
    "leaf SET signature": lambda records: records.signatures(),
}
# In a column of text SQLite makes text of a number.
OF_NUMBERS = ("variable SET places", "variable SET days", "quantity SET documents", "tag SET row")
WRONG = [(where, BLOB) for where in READS] + [(where, value) for where in OF_NUMBERS for value in (0.5, float("inf"))]


@pytest.mark.parametrize(("where", "value"), WRONG)
def test_R04_a_value_of_a_wrong_kind_is_refused_wherever_it_is_read(write, where, value):
    quantity = {"populationType": "P", "measuredProperty": "c", "statType": "m", "variable": "a"}
    records = changed(write(leaf("a", front_matter=quantity)), f"UPDATE {where} = ?", value)
    with pytest.raises(ReleaseIncompatible, match=r"records: expected .*found a (blob|fraction)"):
        READS[where](records)


@pytest.mark.parametrize("row", [-1, 1, 10**12])
def test_R04_a_tag_of_a_row_that_is_not_there_is_refused(write, row):
    records = changed(write(leaf("a")), "UPDATE tag SET row = ?", row)
    with pytest.raises(ReleaseIncompatible, match=rf"records: expected rows 0 to 0 in tag, found {row}$"):
        records.rows_of_tags(["country"])
