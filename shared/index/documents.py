"""documents.db: the files of a catalog as their publishers wrote them, byte for byte.

Small documents that lie side by side are much alike, so they are compressed in blocks of about 64 KB: 23,455 leaves,
21.9 MB, take 2.0 MB so and 10.7 MB one by one; reading one takes 0.3 ms. Only what shows whole files fetches this.

Documents are numbered: row i of records.db is document i, and the access documents follow in the order of their
directories' names.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import Struct

from shared.errors import ReleaseIncompatible

_SCHEMA = "CREATE TABLE block (first INTEGER PRIMARY KEY, lengths TEXT NOT NULL, data BLOB NOT NULL);"
_BLOCK_BYTES = 65_536


def write_documents(path: Path, documents: Iterable[bytes | None]) -> None:
    """Write documents.db. Documents come in the order of their numbers; None is one whose bytes are not kept."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=4096;" + _SCHEMA)
        db.execute("BEGIN")
        db.executemany("INSERT INTO block VALUES (?, ?, ?)", map(_packed, _blocks(documents)))
        db.execute("COMMIT")


class Documents:
    """The documents of one catalog, read only, safe to share between threads and across a fork.

    Each read opens the file anew: it takes 0.2 ms, and no connection waits for the next one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self, documents: int) -> None:
        """Compare the number of documents with the records'. Raises ReleaseIncompatible."""
        last = self._one("SELECT first, lengths FROM block ORDER BY first DESC LIMIT 1")
        found = last[0] + len(_lengths(last[1])) if last else 0
        if found != documents:
            raise ReleaseIncompatible(f"documents: expected {documents} documents, found {found}")

    def every(self) -> Iterator[bytes | None]:
        """All documents in the order of their numbers, each block unpacked once."""
        with closing(self._connection()) as db:
            for first, lengths, data in db.execute("SELECT first, lengths, data FROM block ORDER BY first"):
                block = _Block.of(first, lengths, data)
                yield from (block.document(place) for place in range(len(block.lengths)))

    def read(self, number: int) -> bytes | None:
        """The bytes of a document; None where they were not kept. Raises ReleaseIncompatible."""
        block = self._one("SELECT first, lengths, data FROM block WHERE first <= ? ORDER BY first DESC LIMIT 1", number)
        if block is None:
            raise ReleaseIncompatible(f"documents: expected a block with document {number}, found none")
        return _Block.of(*block).document(number - block[0])

    def _connection(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)

    def _one(self, sql: str, *parameters: int) -> Any:
        try:
            with closing(self._connection()) as db:
                return db.execute(sql, parameters).fetchone()
        except sqlite3.DatabaseError as error:
            raise ReleaseIncompatible(f"documents: expected blocks of documents, found {error}") from error


class _Block(Struct, frozen=True):
    """One block, unpacked: documents one behind the other, and the length of each, None for one that was not kept."""

    lengths: Sequence[int | None]
    data: bytes

    @classmethod
    def of(cls, first: int, lengths: str, data: bytes) -> _Block:
        """From a line of the table. Raises ReleaseIncompatible where it does not hold what it says."""
        said = _lengths(lengths)
        block = cls(said, _unpacked(data, sum(length or 0 for length in said)))
        if sum(length or 0 for length in said) != len(block.data):
            raise ReleaseIncompatible(f"documents: block {first} does not hold what it says")
        return block

    def document(self, place: int) -> bytes | None:
        """The document at this place of the block."""
        if not 0 <= place < len(self.lengths):
            raise ReleaseIncompatible(f"documents: expected a document {place} in its block, found none")
        length = self.lengths[place]
        start = sum(before or 0 for before in self.lengths[:place])
        return None if length is None else self.data[start : start + length]


def _blocks(documents: Iterable[bytes | None]) -> Iterator[tuple[int, list[bytes | None]]]:
    """Documents side by side, about 64 KB at a time, each block with the number of its first."""
    first, block, size = 0, list[bytes | None](), 0
    for document in documents:
        block.append(document)
        size += len(document or b"")
        if size >= _BLOCK_BYTES:
            yield first, block
            first, block, size = first + len(block), [], 0
    if block:
        yield first, block


def _packed(numbered: tuple[int, list[bytes | None]]) -> tuple[int, str, bytes]:
    first, block = numbered
    lengths = [None if document is None else len(document) for document in block]
    whole = b"".join(document or b"" for document in block)
    return first, json.dumps(lengths, separators=(",", ":")), zlib.compress(whole, 9)


def _lengths(text: str) -> list[int | None]:
    """What a line says of its documents. Raises ReleaseIncompatible for anything but lengths."""
    try:
        lengths = json.loads(text)
    except ValueError:
        lengths = None
    if not isinstance(lengths, list) or not all(each is None or (type(each) is int and each >= 0) for each in lengths):
        raise ReleaseIncompatible(f"documents: expected lengths of documents, found {text[:40]!r}")
    return lengths


def _unpacked(data: bytes, size: int) -> bytes:
    """As much of a block as it says it holds, and one byte more: a small one could unpack to more than memory has."""
    try:
        return zlib.decompressobj().decompress(data, size + 1)
    except zlib.error as error:
        raise ReleaseIncompatible(f"documents: expected compressed blocks, found {error}") from error
