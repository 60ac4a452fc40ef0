"""Small releases for tests: real files, a real bucket in a folder, and one that behaves as a remote one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shared.bucket.file import FileBucket
from shared.contracts.release import FORMAT_VERSION, LEXICAL_ROLES, Embedder, Family, Manifest
from shared.release import manifest as manifests
from shared.release import writer

CATALOG = "built-in"
ROLES = ("vectors", "records", *LEXICAL_ROLES)


def a_manifest(**changes: Any) -> Manifest:
    """A manifest of five rows in two families, without files."""
    fields: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "kind": "tables",
        "catalog": CATALOG,
        "label": "Tables",
        "created_at": "2026-01-31T12:00:00Z",
        "builder": "askbucket 0.1.0",
        "inputs_digest": "0" * 64,
        "embedder": Embedder(provider="embedded", model="tiny", dimension=4),
        "rows": 5,
        "families": [
            Family(family="census", first_row=0, rows=2, sources={"census": 2}),
            Family(family="bigquery", first_row=2, rows=3, sources={"sec-bq": 1, "irs-990-bq": 2}),
        ],
        "files": [],
    }
    return Manifest(**{**fields, **changes})


def some_files(folder: Path, seed: str = "a", size: int = 1_000) -> dict[str, Path]:
    """One file a role, each with bytes of its own, repeatable by the seed."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {role: folder / f"{role}-{seed}" for role in ROLES}
    for role, path in paths.items():
        path.write_bytes(random.Random(f"{seed} {role}").randbytes(size))
    return paths


def published(bucket: FileBucket, folder: Path, seed: str = "a", size: int = 1_000, **changes: Any) -> str:
    """Write a release and make it current."""
    release_id = writer.write(bucket, a_manifest(**changes), some_files(folder, seed, size))
    writer.switch(bucket, CATALOG, release_id)
    return release_id


def a_bucket(folder: Path) -> FileBucket:
    return FileBucket(f"file://{folder / 'bucket'}")


def remote(bucket: FileBucket, on_range: Callable[[str], None] | None = None) -> RemoteBucket:
    """The same objects as a bucket whose files cannot be mapped in place."""
    return RemoteBucket(bucket.url, on_range)


class RemoteBucket(FileBucket):
    """A bucket that has to be copied from. Counts the ranges read of each key; `on_range` is called before each."""

    def __init__(self, url: str, on_range: Callable[[str], None] | None = None) -> None:
        super().__init__(url)
        self.ranges: list[str] = []
        self._on_range = on_range

    def local_path(self, key: str) -> Path | None:
        return None

    def stream_range(self, key: str, start: int, end: int) -> Iterator[bytes]:
        self.ranges.append(key)
        if self._on_range is not None:
            self._on_range(key)
        yield from super().stream_range(key, start, end)


def object_path(bucket: FileBucket, key: str) -> Path:
    """Where an object of a bucket lies, to damage it."""
    path = FileBucket(bucket.url).local_path(key)
    assert path is not None, f"no object {key}"
    return path


def file_of(bucket: FileBucket, release_id: str, role: str) -> Path:
    """Where a role's file of a release lies, to damage it."""
    return object_path(bucket, manifests.file_key(CATALOG, digest_of(bucket, release_id, role)))


def digest_of(bucket: FileBucket, release_id: str, role: str) -> str:
    """The sha256 that the manifest gives a role's file."""
    data = bucket.read(manifests.manifest_key(CATALOG, release_id))
    manifest = manifests.parse(data, CATALOG, release_id)
    return next(file.sha256 for file in manifest.files if file.role == role)


def flip_a_bit(path: Path, position: int | None = None) -> None:
    """Change one bit of a file: of its middle byte, or of the byte at `position`."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if position is None else position] ^= 1
    path.write_bytes(data)
