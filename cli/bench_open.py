"""From a remote bucket to a release that is mapped and checked, beside a plain copy of the same bytes.

The plain copy is one GET a file, over one connection at a time, into a file: what nobody can avoid who wants the
bytes here. It checks nothing. Both write to the same disk and keep nothing; runs are interleaved, and each begins
where the one before ended.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shared.bucket.base import Bucket, open_bucket
from shared.contracts.release import Manifest
from shared.errors import SettingsError
from shared.release import manifest as manifests
from shared.release.reader import current, fetch, read_manifest
from shared.settings import Settings
from shared.tables.catalogs import BUILT_IN

MOST_TIMES_THE_COPY = 1.25
_PIECE_BYTES = 1 << 20
_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Source:
    """The release that is opened again and again, and how its bucket is reached."""

    bucket: Bucket
    settings: Settings
    release_id: str
    manifest: Manifest

    @property
    def bytes(self) -> int:
        """The files of the release together."""
        return sum(file.bytes for file in self.manifest.files)


def measure(settings: Settings, runs: int) -> dict[str, Any]:
    """Seconds of every run with medians, their ratio and its bar. Raises SettingsError for a bucket on this disk."""
    source = _source(settings)
    seconds: dict[str, list[float]] = {"plain copy": [], "ready": []}
    for run in range(runs):
        for name, once in _turns(source, run):
            seconds[name].append(_timed(once))
    return {
        "runs": runs,
        "release": source.release_id,
        "bytes": source.bytes,
        "seconds": seconds,
        **_judge(seconds),
    }


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it."""
    megabytes = report["bytes"] / 1e6
    yield f"{megabytes:.1f} MB from a remote bucket to mapped and checked, {report['runs']} interleaved runs"
    yield f"{'':12}{'median s':>10}{'min':>8}{'max':>8}{'MB/s':>8}"
    for name, runs in report["seconds"].items():
        median = report["medians"][name]
        yield f"{name:12}{median:10.3f}{min(runs):8.3f}{max(runs):8.3f}{megabytes / median:8.0f}"
    bar = report["bar"]
    yield f"{'ok  ' if bar['met'] else 'OVER'} {bar['rule']}: {bar['found']:.2f} x"


def _source(settings: Settings) -> Source:
    if not settings.bucket_url.startswith(("gs://", "s3://")):
        raise SettingsError("bench open needs a release in a remote bucket: --bucket gs://… or s3://…")
    bucket = open_bucket(settings.bucket_url, settings)
    release_id = current(bucket, BUILT_IN).release
    return Source(bucket, settings, release_id, read_manifest(bucket, BUILT_IN, release_id, "tables"))


def _turns(source: Source, run: int) -> list[tuple[str, Callable[[Path], None]]]:
    """Both, each first in every other run: what is first finds the disk as the other left it."""
    turns: list[tuple[str, Callable[[Path], None]]] = [
        ("plain copy", lambda folder: copy(source, folder)),
        ("ready", lambda folder: open_release(source, folder)),
    ]
    return turns[:: -1 if run % 2 else 1]


def _timed(once: Callable[[Path], None]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        once(Path(folder))
        return time.perf_counter() - began


def copy(source: Source, folder: Path) -> None:
    """Every file of the release, one after the other, each by one GET."""
    for file in source.manifest.files:
        key = manifests.file_key(BUILT_IN, file.sha256)
        with (folder / file.sha256).open("wb", buffering=0) as target:
            for piece in _whole(source, key, file.bytes):
                target.write(piece)


def open_release(source: Source, folder: Path) -> None:
    """Into an empty cache: fetched, digests checked, every file mapped and its shape checked."""
    from shared.index.lexical import Lexical
    from shared.index.records import Records
    from shared.index.scan import Vectors

    rows = source.manifest.rows
    with closing(fetch(source.bucket, BUILT_IN, None, folder, release_id=source.release_id)) as release:
        Vectors(release.paths["vectors"])
        Lexical(release.paths, rows)
        with closing(Records(release.paths["records"])) as records:
            records.check(rows)


def _whole(source: Source, key: str, size: int) -> Iterator[bytes]:
    """An object's bytes as one stream: by the standard library's HTTP client, or by boto3, which signs."""
    if not source.bucket.url.startswith("gs://"):
        yield from source.bucket.stream_range(key, 0, size)
        return
    with urllib.request.urlopen(_get(source, key), timeout=_TIMEOUT_S) as answer:  # noqa: S310 - http(s), below
        while piece := answer.read(_PIECE_BYTES):
            yield piece


def _get(source: Source, key: str) -> urllib.request.Request:
    from shared.bucket.gcs import LocalTokens
    from shared.bucket.gcs_reads import PUBLIC_ENDPOINT
    from shared.bucket.remote import Address

    emulator = source.settings.storage_emulator_host
    where = Address.of(source.bucket.url, "gs")
    endpoint = (emulator if "://" in emulator else f"http://{emulator}") if emulator else PUBLIC_ENDPOINT
    path = f"/download/storage/v1/b/{quote(where.bucket, safe='')}/o/{quote(where.name(key), safe='')}?alt=media"
    headers = {} if emulator else dict(LocalTokens()())
    return urllib.request.Request(endpoint + path, headers=headers)  # noqa: S310 - http(s), as just put together


def _judge(seconds: Mapping[str, list[float]]) -> dict[str, Any]:
    medians = {name: statistics.median(runs) for name, runs in seconds.items()}
    found = medians["ready"] / medians["plain copy"]
    rule = f"ready, digests checked, in at most {MOST_TIMES_THE_COPY} x the plain copy"
    return {
        "medians": medians,
        "bar": {"rule": rule, "found": found, "most": MOST_TIMES_THE_COPY, "met": found <= MOST_TIMES_THE_COPY},
    }
