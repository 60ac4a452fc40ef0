"""records.db of an items release: the items, their typed columns, and the signatures of what was embedded.

Row i of table `item` is row i of each vector file. Items come by rising id, so row order is id order, and what ties
in a search is told apart by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shared.contracts.items import Item, Value
from shared.errors import ReleaseIncompatible
from shared.index.database import Database, writing

# What an item is read by, each with a vector, a weight and postings of its own.
FIELDS = ("name", "description", "body")
VECTOR_ROLES = tuple(f"vectors.{field}" for field in FIELDS)
# Which documents of Cosmos DB are the rows' own: in the place of the matrices where vectors are searched there.
IDS_ROLE = "cosmos_ids"

Signatures = tuple[str, str, str]
"""One a field, in the order of FIELDS; empty for a field that says nothing, which has no vector."""

_SCHEMA = """
CREATE TABLE item (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, url TEXT NOT NULL, name TEXT NOT NULL, site TEXT NOT NULL,
    record TEXT NOT NULL, name_signature TEXT NOT NULL, description_signature TEXT NOT NULL,
    body_signature TEXT NOT NULL);
CREATE TABLE word (
    name TEXT NOT NULL, word TEXT NOT NULL, row INTEGER NOT NULL, place INTEGER NOT NULL,
    PRIMARY KEY (name, word, row)) WITHOUT ROWID;
"""
_INDEXES = "CREATE INDEX word_by_row ON word (row);"
_COLUMN = re.compile(r"[a-z][a-z0-9_]*")
_ITEMS = "SELECT row, id, url, name, site, record FROM item WHERE row IN ({})"
_WORDS, _SWITCH = "WORDS INTEGER", "BOOLEAN"
_SQL_TYPES: dict[type, str] = {tuple: _WORDS, bool: _SWITCH, int: "INTEGER", float: "REAL", str: "TEXT"}


def write_items(
    path: Path, items: Sequence[Item], columns: Sequence[Mapping[str, Value]], signatures: Sequence[Signatures]
) -> None:
    """Write records.db. Items come by rising id, typed columns (the same names for all) and signatures beside them.

    Raises ValueError for a name that can be no column's.
    """
    names = list(columns[0]) if columns else []
    with writing(path, _SCHEMA + _fact_table(names, columns), _INDEXES) as db:
        db.executemany("INSERT INTO item VALUES (?,?,?,?,?,?,?,?,?)", _item_rows(items, signatures))
        marks = ", ".join("?" * (1 + len(names)))
        db.executemany(f"INSERT INTO fact VALUES ({marks})", _fact_rows(columns))  # noqa: S608 - question marks
        db.executemany("INSERT OR IGNORE INTO word VALUES (?, ?, ?, ?)", _word_rows(columns))


class Items:
    """The items of one site, read only, safe to share between threads and across a fork."""

    def __init__(self, path: Path) -> None:
        self._db = Database(path, "an items release")

    def check(self, rows: int) -> None:
        """Compare the number of rows with the manifest's. Raises ReleaseIncompatible."""
        found = self._db.one("SELECT count(*), coalesce(max(row), -1) FROM item")
        if found != (rows, rows - 1):
            raise ReleaseIncompatible(f"records: expected rows 0 to {rows - 1}, found {found[0]} up to row {found[1]}")

    def items(self, rows: Sequence[int]) -> dict[int, Item]:
        """The items of these rows."""
        lines = self._db.of(_ITEMS, [int(row) for row in rows])
        return {line[0]: Item(line[1], line[2], line[3], line[4], json.loads(line[5])) for line in lines}

    def row_of_id(self, id: str) -> int | None:
        """The row of the item with exactly this id."""
        return next((line[0] for line in self._db.all("SELECT row FROM item WHERE id = ?", (id,))), None)

    def columns(self) -> dict[str, str]:
        """Typed column → its SQL type, in the kind's order; empty where no record says anything."""
        lines = self._db.all("SELECT name, type FROM pragma_table_info('fact') WHERE name <> 'row'")
        return dict(lines)

    def facts(self, rows: Sequence[int]) -> dict[int, dict[str, Value]]:
        """The typed columns of these rows, under the kind's names; None where the record does not say."""
        types, wanted = self.columns(), [int(row) for row in rows]
        words = self._words(wanted)
        return {
            row: {
                name: _value(types[name], told, words.get((row, name), ()))
                for name, told in zip(types, line, strict=True)
            }
            for row, *line in self._db.of("SELECT * FROM fact WHERE row IN ({})", wanted)
        }

    def column(self, name: str) -> list[Any]:
        """One typed column by row, as it lies there: how many words there are where it has words, 1 for true."""
        return [line[0] for line in self._db.all(f'SELECT "{_checked(name)}" FROM fact ORDER BY row')]  # noqa: S608

    def words_of(self, name: str) -> list[str]:
        """The distinct words of a column, sorted."""
        lines = self._db.all("SELECT DISTINCT word FROM word WHERE name = ? ORDER BY word", (name,))
        return [line[0] for line in lines]

    def rows_with(self, name: str, words: Sequence[str]) -> list[int]:
        """Rows that have any of these words in a column, in no order; a row may come twice."""
        sql = f"SELECT row FROM word WHERE name = '{_checked(name)}' AND word IN ({{}})"  # noqa: S608
        return [line[0] for line in self._db.of(sql, words)]

    def _words(self, rows: Sequence[int]) -> dict[tuple[int, str], tuple[str, ...]]:
        """(row, column) → its words, in the record's order."""
        found: dict[tuple[int, str], dict[int, str]] = {}
        for row, name, place, word in self._db.of("SELECT row, name, place, word FROM word WHERE row IN ({})", rows):
            found.setdefault((row, name), {})[place] = word
        return {key: tuple(placed[place] for place in sorted(placed)) for key, placed in found.items()}

    def signatures(self, field: str) -> dict[str, int]:
        """Signature of the embedded text → a row whose vector of this field it is: what need not be embedded again."""
        column = f"{field}_signature"
        lines = self._db.all(f"SELECT {column}, row FROM item WHERE {column} <> ''")  # noqa: S608 - one of FIELDS
        return {line[0]: line[1] for line in lines}

    def close(self) -> None:
        """Close every idle connection; one in use is closed when it comes back."""
        self._db.close()


def _checked(name: str) -> str:
    """A column's name, which may stand in a statement."""
    if not _COLUMN.fullmatch(name):
        raise ValueError(f"{name!r} can be no column's name")
    return name


def _fact_table(names: Sequence[str], columns: Sequence[Mapping[str, Value]]) -> str:
    """A line an item: a column each, of the type of its values. Words lie in `word`, and here is how many there are."""
    for name in names:
        if not _COLUMN.fullmatch(name) or name == "row":
            raise ValueError(f"{name!r} can be no column's name")
    typed = "".join(f', "{name}" {_sql_type([line[name] for line in columns])}' for name in names)
    return f"CREATE TABLE fact (row INTEGER PRIMARY KEY{typed});"


def _sql_type(values: Sequence[Value]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return "REAL"
    return _SQL_TYPES[kinds.pop()] if len(kinds) == 1 else ""


def _value(sql_type: str, told: str | float | None, words: tuple[str, ...]) -> Value:
    if told is None or sql_type not in (_WORDS, _SWITCH):
        return told
    return words if sql_type == _WORDS else bool(told)


def _item_rows(items: Sequence[Item], signatures: Sequence[Signatures]) -> Iterator[tuple[Any, ...]]:
    for row, (item, signature) in enumerate(zip(items, signatures, strict=True)):
        record = json.dumps(item.record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        yield (row, item.id, item.url, item.name, item.site, record, *signature)


def _fact_rows(columns: Sequence[Mapping[str, Value]]) -> Iterator[tuple[Any, ...]]:
    for row, line in enumerate(columns):
        yield (row, *(len(value) if isinstance(value, tuple) else value for value in line.values()))


def _word_rows(columns: Sequence[Mapping[str, Value]]) -> Iterator[tuple[str, str, int, int]]:
    for row, line in enumerate(columns):
        for name, value in line.items():
            if isinstance(value, tuple):
                yield from ((name, word, row, place) for place, word in enumerate(value))
