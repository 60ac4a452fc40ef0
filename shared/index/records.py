"""records.db: everything of a release that is read by row, and the exact lookups.

SQLite, opened `immutable` and mapped, so opening costs 0.3 ms at any size and nothing is parsed at start.
Row i of table `leaf` is row i of vectors.npy.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NoReturn

from msgspec import Struct

from shared.contracts.leaf import Leaf, Source
from shared.errors import ReleaseIncompatible
from shared.index.database import Database, writing
from shared.index.selection import Selection

_SCHEMA = """
CREATE TABLE leaf (
    row INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, urn TEXT NOT NULL UNIQUE, family TEXT NOT NULL,
    source TEXT NOT NULL, publisher TEXT NOT NULL, code TEXT, title TEXT NOT NULL, description TEXT NOT NULL,
    queries TEXT NOT NULL, tags TEXT NOT NULL, scope TEXT NOT NULL, front_matter TEXT NOT NULL, body TEXT NOT NULL,
    unreadable TEXT, signature TEXT NOT NULL);
CREATE TABLE source (
    directory TEXT PRIMARY KEY, family TEXT NOT NULL, publisher TEXT NOT NULL, urn TEXT NOT NULL, path TEXT,
    front_matter TEXT NOT NULL, body TEXT NOT NULL, rows INTEGER NOT NULL);
CREATE TABLE tag (tag TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (tag, row)) WITHOUT ROWID;
CREATE TABLE variable (
    variable TEXT NOT NULL, row INTEGER NOT NULL, places INTEGER NOT NULL, levels INTEGER NOT NULL,
    days INTEGER NOT NULL, PRIMARY KEY (variable, row)) WITHOUT ROWID;
CREATE TABLE quantity (
    population_type TEXT NOT NULL, measured_property TEXT NOT NULL, stat_type TEXT NOT NULL,
    dimensions TEXT NOT NULL, variable TEXT NOT NULL, title TEXT NOT NULL, documents INTEGER NOT NULL,
    PRIMARY KEY (population_type, measured_property, stat_type, dimensions, variable)) WITHOUT ROWID;
"""
_INDEXES = """
CREATE INDEX leaf_by_source ON leaf (source);
CREATE INDEX leaf_by_code ON leaf (code);
"""
_LEAF_COLUMNS = Leaf.__struct_fields__
_LEAVES = f"SELECT row, {', '.join(_LEAF_COLUMNS)} FROM leaf WHERE row IN ({{}})"  # noqa: S608 - names of our own
_QUERIES, _TAGS, _FRONT_MATTER = (1 + _LEAF_COLUMNS.index(name) for name in ("queries", "tags", "front_matter"))
# What is read while serving: a release without one of these is refused when it is opened, not at its first hit.
_READ = (
    f"SELECT row, {', '.join(_LEAF_COLUMNS)} FROM leaf",  # noqa: S608 - names of our own
    "SELECT directory, family, publisher, urn, path, front_matter, body FROM source",
    "SELECT tag, row FROM tag",
    "SELECT variable, row, places, levels, days FROM variable",
    "SELECT population_type, measured_property, stat_type, dimensions, variable, title, documents FROM quantity",
)
_SOURCES = "SELECT directory, family, publisher, urn, path AS access_path, front_matter, body FROM source"
# What a column may hold; one that is not named holds text. No column holds a blob or a fraction.
_TEXT, _MAYBE_TEXT, _NUMBER = frozenset({str}), frozenset({str, NoneType}), frozenset({int})
_KINDS = {
    **dict.fromkeys(("row", "places", "levels", "days", "documents", "count(*)", "last"), _NUMBER),
    **dict.fromkeys(("code", "unreadable", "access_path"), _MAYBE_TEXT),
}
_CALLED: Mapping[type, str] = {str: "text", bytes: "a blob", int: "a number", float: "a fraction", NoneType: "nothing"}
OrderColumn = Literal["title", "urn", "publisher"]


class Quantity(Struct, frozen=True):
    """One variable of a quantity: the dimensions it is split by and in how many documents it is published."""

    dimensions: tuple[str, ...]
    variable: str
    title: str
    documents: int


def write_records(path: Path, leaves: Sequence[Leaf], sources: Sequence[Source], signatures: Sequence[str]) -> None:
    """Write records.db. Leaves come in row order, one signature each."""
    path.unlink(missing_ok=True)
    with writing(path, _SCHEMA, _INDEXES) as db:
        db.executemany("INSERT INTO leaf VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", _leaf_rows(leaves, signatures))
        db.executemany("INSERT INTO source VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _source_rows(leaves, sources))
        db.executemany(
            "INSERT OR IGNORE INTO tag VALUES (?, ?)", ((t, i) for i, x in enumerate(leaves) for t in x.tags)
        )
        db.executemany("INSERT INTO variable VALUES (?, ?, ?, ?, ?)", _variable_rows(leaves))
        db.executemany("INSERT INTO quantity VALUES (?, ?, ?, ?, ?, ?, ?)", _quantity_rows(leaves))


class Records:
    """The records of one catalog, read only, safe to share between threads and across a fork.

    Every read raises ReleaseIncompatible for a value of another kind than its column's, and
    names the row; looking into a leaf's front matter does, too.
    """

    def __init__(self, path: Path) -> None:
        self._db = Database(path, "a table release", _check_kinds)

    def check(self, rows: int) -> None:
        """Look for every table and column, and compare the number of rows with the manifest's.

        Raises ReleaseIncompatible.
        """
        for statement in _READ:
            self._db.all(f"{statement} LIMIT 0")
        found = self._db.one("SELECT count(*), coalesce(max(row), -1) AS last FROM leaf")
        if found != (rows, rows - 1):
            raise ReleaseIncompatible(f"records: expected rows 0 to {rows - 1}, found {found[0]} up to row {found[1]}")

    def leaves(self, rows: Sequence[int]) -> dict[int, Leaf]:
        """The leaves of these rows."""
        return _leaves(self._db.of(_LEAVES, [int(row) for row in rows]))

    def sources(self) -> dict[str, Source]:
        """Every source directory, by name."""
        return {line[0]: _source(line) for line in self._db.all(_SOURCES)}

    def publishers(self) -> dict[str, list[str]]:
        """Publisher domain → its source directories, both sorted."""
        found: dict[str, list[str]] = {}
        for publisher, directory in self._db.all(
            "SELECT publisher, directory FROM source ORDER BY publisher, directory"
        ):
            found.setdefault(publisher, []).append(directory)
        return found

    def rows_of_sources(self, directories: Sequence[str]) -> list[int]:
        """Rows of these source directories, sorted."""
        lines = self._db.of("SELECT row FROM leaf WHERE source IN ({})", directories)
        return sorted(line[0] for line in lines)

    def rows_of_tags(self, tags: Sequence[str]) -> list[int]:
        """Rows that carry any of these tags, sorted."""
        found = sorted({line[0] for line in self._db.of("SELECT row FROM tag WHERE tag IN ({})", tags)})
        last = self._db.one("SELECT coalesce(max(row), -1) AS last FROM leaf")[0]
        for row in (*found[:1], *found[-1:]):
            if not 0 <= row <= last:
                raise ReleaseIncompatible(f"records: expected rows 0 to {last} in tag, found {row}")
        return found

    def rows_of_variable(self, variable: str) -> list[tuple[tuple[int, int, int], str, int]]:
        """`(coverage, path, row)` of each document of a variable; coverage is places, levels, days."""
        sql = "SELECT places, levels, days, path, row FROM variable JOIN leaf USING (row) WHERE variable = ?"
        return [((line[0], line[1], line[2]), line[3], line[4]) for line in self._db.all(sql, (variable,))]

    def quantities(self, population_type: str, measured_property: str, stat_type: str) -> list[Quantity]:
        """The variables of one quantity."""
        sql = (
            "SELECT dimensions, variable, title, documents FROM quantity"
            " WHERE population_type = ? AND measured_property = ? AND stat_type = ?"
        )
        lines = self._db.all(sql, (population_type, measured_property, stat_type))
        return [Quantity(tuple(line[0].split(",")) if line[0] else (), *line[1:]) for line in lines]

    def rows_of_codes(self, codes: Sequence[str]) -> list[tuple[str, str, int]]:
        """`(code, family, row)` of the leaves that carry one of these published codes."""
        return self._db.of("SELECT code, family, row FROM leaf WHERE code IN ({})", codes)

    def urns(self, directories: Sequence[str]) -> set[str]:
        """Every URN of these source directories."""
        return {line[0] for line in self._db.of("SELECT urn FROM leaf WHERE source IN ({})", directories)}

    def row_of_urn(self, urn: str) -> int | None:
        """The row of the leaf with exactly this URN."""
        return next((line[0] for line in self._db.all("SELECT row FROM leaf WHERE urn = ?", (urn,))), None)

    def row_of_path(self, path: str) -> int | None:
        """The row of the leaf with exactly this path."""
        return next((line[0] for line in self._db.all("SELECT row FROM leaf WHERE path = ?", (path,))), None)

    def rows_where(self, selection: Selection) -> list[int]:
        """The selected rows, sorted."""
        return [line[0] for line in self._where("SELECT row FROM leaf WHERE {} ORDER BY row", selection)]

    def first_rows(self, directory: str, count: int) -> list[int]:
        """The first rows of a source directory."""
        lines = self._db.all("SELECT row FROM leaf WHERE source = ? ORDER BY row LIMIT ?", (directory, count))
        return [line[0] for line in lines]

    def keys_where(self, column: OrderColumn, selection: Selection) -> list[tuple[str, str, int]]:
        """`(value of the column, URN, row)` of each selected row, in no order."""
        return self._where(f"SELECT {column}, urn, row FROM leaf WHERE {{}}", selection)  # noqa: S608 - one of three

    def sources_where(self, selection: Selection) -> dict[str, int]:
        """Source directory → selected rows in it."""
        return dict(self._where("SELECT source, count(*) FROM leaf WHERE {} GROUP BY source", selection))

    def tags_where(self, selection: Selection) -> dict[str, int]:
        """Tag → selected rows that carry it."""
        if selection.is_all:
            return dict(self._db.all("SELECT tag, count(*) FROM tag GROUP BY tag"))
        sql = "SELECT tag, count(*) FROM tag WHERE row IN (SELECT row FROM leaf WHERE {}) GROUP BY tag"
        return dict(self._where(sql, selection))

    def folders(self) -> dict[str, int]:
        """Folder → leaves that lie directly in it. 0.1 s for 118,703 leaves: to be asked once."""
        return Counter(line[0].rpartition("/")[0] for line in self._db.all("SELECT path FROM leaf"))

    def titles_in(self, folder: str, skip: int, count: int) -> list[tuple[str, str]]:
        """`(path, title)` of leaves that lie directly in a folder, by path, from the one behind `skip` others on."""
        inside = f"{folder}/" if folder else ""
        sql = (
            "SELECT path, title FROM leaf WHERE path >= ? AND path < ? AND instr(substr(path, ?), '/') = 0"
            " ORDER BY path LIMIT ? OFFSET ?"
        )
        beyond = f"{folder}0" if folder else "\U0010ffff"  # `0` comes right behind the slash
        return self._db.all(sql, (inside, beyond, len(inside) + 1, count, skip))

    def urn_of_each_row(self) -> dict[int, str]:
        """Row → URN, of every row."""
        return dict(self._db.all("SELECT row, urn FROM leaf ORDER BY row"))

    def signatures(self) -> dict[str, int]:
        """Signature of the embedded text → row: what a rebuild need not embed again."""
        return {line[0]: line[1] for line in self._db.all("SELECT signature, row FROM leaf")}

    def close(self) -> None:
        """Close every idle connection; one in use is closed when it comes back."""
        self._db.close()

    def _where(self, sql: str, selection: Selection) -> list[tuple[Any, ...]]:
        condition, parameters = selection.condition()
        return self._db.all(sql.format(condition), parameters)


class _FrontMatter(Mapping[str, Any]):
    """A leaf's front matter, parsed when first looked into: of 140 candidates read, ten are shown with it."""

    __slots__ = ("_parsed", "_row", "_text")

    def __init__(self, row: int, text: str) -> None:
        self._row = row
        self._text = text
        self._parsed: dict[str, Any] | None = None

    def _all(self) -> dict[str, Any]:
        if self._parsed is None:
            self._parsed = _object(self._text, f"row {self._row}")
        return self._parsed

    def __getitem__(self, key: str) -> Any:
        return self._all()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"_FrontMatter({self._text!r})"


def _leaves(lines: Sequence[tuple[Any, ...]]) -> dict[int, Leaf]:
    """Row → leaf, of lines of the statement _LEAVES."""
    queries, tags = (_lists(lines, column) for column in (_QUERIES, _TAGS))
    found: dict[int, Leaf] = {}
    for line, asked, tagged in zip(lines, queries, tags, strict=True):
        values = list(line)
        values[_QUERIES], values[_TAGS] = tuple(asked), tuple(tagged)
        values[_FRONT_MATTER] = _FrontMatter(line[0], line[_FRONT_MATTER])
        found[line[0]] = Leaf(*values[1:])
    return found


def _lists(lines: Sequence[tuple[Any, ...]], column: int) -> list[list[str]]:
    """A column of JSON lists, decoded in one call, which takes a quarter of the time of one call each."""
    try:
        found: list[list[str]] = _parsed(f"[{','.join([line[column] for line in lines])}]")
    except ValueError:
        found = []
    if len(found) != len(lines) or not all(map(_is_texts, found)):
        row = next((line[0] for line in lines if not _holds_texts(line[column])), lines[0][0])
        raise ReleaseIncompatible(f"records: expected a list of texts as {_LEAF_COLUMNS[column - 1]} of row {row}")
    return found


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and _TEXT.issuperset(map(type, value))


def _holds_texts(text: str) -> bool:
    try:
        return _is_texts(_parsed(text))
    except ValueError:
        return False


def _source(line: tuple[Any, ...]) -> Source:
    directory, family, publisher, urn, path, front_matter, body = line
    return Source(directory, family, publisher, urn, path, _object(front_matter, f"source {directory!r}"), body)


def _object(text: str, where: str) -> dict[str, Any]:
    """Front matter. Raises ReleaseIncompatible."""
    try:
        found = _parsed(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ReleaseIncompatible(f"records: expected a JSON object as front_matter of {where}")
    return found


def _parsed(text: str) -> Any:
    """JSON whose values can be sent on. Raises ValueError: also for NaN, infinities, half characters and depth."""
    try:
        value = _DECODER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no number of JSON")
    return value


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def _check_kinds(names: Sequence[str], lines: Sequence[tuple[Any, ...]]) -> None:
    for place, (name, values) in enumerate(zip(names, zip(*lines, strict=True), strict=True)):
        kinds = _KINDS.get(name, _TEXT)
        if not kinds.issuperset(map(type, values)):
            _refuse(names, place, next(line for line in lines if type(line[place]) not in kinds))


def _refuse(names: Sequence[str], place: int, line: Sequence[Any]) -> NoReturn:
    """Say which value is of a wrong kind: by its row, where the line has one, else by what else the line says."""
    expected = "a number" if _KINDS.get(names[place]) is _NUMBER else "text"
    known = [f"{name} {value!r}" for name, value in zip(names, line, strict=True) if type(value) in (str, int)]
    where = next((each for each in known if each.startswith("row ")), known[0] if known else "a row")
    found = _CALLED[type(line[place])]
    raise ReleaseIncompatible(f"records: expected {expected} as {names[place]} of {where[:200]}, found {found}")


def _leaf_rows(leaves: Sequence[Leaf], signatures: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for row, (leaf, signature) in enumerate(zip(leaves, signatures, strict=True)):
        values = {name: getattr(leaf, name) for name in _LEAF_COLUMNS}
        values |= {name: _json(values[name]) for name in ("queries", "tags")}
        values["front_matter"] = _json(dict(leaf.front_matter))
        yield (row, *values.values(), signature)


def _source_rows(leaves: Sequence[Leaf], sources: Sequence[Source]) -> Iterator[tuple[Any, ...]]:
    counts: dict[str, int] = {}
    for leaf in leaves:
        counts[leaf.source] = counts.get(leaf.source, 0) + 1
    for source in sources:
        yield (
            source.directory, source.family, source.publisher, source.urn, source.path,
            _json(source.front_matter), source.body, counts.get(source.directory, 0),
        )  # fmt: skip


def _variable_rows(leaves: Sequence[Leaf]) -> Iterator[tuple[Any, ...]]:
    for row, leaf in enumerate(leaves):
        if leaf.code:
            yield (leaf.code, row, *coverage(leaf.front_matter.get("coverage")))


def _quantity_rows(leaves: Sequence[Leaf]) -> list[tuple[Any, ...]]:
    found: dict[tuple[str, ...], tuple[str, int]] = {}
    for leaf in leaves:
        key = _quantity_key(leaf.front_matter)
        if key:
            title, documents = found.get(key, (leaf.title, 0))
            found[key] = (min(title, leaf.title), documents + 1)
    return [(*key, title, documents) for key, (title, documents) in found.items()]


def _quantity_key(matter: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Population type, measured property, statistic, dimensions and variable, where a leaf names all of them."""
    names = [matter.get(key) for key in ("populationType", "measuredProperty", "statType", "variable")]
    if not all(isinstance(name, str) and name for name in names):
        return None
    return (*map(str, names[:3]), ",".join(dimensions(matter.get("constraints"))), str(names[3]))


def dimensions(constraints: object) -> list[str]:
    """The property names a variable is split by, sorted: the keys of a mapping, or the items of a list."""
    if isinstance(constraints, Mapping | list | tuple):
        return sorted({str(name) for name in constraints})
    return []


def coverage(value: object) -> tuple[int, int, int]:
    """Places, geographic levels and days that a leaf's `coverage` speaks of; 0 for what it does not say."""
    if not isinstance(value, Mapping):
        return (0, 0, 0)
    places = value.get("places")
    levels = value.get("levels")
    dates = value.get("dates")
    return (
        places if isinstance(places, int) and places > 0 else 0,
        len(levels) if isinstance(levels, list) else 0,
        _days(dates.get("first"), dates.get("last")) if isinstance(dates, Mapping) else 0,
    )


def _days(first: object, last: object) -> int:
    start, end = _day(first, (1, 1)), _day(last, (12, 31))
    return max(end - start, 0) if start and end else 0


def _day(date: object, rest: tuple[int, int]) -> int:
    """A number for `YYYY`, `YYYY-MM` or `YYYY-MM-DD` that orders and spans well enough: every month has 31 days.

    0 for what is no date.
    """
    given = [int(part) for part in str(date).split("-") if part.isdigit()][:3]
    if not given:
        return 0
    year, month, day = (*given, *rest[len(given) - 1 :])
    return year * 372 + month * 31 + day


# One encoder for all: `json.dumps` would make another for each value, which is a third of the time.
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=list).encode


def _json(value: object) -> str:
    return _ENCODE(value)
