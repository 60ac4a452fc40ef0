"""What a bench runs on the loopback beside what it measures: the tests' model gateway, their Cloud Storage server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec.structs import replace

import functions
from shared.bucket.base import open_bucket
from shared.errors import BuildError, SettingsError
from shared.release import writer
from shared.release.reader import fetch
from shared.settings import Settings

ROOT = Path(functions.__file__).parents[1]
FAKE_KEY = "sk-or-test-5f1e"
_TESTS = ROOT / "tests"
_STORAGE = f"import sys; sys.path.insert(0, {str(_TESTS)!r}); from fakes.storage import main; main()"


@contextmanager
def process(command: Sequence[str], name: str) -> Iterator[tuple[int, str]]:
    """A process of ours: its number, and the first line it says. Raises BuildError where it ends without one."""
    started = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    try:
        assert started.stdout is not None  # noqa: S101 - asked for above
        said = started.stdout.readline()
        if not said:
            raise BuildError(f"{name} stopped before it was ready; it says why above")
        yield started.pid, said
    finally:
        started.terminate()
        started.communicate(timeout=40)


@contextmanager
def fake_gateway(dimension: int | None = None) -> Iterator[str]:
    """The fake model gateway at 0 ms, with vectors of this length or of the model's. Yields its URL.

    Raises SettingsError where the tests are not there.
    """
    _check_tests("the fake gateway", "set OPENROUTER_BASE_URL to one")
    command = [sys.executable, "-m", "tests.fakes.openrouter", "--port", "0"]
    if dimension is not None:
        command += ["--dimension", str(dimension)]
    with process(command, "the fake gateway") as (_, said):
        yield said.split()[1]


@contextmanager
def copied_to_gcs(settings: Settings) -> Iterator[Settings]:
    """Settings for a copy of every current release of a bucket, in a Cloud Storage server of this machine.

    Raises SettingsError where the tests are not there, BuildError where what they need is not installed.
    """
    _check_tests("the Cloud Storage server", "name a gs:// bucket")
    with process([sys.executable, "-c", _STORAGE], "the Cloud Storage server") as (_, said):
        copy = replace(settings, bucket_url="gs://contract", storage_emulator_host=said.split()[1])
        _copy(settings, copy)
        yield copy


def _copy(settings: Settings, copy: Settings) -> None:
    source, target = (open_bucket(each.bucket_url, each) for each in (settings, copy))
    for catalog in writer.catalogs(source):
        with closing(fetch(source, catalog, None, Path(settings.cache_dir))) as release:
            writer.switch(target, catalog, writer.write(target, release.manifest, release.paths))


def _check_tests(what: str, otherwise: str) -> None:
    if not _TESTS.exists():
        raise SettingsError(f"{what} is one of the tests', which are not here; {otherwise}")
