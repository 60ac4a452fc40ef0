"""A release as it is loaded: its ids, and the documents that they name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from build_jobs.cosmos.listed import texts
from shared.bucket.base import Bucket
from shared.contracts.release import Manifest
from shared.errors import ReleaseIncompatible
from shared.index.cosmos_documents import Document, documents, matrices_of, read_ids
from shared.index.items import IDS_ROLE, VECTOR_ROLES, Items
from shared.index.scan import Float16
from shared.release import reader

_ROLES = ("records", *VECTOR_ROLES, f"{IDS_ROLE}?")


@dataclass(frozen=True, slots=True)
class Opened:
    """A release whose files are here. `ids` are those of its documents, row by row; empty for what has none."""

    id: str
    manifest: Manifest
    ids: Sequence[str]
    matrices: Sequence[Float16]
    records: Items

    @property
    def catalog(self) -> str:
        """The catalog, whose name is the partition's."""
        return self.manifest.catalog

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""
        return self.manifest.embedder.dimension

    @property
    def listed(self) -> list[int]:
        """The rows that have a document; every other item is too large for Cosmos DB."""
        return [row for row, each in enumerate(self.ids) if each]

    def too_large(self) -> list[str]:
        """The items that are too large for Cosmos DB, by their ids."""
        rows = [row for row, each in enumerate(self.ids) if not each]
        return sorted(item.id for row in rows for item in self.records.items([row]).values())

    def documents(self, rows: Sequence[int]) -> Iterator[Document]:
        """The documents of these rows, which have to have one. Raises ReleaseIncompatible where one is not what its id
        says."""
        found = documents(self.catalog, self.records, self.matrices, rows)
        for row, each in zip(rows, found, strict=True):
            if each["id"] != self.ids[row]:
                raise ReleaseIncompatible(
                    f"{IDS_ROLE}, row {row}: expected {each['id']}, found {self.ids[row]}: another version of this"
                    " program listed it; build with --force"
                )
            yield each


@contextmanager
def opened(bucket: Bucket, catalog: str, cache_dir: Path, release_id: str | None) -> Iterator[Opened]:
    """A release, the current one by default, until the block ends. Raises ReleaseError, BucketError, CacheUnusable."""
    release = reader.fetch(bucket, catalog, _ROLES, cache_dir, kind="items", release_id=release_id)
    records = Items(release.paths["records"])
    try:
        if IDS_ROLE not in release.paths:
            raise ReleaseIncompatible(
                f"release {release.id} of {catalog} lists no documents (no file {IDS_ROLE}): build with --force"
            )
        rows = release.manifest.rows
        records.check(rows)
        ids = texts(read_ids(release.paths[IDS_ROLE], rows))
        yield Opened(release.id, release.manifest, ids, matrices_of(release.paths), records)
    finally:
        records.close()
        release.close()
