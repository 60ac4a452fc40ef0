"""A cache bounded in entries and bytes, for what a model would say again."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")

# What the dictionary, the key and the tuple around a value take: measured 237 bytes an entry at 4,096 entries.
ENTRY_BYTES = 240


def cache_key(*parts: str) -> bytes:
    """32 bytes that stand for these texts: no caller's text is kept, and none can be made to collide."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.digest()


class Cache(Generic[V]):
    """The most recently used values, at most `entries` of them in at most `size_bytes`. Safe between threads."""

    def __init__(self, entries: int, size_bytes: int, size_of: Callable[[V], int]) -> None:
        self._most_entries = entries
        self._most_bytes = size_bytes
        self._size_of = size_of
        self._lock = threading.Lock()
        self._values: OrderedDict[bytes, tuple[V, int]] = OrderedDict()
        self._bytes = 0
        self._hits = 0
        self._misses = 0

    def get(self, key: bytes) -> V | None:
        """The value, which thereby becomes the most recently used one; None where there is none."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                self._misses += 1
                return None
            self._hits += 1
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: bytes, value: V) -> None:
        """Keep a value, and let go of the least recently used beyond the bounds; one too large alone is not kept."""
        size = self._size_of(value) + ENTRY_BYTES
        if size > self._most_bytes:
            return
        with self._lock:
            self._bytes += size - self._values.pop(key, (None, 0))[1]
            self._values[key] = (value, size)
            while self._values and (len(self._values) > self._most_entries or self._bytes > self._most_bytes):
                _, (_, freed) = self._values.popitem(last=False)
                self._bytes -= freed

    def describe(self) -> dict[str, int]:
        """Entries, bytes, hits and misses, for /health."""
        with self._lock:
            return {"entries": len(self._values), "bytes": self._bytes, "hits": self._hits, "misses": self._misses}
