"""Making a built index the current release, once, whoever else is publishing the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from shared.bucket.base import Bucket
from shared.contracts.release import Manifest
from shared.errors import BucketError, BuildError, PreconditionFailed, ReleaseError, ReleaseMissing
from shared.release import manifest as manifests
from shared.release import reader, writer
from shared.settings import without_userinfo

_PROBE = b"can a release be written here?"


@dataclass(frozen=True, slots=True)
class Published:
    """The release that is current after `publish`, whether that switched to it, and what is worth a note."""

    release: str
    switched: bool
    notes: list[str] = field(default_factory=list)


def pointed(bucket: Bucket, catalog: str) -> str | None:
    """The release that the catalog's pointer names, whether that can be read or not; None where there is no pointer.

    Raises BucketError naming the bucket's URL, and ReleaseIncompatible where the pointer is none.
    """
    try:
        with naming(bucket, "read"):
            return reader.current(bucket, catalog).release
    except ReleaseMissing:
        return None


def overtaken(release_id: str | None) -> str:
    """What is wrong where the release that a build compared itself with is not the one that it would replace."""
    what = f"release {release_id} was published" if release_id else "the current release was removed"
    return f"{what} while this one was built, which was not compared with it: run the same command again"


def check_writable(bucket: Bucket, catalog: str) -> None:
    """Whether a release could be put there, so that it is known before vectors were paid for. Leaves nothing behind.

    Raises BucketError naming the bucket's URL.
    """
    key = manifests.file_key(catalog, hashlib.sha256(_PROBE).hexdigest())
    with naming(bucket, "written"):
        bucket.put(key, _PROBE)
    with suppress(BucketError):  # who may write but not remove can publish: `prune` takes files that no release names
        bucket.delete(key)


@contextmanager
def naming(bucket: Bucket, done: str) -> Iterator[None]:
    """What a bucket refuses, with its URL: with the operating system's word for it where that is known."""
    try:
        yield
    except BucketError as error:
        reason = error.__cause__.strerror if isinstance(error.__cause__, OSError) else error.message
        raise BucketError(
            f"{without_userinfo(bucket.url)} cannot be {done}: {reason or error.message};"
            " check BUCKET_URL or --bucket, and the rights of this user there"
        ) from error


def publish(
    bucket: Bucket,
    manifest: Manifest,
    files: Mapping[str, Path],
    *,
    expected: str | None,
    force: bool = False,
    before_switch: Callable[[str], None] | None = None,
) -> Published:
    """Send the release and switch to it, from the release `expected` (None: from none), which it was compared with.

    `before_switch` is called with the release's id when it is complete and nobody points to it yet; what it raises
    leaves the pointer alone.

    Two runs of one build may end at the same time. The one that comes second finds its own inputs published and
    leaves the pointer alone. Raises BuildError where another build won; `force` replaces its release, with a note, and
    sends every file again: one that was damaged in the bucket is whole then.
    """
    release_id = writer.write(bucket, manifest, files, anew=force)
    if force:
        if before_switch:
            before_switch(release_id)
        return _forced(bucket, manifest.catalog, release_id, expected)
    if found := _won(bucket, manifest, expected):
        return found
    if before_switch:
        before_switch(release_id)
    try:
        writer.switch_from(bucket, manifest.catalog, release_id, expected)
    except PreconditionFailed as error:
        if found := _won(bucket, manifest, expected):
            return found
        raise BuildError(overtaken(pointed(bucket, manifest.catalog))) from error
    return Published(release_id, True)


def _forced(bucket: Bucket, catalog: str, release_id: str, expected: str | None) -> Published:
    """Switch from whatever is current. What the gate has not seen is named: its ledger was written before."""
    try:
        pointer = writer.switch(bucket, catalog, release_id)
    except PreconditionFailed as error:
        raise BuildError(overtaken(pointed(bucket, catalog))) from error
    unseen = pointer.previous if expected not in (pointer.previous, release_id) else None
    notes = [f"release {unseen} was published meanwhile; it was replaced by force and not compared with"]
    return Published(release_id, True, notes if unseen else [])


def _won(bucket: Bucket, manifest: Manifest, expected: str | None) -> Published | None:
    """The current release if it is not the expected one but is made of the same inputs. Raises BuildError if not."""
    current = pointed(bucket, manifest.catalog)
    if current == expected:
        return None
    if current is None or not _is_twin(bucket, current, manifest):
        raise BuildError(overtaken(current))
    return Published(current, False, ["another run published the same inputs first; its release is current"])


def _is_twin(bucket: Bucket, release_id: str, manifest: Manifest) -> bool:
    try:
        found = reader.read_manifest(bucket, manifest.catalog, release_id, manifest.kind)
    except ReleaseError:
        return False
    return found.inputs_digest == manifest.inputs_digest and found.embedder == manifest.embedder
