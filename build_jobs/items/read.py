"""Records out of files: JSON Lines, lists, `@graph` and `items`, plain or compressed, each with where it stood."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from shared.contracts.items import Json
from shared.errors import BuildError

MAX_LINE_BYTES = 20 * 1024 * 1024
"""The longest line, and the largest page, that is read: a recipe page of 5 MB is one, a gigabyte is none."""

_DEEPEST = 60
_TOLD_OF_OTHERS = frozenset({
    "@type", "@id", "name", "url", "contentUrl", "price", "priceCurrency", "ratingValue", "ratingCount", "reviewCount",
})  # fmt: skip

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_LINES = frozenset({".jsonl", ".ndjson", ".jsonlines"})
_RECORDS = _LINES | {".json", ".jsonld"}


@dataclass(frozen=True, slots=True)
class Read:
    """One record, or the reason why there is none (`record` is None then). `where` is `<file>:<line or place>`."""

    where: str
    record: Json | None
    problem: str = ""


def is_records(path: Path) -> bool:
    """Whether a file's name says that it holds records."""
    return suffix_of(path) in _RECORDS


def suffix_of(path: Path) -> str:
    """The suffix that says what a file holds, below that of its compression; in lower case."""
    bare = path.with_suffix("") if path.suffix.lower() in _OPENERS else path
    return bare.suffix.lower()


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, uncompressed as they are read. Raises BuildError where it cannot be opened."""
    opener = _OPENERS.get(path.suffix.lower(), open)
    try:
        found: IO[bytes] = opener(path, "rb")
    except OSError as error:
        raise BuildError(f"{path}: {error.strerror or error}") from error
    return found


def read_records(path: Path) -> Iterator[Read]:
    """Every record of a file, and everything in it that is none. Raises BuildError where the file cannot be read."""
    try:
        with open_bytes(path) as file:
            yield from _lines(file, path.name) if suffix_of(path) in _LINES else _document(file, path.name)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise BuildError(f"{path}: cut short or not what its name says: {error}") from error


def _lines(file: IO[bytes], name: str) -> Iterator[Read]:
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        where = f"{name}:{number}"
        if len(line) > MAX_LINE_BYTES:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE_BYTES)
            yield Read(where, None, f"a line of more than {MAX_LINE_BYTES >> 20} MB")
        elif line.strip():
            yield from parsed(line, where)


def _document(file: IO[bytes], name: str) -> Iterator[Read]:
    """One JSON document; a file that is named .json, but holds a record a line, is read as such."""
    content = file.read()
    found = list(parsed(content, name))
    if len(found) == 1 and found[0].problem:
        numbered = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
        lines = [read for number, line in numbered for read in parsed(line, f"{name}:{number}")]
        if any(read.record is not None for read in lines):
            found = lines
    yield from found


def parsed(content: bytes | str, where: str) -> Iterator[Read]:
    """The records of one JSON text: an object, a list, or what an object holds under `@graph` or `items`."""
    try:
        value = json.loads(content, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        yield Read(f"{where}: {str(error)[:80]}", None, "no JSON")
        return
    if _is_deep(value):
        yield Read(where, None, f"nested deeper than {_DEEPEST} levels")
        return
    yield from _records(value, where)


def _is_deep(value: object) -> bool:
    """Whether a value nests deeper than any record does: what reads it recurses."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            member
            for one in level
            if isinstance(one, dict | list)
            for member in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _records(value: object, where: str) -> Iterator[Read]:
    inner = _members(value)
    nodes = {one["@id"]: one for one in inner or () if isinstance(one, dict) and isinstance(one.get("@id"), str)}
    if inner is None:
        yield Read(where, value) if isinstance(value, dict) else Read(where, None, "neither an object nor a list")
        return
    for place, member in enumerate(inner):
        at = f"{where}[{place}]"
        yield Read(at, _linked(member, nodes)) if isinstance(member, dict) else Read(at, None, "not an object")


def _linked(record: Json, nodes: dict[str, Json]) -> Json:
    """The record with its bare references to others read: what a card shows of another thing is its type and name."""
    return {name: _followed(value, nodes) for name, value in record.items()} if nodes else record


def _followed(value: Any, nodes: dict[str, Json]) -> Any:
    if isinstance(value, list):
        return [_followed(member, nodes) for member in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"@id"} and isinstance(value["@id"], str) and value["@id"] in nodes:
        return {name: told for name, told in nodes[value["@id"]].items() if name in _TOLD_OF_OTHERS}
    return _linked(value, nodes)


def _members(value: object) -> list[object] | None:
    """What a list holds, or an object that is no record itself; None for a record."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and "@type" not in value and "schema_object" not in value:
        return next((value[key] for key in ("@graph", "items") if isinstance(value.get(key), list)), None)
    return None
