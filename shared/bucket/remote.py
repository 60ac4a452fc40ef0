"""What buckets over a network have in common: their URL, their keys, and how long they try.

A failure that trying again may mend (a refused or broken connection, silence, a short answer, 408, 429, 5xx) is a
`TransientError` inside this package and becomes a BucketError once patience has run out. Messages name the object
and what happened, never a host, a token or a path of this machine: callers see them.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from shared.errors import BucketError, ObjectMissing, PreconditionFailed, SettingsError
from shared.settings import without_userinfo

if TYPE_CHECKING:
    from shared.bucket.base import Bucket

T = TypeVar("T")

# What S3 and Cloud Storage both allow: 1,024 bytes of UTF-8 for a whole name.
_LONGEST_NAME = 1_024
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
# An attempt that brought so much has got on, and those before it are forgotten: a line that breaks every few
# seconds is slow, not dead. One that brings less each time is given up.
_PROGRESS_BYTES = 64 << 10


class TransientError(Exception):
    """A failure that trying again may mend. Its text is the reason in a few words."""


class Patience(Struct, frozen=True):
    """How long storage may keep us waiting, in seconds. A slow answer is waited for, silence is not.

    An operation fails after `attempts` that brought nothing, or with the first attempt that fails `total_s` after the
    last byte arrived: 16 s where a server accepts connections and says nothing, 3 s where it refuses them.
    `upload_s` bounds the silence after a large object was sent, which storage may take a while to put together.
    """

    connect_s: float = 2.0
    silence_s: float = 5.0
    attempts: int = 5
    total_s: float = 15.0
    first_delay_s: float = 0.2
    longest_delay_s: float = 2.0
    upload_s: float = 60.0


class Address(Struct, frozen=True):
    """The bucket and folder that a URL names. `folder` is empty or ends with a slash."""

    bucket: str
    folder: str

    @classmethod
    def of(cls, url: str, scheme: str) -> Address:
        """Read `scheme://bucket/folder`. Raises SettingsError."""
        bucket, _, folder = url.removeprefix(f"{scheme}://").partition("/")
        folder = folder.rstrip("/")
        if not url.startswith(f"{scheme}://") or not _BUCKET.fullmatch(bucket) or (folder and not _is_key(folder)):
            raise SettingsError(
                f"bucket URL {without_userinfo(url)!r}: expected {scheme}://bucket or {scheme}://bucket/folder"
            )
        return cls(bucket, f"{folder}/" if folder else "")

    def name(self, key: str) -> str:
        """The full name of an object. Raises BucketError for what a folder could not hold either."""
        name = self.folder + key
        if not _is_key(key) or len(name.encode()) > _LONGEST_NAME:
            raise BucketError(f"bucket key {key[:200]!r} is refused: expected names joined with '/'")
        return name


def _is_key(key: str) -> bool:
    """Whether each bucket can hold the key, also a folder: copies between them never lose or merge objects."""
    parts = key.split("/")
    return all(part and not part.startswith(".") for part in parts) and "\\" not in key and key.isprintable()


def failed(key: str, done: str, reason: str) -> BucketError:
    """The error of an operation that storage did not carry out."""
    what = f"bucket object {key!r}" if key else "the bucket"
    return BucketError(f"{what} could not be {done}: {reason}")


def missing(key: str) -> ObjectMissing:
    """The error of an object that is not there."""
    return ObjectMissing(f"the bucket holds no object {key!r}")


def replaced(key: str) -> ObjectMissing:
    """The error of an object that was replaced or removed since its size was asked for."""
    return ObjectMissing(f"bucket object {key!r} was replaced or removed while it was read")


def conflict(key: str) -> PreconditionFailed:
    """The error of a conditional write that lost."""
    return PreconditionFailed(f"bucket object {key!r} changed since it was read")


class Attempts:
    """The attempts of one operation on one object."""

    def __init__(self, patience: Patience, key: str, done: str) -> None:
        self._patience = patience
        self._key, self._done = key, done
        self._failures = 0
        self._heard_bytes = 0
        self._heard_at = time.monotonic()

    @property
    def repeated(self) -> bool:
        """Whether an earlier attempt failed, and may yet have had its effect."""
        return self._failures > 0

    def heard(self, size: int) -> None:
        """Say that bytes arrived."""
        self._heard_bytes += size
        self._heard_at = time.monotonic()

    def next(self, failure: TransientError) -> None:
        """Wait until the next attempt. Raises BucketError where there shall be none."""
        if self._heard_bytes >= _PROGRESS_BYTES:
            self._failures = self._heard_bytes = 0
        self._failures += 1
        silent_s = time.monotonic() - self._heard_at
        if self._failures >= self._patience.attempts or silent_s >= self._patience.total_s:
            raise failed(self._key, self._done, str(failure)) from failure
        longest = min(self._patience.longest_delay_s, self._patience.first_delay_s * 2 ** (self._failures - 1))
        # Half of it at random: the ranges of one download fail together and must not come back together.
        time.sleep(longest * (0.5 + secrets.randbelow(1_000) / 2_000))

    def run(self, attempt: Callable[[], T]) -> T:
        """The result of the first attempt that does not fail for the moment only."""
        while True:
            try:
                return attempt()
            except TransientError as failure:
                self.next(failure)

    def once(self, attempt: Callable[[], T]) -> T:
        """The result of an attempt that does its own trying again."""
        try:
            return attempt()
        except TransientError as failure:
            raise failed(self._key, self._done, str(failure)) from failure


def won(bucket: Bucket, key: str, data: bytes, version: str | None) -> str | None:
    """The object's version where it holds our data and is no longer the one before: the write was ours."""
    found, now = bucket.read_versioned(key)
    return now if found == data and now != version else None


def written_once(attempts: Attempts, write: Callable[[], str], outcome: Callable[[], str | None]) -> str:
    """The new version of a conditional write.

    Where an answer was lost and the next attempt is told that the object changed, `outcome` says whether it was us.
    """
    try:
        return attempts.run(write)
    except PreconditionFailed:
        version = outcome() if attempts.repeated else None
        if version is None:
            raise
        return version


def resumed(attempts: Attempts, start: int, read_from: Callable[[int], Iterator[bytes]]) -> Iterator[bytes]:
    """Bytes from `start` on as they arrive; a stream that breaks goes on where it broke."""
    at = start
    while True:
        try:
            for piece in read_from(at):
                at += len(piece)
                attempts.heard(len(piece))
                yield piece
            return
        except TransientError as failure:
            attempts.next(failure)


def exactly(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The pieces of a body that was announced with `size` bytes. Raises TransientError where it is another number."""
    for piece in pieces:
        size -= len(piece)
        if size < 0:
            raise TransientError("storage sent more than it announced")
        yield piece
    if size:
        raise TransientError("storage sent less than it announced")


def range_of(header: str | None, start: int, end: int) -> tuple[int, int]:
    """The (end, total) of an answer's `Content-Range: bytes start-last/total`, end exclusive.

    Raises TransientError where the answer is about another range than the one asked for, or a part after its start.
    """
    found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", header or "")
    if found is None or int(found[1]) != start or not start <= int(found[2]) < min(end, int(found[3])):
        raise TransientError("storage answered with another range")
    return int(found[2]) + 1, int(found[3])


def is_transient(status: int) -> bool:
    """Whether an HTTP status says that trying again may help."""
    return status in (408, 429) or status >= 500
