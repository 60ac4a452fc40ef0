"""One site's partition of the container: what lies there, writing to it and removing from it, and what that takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from shared.errors import StoreChanged, StoreError, StoreMissing, StoreRefused
from shared.index.cosmos_client import failures
from shared.index.cosmos_documents import Document

if TYPE_CHECKING:
    from shared.index.cosmos_client import Container

_CHARGE_HEADER = "x-ms-request-charge"
_PAGE = 1_000
# What is written twice is the same document, so a request whose fate is unknown is simply sent again.
_WAITS_S = (0.5, 2.0, 8.0, 30.0)
_MOST_DELETED = 100

_T = TypeVar("_T")
Sleep = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Stamp:
    """When a document was written last, in seconds since 1970 by the service's clock, and the version that is."""

    written_at: int
    etag: str


class Partition:
    """The documents of one site. Counts the request units of everything it is asked to do."""

    def __init__(self, container: Container, name: str, sleep: Sleep = time.sleep) -> None:
        self._container = container
        self._name = name
        self._sleep = sleep
        self.units = 0.0

    def listing(self) -> dict[str, Stamp]:
        """Every document's id, and when it was written. Raises StoreError."""
        return self._again(self._listed)

    def write(self, documents: Sequence[Document]) -> None:
        """All of them or none; what is there already stays as it is, with a new stamp. Raises StoreError."""
        self._again(lambda: self._batch([("upsert", (document,)) for document in documents]))

    def remove(self, stamps: Mapping[str, Stamp]) -> int:
        """Remove documents that nobody has written since they were listed. Returns how many. Raises StoreError."""
        removed = 0
        for some in _parts(sorted(stamps), _MOST_DELETED):
            removed += self._again(partial(self._removed, {each: stamps[each] for each in some}))
        return removed

    def read(self, ids: Sequence[str]) -> dict[str, Document]:
        """These documents as they lie there, without what the service adds. Raises StoreError."""

        def read() -> list[Any]:
            return list(self._container.read_items([(each, self._name) for each in ids], response_hook=self._charged))

        found = self._again(read)
        return {each["id"]: {name: value for name, value in each.items() if name[0] != "_"} for each in found}

    def _listed(self) -> dict[str, Stamp]:
        rows = self._container.query_items(
            "SELECT c.id, c._ts, c._etag FROM c",
            partition_key=self._name,
            max_item_count=_PAGE,
            response_hook=self._charged,
        )
        return {row["id"]: Stamp(int(row["_ts"]), str(row["_etag"])) for row in rows}

    def _removed(self, stamps: Mapping[str, Stamp]) -> int:
        """All of them at once; where one was written meanwhile, or is gone, one by one."""
        try:
            self._batch([("delete", (each,), {"if_match_etag": stamp.etag}) for each, stamp in stamps.items()])
        except (StoreChanged, StoreMissing):
            if len(stamps) == 1:
                return 0
            return sum(self._removed({each: stamp}) for each, stamp in stamps.items())
        return len(stamps)

    def _batch(self, operations: Sequence[Any]) -> None:
        with failures():
            self._container.execute_item_batch(operations, partition_key=self._name, response_hook=self._charged)

    def _again(self, ask: Callable[[], _T]) -> _T:
        for wait_s in _WAITS_S:
            try:
                with failures():
                    return ask()
            except (StoreRefused, StoreMissing, StoreChanged):
                raise
            except StoreError:
                self._sleep(wait_s)
        with failures():
            return ask()

    def _charged(self, headers: Mapping[str, Any], *_: Any) -> None:
        self.units += float(headers.get(_CHARGE_HEADER) or 0.0)


def _parts(ids: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), most):
        yield ids[start : start + most]
