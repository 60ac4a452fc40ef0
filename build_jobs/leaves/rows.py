"""Rows of a publisher's catalog: JSON Lines from a file (.xz, .gz or plain) or from standard input."""

from __future__ import annotations

import gzip
import json
import lzma
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from build_jobs.text import clean
from shared.errors import BuildError

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line that is no usable row, and why."""

    line: int
    reason: str


class RowError(BuildError):
    """A row that its family cannot make a leaf of; the message is the reason."""


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


def read_rows(source: str) -> Iterator[tuple[int, Row | BadRow]]:
    """Each non-blank line of `source` (`-` is standard input) with its number, as a row or as what is wrong with it.

    Raises BuildError where the file cannot be opened, or where its compression is broken.
    """
    with _opened(source) as stream:
        try:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, _parsed(number, line)
        except (lzma.LZMAError, EOFError, gzip.BadGzipFile) as error:
            raise BuildError(f"{source}: not a readable {Path(source).suffix} file ({error})") from error


def _parsed(number: int, line: bytes) -> Row | BadRow:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return BadRow(number, "not UTF-8")
    except (ValueError, RecursionError):
        return BadRow(number, "not JSON")
    return row if isinstance(row, dict) else BadRow(number, "not a JSON object")


def identity(row: Row) -> tuple[str, str]:
    """A row's published id and its title. Raises RowError where one is missing."""
    code, title = clean(row.get("id")), clean(row.get("title")).rstrip(".")
    if not code:
        raise RowError("no id")
    if not title:
        raise RowError("no title")
    return code, title
