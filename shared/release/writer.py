"""Publishing: files by content, the manifest last, then the pointer; and looking back, rolling back, pruning.

Nothing that a reader can reach is ever changed, except the pointer, and that only by a conditional write.
Files whose manifest is still to come are announced (shared/release/underway.py), so that a prune spares them.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from shared.bucket.base import Bucket
from shared.contracts.release import FORMAT_VERSION, RANGE_BYTES, Manifest, Pointer, ReleaseFile
from shared.errors import ObjectMissing, PreconditionFailed, ReleaseCorrupt, ReleaseError, ReleaseMissing
from shared.release import manifest as manifests
from shared.release import underway
from shared.release.cache import check_in_place, check_size
from shared.release.reader import read_manifest

_POINTER = "/current.json"


class Listed(Struct, frozen=True):
    """A release as `releases` lists it. `problem` says why it cannot be served, else it is None.

    `created_at` and `rows` are None where the manifest cannot be read. `mark` is `current`, `previous` or empty.
    `bytes` is what its files take together, `sources` the rows of each source directory, `gate` what its build
    measured.
    """

    id: str
    created_at: str | None
    rows: int | None
    mark: str
    problem: str | None
    bytes: int | None = None
    sources: Mapping[str, int] = field(default_factory=dict)
    gate: Mapping[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the manifest and all of its files are there."""
        return self.problem is None


class Pruned(Struct, frozen=True):
    """What a prune removed: release ids, keys of files and the bytes these took, and keys of what builds abandoned."""

    releases: tuple[str, ...]
    files: tuple[str, ...]
    bytes: int
    abandoned: tuple[str, ...] = ()


def write(bucket: Bucket, manifest: Manifest, files: Mapping[str, Path], *, anew: bool = False) -> str:
    """Put a release into the bucket and return its id. It is not current until `switch`.

    `manifest.files` is replaced by what `files` (role → path) hold. A file that the catalog has already is not sent
    again, but one of the right size whose bytes are others is, where the bucket lies on a local disk; `anew` sends all,
    wherever that is. Raises ReleaseIncompatible, before anything is sent, where the manifest contradicts itself.
    """
    described = [describe(role, path) for role, path in sorted(files.items())]
    complete = replace(manifest, format_version=FORMAT_VERSION, files=described)
    manifests.check(complete, complete.kind)
    release_id, data = manifests.id_of(complete), manifests.encode(complete)
    manifests.parse(data, complete.catalog, release_id)
    with underway.announced(bucket, complete.catalog, {file.sha256 for file in described}):
        for file in described:
            key = manifests.file_key(complete.catalog, file.sha256)
            if anew or not _has(bucket, key, file):
                bucket.put_file(key, files[file.role])
        bucket.put(manifests.manifest_key(complete.catalog, release_id), data)
    return release_id


def _has(bucket: Bucket, key: str, file: ReleaseFile) -> bool:
    """Whether the file is there in full length, and where it can be read at once also byte for byte."""
    path = bucket.local_path(key)
    if path is None:
        return bucket.size(key) == file.bytes
    try:
        check_in_place(path, file, key, lambda _: None)
    except (ReleaseCorrupt, OSError):
        return False
    return True


def describe(role: str, path: Path) -> ReleaseFile:
    """A file as a manifest names it: role, digest, size and the crc32 of each range."""
    digest, crc32 = hashlib.sha256(), []
    with path.open("rb", RANGE_BYTES) as file:
        while piece := file.read(RANGE_BYTES):
            digest.update(piece)
            crc32.append(f"{zlib.crc32(piece):08x}")
        return ReleaseFile(role=role, sha256=digest.hexdigest(), bytes=file.tell(), crc32=crc32)


def switch(bucket: Bucket, catalog: str, release_id: str) -> Pointer:
    """Make a release the current one; the one before it becomes `previous`. Nothing changes if it is current.

    Raises ReleaseError where it is not complete, PreconditionFailed where somebody else switched meanwhile.
    """
    _check_complete(bucket, read_manifest(bucket, catalog, release_id))
    before, version = _pointer(bucket, catalog)
    if before is not None and before.release == release_id:
        return before
    return _point(bucket, catalog, release_id, before.release if before else None, version)


def switch_from(bucket: Bucket, catalog: str, release_id: str, expected: str | None) -> Pointer:
    """`switch` of who knows what is replaced: the release `expected`, or with None no release at all.

    Raises PreconditionFailed naming what is current instead, however long ago somebody else switched to that.
    """
    _check_complete(bucket, read_manifest(bucket, catalog, release_id))
    before, version = _pointer(bucket, catalog)
    found = before.release if before else None
    if before is not None and found == release_id:
        return before
    if found != expected:
        raise PreconditionFailed(
            f"catalog {catalog!r}: expected {expected or 'no release'} to be current, found {found or 'none'}"
        )
    return _point(bucket, catalog, release_id, expected, version)


def rollback(bucket: Bucket, catalog: str) -> Pointer:
    """Make the previous release current again. Doing it twice comes back to where it began.

    Raises ReleaseMissing where there is no previous release.
    """
    before, version = _pointer(bucket, catalog)
    if before is None or before.previous is None:
        raise ReleaseMissing(f"catalog {catalog!r} has no previous release to roll back to")
    _check_complete(bucket, read_manifest(bucket, catalog, before.previous))
    return _point(bucket, catalog, before.previous, before.release, version)


def exists(bucket: Bucket, catalog: str) -> bool:
    """Whether anything was ever published there, or is complete but for the pointer."""
    return bucket.size(manifests.pointer_key(catalog)) is not None or bool(_ids(bucket, catalog))


def catalogs(bucket: Bucket) -> list[str]:
    """The names of the catalogs that have a current release, sorted."""
    folders = (key.removesuffix(_POINTER) for key in bucket.keys("") if key.endswith(_POINTER))
    return sorted(name for name in folders if "/" not in name)


def releases(bucket: Bucket, catalog: str) -> list[Listed]:
    """Every release of a catalog, newest first, with what is wrong with it."""
    pointer, _ = _pointer(bucket, catalog)
    return [_listed(bucket, catalog, release_id, pointer) for release_id in _ids(bucket, catalog, pointer)]


def prune(bucket: Bucket, catalog: str, keep: int, grace_s: float = underway.GRACE_S) -> Pruned:
    """Remove all but the `keep` newest releases, the current and the previous; then files that no release names.

    A release that is newer than the current one, or of its second, stays for the grace period: a build may be about to
    switch to it.
    Files that a build is sending stay, and so does what the tasks of a build have shared within the grace period;
    what builds left before that is removed. Manifests go first, so a release that is listed never lacks a file.
    Raises ReleaseError, before anything is removed, where a release that stays cannot be read: what it needs would
    be unknown; and PreconditionFailed where another prune is under way.
    """
    with underway.pruning(bucket, catalog):
        found = underway.look(bucket, catalog, grace_s)
        pointer, _ = _pointer(bucket, catalog)
        ids = _ids(bucket, catalog, pointer)
        stays = {release_id for release_id in ids if _may_be_switched_to(release_id, pointer, grace_s)}
        stays |= {pointer.release, pointer.previous or ""} if pointer else set()
        doomed = [release_id for release_id in ids[max(keep, 0) :] if release_id not in stays]
        kept = [read_manifest(bucket, catalog, release_id) for release_id in ids if release_id not in doomed]
        needed = {file.sha256 for manifest in kept for file in manifest.files} | found.announced
        unneeded = [key for key in bucket.keys(manifests.files_prefix(catalog)) if key.rpartition("/")[2] not in needed]
        size = sum(bucket.size(key) or 0 for key in unneeded)
        _delete(bucket, (manifests.manifest_key(catalog, release_id) for release_id in doomed))
        _delete(bucket, unneeded)
        _delete(bucket, found.abandoned)
    return Pruned(tuple(doomed), tuple(unneeded), size, found.abandoned)


def _may_be_switched_to(release_id: str, pointer: Pointer | None, grace_s: float) -> bool:
    """Whether a build may have written this manifest a moment ago and be about to point to it: an id has its second."""
    is_later = pointer is None or release_id.partition("-")[0] >= pointer.release.partition("-")[0]
    return is_later and manifests.age_s(release_id) < grace_s


def _delete(bucket: Bucket, keys: Iterable[str]) -> None:
    for key in keys:
        bucket.delete(key)


def _ids(bucket: Bucket, catalog: str, pointer: Pointer | None = None) -> list[str]:
    """Release ids, newest first: they begin with their time. Of two of one second the current one is the newer."""
    keys = bucket.keys(manifests.manifests_prefix(catalog))
    names = (key.rpartition("/")[2].removesuffix(".json") for key in keys)
    current = pointer.release if pointer else ""
    found = filter(manifests.is_id, names)
    return sorted(found, key=lambda each: (each.partition("-")[0], each == current, each), reverse=True)


def _pointer(bucket: Bucket, catalog: str) -> tuple[Pointer | None, str | None]:
    """The pointer with its version; (None, None) where there is none yet."""
    try:
        data, version = bucket.read_versioned(manifests.pointer_key(catalog))
    except ObjectMissing:
        return None, None
    return manifests.parse_pointer(data, catalog), version


def _point(bucket: Bucket, catalog: str, release_id: str, previous: str | None, version: str | None) -> Pointer:
    pointer = Pointer(release=release_id, previous=previous, switched_at=manifests.now())
    bucket.put_if(manifests.pointer_key(catalog), manifests.encode(pointer), version)
    return pointer


def _check_complete(bucket: Bucket, manifest: Manifest) -> None:
    """Whether every file of a release is there in full length. Raises ReleaseCorrupt."""
    for file in manifest.files:
        key = manifests.file_key(manifest.catalog, file.sha256)
        check_size(file, f"{file.role} ({key})", bucket.size(key))


def _listed(bucket: Bucket, catalog: str, release_id: str, pointer: Pointer | None) -> Listed:
    marks = {pointer.previous: "previous", pointer.release: "current"} if pointer else {}
    listed = Listed(release_id, None, None, marks.get(release_id, ""), None)
    try:
        manifest = read_manifest(bucket, catalog, release_id)
        listed = replace(
            listed,
            created_at=manifest.created_at,
            rows=manifest.rows,
            bytes=sum(file.bytes for file in manifest.files),
            sources={name: rows for family in manifest.families for name, rows in family.sources.items()},
            gate=manifest.gate,
        )
        _check_complete(bucket, manifest)
    except ReleaseError as error:
        return replace(listed, problem=error.message)
    return listed
