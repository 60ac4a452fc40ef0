"""What every bucket keeps, whatever is behind it: a folder, Cloud Storage or S3, each a real one on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from fakes.storage import Proxy, gcs_server, s3_server
from ranges import read_range
from releases import CATALOG, a_manifest, digest_of, published, some_files

from shared.bucket.base import Bucket, open_bucket
from shared.contracts.release import LEXICAL_ROLES
from shared.errors import BucketError, ObjectMissing, PreconditionFailed, ReleaseCorrupt, SettingsError
from shared.release import manifest as manifests
from shared.release import reader, writer
from shared.settings import Settings

KINDS = ("file", "gs", "s3")
ODD_KEYS = (
    "plain/a.json", "with blank/and  two", "ünïcödé/☃/名前", "100%/50%25/%2F", "q?a=b&c#d", "a+b", "a:b@c!$'()*,;=",
    '"quoted"', "[brackets]{braces}", "tilde~/^|`", "long/" + "x" * 200,
)  # fmt: skip


@pytest.fixture(scope="session")
def gcs_address() -> Iterator[str]:
    with gcs_server() as address:
        yield address


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    with s3_server() as address, pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        yield address


_numbers = count()
Open = Callable[..., Bucket]


@pytest.fixture
def open_again(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the test's own bucket, which is empty at first, or another URL; each time as another process would."""
    opened: list[Bucket] = []
    kind: str = request.param
    url = f"file://{tmp_path / 'bucket'}" if kind == "file" else f"{kind}://contract/{next(_numbers)}/of tests"
    settings = _settings(kind, request)

    def open_one(another: str = url) -> Bucket:
        opened.append(open_bucket(another, settings))
        return opened[-1]

    yield open_one
    for bucket in opened:
        getattr(bucket, "close", lambda: None)()


def _settings(kind: str, request: pytest.FixtureRequest) -> Settings:
    if kind == "gs":
        return Settings(storage_emulator_host=request.getfixturevalue("gcs_address"))
    if kind == "s3":
        return Settings(aws_endpoint_url=f"http://{request.getfixturevalue('s3_address')}")
    return Settings()


@pytest.fixture
def bucket(open_again: Open) -> Bucket:
    return open_again()


every_bucket = pytest.mark.parametrize("open_again", KINDS, indirect=True)
clouds = pytest.mark.parametrize("open_again", ["gs", "s3"], indirect=True)


@every_bucket
def test_what_is_put_is_read_back(bucket: Bucket) -> None:
    bucket.put("a/b.json", b"first")
    bucket.put("a/b.json", b"second")
    assert bucket.read("a/b.json") == b"second"
    assert bucket.size("a/b.json") == 6
    bucket.put("empty", b"")
    assert (bucket.read("empty"), bucket.size("empty"), read_range(bucket, "empty", 0, 9)) == (b"", 0, b"")


@every_bucket
def test_a_key_is_any_text_that_a_folder_can_hold_too(bucket: Bucket) -> None:
    for key in ODD_KEYS:
        bucket.put(key, key.encode())
        assert bucket.read(key) == key.encode()
        assert read_range(bucket, key, 1, 4) == key.encode()[1:4]
        assert bucket.put_if(key, b"changed", bucket.read_versioned(key)[1])
        assert list(bucket.keys("")) == list(bucket.keys(key)) == [key]
        assert bucket.size(key) == len(b"changed")
        bucket.delete(key)
        assert bucket.size(key) is None


@every_bucket
@pytest.mark.parametrize(
    "key", ["", "/a", "a/", "a//b", "../a", "a/../b", ".", ".hidden", "a/.b", "a\\b", "a\nb", "a\0"]
)
def test_a_key_that_leads_elsewhere_is_refused_by_every_operation(bucket: Bucket, tmp_path: Path, key: str) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x")
    for use in (
        lambda: bucket.read(key), lambda: read_range(bucket, key, 0, 1), lambda: bucket.size(key),
        lambda: bucket.put(key, b""), lambda: bucket.put_if(key, b"", None), lambda: bucket.put_file(key, source),
        lambda: bucket.delete(key),
    ):  # fmt: skip
        with pytest.raises(BucketError, match="is refused: expected names joined"):
            use()


@every_bucket
def test_a_range_ends_where_the_object_ends(bucket: Bucket) -> None:
    digits = b"0123456789"
    bucket.put("digits", digits)
    ranges = [(0, 3), (4, 6), (9, 10), (0, 10), (8, 20), (10, 20), (30, 40), (5, 5), (6, 5)]
    before = [read_range(bucket, "digits", start, end) for start, end in ranges]
    assert bucket.size("digits") == 10
    after = [read_range(bucket, "digits", start, end) for start, end in ranges]
    assert before == after == [digits[start:end] for start, end in ranges]


@every_bucket
def test_what_is_not_there_says_so(bucket: Bucket) -> None:
    bucket.put("there", b"")
    for read in (bucket.read, bucket.read_versioned, lambda key: read_range(bucket, key, 0, 1)):
        with pytest.raises(ObjectMissing, match="holds no object 'a/b'"):
            read("a/b")
    assert bucket.size("a/b") is None
    assert list(bucket.keys("a/")) == []
    assert bucket.local_path("a/b") is None
    bucket.delete("a/b")


@every_bucket
def test_keys_are_sorted_and_a_prefix_is_text(bucket: Bucket) -> None:
    for key in ("c/2", "c/10", "b.json", "c/1", "cc/1", "c/é", "c/z"):
        bucket.put(key, b"")
    assert list(bucket.keys("c/")) == ["c/1", "c/10", "c/2", "c/z", "c/é"]
    assert list(bucket.keys("c")) == ["c/1", "c/10", "c/2", "c/z", "c/é", "cc/1"]
    assert list(bucket.keys("c/1")) == ["c/1", "c/10"]
    assert len(list(bucket.keys(""))) == 7


@every_bucket
def test_more_keys_than_fit_a_page_are_all_listed(bucket: Bucket) -> None:
    """Both clouds send 1,000 keys a page."""
    keys = [f"many/{number:04}" for number in range(1_030)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda key: bucket.put(key, b""), keys))
    assert list(bucket.keys("many/")) == keys


def test_pages_of_cloud_storage_are_followed(gcs_address: str) -> None:
    """The server of these tests would send all keys at once: the proxy asks it for two at a time."""
    with Proxy(gcs_address, rewrite=lambda path: f"{path}&maxResults=2" if "fields=items" in path else path) as proxy:
        bucket = open_bucket("gs://contract/pages", Settings(storage_emulator_host=proxy.address))
        for number in range(5):
            bucket.put(f"{number}", b"")
        assert list(bucket.keys("")) == ["0", "1", "2", "3", "4"]
        assert sum("pageToken" in seen for seen in proxy.requests) == 2
        bucket.close()  # type: ignore[attr-defined]


@every_bucket
def test_a_bucket_opened_at_a_folder_knows_what_is_below_it_and_no_more(open_again: Open, bucket: Bucket) -> None:
    bucket.put("catalog/a", b"1")
    bucket.put("catalogue", b"3")
    inner = open_again(bucket.url + "/catalog")
    assert list(inner.keys("")) == ["a"]
    assert inner.read("a") == b"1"
    inner.put("b", b"2")
    assert list(bucket.keys("")) == ["catalog/a", "catalog/b", "catalogue"]


@every_bucket
def test_a_large_file_makes_the_round_trip_whole(bucket: Bucket, tmp_path: Path) -> None:
    """Larger than what either cloud takes in one request (8 MiB)."""
    source = tmp_path / "large"
    source.write_bytes(os.urandom(20_000_001))
    bucket.put_file("files/large", source)
    assert bucket.size("files/large") == 20_000_001
    assert hashlib.sha256(bucket.read("files/large")).digest() == hashlib.sha256(source.read_bytes()).digest()
    assert read_range(bucket, "files/large", 12_345_678, 19_000_000) == source.read_bytes()[12_345_678:19_000_000]
    bucket.put_file("files/large", source.rename(tmp_path / "moved"))
    assert list(bucket.keys("files/")) == ["files/large"]


@every_bucket
def test_an_empty_file_is_an_object(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    bucket.put_file("empty", tmp_path / "empty")
    assert (bucket.size("empty"), bucket.read("empty")) == (0, b"")


@every_bucket
def test_a_conditional_write_needs_the_version_that_was_read(bucket: Bucket) -> None:
    first = bucket.put_if("p", b"1", None)
    assert bucket.read_versioned("p") == (b"1", first)
    second = bucket.put_if("p", b"2", first)
    assert second != first
    for stale in (first, None, "nonsense", "123"):
        with pytest.raises(PreconditionFailed, match="'p' changed since it was read"):
            bucket.put_if("p", b"3", stale)
    assert bucket.read_versioned("p") == (b"2", second)
    with pytest.raises(PreconditionFailed):
        bucket.put_if("missing", b"1", second)
    bucket.delete("p")
    with pytest.raises(PreconditionFailed):
        bucket.put_if("p", b"3", second)
    assert bucket.size("p") is None


@every_bucket
@pytest.mark.parametrize("there", [False, True], ids=["to create", "to replace"])
def test_of_20_writers_exactly_one_wins(open_again: Open, bucket: Bucket, there: bool) -> None:
    version = bucket.put_if("p", b"start", None) if there else None
    start = threading.Barrier(20)
    buckets = [open_again() for _ in range(4)]

    def write(number: int) -> bytes | None:
        data = b"%d" % number
        start.wait()
        try:
            buckets[number % 4].put_if("p", data, version)
        except PreconditionFailed:
            return None
        return data

    with ThreadPoolExecutor(20) as threads:
        won = [data for data in threads.map(write, range(20)) if data is not None]
    assert won == [bucket.read("p")]


@clouds
def test_nothing_in_a_cloud_is_mapped_in_place(bucket: Bucket) -> None:
    bucket.put("a", b"")
    assert bucket.local_path("a") is None


@clouds
def test_ranges_after_a_size_come_from_the_version_it_saw_or_from_none(open_again: Open, bucket: Bucket) -> None:
    bucket.put("o", b"first version")
    assert bucket.size("o") == 13
    assert read_range(bucket, "o", 0, 5) == b"first"
    open_again().put("o", b"other version")
    with pytest.raises(ObjectMissing, match="replaced or removed while it was read"):
        read_range(bucket, "o", 5, 13)
    assert bucket.size("o") == 13
    assert read_range(bucket, "o", 0, 5) == b"other"
    open_again().delete("o")
    with pytest.raises(ObjectMissing, match="replaced or removed while it was read"):
        read_range(bucket, "o", 5, 13)


@clouds
def test_what_this_bucket_wrote_itself_is_read_back_after_a_size(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"from file")
    for write in (
        lambda: bucket.put("o", b"by put"),
        lambda: bucket.put_if("o", b"by put_if", bucket.read_versioned("o")[1]),
        lambda: bucket.put_file("o", tmp_path / "source"),
    ):
        write()
        expected = bucket.read("o")
        assert read_range(bucket, "o", 0, 99) == expected
        assert bucket.size("o") == len(expected)


@clouds
def test_a_failed_write_says_that_the_bucket_does_not_exist(open_again: Open, bucket: Bucket) -> None:
    elsewhere = open_again(bucket.url.replace("contract", "no-such-bucket"))
    with pytest.raises(BucketError, match="could not be written: there is no such bucket"):
        elsewhere.put("a", b"")
    with pytest.raises(BucketError, match="could not be listed: there is no such bucket"):
        list(elsewhere.keys(""))


@clouds
def test_a_bucket_opened_before_a_fork_serves_the_child(bucket: Bucket) -> None:
    """functions-framework opens buckets in the master and reads in the forked worker."""
    bucket.put("o", b"inherited")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if bucket.read("o") == b"inherited" else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert bucket.read("o") == b"inherited"


@pytest.mark.parametrize(
    "url",
    ["gs://", "gs://UPPER", "gs://a", "gs://name//x", "gs://name/../x", "gs://user:secret@name/x", "gs://name?x=1",
     "s3://", "s3://name/.hidden", "s3:///name", "https://name", "name"],
)  # fmt: skip
def test_a_url_that_names_no_bucket_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="bucket URL"):
        open_bucket(url, Settings())


@every_bucket
def test_a_release_is_written_switched_fetched_and_rolled_back(bucket: Bucket, tmp_path: Path) -> None:
    first = published(bucket, tmp_path, "a", size=300_000, created_at="2026-01-01T00:00:00Z")
    second = published(bucket, tmp_path, "b", size=300_000, created_at="2026-01-02T00:00:00Z")
    assert _bytes(reader.fetch(bucket, CATALOG, None, tmp_path / "cache")) == _made(tmp_path, "b", 300_000)
    assert [(one.id, one.mark) for one in writer.releases(bucket, CATALOG)] == [
        (second, "current"),
        (first, "previous"),
    ]
    writer.rollback(bucket, CATALOG)
    back = reader.fetch(bucket, CATALOG, ["lexical.*"], tmp_path / "cache")
    assert (back.id, set(back.paths)) == (first, set(LEXICAL_ROLES))
    writer.prune(bucket, CATALOG, keep=1)
    assert reader.current(bucket, CATALOG).release == first


@every_bucket
def test_two_publishers_at_once_do_not_overwrite_each_other(open_again: Open, tmp_path: Path) -> None:
    bucket = open_again()
    ids = [writer.write(bucket, a_manifest(label=f"L{i}"), some_files(tmp_path, str(i))) for i in range(6)]
    start = threading.Barrier(6)

    def switch(release_id: str) -> str | None:
        start.wait()
        try:
            return writer.switch(bucket, CATALOG, release_id).release
        except PreconditionFailed:
            return None

    with ThreadPoolExecutor(6) as threads:
        won = [release_id for release_id in threads.map(switch, ids) if release_id]
    pointer = reader.current(bucket, CATALOG)
    assert pointer.release in won
    assert len(won) == 1 or pointer.previous in won  # one that began after another had ended


@every_bucket
def test_a_wrong_digest_is_refused_by_name(bucket: Bucket, tmp_path: Path) -> None:
    release_id = published(bucket, tmp_path)
    sha256 = digest_of(bucket, release_id, "records")
    bucket.put(manifests.file_key(CATALOG, sha256), b"x" * 1_000)
    with pytest.raises(ReleaseCorrupt, match=rf"records .*expected (crc32 \w{{8}}|sha256 {sha256}), found"):
        reader.fetch(bucket, CATALOG, None, tmp_path / "cache")
    assert not (tmp_path / "cache" / "files" / sha256).exists()


@every_bucket
def test_a_manifest_that_was_changed_is_refused(bucket: Bucket, tmp_path: Path) -> None:
    release_id = published(bucket, tmp_path)
    key = manifests.manifest_key(CATALOG, release_id)
    bucket.put(key, json.dumps(json.loads(bucket.read(key)) | {"rows": 6}).encode())
    with pytest.raises(ReleaseCorrupt):
        reader.fetch(bucket, CATALOG, None, tmp_path / "cache")


def _bytes(release: reader.Release) -> dict[str, bytes]:
    try:
        return {role: path.read_bytes() for role, path in release.paths.items()}
    finally:
        release.close()


def _made(folder: Path, seed: str, size: int) -> dict[str, bytes]:
    return {role: path.read_bytes() for role, path in some_files(folder / "again", seed, size).items()}
