"""Which documents of a partition are still somebody's, by the releases in the bucket."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from build_jobs.cosmos.partition import Stamp
from shared.bucket.base import Bucket
from shared.index.cosmos_documents import read_ids
from shared.index.items import IDS_ROLE
from shared.release import manifest as manifests
from shared.release import reader, writer


@dataclass(frozen=True, slots=True)
class Orphans:
    """Documents that no release lists any more: those whose grace is over, and how many still have it."""

    over: Mapping[str, Stamp]
    waiting: int


def orphans(there: Mapping[str, Stamp], listed: Collection[str], before: float) -> Orphans:
    """What of `there` is not in `listed`; the grace of what was written before that moment is over."""
    left = {key: stamp for key, stamp in there.items() if key not in listed}
    over = {key: stamp for key, stamp in left.items() if stamp.written_at < before}
    return Orphans(over, len(left) - len(over))


def listed_ids(bucket: Bucket, catalog: str, cache_dir: Path, grace_s: float, besides: str = "") -> frozenset[str]:
    """The ids of every release that somebody may be reading, or be about to.

    These are the current one, the one before it, all that were built within the grace period, and the newest that was
    built earlier: it may have been current when that began. Raises ReleaseError, BucketError.
    """
    found: set[str] = set()
    for release_id in _in_use(bucket, catalog, grace_s, besides):
        found.update(release_ids(bucket, catalog, release_id, cache_dir))
    return frozenset(found - {""})


def release_ids(bucket: Bucket, catalog: str, release_id: str, cache_dir: Path) -> list[str]:
    """The ids of one release, row by row; none where it was built before there were any. Raises ReleaseError.

    That of an item which is too large to be there is empty.
    """
    release = reader.fetch(bucket, catalog, [f"{IDS_ROLE}?"], cache_dir, kind="items", release_id=release_id)
    try:
        path = release.paths.get(IDS_ROLE)
        return texts(read_ids(path, release.manifest.rows)) if path else []
    finally:
        release.close()


def texts(ids: Iterable[bytes]) -> list[str]:
    """Ids as the service writes them."""
    return [bytes(each).decode("ascii") for each in ids]


def _in_use(bucket: Bucket, catalog: str, grace_s: float, besides: str) -> set[str]:
    releases = writer.releases(bucket, catalog)  # newest first
    marked = {each.id for each in releases if each.mark}
    complete = [each.id for each in releases if each.complete and each.id != besides]
    within = [each for each in complete if manifests.age_s(each) <= grace_s]
    return marked | set(complete[: len(within) + 1])
