"""Making a built index the current release, once, whoever else is publishing the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from shared.bucket.base import Bucket
from shared.contracts.release import Manifest
from shared.errors import BucketError, PreconditionFailed, ReleaseError
from shared.release import manifest as manifests
from shared.release import reader, writer
from shared.settings import without_userinfo

_PROBE = b"can a release be written here?"


def current_manifest(bucket: Bucket, catalog: str, kind: manifests.Kind = "tables") -> tuple[str, Manifest] | None:
    """Id and manifest of the current release; None where there is none, or none that can be read.

    Raises BucketError naming the bucket's URL.
    """
    try:
        with naming(bucket, "read"):
            pointer = reader.current(bucket, catalog)
            return pointer.release, reader.read_manifest(bucket, catalog, pointer.release, kind)
    except ReleaseError:
        return None


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
    force: bool = False,
    before_switch: Callable[[str], None] | None = None,
) -> tuple[str, bool]:
    """Send the release and switch to it. Returns the id that is current now, and whether it is this one.

    `before_switch` is called with the release's id when it is complete and nobody points to it yet; what it raises
    leaves the pointer alone.

    Two runs of one build may end at the same time. The one that comes second finds its own inputs published and
    leaves the pointer alone. Raises PreconditionFailed where another build won.
    """
    release_id = writer.write(bucket, manifest, files)
    try:
        if not force and (twin := _twin(bucket, manifest)):
            return twin, False
        if before_switch:
            before_switch(release_id)
        writer.switch(bucket, manifest.catalog, release_id)
    except PreconditionFailed:
        if twin := _twin(bucket, manifest):
            return twin, False
        raise
    return release_id, True


def _twin(bucket: Bucket, manifest: Manifest) -> str | None:
    current = current_manifest(bucket, manifest.catalog, manifest.kind)
    if current and current[1].inputs_digest == manifest.inputs_digest and current[1].embedder == manifest.embedder:
        return current[0]
    return None
