"""Builds that have published nothing yet, and the prune that must not rob them.

A build that sends files says so first: `builds/sending/<name>.json` has their digests. A prune says so first as well:
`builds/pruning.json`. Each then looks for the other, so of two that begin at the same moment at least one sees the
other: the prune spares what is announced, and the build waits until the prune is done before it looks which files
are there already. What tasks of a build share lies in a folder of its own, `builds/<digest of the inputs>/`.

What a killed process left is taken for abandoned after the grace period, and then removed.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from shared.bucket.base import Bucket
from shared.errors import BucketError, ObjectMissing, PreconditionFailed
from shared.release import manifest as manifests

GRACE_S = 24 * 3600.0
"""Longer than the files of any release take to send, and than a task of a build is silent."""

# A prune lists and deletes for minutes at the most; one that is marked for longer was killed.
_LONGEST_PRUNE_S = 3600.0
_LOOK_AGAIN_S = 0.5

Sleep = Callable[[float], None]


class Underway(Struct, frozen=True):
    """What lies below a catalog's `builds/`: digests that are being sent, and keys that nobody needs any more."""

    announced: frozenset[str]
    abandoned: tuple[str, ...]


@contextmanager
def announced(bucket: Bucket, catalog: str, digests: Collection[str], *, sleep: Sleep = time.sleep) -> Iterator[None]:
    """While a build sends these files no prune removes them; one that has begun already is waited for."""
    key = f"{manifests.underway_prefix(catalog)}sending/{secrets.token_hex(8)}.json"
    bucket.put(key, _document(files=sorted(digests)))
    try:
        while _is_pruning(bucket, catalog):
            sleep(_LOOK_AGAIN_S)
        yield
    finally:
        with suppress(BucketError):  # who may write but not remove can publish; a prune takes it after the grace
            bucket.delete(key)


@contextmanager
def pruning(bucket: Bucket, catalog: str) -> Iterator[None]:
    """While this block lasts, no build looks which files are there.

    Raises PreconditionFailed where another prune of the catalog is under way.
    """
    key = _pruning_key(catalog)
    found, version = _marked(bucket, key)
    if _age_s(found) < _LONGEST_PRUNE_S:
        raise PreconditionFailed(f"catalog {catalog!r} is being pruned already, since {found.get('at')}")
    bucket.put_if(key, _document(), version)
    try:
        yield
    finally:
        bucket.delete(key)


def look(bucket: Bucket, catalog: str, grace_s: float) -> Underway:
    """What is under way in a catalog now, and what was left by builds that were last heard of before the grace."""
    prefix = manifests.underway_prefix(catalog)
    files: set[str] = set()
    dead: list[str] = []
    folders: dict[str, list[str]] = {}
    for key in bucket.keys(prefix):
        folder, _, rest = key.removeprefix(prefix).partition("/")
        if folder == "sending" and rest:
            said = _read(bucket, key)
            if _age_s(said) < grace_s:
                files.update(map(str, said.get("files", ())))
            else:
                dead.append(key)
        elif rest:
            folders.setdefault(folder, []).append(key)
    for keys in folders.values():
        heard = min((_age_s(_read(bucket, key)) for key in keys if "/tasks/" in key), default=float("inf"))
        if heard >= grace_s:
            dead += keys
    return Underway(frozenset(files), tuple(dead))


def heard_of(**known: Any) -> bytes:
    """The bytes of a note that its writer is alive now, with what else is known."""
    return _document(**known)


def _is_pruning(bucket: Bucket, catalog: str) -> bool:
    found, _ = _marked(bucket, _pruning_key(catalog))
    return _age_s(found) < _LONGEST_PRUNE_S


def _pruning_key(catalog: str) -> str:
    return f"{manifests.underway_prefix(catalog)}pruning.json"


def _marked(bucket: Bucket, key: str) -> tuple[Mapping[str, Any], str | None]:
    try:
        data, version = bucket.read_versioned(key)
    except ObjectMissing:
        return {}, None
    return _parsed(data), version


def _read(bucket: Bucket, key: str) -> Mapping[str, Any]:
    try:
        return _parsed(bucket.read(key))
    except ObjectMissing:
        return {"at": manifests.now()}  # it was there a moment ago: its writer is alive


def _parsed(data: bytes) -> Mapping[str, Any]:
    """A note; one that cannot be read says nothing, so it is as old as can be."""
    try:
        said = json.loads(data)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _document(**known: Any) -> bytes:
    return json.dumps({"at": manifests.now(), **known}, sort_keys=True).encode()


def _age_s(said: Mapping[str, Any]) -> float:
    """Seconds since a note was written; infinite for what says no time."""
    try:
        moment = datetime.fromisoformat(str(said.get("at", "")))
    except ValueError:
        return float("inf")
    return (datetime.now(UTC) - moment).total_seconds() if moment.tzinfo else float("inf")
