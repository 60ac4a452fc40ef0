"""An item as a document of Cosmos DB, and the ids of a release's documents.

A document's id says what it holds, so a document never changes: another record or vector is another document beside
it. The release lists its ids, row by row (`cosmos_ids` finds them); whoever loads it writes those that are not there,
and whoever reads drops what is not in the list of its own release. So any number of releases can lie in one container,
and nobody ever sees a mix of two.

The service does not take every item. One that is too large has no document: its id in the list is empty, so that who
loads, who checks and who reads agree on what can be there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.contracts.items import Item, Value
from shared.errors import ReleaseIncompatible
from shared.index.items import FIELDS, IDS_ROLE, VECTOR_ROLES, Items
from shared.index.scan import Float16, Vectors, open_array

Document = dict[str, Any]
Ids = npt.NDArray[np.bytes_]

# 16 hex digits of the item's id, to tell documents of one item from others by looking; 24 of what it holds.
_KEY_DIGITS, _DIGEST_DIGITS = 16, 24
_ID_BYTES = _KEY_DIGITS + 1 + _DIGEST_DIGITS
_ITEMS_AT_ONCE = 500

MOST_ITEM_BYTES = 2_000_000
"""An item may have 2 MB, counted with the properties that the service adds."""

NUMBER_BYTES = 16
"""More than a number of a vector takes as JSON, with the comma behind it."""

# What a batch says around each document, and the name of a partition at its longest: whether an item is too large is
# known before the release has a name.
_OPERATION_BYTES, _PARTITION_BYTES = 64, 64
# More than `id` and the names of the vectors take.
_NAMES_BYTES = 256


def document_id(item: Item, facts: Mapping[str, Value], vectors: Sequence[Float16]) -> str:
    """`<key>~<digest>`, 41 ASCII characters: whose document it is, and all that the document holds.

    `vectors` are a row of each of FIELDS, zeros for a field that says nothing.
    """
    return _id(item, _said(_contents(item, facts)), vectors)


def document(kind: str, item: Item, facts: Mapping[str, Value], vectors: Sequence[Float16]) -> Document:
    """The document of an item, JSON-ready. A field that says nothing has no vector: nothing is ever near to it.

    A vector's numbers are written as short as float32 takes them, so that the service holds the very numbers that lie
    in the release: 12 bytes each, where the float16 as a double takes 18.
    """
    contents = _contents(item, facts)
    filled = {f"{name}_v": numbers(row) for name, row in zip(FIELDS, vectors, strict=True) if row.any()}
    return {"id": _id(item, _said(contents), vectors), "site": kind, **contents, **filled}


def documents(kind: str, records: Items, matrices: Sequence[Float16], rows: Sequence[int]) -> Iterator[Document]:
    """The documents of these rows of a release, in their order. Raises ReleaseIncompatible for a row it has not."""
    for item, facts, vectors in _told(records, matrices, rows):
        yield document(kind, item, facts, vectors)


def ids(records: Items, matrices: Sequence[Float16], rows: int) -> Ids:
    """The ids of a release's documents, row by row; empty for an item that is too large for Cosmos DB."""
    told = _told(records, matrices, range(rows))
    return np.array([_listed_id(*each).encode("ascii") for each in told], dtype=f"S{_ID_BYTES}")


def wire_bytes(document: Document) -> int:
    """What a document takes in a batch at most, as the client writes it; the same in whichever partition it lies."""
    text = json.dumps({**document, "site": ""}, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode()) + _OPERATION_BYTES + _PARTITION_BYTES


def write_ids(path: Path, records: Items, paths: Mapping[str, Path], rows: int) -> None:
    """Write the ids of a release from its other files: as an item comes back from them, so it will be loaded."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, ids(records, matrices_of(paths), rows), allow_pickle=False)


def read_ids(path: Path, rows: int) -> Ids:
    """The ids of a release, mapped; empty for an item that can have no document.

    Raises ReleaseIncompatible where they are not one a row, no two alike.
    """
    found = open_array(path, IDS_ROLE, dtype=f"|S{_ID_BYTES}", ndim=1)
    if len(found) != rows:
        raise ReleaseIncompatible(f"{IDS_ROLE}: expected {rows} ids, found {len(found)}")
    listed = found[found != b""]
    if len(np.unique(listed)) != len(listed):
        raise ReleaseIncompatible(f"{IDS_ROLE}: expected no two ids alike")
    return found


def matrices_of(paths: Mapping[str, Path]) -> list[Float16]:
    """The mapped vectors of a release, a matrix each of FIELDS."""
    return [Vectors(paths[role], role).array for role in VECTOR_ROLES]


def numbers(vector: Float16) -> list[float]:
    """A vector as the shortest decimals that float32 reads as the same numbers."""
    shortest = _shortest()
    return [shortest[bits] for bits in np.ascontiguousarray(vector, "<f2").view("<u2").tolist()]


@cache
def _shortest() -> list[float]:
    """All 65,536 of them, since taking them from a table is 8 times as fast as finding each one's decimals."""
    every = np.arange(1 << 16, dtype="<u2").view("<f2").astype(np.float32)
    return [float(str(each)) for each in every]


def _told(
    records: Items, matrices: Sequence[Float16], rows: Sequence[int]
) -> Iterator[tuple[Item, Mapping[str, Value], list[Float16]]]:
    for start in range(0, len(rows), _ITEMS_AT_ONCE):
        some = rows[start : start + _ITEMS_AT_ONCE]
        items, facts = records.items(some), records.facts(some)
        for row in some:
            if row not in items:
                raise ReleaseIncompatible(f"records: expected an item in row {row}, found none")
            yield items[row], facts.get(row, {}), [matrix[row] for matrix in matrices]


def _contents(item: Item, facts: Mapping[str, Value]) -> Document:
    return {
        "item": item.id,
        "url": item.url,
        "name": item.name,
        "collection": item.site,
        "record": item.record,
        "facts": {name: list(value) if isinstance(value, tuple) else value for name, value in facts.items()},
    }


def _said(contents: Document) -> bytes:
    return json.dumps(contents, sort_keys=True, ensure_ascii=False).encode()


def _listed_id(item: Item, facts: Mapping[str, Value], vectors: Sequence[Float16]) -> str:
    """Empty for an item that is too large. Nearly all are so small that their vectors need not be written out."""
    said = _said(_contents(item, facts))
    most = len(said) + NUMBER_BYTES * sum(map(len, vectors)) + _NAMES_BYTES + _OPERATION_BYTES + _PARTITION_BYTES
    if most > MOST_ITEM_BYTES and wire_bytes(document("", item, facts, vectors)) > MOST_ITEM_BYTES:
        return ""
    return _id(item, said, vectors)


def _id(item: Item, said: bytes, vectors: Sequence[Float16]) -> str:
    digest = hashlib.sha256(said)
    for vector in vectors:
        digest.update(np.ascontiguousarray(vector, "<f2").tobytes())
    key = hashlib.sha256(item.id.encode()).hexdigest()[:_KEY_DIGITS]
    return f"{key}~{digest.hexdigest()[:_DIGEST_DIGITS]}"
