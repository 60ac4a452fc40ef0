"""Reading a catalog: rows of ours, one JSON object a line, or a file as its publisher serves it.

What a file is, its first line says: JSON, a table with a header, or markup. A file that is none of what a family
reads, and one whose records have lost a field that they must have, is refused as a whole before a leaf is written.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast
from xml.etree import ElementTree as ET

from build_jobs.leaves.rows import BadRow, Located, NoMeasure, RowError
from build_jobs.leaves.shapes import Record, Shape, column_key, columns_text, outline
from build_jobs.text import clean
from shared.errors import BuildError

ROWS = "rows of JSON, one a line, each with id and title"
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_HTML = re.compile(rb"<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_HEAD_BYTES = 4_096
_MARKDOWN_RULE = re.compile(r"^[\s|:-]+$")
_LARGEST_FIELD = 1_000_000


@dataclass(slots=True)
class Reading:
    """What came of the files beside the rows: records that are no measures, by reason, and what should be known."""

    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def read(sources: Sequence[str], shapes: Sequence[Shape], reading: Reading) -> Iterator[Located | BadRow]:
    """Every row of the files (`-` is standard input), or what is wrong with it, in order.

    Raises BuildError for a file that cannot be opened, is none of the shapes, or has changed its schema: it names
    what was expected and what was found.
    """
    for source in sources:
        yield from _File(source, shapes, reading, source if len(sources) > 1 else "").rows()


@contextmanager
def _opened(source: str) -> Iterator[BinaryIO]:
    if source == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = _stream(source)
    except OSError as error:
        raise BuildError(f"{source}: {error.strerror}") from error
    with stream:
        yield stream


def _stream(source: str) -> BinaryIO:
    match Path(source).suffix:
        case ".xz":
            return cast(BinaryIO, lzma.open(source, "rb"))
        case ".gz":
            return cast(BinaryIO, gzip.open(source, "rb"))
        case _:
            return Path(source).open("rb")


class _File:
    """One file being read. `label` names it in what is said of its rows; empty where it is the only one."""

    def __init__(self, source: str, shapes: Sequence[Shape], reading: Reading, label: str) -> None:
        self._source = source
        self._shapes = shapes
        self._reading = reading
        self._label = label
        self._pages: dict[str, list[bool]] = {}

    def rows(self) -> Iterator[Located | BadRow]:
        with _opened(self._source) as stream:
            try:
                yield from self._rows(stream)
            except (lzma.LZMAError, EOFError, gzip.BadGzipFile) as error:
                suffix = Path(self._source).suffix
                raise BuildError(f"{self._source}: not a readable {suffix} file ({error})") from error
        for name, pages in self._pages.items():
            if all(pages):
                self._reading.notes.append(f"{self._source}: every page of {name} says that another follows")

    def _rows(self, stream: BinaryIO) -> Iterator[Located | BadRow]:
        number, first = 0, b""
        for first in stream:
            number += 1
            if first.strip():
                break
        start = first.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if start == b"<":
            yield from self._markup(first, stream)
        elif start in (b"{", b"["):
            yield from self._json(number, first, stream)
        elif self._tables and first.strip():
            yield from self._table(first, stream)
        elif first.strip():
            yield from self._lines(chain([(number, first)], enumerate(stream, number + 1)))

    @property
    def _tables(self) -> list[Shape]:
        return [shape for shape in self._shapes if shape.is_table]

    # JSON

    def _json(self, number: int, first: bytes, stream: BinaryIO) -> Iterator[Located | BadRow]:
        """Lines where the first is a whole document; else one document over many lines, else broken lines."""
        document = _parsed(number, first)
        if not isinstance(document, BadRow):
            self._refuse_foreign(document)
            yield from self._lines(chain([(number, first)], enumerate(stream, number + 1)))
            return
        rest = stream.read()
        whole = _parsed(number, first + rest)
        if isinstance(whole, BadRow):
            if not any(isinstance(_parsed(0, line), dict) for line in rest.splitlines()):
                raise BuildError(self._unexpected("JSON that is broken, or was cut short"))
            yield from self._lines(chain([(number, first)], enumerate(io.BytesIO(rest), number + 1)))
            return
        self._refuse_foreign(whole)
        yield from self._parsed_line(1, whole)

    def _refuse_foreign(self, document: Any) -> None:
        """Refuse a file whose first document is nothing that this family reads, well or badly written."""
        if not _is_row(document) and not _is_almost_row(document) and self._document(document, 1) is None:
            raise BuildError(self._unexpected(outline(document)))

    def _lines(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[Located | BadRow]:
        for number, line in lines:
            if line.strip():
                yield from self._line(number, line)

    def _line(self, number: int, line: bytes) -> Iterator[Located | BadRow]:
        parsed = _parsed(number, line)
        if isinstance(parsed, BadRow):
            yield BadRow(number, parsed.reason, self._label)
        else:
            yield from self._parsed_line(number, parsed)

    def _parsed_line(self, number: int, parsed: Any) -> Iterator[Located | BadRow]:
        if _is_row(parsed):
            yield Located(number, parsed, self._label)
        elif (found := self._document(parsed, number)) is not None:
            self._page(parsed)
            yield from found
        elif isinstance(parsed, dict):
            yield Located(number, parsed, self._label)
        else:
            yield BadRow(number, "not a JSON object", self._label)

    def _document(self, document: Any, line: int) -> Iterator[Located | BadRow] | None:
        """The rows of a publisher's document: numbered within it, or where it is a lone record by its line."""
        for shape in self._shapes:
            records = shape.find(document) if shape.find else None
            if records is not None:
                self._check(shape, records)
                start = line if len(records) == 1 and records[0] is document else 1
                return self._records(shape, enumerate(records, start))
        if isinstance(document, list) and document and all(map(_is_row, document)):
            return (Located(number, row, self._label) for number, row in enumerate(document, 1))
        return None

    def _page(self, document: Any) -> None:
        """Remember of a page whether it says that another follows."""
        for shape in self._shapes:
            if shape.goes_on and shape.find and shape.find(document) is not None:
                self._pages.setdefault(shape.name, []).append(shape.goes_on(document))
                return

    def _check(self, shape: Shape, records: Sequence[Any]) -> None:
        """Refuse records of which not one has a field that all must have: the publisher has changed its schema."""
        names = {name for record in records if isinstance(record, dict) for name in record}
        missing = shape.missing(sorted(names)) if records else []
        if missing:
            raise BuildError(
                f"{self._source}: its schema is another one: expected {shape};"
                f" found no {', '.join(missing)} in {outline(records)}"
            )

    def _records(self, shape: Shape, records: Iterator[tuple[int, Any]]) -> Iterator[Located | BadRow]:
        for number, record in records:
            row = self._row(shape, number, record)
            if row is not None:
                yield row

    def _row(self, shape: Shape, number: int, record: Any) -> Located | BadRow | None:
        if not isinstance(record, dict):
            return BadRow(number, "not a JSON object", self._label)
        try:
            row = shape.row(record)
        except RowError as refusal:
            return BadRow(number, refusal.message, self._label)
        except NoMeasure as refusal:
            self._reading.skipped[refusal.message] += 1
            return None
        return Located(number, row, self._label, published=True)

    # Tables

    def _table(self, first: bytes, stream: BinaryIO) -> Iterator[Located | BadRow]:
        if first.startswith(b"#"):  # a Markdown page: its table comes below headings and prose
            first = next((line for line in stream if line.lstrip().startswith(b"|")), first)
        head = self._decoded(1, first)
        lines = chain([head], (self._decoded(number, line) for number, line in enumerate(stream, 2)))
        reader = _cells(head, lines)
        try:
            names = [column_key(name) for name in next(reader, [])]
            shape = next((each for each in self._tables if not each.missing(names)), None)
            if shape is None:
                raise BuildError(self._unexpected(columns_text(names)))
            yield from self._records(shape, _table_records(names, reader))
        except csv.Error as error:
            raise BuildError(f"{self._source}: not a readable table ({error})") from error

    def _decoded(self, number: int, line: bytes) -> str:
        """A line as UTF-8, else as Windows-1252, which spreadsheets write; what was read so is noted once."""
        try:
            return line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            note = f"{self._source}: not UTF-8, read as Windows-1252"
            if note not in self._reading.notes:
                self._reading.notes.append(note)
            return line.decode("cp1252", "replace")

    # Markup

    def _markup(self, first: bytes, stream: BinaryIO) -> Iterator[Located | BadRow]:
        data = first + stream.read()
        shapes = {shape.element: shape for shape in self._shapes if shape.element}
        if not shapes or _HTML.search(data[:_HEAD_BYTES]):
            raise BuildError(self._unexpected(_page_text(data)))
        try:
            root = ET.fromstring(data)  # noqa: S314 - expat itself bounds what entities may expand to
        except ET.ParseError as error:
            raise BuildError(f"{self._source}: not well-formed XML ({error})") from error
        found = {name: [_attributes(each) for each in root.iter() if _local(each.tag) == name] for name in shapes}
        if not any(found.values()):
            raise BuildError(self._unexpected(f"XML with the root {_local(root.tag)}"))
        for name, records in found.items():
            if records:
                self._check(shapes[name], records)
                yield from self._records(shapes[name], enumerate(records, 1))

    def _expected(self) -> str:
        return " or ".join([*map(str, self._shapes), ROWS])

    def _unexpected(self, found: str) -> str:
        return f"{self._source}: expected {self._expected()}; found {found}"


def _is_row(value: Any) -> bool:
    """A row of ours: it has both id and title, or names the directory that it belongs to."""
    return isinstance(value, dict) and ("directory" in value or ("id" in value and "title" in value))


def _is_almost_row(value: Any) -> bool:
    """A row of ours that lacks its id or its title: a bad row, in a file that is none of a publisher's."""
    return isinstance(value, dict) and not {"id", "title"}.isdisjoint(value)


def _parsed(number: int, data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return BadRow(number, "not UTF-8")
    except (ValueError, RecursionError):
        return BadRow(number, "not JSON")


def _cells(head: str, lines: Iterator[str]) -> Iterator[list[str]]:
    """The cells of each line: of a Markdown table where the first line begins with a bar, else of TSV or CSV."""
    if head.lstrip().startswith("|"):
        return (
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in lines
            if line.strip().startswith("|") and not _MARKDOWN_RULE.match(line)
        )
    csv.field_size_limit(_LARGEST_FIELD)
    # A tab-separated file of the SEC has bare quotation marks in its texts, and no quoting.
    if "\t" in head:
        return csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    return csv.reader(lines)


def _table_records(names: Sequence[str], cells: Iterator[list[str]]) -> Iterator[tuple[int, Record]]:
    """Each line that holds anything, by column; a header that is repeated further down is none."""
    for number, values in enumerate(cells, 1):
        if any(value.strip() for value in values) and list(map(column_key, values)) != list(names):
            yield number, dict(zip(names, values, strict=False))


def _attributes(element: ET.Element) -> Record:
    return {_local(name): value for name, value in element.attrib.items()}


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _page_text(data: bytes) -> str:
    title = _TITLE.search(data)
    named = clean(title[1].decode("utf-8", "replace"))[:80] if title else ""
    kind = "an HTML page" if _HTML.search(data[:_HEAD_BYTES]) else "markup"
    return f"{kind} titled {named!r}" if named else kind
