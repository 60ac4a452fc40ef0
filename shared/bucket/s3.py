"""Amazon S3 and what speaks like it: `s3://bucket/folder`.

boto3 is imported at the first use. It finds credentials and region as it always does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from shared.bucket.remote import (
    Address,
    Attempts,
    Patience,
    TransientError,
    conflict,
    exactly,
    failed,
    is_transient,
    missing,
    range_of,
    replaced,
    resumed,
    won,
    written_once,
)
from shared.errors import ObjectMissing, PreconditionFailed
from shared.settings import Settings

_PIECE_BYTES = 64 << 10
# More than the ranges one download has under way (release.cache), and room for what else is read meanwhile.
_CONNECTIONS = 16


class S3Bucket:
    """Objects under one folder of an S3 bucket. A version is the object's ETag.

    `size` pins an object: ranges read after it come from the version it saw, and raise ObjectMissing once that one
    is gone; so the ranges of a download are never of two versions.
    Made before a fork, it can be used after it: each process has connections of its own.
    """

    def __init__(self, url: str, settings: Settings, patience: Patience | None = None) -> None:
        self._url = url
        self._where = Address.of(url, "s3")
        self._patience = patience or Patience()
        self._endpoint = settings.aws_endpoint_url or None
        self._pins: dict[str, str] = {}
        self._lock = threading.Lock()
        self._clients: dict[tuple[int, int], Any] = {}

    @property
    def url(self) -> str:
        """The URL the bucket was opened with."""
        return self._url

    def read(self, key: str) -> bytes:
        """A small object, whole."""
        return self.read_versioned(key)[0]

    def read_versioned(self, key: str) -> tuple[bytes, str]:
        """A small object and its ETag, of one answer."""
        return self._attempts(key, "read").run(lambda: self._read(key))

    def stream_range(self, key: str, start: int, end: int) -> Iterator[bytes]:
        """Bytes start to end (end exclusive), in pieces of at most 64 KiB; a broken stream is resumed."""
        pin = self._pins.get(key)
        return resumed(self._attempts(key, "read"), start, lambda at: self._range(key, at, end, pin))

    def size(self, key: str) -> int | None:
        """Bytes of the object, or None where there is none. Pins the version that ranges are read from."""
        try:
            found = self._attempts(key, "read").run(lambda: self._call("head_object", key, "read"))
        except ObjectMissing:
            self._pins.pop(key, None)
            return None
        self._pins[key] = found["ETag"]
        return int(found["ContentLength"])

    def put(self, key: str, data: bytes) -> None:
        """Write a small object, replacing what is there."""
        self._attempts(key, "written").run(lambda: self._send(key, data, {}))

    def put_if(self, key: str, data: bytes, version: str | None) -> str:
        """Write only if the object's ETag is still `version` (None: only if there is none).

        Where an answer was lost and the next attempt is told that the object changed, the object says who won.
        """
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        attempts = self._attempts(key, "written")
        return written_once(attempts, lambda: self._send(key, data, condition), lambda: won(self, key, data, version))

    def put_file(self, key: str, path: Path) -> None:
        """Write a large object from a local file, whole or not at all: it appears with its last part."""
        self._pins.pop(key, None)
        self._attempts(key, "written").once(lambda: self._upload(key, path))

    def keys(self, prefix: str) -> Iterator[str]:
        """Every key under the prefix, sorted. A prefix is text: `a/b` covers `a/b.json` and `a/bc/d`."""
        yield from self._attempts(prefix, "listed").run(lambda: self._list(prefix))

    def delete(self, key: str) -> None:
        """Remove the object; one that is not there is no error."""
        self._pins.pop(key, None)
        try:
            self._attempts(key, "deleted").run(lambda: self._call("delete_object", key, "deleted"))
        except ObjectMissing:
            return

    def local_path(self, key: str) -> None:
        """Nothing in a cloud can be mapped in place."""

    def close(self) -> None:
        """Close this process's connections. The bucket can still be used, and opens new ones."""
        with self._lock:
            for (process, _), client in self._clients.items():
                if process == os.getpid():
                    client.close()
            self._clients.clear()

    def _attempts(self, key: str, done: str) -> Attempts:
        return Attempts(self._patience, key, done)

    def _call(self, operation: str, key: str, done: str, **arguments: Any) -> Any:
        name = self._where.name(key)
        with _failures(key, done):
            return getattr(self._s3(1), operation)(Bucket=self._where.bucket, Key=name, **arguments)

    def _read(self, key: str) -> tuple[bytes, str]:
        found = self._call("get_object", key, "read")
        with closing(found["Body"]), _failures(key, "read"):
            return found["Body"].read(), str(found["ETag"])

    def _range(self, key: str, start: int, end: int, pin: str | None) -> Iterator[bytes]:
        """One answer's bytes. Raises TransientError where they end too early."""
        if start >= end:
            return
        pinned = {} if pin is None else {"IfMatch": pin}
        try:
            found = self._call("get_object", key, "read", Range=f"bytes={start}-{end - 1}", **pinned)
        except _PastTheEnd:
            return
        except (ObjectMissing, PreconditionFailed) as error:
            raise replaced(key) if pin else missing(key) from error
        answered, total = range_of(found.get("ContentRange"), start, end)
        with closing(found["Body"]), _failures(key, "read"):
            yield from exactly(found["Body"].iter_chunks(_PIECE_BYTES), answered - start)
        if answered < min(end, total):
            raise TransientError("storage sent less than was asked for")

    def _send(self, key: str, data: bytes, condition: Mapping[str, str]) -> str:
        self._pins.pop(key, None)
        # A pointer must not be cached on its way.
        try:
            sent = self._call("put_object", key, "written", Body=data, CacheControl="no-store", **condition)
        except ObjectMissing as error:
            raise conflict(key) from error
        return str(sent["ETag"])

    def _upload(self, key: str, path: Path) -> None:
        """In parts, each tried again by itself: one that failed late must not cost all that was sent before."""
        name, client = self._where.name(key), self._s3(self._patience.attempts)
        with path.open("rb") as file, _failures(key, "written"):
            client.upload_fileobj(file, self._where.bucket, name)

    def _list(self, prefix: str) -> list[str]:
        folder = self._where.folder
        with _failures(prefix, "listed"):
            pages = self._s3(1).get_paginator("list_objects_v2")
            found = pages.paginate(Bucket=self._where.bucket, Prefix=folder + prefix)
            return sorted(item["Key"].removeprefix(folder) for page in found for item in page.get("Contents", ()))

    def _s3(self, attempts: int) -> Any:
        """The client whose requests are tried so often: once where our own attempts are counted."""
        which = os.getpid(), attempts
        with self._lock:
            if which not in self._clients:
                self._clients[which] = _new_client(self._endpoint, self._patience, attempts)
            return self._clients[which]


class _PastTheEnd(Exception):
    """The range begins where the object has ended."""


def _new_client(endpoint: str | None, patience: Patience, attempts: int) -> Any:
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=patience.connect_s,
        read_timeout=patience.silence_s if attempts == 1 else patience.upload_s,
        retries={"mode": "standard", "total_max_attempts": attempts},
        max_pool_connections=_CONNECTIONS,
        s3={"addressing_style": "path" if endpoint else "auto"},
    )
    with _failures("", "opened"):
        # A session of its own: the default one is shared by all threads, and making clients with it is not safe.
        return boto3.session.Session().client("s3", endpoint_url=endpoint, config=config)


@contextmanager
def _failures(key: str, done: str) -> Iterator[None]:
    """What boto3 raises, as our errors."""
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        CredentialRetrievalError,
        FlexibleChecksumError,
        HTTPClientError,
        IncompleteReadError,
        NoCredentialsError,
        PartialCredentialsError,
    )
    from botocore.exceptions import ConnectionError as Unreachable

    try:
        yield
    except ClientError as error:
        raise _of_answer(key, done, error.response) from error
    except (Unreachable, HTTPClientError) as error:
        raise TransientError("storage did not answer") from error
    except (IncompleteReadError, FlexibleChecksumError) as error:
        raise TransientError("storage sent other bytes than it announced") from error
    except (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError) as error:
        raise failed(key, done, "no usable credentials for S3 were found") from error
    except BotoCoreError as error:
        raise failed(key, done, f"S3's client refused the request ({type(error).__name__})") from error


def _of_answer(key: str, done: str, answer: Mapping[str, Any]) -> Exception:
    status = int(answer["ResponseMetadata"]["HTTPStatusCode"])
    if status == 404:
        no_bucket = done == "listed" or answer["Error"]["Code"] == "NoSuchBucket"
        return failed(key, done, "there is no such bucket") if no_bucket else missing(key)
    if status == 412:
        return conflict(key)
    if status == 416:
        return _PastTheEnd()
    # 409: another conditional write was under way; S3 asks to try again.
    if status == 409 or is_transient(status):
        return TransientError(f"storage answered {status}")
    return failed(key, done, f"storage answered {status}")
