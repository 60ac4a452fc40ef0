"""Documents in batches that the service takes: each is written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shared.index.cosmos_documents import Document

MOST_OPERATIONS = 100
# The service takes 2 MB a batch, and gives it 5 seconds: half of that leaves it room for both.
MOST_BATCH_BYTES = 1_000_000
# An item may have 2 MB itself, counted with the properties that the service adds.
MOST_ITEM_BYTES = 2_000_000
# What a batch says around each document.
_OPERATION_BYTES = 64


@dataclass(slots=True)
class Batch:
    """Documents that are written together, and how many bytes they take on the wire."""

    documents: list[Document] = field(default_factory=list)
    bytes: int = 0

    def has_room(self, size: int) -> bool:
        """Whether one more of so many bytes fits in. The first one always does."""
        if not self.documents:
            return True
        return len(self.documents) < MOST_OPERATIONS and self.bytes + size <= MOST_BATCH_BYTES

    def add(self, document: Document, size: int) -> None:
        self.documents.append(document)
        self.bytes += size


def batches(documents: Iterable[Document], too_large: dict[str, str]) -> Iterator[Batch]:
    """The documents in their order, in as few batches as that takes.

    Those that the service would not take at all are in no batch: `too_large` is given their id and their item's.
    """
    batch = Batch()
    for document in documents:
        size = wire_bytes(document)
        if size > MOST_ITEM_BYTES:
            too_large[document["id"]] = document["item"]
            continue
        if not batch.has_room(size):
            yield batch
            batch = Batch()
        batch.add(document, size)
    if batch.documents:
        yield batch


def wire_bytes(document: Document) -> int:
    """What a document takes in a batch, as the client writes it."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode()) + _OPERATION_BYTES
