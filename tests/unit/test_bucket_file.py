"""A folder as a bucket: whole objects or none, one winner of a conditional write, no key out of the folder."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranges import read_range

from shared.bucket.base import Bucket, open_bucket
from shared.bucket.file import FileBucket, is_network
from shared.errors import BucketError, ObjectMissing, PreconditionFailed, SettingsError

# From Python 3.12 on a fork beside threads warns; what a fork beside threads does is what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return open_bucket(f"file://{tmp_path / 'bucket'}")


def test_what_is_put_is_read_back(bucket: Bucket) -> None:
    bucket.put("a/b.json", b"first")
    bucket.put("a/b.json", b"second")
    assert bucket.read("a/b.json") == b"second"
    assert bucket.size("a/b.json") == 6


def test_a_file_is_put_whole(bucket: Bucket, tmp_path: Path) -> None:
    source = tmp_path / "large"
    source.write_bytes(os.urandom(3_000_001))
    bucket.put_file("files/large", source)
    assert bucket.read("files/large") == source.read_bytes()


@pytest.mark.parametrize(("start", "end", "expected"), [(0, 3, b"012"), (4, 6, b"45"), (8, 20, b"89"), (20, 30, b"")])
def test_a_range_ends_where_the_object_ends(bucket: Bucket, start: int, end: int, expected: bytes) -> None:
    bucket.put("digits", b"0123456789")
    assert read_range(bucket, "digits", start, end) == expected


def test_keys_are_sorted_and_show_no_temporary_or_lock_file(bucket: Bucket, tmp_path: Path) -> None:
    for key in ("c/2", "c/10", "b.json", "c/1", "cc/1"):
        bucket.put(key, b"")
    bucket.put_if("c/pointer", b"", None)
    (tmp_path / "bucket" / "c" / ".tmp-left").write_bytes(b"")
    assert list(bucket.keys("c/")) == ["c/1", "c/10", "c/2", "c/pointer"]
    assert list(bucket.keys("c")) == ["c/1", "c/10", "c/2", "c/pointer", "cc/1"]
    assert list(bucket.keys("")) == ["b.json", "c/1", "c/10", "c/2", "c/pointer", "cc/1"]


def test_what_is_not_there_says_so(bucket: Bucket) -> None:
    bucket.put("there", b"")
    with pytest.raises(ObjectMissing, match="holds no object 'a/b'"):
        bucket.read("a/b")
    with pytest.raises(ObjectMissing):
        read_range(bucket, "a/b", 0, 1)
    with pytest.raises(ObjectMissing):
        bucket.read("there/below")
    assert bucket.size("a/b") is None
    assert list(bucket.keys("a/")) == []
    assert bucket.local_path("a/b") is None
    bucket.delete("a/b")


def test_a_missing_folder_is_said_without_its_path(bucket: Bucket, tmp_path: Path) -> None:
    with pytest.raises(ObjectMissing, match="folder does not exist") as caught:
        bucket.read("current.json")
    assert str(tmp_path) not in caught.value.message
    assert list(bucket.keys("")) == []


def test_a_folder_is_no_object(bucket: Bucket) -> None:
    bucket.put("a/b", b"")
    assert bucket.size("a") is None
    with pytest.raises(ObjectMissing):
        bucket.read("a")


def test_what_the_system_refuses_is_a_bucket_error_without_a_path(bucket: Bucket, tmp_path: Path) -> None:
    key = "a" * 300
    bucket.put("there", b"")
    for use, done in ((bucket.read, "read"), (lambda key: bucket.put(key, b""), "written")):
        with pytest.raises(BucketError, match=f"could not be {done}: File name too long") as caught:
            use(key)
        assert str(tmp_path) not in caught.value.message


def test_a_conditional_write_needs_the_version_that_was_read(bucket: Bucket) -> None:
    first = bucket.put_if("p", b"1", None)
    assert bucket.read_versioned("p") == (b"1", first)
    second = bucket.put_if("p", b"2", first)
    for stale in (first, None, "nonsense"):
        with pytest.raises(PreconditionFailed):
            bucket.put_if("p", b"3", stale)
    assert bucket.read_versioned("p") == (b"2", second)


def test_of_many_conditional_writes_exactly_one_wins(bucket: Bucket) -> None:
    version = bucket.put_if("p", b"start", None)
    start = threading.Barrier(8)
    won: list[bytes] = []

    def write(name: bytes) -> None:
        start.wait()
        try:
            bucket.put_if("p", name, version)
        except PreconditionFailed:
            return
        won.append(name)

    threads = [threading.Thread(target=write, args=(b"%d" % number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [bucket.read("p")]


def test_conditional_writes_exclude_other_processes(bucket: Bucket) -> None:
    """Each of two processes adds one 50 times by read and conditional write; no step is lost."""
    bucket.put_if("n", b"0", None)

    def add_fifty() -> None:
        added = 0
        while added < 50:
            data, version = bucket.read_versioned("n")
            try:
                bucket.put_if("n", b"%d" % (int(data) + 1), version)
            except PreconditionFailed:
                continue
            added += 1

    child = os.fork()
    if child == 0:
        status = 1
        try:
            add_fifty()
            status = 0
        finally:
            os._exit(status)
    add_fifty()
    assert os.waitpid(child, 0)[1] == 0
    assert bucket.read("n") == b"100"


def test_a_reader_never_meets_half_an_object(bucket: Bucket) -> None:
    bucket.put("o", b"a" * 100_000)
    done = threading.Event()

    def write() -> None:
        for number in range(60):
            bucket.put("o", (b"b" if number % 2 else b"a") * 100_000)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(bucket.read("o"))
    writer.join()
    assert seen <= {b"a" * 100_000, b"b" * 100_000}


def test_a_failed_write_leaves_the_old_object_and_no_temporary_file(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("o", b"old")
    memory = Path("/proc/self/mem")  # can be opened, and fails at the first read
    with pytest.raises(BucketError, match="'o' could not be written"):
        bucket.put_file("o", memory)
    assert bucket.read("o") == b"old"
    assert [path.name for path in (tmp_path / "bucket").iterdir()] == ["o"]


def test_the_temporary_file_of_a_killed_writer_is_removed_a_day_later(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("o", b"")
    old, young = tmp_path / "bucket" / ".tmp-old", tmp_path / "bucket" / ".tmp-young"
    for path in (old, young):
        path.write_bytes(b"")
    os.utime(old, (time.time() - 90_000,) * 2)
    bucket.put("o", b"")
    assert (old.exists(), young.exists()) == (False, True)


KEYS_THAT_ESCAPE = [
    "",
    "/etc/passwd",
    "../x",
    "a/../../x",
    "a/..",
    ".",
    "a//b",
    "a/",
    "a\\..\\x",
    "a\x00b",
    ".lock",
    "\ud800",
]


@pytest.mark.parametrize("key", KEYS_THAT_ESCAPE)
def test_no_key_leaves_the_folder(bucket: Bucket, key: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"secret")
    for use in (bucket.read, bucket.size, bucket.local_path, bucket.delete, lambda key: bucket.put(key, b"")):
        with pytest.raises(BucketError, match="refused"):
            use(key)
    assert (tmp_path / "x").read_bytes() == b"secret"


@given(st.text(max_size=30))
def test_any_text_as_a_key_is_read_in_the_folder_or_refused(key: str) -> None:
    try:
        FileBucket("file:///nonexistent/askbucket").read(key)
    except BucketError:
        return


def test_a_link_out_of_the_folder_is_refused(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("a", b"")
    (tmp_path / "x").write_bytes(b"secret")
    (tmp_path / "bucket" / "link").symlink_to(tmp_path / "x")
    (tmp_path / "bucket" / "folder").symlink_to(tmp_path)
    for key in ("link", "folder/x"):
        with pytest.raises(BucketError, match="leads out"):
            bucket.read(key)


@pytest.mark.parametrize("url", ["file://", "file://relative/path", "file:///a\x00b", "ftp://host/a", "/plain/path"])
def test_a_url_that_names_no_folder_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="bucket URL"):
        open_bucket(url)


def test_a_url_may_have_escaped_characters(tmp_path: Path) -> None:
    FileBucket(f"file://{tmp_path}/with%20blank").put("a", b"1")
    assert (tmp_path / "with blank" / "a").read_bytes() == b"1"


def mount(point: str, kind: str) -> str:
    return f"36 35 98:0 / {point} rw,noatime shared:1 - {kind} source rw\n"


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.gcsfuse", "fuse", "9p", "ceph", "lustre"])
def test_files_on_a_network_mount_are_not_mapped_in_place(kind: str) -> None:
    mounts = mount("/", "ext4") + mount("/mnt/share", kind)
    assert is_network(Path("/mnt/share/bucket"), mounts)
    assert not is_network(Path("/mnt/shared"), mounts)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "overlay", "tmpfs", "zfs", "fuseblk"])
def test_files_on_a_local_disk_are_mapped_in_place(kind: str) -> None:
    assert not is_network(Path("/mnt/disk/bucket"), mount("/", "nfs") + mount("/mnt/disk", kind))


def test_of_two_mounts_on_one_point_the_later_counts() -> None:
    assert is_network(Path("/data"), mount("/data", "ext4") + mount("/data", "nfs"))
    assert not is_network(Path("/data"), mount("/data", "nfs") + mount("/data", "ext4"))


def test_a_mount_point_may_have_a_blank() -> None:
    assert is_network(Path("/my share/x"), mount("/", "ext4") + mount("/my\\040share", "nfs"))


def test_where_no_mounts_are_known_a_path_is_local() -> None:
    assert not is_network(Path("/data"), "")


def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "round").symlink_to(tmp_path / "bucket" / "round")
    with pytest.raises(BucketError, match="circle"):
        FileBucket(f"file://{tmp_path / 'bucket'}").read("round")
