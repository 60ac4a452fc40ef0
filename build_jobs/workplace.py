"""Where a build works and how long it takes: a folder for its files, and seconds by stage."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from build_jobs.publish import check_writable
from shared.bucket.base import Bucket
from shared.release.cache import cache_failures, private_folder
from shared.version import VERSION

_ABANDONED_S = 24 * 3600


def workplace(cache_dir: Path) -> Path:
    """The folder below CACHE_DIR that builds share. Raises CacheUnusable."""
    return private_folder(cache_dir) / "build"


def program() -> str:
    """The program and its version."""
    return f"askbucket {VERSION}"


@contextmanager
def staging(work: Path, bucket: Bucket, catalog: str) -> Iterator[Path]:
    """A folder for the files of this build, removed afterwards; those of builds that were killed go as well.

    Raises CacheUnusable for what the folder refuses, also later in the block, and BucketError where a release could
    not be put into the bucket in the end.
    """
    with cache_failures():
        check_writable(bucket, catalog)
        work.mkdir(parents=True, exist_ok=True)
        for old in work.glob("index-*"):
            if time.time() - old.stat().st_mtime > _ABANDONED_S:
                shutil.rmtree(old, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="index-", dir=work) as folder:
            yield Path(folder)


class Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.stages: defaultdict[str, float] = defaultdict(float)
        self._started = time.monotonic()

    @property
    def total(self) -> float:
        return time.monotonic() - self._started

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.stages[name] += time.monotonic() - started
