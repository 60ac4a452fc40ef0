"""Two releases of the same tables that no reply can confuse: a catalog's own, and its twin.

The twin's titles end with a mark, and the rows of each family stand in reverse. So a reply whose vectors, postings
and records were not all of one release names other tables than either release would, and shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from shared.bucket.base import Bucket, open_bucket
from shared.contracts.leaf import Leaf
from shared.contracts.release import Manifest
from shared.errors import ReleaseIncompatible
from shared.release import writer
from shared.release.reader import Release, fetch
from shared.settings import Settings
from shared.tables.catalogs import BUILT_IN

MARK = " (twin)"


@dataclass(frozen=True, slots=True)
class Pair:
    """A bucket in a folder with both releases. `leaves` are what the first one holds, in row order."""

    bucket: Bucket
    ids: tuple[str, str]
    leaves: Sequence[Leaf]

    def switch(self, to: int) -> None:
        """Make the first (0) or the twin (1) the current one."""
        writer.switch(self.bucket, BUILT_IN, self.ids[to])


def make_pair(settings: Settings, folder: Path) -> Pair:
    """Copy the current release into a bucket in `folder`, and its twin beside it; the copy is current.

    The bucket of the settings is only read.
    """
    bucket = open_bucket((folder / "bucket").as_uri())
    source = open_bucket(settings.bucket_url, settings)
    with closing(fetch(source, BUILT_IN, None, Path(settings.cache_dir), kind="tables")) as release:
        leaves = _leaves(release)
        copy = writer.write(bucket, release.manifest, release.paths)
        twin = writer.write(bucket, release.manifest, {**release.paths, **_write_twin(release, leaves, folder)})
    pair = Pair(bucket, (copy, twin), leaves)
    pair.switch(0)
    return pair


def _leaves(release: Release) -> list[Leaf]:
    from shared.index.records import Records

    with closing(Records(release.paths["records"])) as records:
        found = records.leaves(range(release.manifest.rows))
    if len(found) != release.manifest.rows:
        raise ReleaseIncompatible(f"records: expected {release.manifest.rows} rows, found {len(found)}")
    return [found[row] for row in range(len(found))]


def _write_twin(release: Release, leaves: Sequence[Leaf], folder: Path) -> dict[str, Path]:
    from build_jobs.index import keyword_documents
    from shared.index.lexical import write_lexical
    from shared.index.records import Records, write_records
    from shared.index.scan import Vectors, write_vectors

    order = _reversed_rows(release.manifest)
    marked = [replace(leaves[row], title=leaves[row].title + MARK) for row in order]
    vectors, records = folder / "vectors.npy", folder / "records.db"
    write_vectors(vectors, Vectors(release.paths["vectors"]).array[order])
    with closing(Records(release.paths["records"])) as original:
        # Nothing is built upon a twin, so it needs no signatures to reuse vectors by.
        write_records(records, marked, list(original.sources().values()), [""] * len(marked))
    return {"vectors": vectors, "records": records, **write_lexical(folder, keyword_documents(marked))}


def _reversed_rows(manifest: Manifest) -> list[int]:
    """Every row, the families in their order, each from its last row to its first."""
    slices = (range(family.first_row, family.first_row + family.rows) for family in manifest.families)
    return [row for rows in slices for row in reversed(rows)]
