"""Reading from Cloud Storage as a function does it: its JSON interface over httpx, and no SDK.

Measured: importing google-cloud-storage takes 0.5 s of a cold start, httpx 0.1 s. A pool of connections belongs to
the process that made it; after a fork the child makes its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import quote

import httpx

from shared.bucket.remote import (
    Address,
    Attempts,
    Patience,
    TransientError,
    exactly,
    failed,
    is_transient,
    missing,
    range_of,
    replaced,
    resumed,
)

PUBLIC_ENDPOINT = "https://storage.googleapis.com"

# More than the ranges one download has under way (release.cache), and room for what else is read meanwhile.
_CONNECTIONS = 16
_KEEP_S = 30.0
# A token is replaced this long before it ends, so that none ends on its way. The metadata server hands out a
# new one 300 s before the old one ends.
_TOKEN_MARGIN_S = 60.0
_TOKEN_PATH = "/computeMetadata/v1/instance/service-accounts/default/token"  # noqa: S105 - a path

Authorize = Callable[[], Mapping[str, str]]


class Pool:
    """The HTTP connections of this process."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._pid = 0

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str], params: Mapping[str, str]) -> Iterator[httpx.Response]:
        """The answer to a GET, its body not yet read. No redirect is followed. Raises TransientError."""
        try:
            with self._connected().stream("GET", url, headers=dict(headers), params=dict(params)) as response:
                yield response
        except httpx.TimeoutException as error:
            raise TransientError("storage did not answer in time") from error
        except httpx.ConnectError as error:
            raise TransientError("storage cannot be reached") from error
        except httpx.TransportError as error:
            raise TransientError("the connection broke") from error

    def close(self) -> None:
        """Close the connections of this process. A later read opens new ones."""
        with self._lock:
            if self._client is not None and self._pid == os.getpid():
                self._client.close()
            self._client = None

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._client is None or self._pid != os.getpid():
                self._client, self._pid = self._new(), os.getpid()
            return self._client

    def _new(self) -> httpx.Client:
        silence_s = self._patience.silence_s
        timeout = httpx.Timeout(silence_s, connect=self._patience.connect_s)
        limits = httpx.Limits(max_connections=_CONNECTIONS, keepalive_expiry=_KEEP_S)
        # trust_env: what the environment says about proxies and passwords is for others.
        client = httpx.Client(timeout=timeout, limits=limits, trust_env=False)
        weakref.finalize(self, client.close).atexit = False
        return client


class MetadataTokens:
    """Access tokens of the account that a function runs as, from the platform's metadata server."""

    def __init__(self, pool: Pool, host: str) -> None:
        self._pool = pool
        self._url = f"http://{host}{_TOKEN_PATH}"
        self._lock = threading.Lock()
        self._token = ""
        self._good_until = 0.0

    def __call__(self) -> Mapping[str, str]:
        """The header that authorizes a request. Raises TransientError where no token can be had."""
        with self._lock:
            if time.monotonic() >= self._good_until:
                self._fetch()
            return {"Authorization": f"Bearer {self._token}"}

    def _fetch(self) -> None:
        asked_at = time.monotonic()
        with self._pool.get(self._url, {"Metadata-Flavor": "Google"}, {}) as response:
            if response.status_code != 200:
                raise TransientError(f"the metadata server gave no access token ({response.status_code})")
            found = _json(response)
        self._token = _given(found, "access_token")
        self._good_until = asked_at + float(_given(found, "expires_in")) - _TOKEN_MARGIN_S


class Reader:
    """Reads of the objects under one address.

    A version is a generation. What is read with one never comes from another generation of the object.
    """

    def __init__(self, endpoint: str, where: Address, pool: Pool, authorize: Authorize, patience: Patience) -> None:
        self._objects = f"/storage/v1/b/{quote(where.bucket, safe='')}/o/"
        self._endpoint = endpoint.rstrip("/")
        self._where = where
        self._pool = pool
        self._authorize = authorize
        self._patience = patience

    def read(self, key: str) -> tuple[bytes, str]:
        """A small object and its generation, from one answer, so that they belong together."""
        return self._attempts(key).run(lambda: self._read(key))

    def stat(self, key: str) -> tuple[int, str] | None:
        """Bytes and generation of an object, or None where there is none."""
        return self._attempts(key).run(lambda: self._stat(key))

    def stream(self, key: str, start: int, end: int, version: str | None) -> Iterator[bytes]:
        """Bytes start to end as they arrive, fewer where the object ends before. A broken stream is resumed."""
        return resumed(self._attempts(key), start, lambda at: self._range(key, at, end, version))

    def _attempts(self, key: str) -> Attempts:
        return Attempts(self._patience, key, "read")

    def _read(self, key: str) -> tuple[bytes, str]:
        with self._media(key, {}, {}) as response:
            if response.status_code == 404:
                raise missing(key)
            _check(response, key, 200)
            data = b"".join(response.iter_raw())
            _check_digest(data, response.headers.get("X-Goog-Hash", ""))
            return data, _given(response.headers, "X-Goog-Generation")

    def _stat(self, key: str) -> tuple[int, str] | None:
        with self._get(self._objects, key, {}, {"fields": "size,generation"}) as response:
            if response.status_code == 404:
                return None
            _check(response, key, 200)
            found = _json(response)
            return int(_given(found, "size")), _given(found, "generation")

    def _range(self, key: str, start: int, end: int, version: str | None) -> Iterator[bytes]:
        """One answer's bytes. Raises TransientError where they end too early."""
        if start >= end:
            return
        pinned = {} if version is None else {"generation": version}
        with self._media(key, {"Range": f"bytes={start}-{end - 1}"}, pinned) as response:
            if response.status_code == 416:
                return
            if response.status_code == 404:
                raise missing(key) if version is None else replaced(key)
            _check(response, key, 206)
            if version not in (None, response.headers.get("X-Goog-Generation", version)):
                raise replaced(key)
            answered, total = range_of(response.headers.get("Content-Range"), start, end)
            yield from exactly(response.iter_raw(), answered - start)
        if answered < min(end, total):
            raise TransientError("storage sent less than was asked for")

    def _media(
        self, key: str, headers: Mapping[str, str], params: Mapping[str, str]
    ) -> AbstractContextManager[httpx.Response]:
        return self._get(f"/download{self._objects}", key, headers, {"alt": "media", **params})

    def _get(
        self, path: str, key: str, headers: Mapping[str, str], params: Mapping[str, str]
    ) -> AbstractContextManager[httpx.Response]:
        url = f"{self._endpoint}{path}{quote(self._where.name(key), safe='')}"
        # identity: a range counts the bytes that were stored, not those of another encoding.
        return self._pool.get(url, {"Accept-Encoding": "identity", **self._authorize(), **headers}, params)


def _check(response: httpx.Response, key: str, expected: int) -> None:
    """Raises TransientError or BucketError for another status than the expected one."""
    status = response.status_code
    if is_transient(status):
        raise TransientError(f"storage answered {status}")
    if status in (401, 403):
        raise failed(key, "read", f"storage refused access ({status})")
    if status != expected:
        raise failed(key, "read", f"storage answered {status}, expected {expected}")


def _check_digest(data: bytes, header: str) -> None:
    """Compare a whole object with `crc32c=…,md5=…`, where it names an md5: composed objects have none."""
    found = re.search(r"\bmd5=([A-Za-z0-9+/=]+)", header)
    if found and base64.b64decode(found[1]) != hashlib.md5(data, usedforsecurity=False).digest():
        raise TransientError("storage sent other bytes than it announced")


def _json(response: httpx.Response) -> Mapping[str, Any]:
    try:
        found = json.loads(response.read())
    except ValueError as error:
        raise TransientError("storage answered with broken JSON") from error
    if not isinstance(found, dict):
        raise TransientError("storage answered with other JSON than an object")
    return found


def _given(answer: Mapping[str, Any], name: str) -> str:
    if name not in answer:
        raise TransientError(f"storage answered without {name}")
    return str(answer[name])
