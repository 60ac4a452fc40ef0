"""The buckets of the load: the demo's releases with the scripted embedder, and pairs that a soak swaps."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from cli.bench.twin import make_pair
from infra.load.processes import ROOT, with_settings
from shared.bucket.base import Bucket, open_bucket
from shared.errors import BuildError
from shared.release import writer
from shared.release.manifest import pointer_key
from shared.release.reader import fetch
from shared.settings import Settings
from shared.sites.kinds import KINDS
from shared.tables.catalogs import BUILT_IN

KEY = "sk-or-test-5f1e"


def build_demo(
    folder: Path, models_url: str, kinds: Collection[str] = tuple(KINDS), leaves: Path = ROOT / "demo"
) -> str:
    """Build tables and sites with the shipped command, embedded by the scripted models; returns the bucket's URL."""
    url = (folder / "bucket").as_uri()
    verbs = [["tables", "--leaves", str(leaves)]]
    verbs += [["items", "--site", kind, "--items", str(ROOT / "demo" / "items" / f"{kind}.jsonl")] for kind in kinds]
    settings = {"OPENROUTER_BASE_URL": models_url, "OPENROUTER_API_KEY": KEY, "PYTHONPATH": str(ROOT)}
    for verb in verbs:
        command = [sys.executable, "-m", "cli.main", "build", *verb, "--bucket", url, "--embedder", "openrouter"]
        # Its questions would be judged by scripted models, which know no better than words in common.
        command += ["--json", "--force"]
        done = subprocess.run(  # noqa: S603 - our own command
            with_settings(settings, command), cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise BuildError(f"build {verb[0]} failed: {done.stderr.strip()[-500:]}")
    return url


@dataclass(frozen=True, slots=True)
class Swapping:
    """A bucket of our own with two releases of every catalog, the first of each current.

    The tables' second release is a twin with the same documents and other titles and rows; a site's has the same
    files under another name, so that all of it is opened anew.
    """

    bucket: Bucket
    releases: Mapping[str, tuple[str, str]]
    pointers: tuple[Path, ...]

    def switch(self, to: int) -> None:
        """Make the first (0) or the second (1) of every catalog the current one."""
        for catalog, ids in self.releases.items():
            writer.switch(self.bucket, catalog, ids[to])

    def hide(self) -> None:
        """Take the pointers away, as a storage that does not find what was there a moment ago."""
        for pointer in self.pointers:
            pointer.rename(pointer.with_suffix(".away"))

    def show(self) -> None:
        """Bring back what `hide` took away."""
        for pointer in self.pointers:
            pointer.with_suffix(".away").rename(pointer)


def make_swapping(settings: Settings, folder: Path) -> Swapping:
    """Copy the current releases of the settings' bucket, which is only read, and put a second one beside each."""
    source = open_bucket(settings.bucket_url, settings)
    pair = make_pair(settings, folder)
    releases = {BUILT_IN: pair.ids}
    for kind in set(KINDS) & set(writer.catalogs(source)):
        releases[kind] = _copied(source, kind, pair.bucket, settings)
    for catalog, (first, _) in releases.items():
        writer.switch(pair.bucket, catalog, first)
    pointers = (pair.bucket.local_path(pointer_key(catalog)) for catalog in releases)
    return Swapping(pair.bucket, releases, tuple(pointer for pointer in pointers if pointer is not None))


def _copied(source: Bucket, kind: str, bucket: Bucket, settings: Settings) -> tuple[str, str]:
    with closing(fetch(source, kind, None, Path(settings.cache_dir), kind="items")) as release:
        first = writer.write(bucket, release.manifest, release.paths)
        again = replace(release.manifest, builder=f"{release.manifest.builder} (again)")
        return first, writer.write(bucket, again, release.paths)
