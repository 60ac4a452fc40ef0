"""What the rest of Askbucket asks of object storage."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from shared.errors import SettingsError
from shared.settings import Settings, without_userinfo


class Bucket(Protocol):
    """Objects by key under one URL. Keys are `/`-separated and relative.

    A version is an opaque token of an object's state; a conditional write compares it.
    Reads of what is not there raise ObjectMissing; anything else that fails raises BucketError.
    """

    @property
    def url(self) -> str:
        """The URL the bucket was opened with."""

    def read(self, key: str) -> bytes:
        """A small object, whole."""

    def read_versioned(self, key: str) -> tuple[bytes, str]:
        """A small object and its version."""

    def stream_range(self, key: str, start: int, end: int) -> Iterator[bytes]:
        """Bytes start to end (end exclusive) as they arrive, fewer where the object ends before."""

    def put(self, key: str, data: bytes) -> None:
        """Write a small object, replacing what is there."""

    def put_file(self, key: str, path: Path) -> None:
        """Write a large object from a local file, whole or not at all."""

    def put_if(self, key: str, data: bytes, version: str | None) -> str:
        """Write only if the object's version is still `version` (None: only if there is none).

        Returns the new version. Raises PreconditionFailed.
        """

    def size(self, key: str) -> int | None:
        """Bytes of the object, or None where there is none."""

    def keys(self, prefix: str) -> Iterator[str]:
        """Every key under the prefix, sorted."""

    def delete(self, key: str) -> None:
        """Remove the object; one that is not there is no error."""

    def local_path(self, key: str) -> Path | None:
        """The object's path where it can be mapped in place, else None (it must be copied first)."""


def open_bucket(url: str, settings: Settings | None = None) -> Bucket:
    """The bucket behind a URL; nothing is sent yet. Raises SettingsError for a scheme that nobody here speaks.

    `settings` say how a cloud is reached; None means as they are by default.
    """
    settings = settings or Settings()
    if url.startswith("file://"):
        from shared.bucket.file import FileBucket

        return FileBucket(url)
    if url.startswith("gs://"):
        from shared.bucket.gcs import GcsBucket

        return GcsBucket(url, settings)
    if url.startswith("s3://"):
        if find_spec("boto3") is None:  # an image has it where it was asked for
            raise SettingsError(f"bucket URL {without_userinfo(url)!r}: boto3 is not here; an image has it by PARTS=s3")
        from shared.bucket.s3 import S3Bucket

        return S3Bucket(url, settings)
    raise SettingsError(f"bucket URL {without_userinfo(url)!r}: expected gs://…, s3://… or file:///…")


def bucket_of(settings: Settings) -> Bucket:
    """The bucket that BUCKET_URL names; nothing is sent yet. Raises SettingsError."""
    if not settings.bucket_url:
        raise SettingsError(
            "BUCKET_URL is not set: expected the URL under which releases lie, such as file:///srv/askbucket"
        )
    return opened_as("BUCKET_URL", settings.bucket_url, settings)


def opened_as(name: str, url: str, settings: Settings) -> Bucket:
    """The bucket behind a URL that the setting of this name has. Raises SettingsError naming it."""
    try:
        return open_bucket(url, settings)
    except SettingsError as error:
        raise SettingsError(f"{name}: {error.message}") from error
