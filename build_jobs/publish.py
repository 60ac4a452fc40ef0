"""Making a built index the current release, once, whoever else is publishing the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shared.bucket.base import Bucket
from shared.contracts.release import Manifest
from shared.errors import PreconditionFailed, ReleaseError
from shared.release import manifest as manifests
from shared.release import reader, writer


def current_manifest(bucket: Bucket, catalog: str, kind: manifests.Kind = "tables") -> tuple[str, Manifest] | None:
    """Id and manifest of the current release; None where there is none, or none that can be read."""
    try:
        pointer = reader.current(bucket, catalog)
        return pointer.release, reader.read_manifest(bucket, catalog, pointer.release, kind)
    except ReleaseError:
        return None


def publish(bucket: Bucket, manifest: Manifest, files: Mapping[str, Path], *, force: bool = False) -> tuple[str, bool]:
    """Send the release and switch to it. Returns the id that is current now, and whether it is this one.

    Two runs of one build may end at the same time. The one that comes second finds its own inputs published and
    leaves the pointer alone. Raises PreconditionFailed where another build won.
    """
    release_id = writer.write(bucket, manifest, files)
    try:
        if not force and (twin := _twin(bucket, manifest)):
            return twin, False
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
