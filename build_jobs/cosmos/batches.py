"""Documents in batches that the service takes: each is written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shared.errors import ReleaseIncompatible
from shared.index.cosmos_documents import MOST_ITEM_BYTES, Document, wire_bytes
from shared.index.items import IDS_ROLE

MOST_OPERATIONS = 100
# The service takes 2 MB a batch, and gives it 5 seconds: half of that leaves it room for both.
MOST_BATCH_BYTES = 1_000_000


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


def batches(documents: Iterable[Document]) -> Iterator[Batch]:
    """The documents in their order, in as few batches as that takes.

    Raises ReleaseIncompatible for one that the service would not take: no release lists such a document, but for those
    that were built when they did not say what is too large.
    """
    batch = Batch()
    for document in documents:
        size = wire_bytes(document)
        if size > MOST_ITEM_BYTES:
            raise ReleaseIncompatible(
                f"{IDS_ROLE}: lists {document['item']}, which is too large for Cosmos DB ({size:,} bytes): another"
                " version of this program listed it; build with --force"
            )
        if not batch.has_room(size):
            yield batch
            batch = Batch()
        batch.add(document, size)
    if batch.documents:
        yield batch
