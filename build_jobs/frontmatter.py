"""Front matter of an OKF file: found by its delimiter lines, parsed safely, made JSON-ready."""

from __future__ import annotations

import base64
import codecs
import datetime
import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from build_jobs.text import unwritable_removed

MOST_BYTES = 1_000_000
_SMALL_BYTES = 16_384
_MOST_VALUES = 100_000
_DEEPEST = 40

_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_CONVENTIONAL = {
    "about", "schema", "query", "dataset", "marketplace listing", "matching & caveats", "citations", "reference",
}  # fmt: skip

# libyaml parses ten times faster (0.06 ms a leaf against 0.57 ms), but PyYAML may be built without it.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """YAML's safe types; a date that is none stays the text it was written as."""

    def date(self, node: yaml.ScalarNode) -> object:
        try:
            return self.construct_yaml_timestamp(node)
        except ValueError:
            return node.value


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.date)


@dataclass(frozen=True, slots=True)
class Document:
    """One file: JSON-ready front matter, body, and what kept the front matter from being read (else None).

    `heading` is the first heading of the body that names anything: not `Schema`, not `About`.
    `digest` is the sha256 of the whole file's bytes; empty where they were not all read.
    """

    front_matter: dict[str, Any]
    body: str
    heading: str = ""
    unreadable: str | None = None
    digest: str = ""


class _UnreadableError(Exception):
    """Why front matter cannot be used; never leaves this module."""


def read_file(path: Path, known: Callable[[str], Document | None] = lambda _: None) -> Document:
    """Front matter and body of a file; never raises, `unreadable` says what was wrong. Reads at most 1 MB.

    A file without an opening delimiter is readable and has no front matter. `known` is asked with the digest of the
    file's bytes for what was read of the same ones before.
    """
    try:
        data = _first_bytes(path, MOST_BYTES + 1)
    except OSError as error:
        return Document({}, "", unreadable=f"cannot be read: {error.strerror}")
    digest = hashlib.sha256(data).hexdigest() if len(data) <= MOST_BYTES else ""
    return (known(digest) if digest else None) or replace(read_document(data), digest=digest)


def _first_bytes(path: Path, most: int) -> bytes:
    """The first bytes of a file. Most are small: room for a megabyte, and a buffer, cost more than reading them."""
    with path.open("rb", buffering=0) as file:
        data = b""
        while len(data) < most and (piece := file.read(min(most - len(data), _SMALL_BYTES))):
            data += piece
        return data


def read_document(data: bytes) -> Document:
    """What `read_file` says of a file that holds these bytes."""
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        return _unread("", "the file is empty")
    if len(data) > MOST_BYTES:
        return replace(_unread(data.decode("utf-8", "replace"), f"more than {MOST_BYTES:,} bytes"), body="")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _unread(data.decode("utf-8", "replace"), f"not UTF-8 at byte {error.start}")
    return _read(text)


def _unread(text: str, reason: str) -> Document:
    body = _split(text)[1]
    return Document({}, body, heading_of(body), reason)


def _read(text: str) -> Document:
    head, body = _split(text)
    try:
        return Document(_mapping(head), body, heading_of(body))
    except _UnreadableError as error:
        return Document({}, body, heading_of(body), str(error))


def _split(text: str) -> tuple[str | None, str]:
    """The text between the first two delimiter lines (None where the second is missing), and what follows.

    Only a whole line `---` is a delimiter: slugs and values may hold three hyphens.
    """
    lines = unwritable_removed(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")).split("\n")
    if lines[0].rstrip() != "---":
        return "", "\n".join(lines)
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]).removeprefix("\n")
    return None, "\n".join(lines[1:])


def heading_of(body: str) -> str:
    """The first heading of a body that names anything; empty where none does."""
    found = (" ".join(match[1].split()) for match in _HEADING.finditer(body))
    return next((heading for heading in found if heading.casefold() not in _CONVENTIONAL), "")


def _mapping(head: str | None) -> dict[str, Any]:
    if head is None:
        raise _UnreadableError("the front matter has no closing `---` line")
    try:
        parsed = _parsed(head)
    except yaml.YAMLError as error:
        raise _UnreadableError(f"broken YAML: {_where(error)}") from error
    except (ValueError, RecursionError, OverflowError) as error:
        raise _UnreadableError(f"broken YAML: {type(error).__name__}") from error
    if parsed is None:
        return {}
    if not isinstance(parsed, dict):
        raise _UnreadableError("front matter is not a mapping")
    ready = _Ready().value(parsed, 0)
    return ready if isinstance(ready, dict) else {}


def _parsed(head: str) -> object:
    loader = _Loader(head)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _where(error: yaml.YAMLError) -> str:
    problem = getattr(error, "problem", None) or "not YAML"
    mark = getattr(error, "problem_mark", None)
    return f"{problem} (line {mark.line + 2})" if mark else str(problem)


class _Ready:
    """Turns parsed YAML into JSON values. Aliases may make a small file enormous, so values are counted."""

    def __init__(self) -> None:
        self._values = 0

    def value(self, value: object, depth: int) -> Any:
        self._values += 1
        if self._values > _MOST_VALUES or depth > _DEEPEST:
            raise _UnreadableError("front matter expands beyond any leaf")
        if isinstance(value, dict):
            return {_key(key): self.value(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.value(item, depth + 1) for item in value]
        return _scalar(value)


def _key(key: object) -> str:
    scalar = _scalar(key)
    return scalar if isinstance(scalar, str) else str(scalar)


def _scalar(value: object) -> Any:
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return unwritable_removed(value) if isinstance(value, str) else value
