"""Publishing: nothing is sent twice, the pointer moves once, and what is pruned was needed by nobody."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from releases import CATALOG, ROLES, a_bucket, a_manifest, digest_of, file_of, object_path, published, some_files

from shared.bucket.file import FileBucket
from shared.errors import PreconditionFailed, ReleaseCorrupt, ReleaseError, ReleaseIncompatible, ReleaseMissing
from shared.release import manifest as manifests
from shared.release import reader, writer


class Watched(FileBucket):
    """Writes down the keys that are written, in order, but for the announcement that they will be."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.written: list[str] = []

    def put(self, key: str, data: bytes) -> None:
        if "/builds/" not in key:
            self.written.append(key)
        super().put(key, data)

    def put_file(self, key: str, path: Path) -> None:
        self.written.append(key)
        super().put_file(key, path)


@pytest.fixture
def bucket(tmp_path: Path) -> Watched:
    return Watched(a_bucket(tmp_path).url)


def three(bucket: FileBucket, folder: Path) -> list[str]:
    """Three releases, oldest first; the last is current."""
    return [published(bucket, folder, seed, created_at=f"2026-01-0{n}T00:00:00Z") for n, seed in enumerate("abc", 1)]


def test_the_manifest_is_written_last(bucket: Watched, tmp_path: Path) -> None:
    release_id = writer.write(bucket, a_manifest(), some_files(tmp_path))
    assert bucket.written[-1] == f"built-in/releases/{release_id}.json"
    assert sorted(bucket.written[:-1]) == sorted(f"built-in/files/{digest_of(bucket, release_id, r)}" for r in ROLES)


def test_a_release_is_not_current_before_the_switch(bucket: Watched, tmp_path: Path) -> None:
    release_id = writer.write(bucket, a_manifest(), some_files(tmp_path))
    with pytest.raises(ReleaseMissing, match="'built-in' has no release"):
        reader.current(bucket, CATALOG)
    writer.switch(bucket, CATALOG, release_id)
    assert reader.current(bucket, CATALOG).release == release_id


def test_an_unchanged_file_is_not_sent_again(bucket: Watched, tmp_path: Path) -> None:
    files = some_files(tmp_path)
    writer.write(bucket, a_manifest(), files)
    bucket.written.clear()
    files["records"].write_bytes(b"new records")
    second = writer.write(bucket, a_manifest(created_at="2026-02-01T00:00:00Z"), files)
    assert bucket.written == [
        f"built-in/files/{digest_of(bucket, second, 'records')}",
        f"built-in/releases/{second}.json",
    ]


def test_a_file_that_lies_there_in_part_is_sent_again(bucket: Watched, tmp_path: Path) -> None:
    release_id = writer.write(bucket, a_manifest(), some_files(tmp_path))
    file_of(bucket, release_id, "vectors").write_bytes(b"half")
    assert writer.write(bucket, a_manifest(), some_files(tmp_path)) == release_id
    assert writer.switch(bucket, CATALOG, release_id).release == release_id


def test_a_manifest_that_contradicts_itself_is_refused_before_anything_is_sent(bucket: Watched, tmp_path: Path) -> None:
    with pytest.raises(ReleaseIncompatible, match="rows of all families"):
        writer.write(bucket, a_manifest(rows=7), some_files(tmp_path))
    files = some_files(tmp_path)
    del files["records"]
    with pytest.raises(ReleaseIncompatible, match="'records'"):
        writer.write(bucket, a_manifest(), files)
    assert bucket.written == []


def test_the_same_inputs_give_the_same_release(bucket: Watched, tmp_path: Path) -> None:
    first = writer.write(bucket, a_manifest(), some_files(tmp_path / "1"))
    assert writer.write(bucket, a_manifest(), some_files(tmp_path / "2")) == first


def test_a_switch_remembers_the_release_before(bucket: Watched, tmp_path: Path) -> None:
    first, second, third = three(bucket, tmp_path)
    pointer = reader.current(bucket, CATALOG)
    assert (pointer.release, pointer.previous) == (third, second)
    assert writer.switch(bucket, CATALOG, third) == pointer
    assert writer.switch(bucket, CATALOG, first).previous == third


def test_an_incomplete_release_is_never_switched_to(bucket: Watched, tmp_path: Path) -> None:
    first = published(bucket, tmp_path)
    second = writer.write(bucket, a_manifest(label="second"), some_files(tmp_path, "b"))
    path = file_of(bucket, second, "records")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ReleaseCorrupt, match=r"records \(built-in/files/\w+\): expected 1000 bytes, found 999"):
        writer.switch(bucket, CATALOG, second)
    path.unlink()
    with pytest.raises(ReleaseCorrupt, match="expected 1000 bytes, found no such object"):
        writer.switch(bucket, CATALOG, second)
    with pytest.raises(ReleaseMissing):
        writer.switch(bucket, CATALOG, "20260131T120000Z-0123456789ab")
    assert reader.current(bucket, CATALOG).release == first


def test_of_two_publishers_one_loses_by_name(tmp_path: Path) -> None:
    """Both read the pointer before either writes it."""
    start = threading.Barrier(2)

    class Slow(FileBucket):
        def read_versioned(self, key: str) -> tuple[bytes, str]:
            found = super().read_versioned(key)
            start.wait(timeout=30)
            return found

    bucket = Slow(a_bucket(tmp_path).url)
    plain = FileBucket(bucket.url)
    first = published(plain, tmp_path)
    rivals = [writer.write(plain, a_manifest(label=seed), some_files(tmp_path, seed)) for seed in "bc"]
    lost: list[str] = []

    def switch(release_id: str) -> None:
        try:
            writer.switch(bucket, CATALOG, release_id)
        except PreconditionFailed:
            lost.append(release_id)

    threads = [threading.Thread(target=switch, args=(rival,)) for rival in rivals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [loser] = lost
    pointer = reader.current(plain, CATALOG)
    assert {pointer.release, loser} == set(rivals)
    assert pointer.previous == first


def test_B05_a_rollback_serves_the_previous_release_and_can_be_undone(bucket: Watched, tmp_path: Path) -> None:
    _, second, third = three(bucket, tmp_path)
    assert writer.rollback(bucket, CATALOG).release == second
    assert reader.current(bucket, CATALOG).previous == third
    assert writer.rollback(bucket, CATALOG).release == third


def test_a_rollback_without_a_previous_release_says_so(bucket: Watched, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ReleaseMissing, match="no previous release to roll back to"):
            writer.rollback(bucket, CATALOG)
        published(bucket, tmp_path)


def test_releases_are_listed_newest_first_with_what_is_wrong(bucket: Watched, tmp_path: Path) -> None:
    first, second, third = three(bucket, tmp_path)
    file_of(bucket, first, "records").unlink()
    object_path(bucket, manifests.manifest_key(CATALOG, second)).write_bytes(b"{}")
    bucket.put("built-in/releases/README", b"not a release")
    listed = writer.releases(bucket, CATALOG)
    assert [(x.id, x.mark, x.complete, x.rows) for x in listed] == [
        (third, "current", True, 5),
        (second, "previous", False, None),
        (first, "", False, 5),
    ]
    assert listed[0].created_at == "2026-01-03T00:00:00Z"
    assert listed[2].problem
    assert "found no such object" in listed[2].problem


def test_nothing_published_is_an_empty_list(bucket: Watched) -> None:
    assert writer.releases(bucket, CATALOG) == []


def test_pruning_keeps_the_newest_and_their_files(bucket: Watched, tmp_path: Path) -> None:
    first, second, third = three(bucket, tmp_path)
    doomed = {f"built-in/files/{digest_of(bucket, first, role)}" for role in ROLES}
    pruned = writer.prune(bucket, CATALOG, keep=2)
    assert (pruned.releases, set(pruned.files), pruned.bytes) == ((first,), doomed, 1_000 * len(ROLES))
    assert [x.id for x in writer.releases(bucket, CATALOG)] == [third, second]
    assert all(x.complete for x in writer.releases(bucket, CATALOG))
    assert writer.prune(bucket, CATALOG, keep=2) == writer.Pruned((), (), 0)


def test_pruning_never_takes_the_current_or_the_previous_release(bucket: Watched, tmp_path: Path) -> None:
    first, second, third = three(bucket, tmp_path)
    writer.switch(bucket, CATALOG, first)
    assert writer.prune(bucket, CATALOG, keep=0).releases == (second,)
    assert {x.id: x.mark for x in writer.releases(bucket, CATALOG)} == {first: "current", third: "previous"}
    assert writer.rollback(bucket, CATALOG).release == third


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_releases_of_one_second_the_current_one_is_listed_first(
    bucket: Watched, tmp_path: Path, turned: bool
) -> None:
    one, other = sorted((published(bucket, tmp_path, seed) for seed in ("a", "b")), reverse=turned)
    writer.switch(bucket, CATALOG, other)
    assert [each.id for each in writer.releases(bucket, CATALOG)] == [other, one]


def test_pruning_leaves_a_file_that_two_releases_share(bucket: Watched, tmp_path: Path) -> None:
    published(bucket, tmp_path, "a", created_at="2026-01-01T00:00:00Z")
    files = {**some_files(tmp_path, "b"), "records": tmp_path / "records-a"}
    shared = writer.write(bucket, a_manifest(created_at="2026-01-02T00:00:00Z"), files)
    writer.switch(bucket, CATALOG, shared)
    published(bucket, tmp_path, "c", created_at="2026-01-03T00:00:00Z")
    assert len(writer.prune(bucket, CATALOG, keep=1).files) == len(ROLES) - 1
    assert all(x.complete for x in writer.releases(bucket, CATALOG))


def test_nothing_is_pruned_while_a_kept_manifest_cannot_be_read(bucket: Watched, tmp_path: Path) -> None:
    _, second, _ = three(bucket, tmp_path)
    object_path(bucket, manifests.manifest_key(CATALOG, second)).write_bytes(b"{}")
    before = list(bucket.keys(""))
    with pytest.raises(ReleaseError, match=second):
        writer.prune(bucket, CATALOG, keep=1)
    assert list(bucket.keys("")) == before


def test_a_prune_spares_what_a_build_of_the_current_ones_second_may_be_about_to_switch_to(
    bucket: Watched, tmp_path: Path
) -> None:
    now = manifests.now()
    ids = [
        writer.write(bucket, a_manifest(created_at=now, builder=name), some_files(tmp_path, name))
        for name in ("a", "b")
    ]
    writer.switch(bucket, CATALOG, max(ids))
    assert writer.prune(bucket, CATALOG, keep=0).releases == ()
    assert writer.switch(bucket, CATALOG, min(ids)).previous == max(ids)
