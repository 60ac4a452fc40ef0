"""Opening a release: in place where it can be mapped, else copied once for all processes of a machine."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from releases import (
    CATALOG,
    ROLES,
    RemoteBucket,
    a_bucket,
    a_manifest,
    digest_of,
    flip_a_bit,
    published,
    remote,
    some_files,
)

from shared.bucket.file import FileBucket
from shared.contracts.release import LEXICAL_ROLES, RANGE_BYTES
from shared.errors import BucketError, CacheUnusable, ReleaseCorrupt, ReleaseIncompatible, ReleaseMissing
from shared.release import reader, writer
from shared.release.cache import Cache

# From Python 3.12 on a fork beside threads warns; what a fork beside threads does is what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


@pytest.fixture
def bucket(tmp_path: Path) -> FileBucket:
    return a_bucket(tmp_path)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def contents(release: reader.Release) -> dict[str, bytes]:
    return {role: path.read_bytes() for role, path in release.paths.items()}


def originals(folder: Path, seed: str = "a", size: int = 1_000) -> dict[str, bytes]:
    return {role: path.read_bytes() for role, path in some_files(folder / "again", seed, size).items()}


def test_files_on_a_local_disk_are_used_in_place(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    release_id = published(bucket, tmp_path)
    release = reader.fetch(bucket, CATALOG, None, cache)
    assert release.id == release_id
    assert contents(release) == originals(tmp_path)
    assert all(path.is_relative_to(tmp_path / "bucket") for path in release.paths.values())
    assert not cache.exists()


def test_a_file_that_shrinks_while_it_is_checked_is_refused(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    published(bucket, tmp_path, size=3 * RANGE_BYTES)

    def shrink(done: int, _: int) -> None:
        if done:
            for path in (tmp_path / "bucket").rglob("files/*"):
                path.chmod(0o600)
                os.truncate(path, RANGE_BYTES)

    with pytest.raises(ReleaseCorrupt, match="expected crc32"):
        reader.fetch(bucket, CATALOG, ["vectors"], cache, shrink)


def test_files_of_a_remote_bucket_are_copied_byte_for_byte(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    size = 2 * RANGE_BYTES + 12_345
    published(bucket, tmp_path, size=size)
    far = remote(bucket)
    release = reader.fetch(far, CATALOG, None, cache)
    assert contents(release) == originals(tmp_path, size=size)
    assert len(far.ranges) == 3 * len(ROLES)
    assert sorted(path.name for path in (cache / "files").iterdir()) == sorted(p.name for p in release.paths.values())


def test_a_copied_file_is_never_copied_or_checked_again(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    published(bucket, tmp_path)
    reader.fetch(remote(bucket), CATALOG, None, cache)
    again = remote(bucket)
    steps: list[tuple[int, int]] = []
    reader.fetch(again, CATALOG, None, cache, lambda *step: steps.append(step))
    assert again.ranges == []
    assert steps[-1] == (1_000 * len(ROLES),) * 2
    copy = next((cache / "files").iterdir())
    flip_a_bit(copy)  # what has its final name was checked before it got it
    reader.fetch(again, CATALOG, None, cache).close()
    assert again.ranges == []


def test_an_unchanged_file_of_the_next_release_is_not_copied_again(
    bucket: FileBucket, tmp_path: Path, cache: Path
) -> None:
    published(bucket, tmp_path)
    reader.fetch(remote(bucket), CATALOG, None, cache)
    files = {**some_files(tmp_path, "b"), "vectors": tmp_path / "vectors-a"}
    second = writer.write(bucket, a_manifest(label="second"), files)
    writer.switch(bucket, CATALOG, second)
    far = remote(bucket)
    assert reader.fetch(far, CATALOG, None, cache).id == second
    assert len(far.ranges) == len(ROLES) - 1


def test_only_the_wanted_roles_are_fetched(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    published(bucket, tmp_path)
    assert set(reader.fetch(bucket, CATALOG, ["records"], cache).paths) == {"records"}
    far = remote(bucket)
    release = reader.fetch(far, CATALOG, ["records", "lexical.*"], cache)
    assert set(release.paths) == {"records", *LEXICAL_ROLES}
    assert len(far.ranges) == len(ROLES) - 1


def test_a_role_that_the_release_lacks_is_named(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    published(bucket, tmp_path)
    with pytest.raises(
        ReleaseIncompatible, match=r"expected one with role 'facets', found only lexical\.frequencies, "
    ):
        reader.fetch(bucket, CATALOG, ["facets"], cache)


def test_nothing_published_is_a_missing_release(bucket: FileBucket, cache: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseMissing, match="'built-in' has no release: the bucket's folder does not exist") as caught:
        reader.fetch(bucket, CATALOG, None, cache)
    assert str(tmp_path) not in caught.value.message
    (tmp_path / "bucket").mkdir()
    with pytest.raises(ReleaseMissing, match=r"holds no object 'built-in/current.json'"):
        reader.fetch(bucket, CATALOG, None, cache)


def test_a_pointer_to_a_manifest_that_is_gone_is_a_missing_release(
    bucket: FileBucket, tmp_path: Path, cache: Path
) -> None:
    release_id = published(bucket, tmp_path)
    bucket.delete(f"built-in/releases/{release_id}.json")
    with pytest.raises(ReleaseMissing, match=release_id):
        reader.fetch(bucket, CATALOG, None, cache)


def test_a_release_can_be_named(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    first = published(bucket, tmp_path, "a")
    published(bucket, tmp_path, "b")
    release = reader.fetch(bucket, CATALOG, None, cache, release_id=first)
    assert contents(release) == originals(tmp_path, "a")


@pytest.mark.parametrize("far", [False, True])
def test_progress_rises_to_the_bytes_of_the_wanted_roles(
    bucket: FileBucket, tmp_path: Path, cache: Path, far: bool
) -> None:
    published(bucket, tmp_path, size=RANGE_BYTES + 1)
    steps: list[tuple[int, int]] = []
    source = remote(bucket) if far else bucket
    reader.fetch(source, CATALOG, ["vectors", "records"], cache, lambda *step: steps.append(step))
    total = 2 * (RANGE_BYTES + 1)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert {all_ for _, all_ in steps} == {total}
    assert steps[0] == (0, total)
    assert len(steps) == 5
    assert steps[-1] == (total, total)


def test_an_empty_file_and_two_equal_files_are_files(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    files = some_files(tmp_path)
    files["lexical.terms"].write_bytes(b"")
    files["lexical.rows"].write_bytes(files["records"].read_bytes())
    writer.switch(bucket, CATALOG, writer.write(bucket, a_manifest(), files))
    for source in (bucket, remote(bucket)):
        release = reader.fetch(source, CATALOG, None, cache)
        assert release.paths["lexical.terms"].read_bytes() == b""
        assert release.paths["lexical.rows"] == release.paths["records"]


def test_threads_that_want_the_same_release_copy_it_once(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    published(bucket, tmp_path)
    far = remote(bucket)
    start = threading.Barrier(6)
    found: list[dict[str, bytes]] = []

    def fetch() -> None:
        start.wait()
        found.append(contents(reader.fetch(far, CATALOG, None, cache)))

    threads = [threading.Thread(target=fetch) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [originals(tmp_path)] * 6
    assert sorted(far.ranges) == sorted(set(far.ranges))


def test_a_second_process_waits_for_the_first_and_shares_its_copies(
    bucket: FileBucket, tmp_path: Path, cache: Path
) -> None:
    """The child is in the middle of its copy when the parent begins; the parent reads no range."""
    published(bucket, tmp_path)
    begun_r, begun_w = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            released = threading.Event()

            def pause(key: str) -> None:
                os.write(begun_w, b".")
                released.wait(0.3)

            reader.fetch(remote(bucket, pause), CATALOG, ["vectors"], cache)
            status = 0
        finally:
            os._exit(status)
    os.read(begun_r, 1)
    far = remote(bucket)
    release = reader.fetch(far, CATALOG, ["vectors"], cache)
    assert os.waitpid(child, 0)[1] == 0
    os.close(begun_r)
    os.close(begun_w)
    assert far.ranges == []
    assert release.paths["vectors"].read_bytes() == originals(tmp_path)["vectors"]


def test_the_part_of_a_process_that_died_is_removed(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    release_id = published(bucket, tmp_path)
    folder = Cache(cache) and cache / "files"
    mine, other = folder / f"{digest_of(bucket, release_id, 'vectors')}.part", folder / f"{'0' * 64}.part"
    for part in (mine, other):
        part.write_bytes(b"half a file, and longer than the whole one will be" * 100)
    release = reader.fetch(remote(bucket), CATALOG, None, cache)
    assert contents(release) == originals(tmp_path)
    assert list(folder.glob("*.part")) == []


def test_a_part_that_is_being_filled_is_left_alone(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    published(bucket, tmp_path)
    seen: list[bool] = []

    def another_fetch(key: str) -> None:
        if key.endswith(digest_of(bucket, reader.current(bucket, CATALOG).release, "vectors")):
            reader.fetch(remote(bucket), CATALOG, ["records"], cache)
            seen.append((cache / "files" / f"{key.rpartition('/')[2]}.part").exists())

    reader.fetch(remote(bucket, another_fetch), CATALOG, ["vectors"], cache)
    assert seen == [True]


def test_a_cached_file_of_the_wrong_size_is_copied_anew(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    published(bucket, tmp_path)
    path = reader.fetch(remote(bucket), CATALOG, ["vectors"], cache).paths["vectors"]
    path.write_bytes(b"short")
    release = reader.fetch(remote(bucket), CATALOG, ["vectors"], cache)
    assert contents(release) == {"vectors": originals(tmp_path)["vectors"]}


def test_the_cache_is_this_users_alone(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    published(bucket, tmp_path)
    reader.fetch(remote(bucket), CATALOG, None, cache)
    assert stat.S_IMODE(cache.stat().st_mode) == stat.S_IMODE((cache / "files").stat().st_mode) == 0o700


@pytest.mark.parametrize("below", ["", "files"])
def test_a_cache_that_others_may_write_to_is_refused(
    bucket: FileBucket, tmp_path: Path, cache: Path, below: str
) -> None:
    published(bucket, tmp_path)
    (cache / "files").mkdir(parents=True, mode=0o700)
    (cache / below).chmod(0o777)
    with pytest.raises(CacheUnusable, match="no other user can write to") as caught:
        reader.fetch(remote(bucket), CATALOG, None, cache)
    assert str(tmp_path) not in caught.value.message


def test_a_cache_that_is_no_folder_is_refused(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    published(bucket, tmp_path)
    cache.write_bytes(b"")
    with pytest.raises(CacheUnusable, match="CACHE_DIR cannot be used"):
        reader.fetch(remote(bucket), CATALOG, None, cache)


def test_what_nobody_holds_is_evicted_and_what_somebody_maps_is_not(
    bucket: FileBucket, tmp_path: Path, cache: Path
) -> None:
    published(bucket, tmp_path, "a")
    first = reader.fetch(remote(bucket), CATALOG, ["vectors", "records"], cache)
    published(bucket, tmp_path, "b")
    second = reader.fetch(remote(bucket), CATALOG, ["vectors"], cache)
    also = reader.fetch(remote(bucket), CATALOG, ["vectors"], cache)
    reader.evict(cache)
    assert len(list((cache / "files").iterdir())) == 3
    first.close()
    first.close()
    second.close()
    reader.evict(cache)
    assert list((cache / "files").iterdir()) == [also.paths["vectors"]]


def test_evicting_a_cache_that_was_never_used_does_nothing(cache: Path) -> None:
    reader.evict(cache)
    assert not cache.exists()


def test_fetching_leaves_no_descriptor_or_thread_behind(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    published(bucket, tmp_path)

    def once() -> tuple[int, int]:
        for source in (bucket, remote(bucket)):
            reader.fetch(source, CATALOG, None, cache).close()
        missing = RemoteBucket(bucket.url, lambda _: bucket.delete(f"built-in/files/{gone}"))
        reader.fetch(missing, CATALOG, None, cache).close()
        return descriptors(), threading.active_count()

    gone = "0" * 64
    before = once()
    for _ in range(20):
        reader.evict(cache)
        assert all(now <= then for now, then in zip(once(), before, strict=True))


def test_a_file_that_is_gone_is_named(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    release_id = published(bucket, tmp_path)
    bucket.delete(f"built-in/files/{digest_of(bucket, release_id, 'records')}")
    with pytest.raises(ReleaseCorrupt, match=r"records \(built-in/files/\w{64}\): expected 1000 bytes, found no such"):
        reader.fetch(bucket, CATALOG, None, cache)


def test_a_bucket_that_fails_is_not_a_corrupt_release(bucket: FileBucket, tmp_path: Path, cache: Path) -> None:
    published(bucket, tmp_path)

    def fail(key: str) -> None:
        raise BucketError(f"bucket object {key!r} could not be read: Connection reset by peer")

    before = descriptors()
    with pytest.raises(BucketError, match="Connection reset"):
        reader.fetch(remote(bucket, fail), CATALOG, None, cache)
    assert list((cache / "files").iterdir()) == []
    assert descriptors() == before
