"""Google Cloud Storage: `gs://bucket/folder`.

Every read goes over plain HTTP connections (gcs_reads). google-cloud-storage is imported at the first write or
listing, google-auth for credentials that are not the metadata server's: neither by a function that serves from
the cloud.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shared.bucket.gcs_reads import PUBLIC_ENDPOINT, Authorize, MetadataTokens, Pool, Reader
from shared.bucket.remote import (
    Address,
    Attempts,
    Patience,
    TransientError,
    conflict,
    failed,
    is_transient,
    missing,
    won,
    written_once,
)
from shared.errors import ObjectMissing
from shared.settings import Settings

_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_BYTES = "application/octet-stream"


class GcsBucket:
    """Objects under one folder of a Cloud Storage bucket. A version is the object's generation.

    `size` pins an object: ranges read after it come from the generation it saw, and raise ObjectMissing once that
    one is gone; so the ranges of a download are never of two versions.
    Credentials: none where an emulator is named, the metadata server's in a deployed function, else those that
    google-auth finds. Made before a fork, it can be used after it.
    """

    def __init__(self, url: str, settings: Settings, patience: Patience | None = None) -> None:
        self._url = url
        self._where = Address.of(url, "gs")
        self._patience = patience or Patience()
        self._emulator = _endpoint(settings.storage_emulator_host)
        self._pool = Pool(self._patience)
        authorize = _authorize(settings, self._pool)
        self._reader = Reader(self._emulator or PUBLIC_ENDPOINT, self._where, self._pool, authorize, self._patience)
        self._pins: dict[str, str] = {}
        self._lock = threading.Lock()
        self._clients: dict[int, Any] = {}

    @property
    def url(self) -> str:
        """The URL the bucket was opened with."""
        return self._url

    def read(self, key: str) -> bytes:
        """A small object, whole."""
        return self._reader.read(key)[0]

    def read_versioned(self, key: str) -> tuple[bytes, str]:
        """A small object and its generation, of one answer."""
        return self._reader.read(key)

    def stream_range(self, key: str, start: int, end: int) -> Iterator[bytes]:
        """Bytes start to end (end exclusive) as they arrive, in pieces of at most 64 KiB."""
        return self._reader.stream(key, start, end, self._pins.get(key))

    def size(self, key: str) -> int | None:
        """Bytes of the object, or None where there is none. Pins the generation that ranges are read from."""
        found = self._reader.stat(key)
        if found is None:
            self._pins.pop(key, None)
            return None
        self._pins[key] = found[1]
        return found[0]

    def put(self, key: str, data: bytes) -> None:
        """Write a small object, replacing what is there."""
        self._attempts(key, "written").run(lambda: self._send(key, data, {}))

    def put_if(self, key: str, data: bytes, version: str | None) -> str:
        """Write only if the object's generation is still `version` (None: only if there is none).

        Where an answer was lost and the next attempt is told that the object changed, the object says who won.
        """
        if version is not None and not version.isdecimal():
            raise conflict(key)
        condition = {"if_generation_match": int(version or 0)}
        attempts = self._attempts(key, "written")
        return written_once(attempts, lambda: self._send(key, data, condition), lambda: won(self, key, data, version))

    def put_file(self, key: str, path: Path) -> None:
        """Write a large object from a local file, whole or not at all: it appears with its last byte."""
        self._pins.pop(key, None)
        self._attempts(key, "written").once(lambda: self._upload(key, path))

    def keys(self, prefix: str) -> Iterator[str]:
        """Every key under the prefix, sorted. A prefix is text: `a/b` covers `a/b.json` and `a/bc/d`."""
        yield from self._attempts(prefix, "listed").run(lambda: self._list(prefix))

    def delete(self, key: str) -> None:
        """Remove the object; one that is not there is no error."""
        self._pins.pop(key, None)
        try:
            self._attempts(key, "deleted").run(lambda: self._remove(key))
        except ObjectMissing:
            return

    def local_path(self, key: str) -> None:
        """Nothing in a cloud can be mapped in place."""

    def close(self) -> None:
        """Close this process's connections. The bucket can still be used, and opens new ones."""
        self._pool.close()
        with self._lock:
            if os.getpid() in self._clients:
                self._clients[os.getpid()].close()
            self._clients.clear()

    def _attempts(self, key: str, done: str) -> Attempts:
        return Attempts(self._patience, key, done)

    def _send(self, key: str, data: bytes, condition: Mapping[str, int]) -> str:
        """One upload in one request: only such a one is held to its condition by every server there is."""
        self._pins.pop(key, None)
        blob = self._blob(key)
        # A public object is otherwise cached for an hour on its way, and a pointer must not be.
        blob.cache_control = "no-store"
        with _failures(key, "written"):
            blob.upload_from_string(data, content_type=_BYTES, retry=None, timeout=self._timeout, **condition)
        return str(blob.generation)

    def _upload(self, key: str, path: Path) -> None:
        """In one resumable upload, which the SDK takes up again by itself where it broke."""
        from google.cloud.storage.retry import DEFAULT_RETRY

        timeout = (self._patience.connect_s, self._patience.upload_s)
        retry = DEFAULT_RETRY.with_timeout(self._patience.total_s)
        with path.open("rb") as file, _failures(key, "written"):
            self._blob(key).upload_from_file(file, content_type=_BYTES, timeout=timeout, retry=retry)

    def _list(self, prefix: str) -> list[str]:
        folder = self._where.folder
        with _failures(prefix, "listed"):
            blobs = self._storage().list_blobs(
                self._where.bucket,
                prefix=folder + prefix,
                fields="items(name),nextPageToken",
                retry=None,
                timeout=self._timeout,
            )
            return sorted(blob.name.removeprefix(folder) for blob in blobs)

    def _remove(self, key: str) -> None:
        with _failures(key, "deleted"):
            self._blob(key).delete(retry=None, timeout=self._timeout)

    @property
    def _timeout(self) -> tuple[float, float]:
        return self._patience.connect_s, self._patience.silence_s

    def _blob(self, key: str) -> Any:
        return self._storage().bucket(self._where.bucket).blob(self._where.name(key))

    def _storage(self) -> Any:
        with self._lock:
            if os.getpid() not in self._clients:
                self._clients[os.getpid()] = _new_client(self._emulator)
            return self._clients[os.getpid()]


class LocalTokens:
    """Access tokens of the credentials that google-auth finds on this machine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._credentials: Any = None

    def __call__(self) -> Mapping[str, str]:
        """The header that authorizes a request. Raises TransientError or BucketError."""
        import google.auth
        from google.auth.transport.requests import Request

        with self._lock, _failures("", "read"):
            if self._credentials is None:
                self._credentials, _ = google.auth.default(scopes=[_SCOPE])
            if not self._credentials.valid:
                self._credentials.refresh(Request())
            return {"Authorization": f"Bearer {self._credentials.token}"}


def _authorize(settings: Settings, pool: Pool) -> Authorize:
    if settings.storage_emulator_host:
        return dict
    if settings.k_service:
        return MetadataTokens(pool, settings.gce_metadata_host)
    return LocalTokens()


def _endpoint(host: str) -> str:
    """The emulator's URL; it may be given without a scheme, as `localhost:9023`."""
    return host if not host or "://" in host else f"http://{host}"


def _new_client(emulator: str) -> Any:
    from google.cloud import storage

    endpoint = {"client_options": {"api_endpoint": emulator}, "use_auth_w_custom_endpoint": False}
    with _failures("", "opened"):
        client = storage.Client(**(endpoint if emulator else {}))
    # Its cache of bucket metadata, for tracing that we do not use, asks for the bucket in threads nobody ends.
    client._bucket_metadata_cache = None
    return client


@contextmanager
def _failures(key: str, done: str) -> Iterator[None]:
    """What the SDK raises, as our errors."""
    from google.api_core.exceptions import GoogleAPICallError, NotFound, RetryError
    from google.auth.exceptions import GoogleAuthError, TransportError
    from requests import RequestException

    try:
        yield
    except NotFound as error:
        raise (missing(key) if done == "deleted" else failed(key, done, "there is no such bucket")) from error
    except GoogleAPICallError as error:
        raise _of_status(key, done, int(error.code or 500)) from error
    except (RetryError, RequestException, TransportError) as error:
        raise TransientError("storage did not answer") from error
    except GoogleAuthError as error:
        raise failed(key, done, "no usable credentials for Google Cloud were found") from error


def _of_status(key: str, done: str, status: int) -> Exception:
    if status == 412:
        return conflict(key)
    if is_transient(status):
        return TransientError(f"storage answered {status}")
    return failed(key, done, f"storage answered {status}")
