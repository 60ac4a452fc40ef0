"""From a bucket in the cloud to a release that is mapped and checked, beside plain copies of the same bytes.

The plain copy is curl's: one GET a file, one after the other, into files; nothing is checked. The same in Python
with the standard library is shown too: on the loopback, where no network is waited for, it is the faster of the two.
All write to the same disk and keep nothing, and runs are interleaved.

What comes after, opening what lies here, is measured beside other engines by open_here.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cli.bench import open_here
from cli.bench.contest import Engine, chosen
from shared.bucket.base import Bucket
from shared.contracts.release import Manifest, ReleaseFile
from shared.errors import SettingsError
from shared.release import manifest as manifests
from shared.release.reader import current, fetch, read_manifest
from shared.settings import Settings
from shared.tables.catalogs import BUILT_IN

MOST_TIMES_THE_COPY = 1.25
_PIECE_BYTES = 1 << 18
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


def measure(
    settings: Settings, runs: int, peers: Sequence[str], engines: Mapping[str, Engine] = open_here.PEERS
) -> dict[str, Any]:
    """Seconds of every run with medians, their ratio and its bar; then of a local copy, beside the peers.

    Raises SettingsError for another kind of bucket or an unknown peer.
    """
    others = chosen(engines, peers)
    if runs < 1:
        raise SettingsError(f"bench open needs --runs to be at least 1, not {runs}")
    with _source(settings) as source:
        seconds = _run(source, runs)
        return {
            "runs": runs,
            "release": source.release_id,
            "bytes": source.bytes,
            "seconds": seconds,
            **_judge(seconds),
            "here": _open_here(source, runs, others),
        }


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it."""
    megabytes = report["bytes"] / 1e6
    yield f"{megabytes:.1f} MB from the bucket to mapped and checked, {report['runs']} interleaved runs"
    yield f"{'':12}{'median s':>10}{'min':>8}{'max':>8}{'MB/s':>8}"
    for name, runs in report["seconds"].items():
        median = report["medians"][name]
        yield f"{name:12}{median:10.3f}{min(runs):8.3f}{max(runs):8.3f}{megabytes / median:8.0f}"
    bar = report["bar"]
    yield f"{'ok  ' if bar['met'] else 'OVER'} {bar['rule']}: {bar['found']:.2f} x"
    yield from open_here.lines(report["here"])


@contextmanager
def _source(settings: Settings) -> Iterator[Source]:
    if not settings.bucket_url.startswith("gs://"):
        raise SettingsError("bench open needs a release in Cloud Storage or its emulator: --bucket gs://…")
    if shutil.which("curl") is None:
        raise SettingsError("bench open compares with curl, which is not installed")
    from shared.bucket.gcs import GcsBucket

    with closing(GcsBucket(settings.bucket_url, settings)) as bucket:
        release_id = current(bucket, BUILT_IN).release
        yield Source(bucket, settings, release_id, read_manifest(bucket, BUILT_IN, release_id, "tables"))


def _run(source: Source, runs: int) -> dict[str, list[float]]:
    """Seconds of every run of every way from the bucket to here."""
    turns = {"plain copy": copy_with_curl, "Python copy": copy, "ready": open_release}
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(runs):
        for name, once in turns.items():
            seconds[name].append(_timed(once, source))
    return seconds


def _open_here(source: Source, runs: int, peers: Sequence[Engine]) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(fetch(source.bucket, BUILT_IN, None, Path(folder), release_id=source.release_id)) as release,
    ):
        return open_here.measure(release, runs, peers)


def _timed(once: Callable[[Source, Path], None], source: Source) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        once(source, Path(folder))
        return time.perf_counter() - began


def copy_with_curl(source: Source, folder: Path) -> None:
    """Every file of the release, one after the other, each by one GET."""
    for file in source.manifest.files:
        request = _get(source, file)
        headers = "".join(f'header = "{name}: {value}"\n' for name, value in request.header_items())
        # The headers come by standard input: a token in the arguments is everybody's to see.
        command = ["curl", "-sS", "--fail", "-K", "-", "-o", str(folder / file.sha256), request.full_url]
        subprocess.run(command, input=headers, text=True, check=True)  # noqa: S603 - our own command


def copy(source: Source, folder: Path) -> None:
    """The same with the standard library, in pieces that suit the processor's caches."""
    for file in source.manifest.files:
        with (
            urllib.request.urlopen(_get(source, file), timeout=_TIMEOUT_S) as answer,  # noqa: S310 - http(s), see _get
            (folder / file.sha256).open("wb", buffering=0) as target,
        ):
            shutil.copyfileobj(answer, target, _PIECE_BYTES)


def open_release(source: Source, folder: Path) -> None:
    """Into an empty cache: fetched, bytes checked, every file mapped and its shape checked."""
    from shared.index.lexical import Lexical
    from shared.index.records import Records
    from shared.index.scan import Vectors

    rows = source.manifest.rows
    with closing(fetch(source.bucket, BUILT_IN, None, folder, release_id=source.release_id)) as release:
        Vectors(release.paths["vectors"])
        Lexical(release.paths, rows)
        with closing(Records(release.paths["records"])) as records:
            records.check(rows)


def _get(source: Source, file: ReleaseFile) -> urllib.request.Request:
    from shared.bucket.gcs import LocalTokens
    from shared.bucket.gcs_reads import PUBLIC_ENDPOINT
    from shared.bucket.remote import Address

    emulator = source.settings.storage_emulator_host
    where = Address.of(source.bucket.url, "gs")
    name = quote(where.name(manifests.file_key(BUILT_IN, file.sha256)), safe="")
    endpoint = (emulator if "://" in emulator else f"http://{emulator}") if emulator else PUBLIC_ENDPOINT
    url = f"{endpoint}/download/storage/v1/b/{quote(where.bucket, safe='')}/o/{name}?alt=media"
    return urllib.request.Request(url, headers={} if emulator else dict(LocalTokens()()))  # noqa: S310 - http(s)


def _judge(seconds: Mapping[str, list[float]]) -> dict[str, Any]:
    medians = {name: statistics.median(runs) for name, runs in seconds.items()}
    found = medians["ready"] / medians["plain copy"]
    rule = f"ready, bytes checked, in at most {MOST_TIMES_THE_COPY} x the plain copy"
    return {
        "medians": medians,
        "bar": {"rule": rule, "found": found, "most": MOST_TIMES_THE_COPY, "met": found <= MOST_TIMES_THE_COPY},
    }
