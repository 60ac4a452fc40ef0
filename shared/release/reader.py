"""Opening a release: which one is current, its manifest, and its files as paths that can be mapped.

Everything is checked here, once, with messages that name the file, the expected and the found. What reads
the files (shared/index) checks their inner shape when it opens them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from shared.bucket.base import Bucket
from shared.contracts.release import Manifest, Pointer, ReleaseFile
from shared.errors import BucketError, ObjectMissing, ReleaseError, ReleaseIncompatible, ReleaseMissing
from shared.release import manifest as manifests
from shared.release.cache import Advance, Cache, Hold, check_in_place, check_size
from shared.timed import timed

Progress = Callable[[int, int], None]
Roles = Collection[str] | Callable[[Manifest], Collection[str]] | None

# One core takes the crc32 of 365 MB in 0.17 s: a thread a file.
_CHECK_THREADS = 8


class Release(Struct, frozen=True):
    """A release whose files are here, complete and checked. `paths` holds the roles that were asked for.

    Keep it for as long as its files are in use, then close it.
    """

    id: str
    catalog: str
    manifest: Manifest
    paths: Mapping[str, Path]
    hold: Hold = field(default_factory=Hold)

    def close(self) -> None:
        """Say that the files are no longer used here, so that `evict` may remove them."""
        self.hold.close()


def current(bucket: Bucket, catalog: str) -> Pointer:
    """The catalog's pointer. Raises ReleaseMissing where nothing is published."""
    try:
        data = bucket.read(manifests.pointer_key(catalog))
    except ObjectMissing as error:
        raise ReleaseMissing(f"catalog {catalog!r} has no release: {error.message}") from error
    return manifests.parse_pointer(data, catalog)


def read_manifest(bucket: Bucket, catalog: str, release_id: str, kind: manifests.Kind | None = None) -> Manifest:
    """A release's manifest, checked. `kind` is the one that can be served; None takes either."""
    try:
        data = bucket.read(manifests.manifest_key(catalog, release_id))
    except ObjectMissing as error:
        raise ReleaseMissing(f"release {release_id} of catalog {catalog!r} is missing: {error.message}") from error
    return manifests.parse(data, catalog, release_id, kind)


def fetch(
    bucket: Bucket,
    catalog: str,
    roles: Roles,
    cache_dir: Path,
    progress: Progress | None = None,
    *,
    release_id: str | None = None,
    kind: manifests.Kind | None = None,
) -> Release:
    """A release with its files on a local disk: the one named, else the current one.

    `roles` are roles or prefixes (`lexical.*`), or what says them of a manifest; one with a `?` behind it is left out
    where the release has none, and None wants every file. Files of a bucket on a local disk are used in place, others
    are copied below `cache_dir`; both only after their size and bytes were compared with the manifest. `progress` is
    told (bytes done, bytes in all), from several threads but one at a time.
    Raises ReleaseMissing, ReleaseCorrupt, ReleaseIncompatible, BucketError, CacheUnusable.
    """
    fetch_one = partial(_fetch, bucket, catalog, roles=roles, cache_dir=cache_dir, progress=progress, kind=kind)
    if release_id is not None:
        return fetch_one(release_id)
    with timed("manifest"):
        release_id = current(bucket, catalog).release
    while True:
        try:
            return fetch_one(release_id)
        except ReleaseError:
            # A release may be pruned once two later ones were published: then the pointer has moved, and what
            # it names now is read from the start. All files of one fetch come from one manifest.
            moved = current(bucket, catalog).release
            if moved == release_id:
                raise
            release_id = moved


def evict(cache_dir: Path) -> None:
    """Remove from the cache what no process holds. To be called when a release was replaced and closed."""
    if cache_dir.exists():
        Cache(cache_dir).evict()


def _fetch(
    bucket: Bucket,
    catalog: str,
    release_id: str,
    *,
    roles: Roles,
    cache_dir: Path,
    progress: Progress | None,
    kind: manifests.Kind | None,
) -> Release:
    with timed("manifest"):
        manifest = read_manifest(bucket, catalog, release_id, kind)
    named = roles(manifest) if callable(roles) else roles
    wanted = [(manifests.file_key(catalog, file.sha256), file) for file in _chosen(manifest, release_id, named)]
    advance = _meter(progress, sum(file.bytes for _, file in wanted))
    with timed("verify"):
        paths = _check_local(bucket, wanted, advance)
    remote = [(key, file) for key, file in wanted if file.role not in paths]
    if not remote:
        return Release(release_id, catalog, manifest, paths)
    with timed("fetch"):
        copies, hold = Cache(cache_dir).copy_all(bucket, remote, advance)
    return Release(release_id, catalog, manifest, {**paths, **copies}, hold)


def _chosen(manifest: Manifest, release_id: str, roles: Collection[str] | None) -> list[ReleaseFile]:
    for role in roles or ():
        if not role.endswith("?") and not any(manifests.matches(file.role, [role]) for file in manifest.files):
            has = ", ".join(sorted(file.role for file in manifest.files))
            raise ReleaseIncompatible(f"release {release_id}: files: expected one with role {role!r}, found only {has}")
    wanted = None if roles is None else [role.removesuffix("?") for role in roles]
    return [file for file in manifest.files if wanted is None or manifests.matches(file.role, wanted)]


def _check_local(bucket: Bucket, wanted: Sequence[tuple[str, ReleaseFile]], advance: Advance) -> dict[str, Path]:
    """Role → path of every file that can be mapped where it lies."""
    with ThreadPoolExecutor(_CHECK_THREADS) as threads:
        found = threads.map(lambda pair: _local(bucket, pair[0], pair[1], advance), wanted)
        return {file.role: path for (_, file), path in zip(wanted, found, strict=True) if path is not None}


def _local(bucket: Bucket, key: str, file: ReleaseFile, advance: Advance) -> Path | None:
    path = bucket.local_path(key)
    if path is not None:
        where = f"{file.role} ({key})"
        try:
            check_in_place(path, file, where, advance)
        except FileNotFoundError:
            check_size(file, where, None)
        except OSError as error:
            raise BucketError(f"{where} could not be read: {error.strerror or error}") from error
    return path


def _meter(progress: Progress | None, total: int) -> Advance:
    """Adds up the steps of all threads. A file that had to be copied twice never counts past the total."""
    lock = threading.Lock()
    done = 0
    if progress is not None:
        progress(0, total)

    def advance(step: int) -> None:
        nonlocal done
        with lock:
            done = min(done + step, total)
            if progress is not None:
                progress(done, total)

    return advance
