"""Builds under way and the prune beside them: neither may rob the other, whoever looks first."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from releases import CATALOG, a_bucket, a_manifest, published, some_files

from shared.bucket.file import FileBucket
from shared.errors import PreconditionFailed, ReleaseError
from shared.release import manifest as manifests
from shared.release import reader, underway, writer

LONG_AGO = "2026-01-01T00:00:00Z"


@pytest.fixture
def bucket(tmp_path: Path) -> FileBucket:
    return a_bucket(tmp_path)


class PrunedInBetween(FileBucket):
    """A bucket in which somebody prunes with every right at a chosen moment: before the nth write of a kind."""

    def __init__(self, url: str, before: str) -> None:
        super().__init__(url)
        self._before = before
        self.pruned: list[writer.Pruned] = []

    def _prune(self, moment: str) -> None:
        if moment == self._before and not self.pruned:
            self.pruned.append(writer.prune(FileBucket(self.url), CATALOG, keep=0))

    def put_file(self, key: str, path: Path) -> None:
        self._prune("a file")
        super().put_file(key, path)
        self._prune("after a file")

    def put(self, key: str, data: bytes) -> None:
        if "/releases/" in key:
            self._prune("the manifest")
        super().put(key, data)

    def put_if(self, key: str, data: bytes, version: str | None) -> str:
        if key.endswith("/current.json"):
            self._prune("the pointer")
        return super().put_if(key, data, version)


@pytest.mark.parametrize("moment", ["a file", "after a file", "the manifest", "the pointer"])
def test_a_prune_at_any_moment_of_a_publication_takes_nothing_of_it(
    bucket: FileBucket, tmp_path: Path, moment: str
) -> None:
    old = published(bucket, tmp_path / "files", "a", created_at=LONG_AGO)
    robbing = PrunedInBetween(bucket.url, moment)
    new = published(robbing, tmp_path / "files", "b", created_at=manifests.now())
    assert len(robbing.pruned) == 1
    assert robbing.pruned[0].files == ()
    assert [one.complete for one in writer.releases(bucket, CATALOG)] == [True, True]
    assert reader.current(bucket, CATALOG).release == new != old


def test_files_that_no_release_names_any_more_are_reused_by_a_build_that_needs_them(
    bucket: FileBucket, tmp_path: Path
) -> None:
    """They are on their way out when the build looks which are there: it may not count on them."""
    writer.write(bucket, a_manifest(created_at=LONG_AGO), some_files(tmp_path / "files"))
    bucket.delete(next(bucket.keys(f"{CATALOG}/releases/")))
    robbing = PrunedInBetween(bucket.url, "the manifest")
    published(robbing, tmp_path / "files", created_at=manifests.now())
    assert robbing.pruned[0].files == ()
    assert all(one.complete for one in writer.releases(bucket, CATALOG))


def test_a_build_waits_for_a_prune_that_began_before_it(bucket: FileBucket, tmp_path: Path) -> None:
    waited, published_at = threading.Event(), []

    def sleep(_: float) -> None:
        waited.set()

    def build() -> None:
        with underway.announced(bucket, CATALOG, ["0" * 64], sleep=sleep):
            published_at.append(len(published_at))

    with underway.pruning(bucket, CATALOG):
        building = threading.Thread(target=build)
        building.start()
        assert waited.wait(60)
        assert published_at == []
    building.join(60)
    assert published_at == [0]


def test_two_prunes_at_once_are_refused(bucket: FileBucket, tmp_path: Path) -> None:
    published(bucket, tmp_path / "files")
    with underway.pruning(bucket, CATALOG), pytest.raises(PreconditionFailed, match="being pruned already"):
        writer.prune(bucket, CATALOG, keep=1)
    assert writer.prune(bucket, CATALOG, keep=1).files == ()


@pytest.mark.parametrize("said", [{"at": LONG_AGO}, {}, "no note", {"at": "yesterday"}])
def test_a_prune_that_was_killed_holds_nobody_up(bucket: FileBucket, tmp_path: Path, said: Any) -> None:
    bucket.put(f"{CATALOG}/builds/pruning.json", json.dumps(said).encode())
    published(bucket, tmp_path / "files")
    assert writer.prune(bucket, CATALOG, keep=1).files == ()
    assert list(bucket.keys(f"{CATALOG}/builds/")) == []


def test_what_tasks_share_stays_within_the_grace_period_and_goes_after_it(bucket: FileBucket, tmp_path: Path) -> None:
    published(bucket, tmp_path / "files")
    alive, dead, silent = (f"{CATALOG}/builds/{each * 64}" for each in "abc")
    for folder, at in ((alive, manifests.now()), (dead, LONG_AGO)):
        bucket.put(f"{folder}/tasks/0-of-2.json", json.dumps({"at": LONG_AGO, "done": True}).encode())
        bucket.put(f"{folder}/tasks/1-of-2.json", json.dumps({"at": at, "done": False}).encode())
        bucket.put(f"{folder}/vectors/1-of-2/x.npz", b"vectors")
    bucket.put(f"{silent}/vectors/0-of-2/x.npz", b"vectors of nobody")
    pruned = writer.prune(bucket, CATALOG, keep=1)
    assert {key.rpartition("/builds/")[2][0] for key in pruned.abandoned} == {"b", "c"}
    assert len(list(bucket.keys(f"{alive}/"))) == 3


def test_an_announcement_of_a_build_that_was_killed_ends_with_the_grace_period(
    bucket: FileBucket, tmp_path: Path
) -> None:
    """Within it, what the build had sent is spared; after it, both go."""
    published(bucket, tmp_path / "files")
    orphan = "d" * 64
    bucket.put(f"{CATALOG}/files/{orphan}", b"sent by a build that was killed")
    note = f"{CATALOG}/builds/sending/1.json"
    bucket.put(note, json.dumps({"at": manifests.now(), "files": [orphan]}).encode())
    assert writer.prune(bucket, CATALOG, keep=1).files == ()
    bucket.put(note, json.dumps({"at": LONG_AGO, "files": [orphan]}).encode())
    pruned = writer.prune(bucket, CATALOG, keep=1)
    assert (pruned.files, pruned.abandoned) == ((f"{CATALOG}/files/{orphan}",), (note,))


def test_a_release_that_was_written_a_moment_ago_is_not_taken_for_an_old_one(
    bucket: FileBucket, tmp_path: Path
) -> None:
    published(bucket, tmp_path / "files", "a", created_at=LONG_AGO)
    new = writer.write(bucket, a_manifest(created_at=manifests.now()), some_files(tmp_path / "files", "b"))
    assert writer.prune(bucket, CATALOG, keep=0).releases == ()
    assert writer.prune(bucket, CATALOG, keep=0, grace_s=0).releases == (new,)
    with pytest.raises(ReleaseError):
        writer.switch(bucket, CATALOG, new)
