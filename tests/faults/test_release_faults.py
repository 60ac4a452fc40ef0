"""Faults in what lies in the bucket: every one is refused by name, none is served."""

from __future__ import annotations

import hashlib
import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import pytest
from releases import (
    CATALOG,
    ROLES,
    RemoteBucket,
    a_bucket,
    a_manifest,
    digest_of,
    file_of,
    flip_a_bit,
    object_path,
    published,
    remote,
    some_files,
)

from shared.bucket.file import FileBucket
from shared.contracts.release import RANGE_BYTES
from shared.edge.process import Hosted
from shared.errors import CacheUnusable, ReleaseCorrupt, ReleaseError, ReleaseIncompatible
from shared.release import manifest as manifests
from shared.release import reader, writer

PLACES = pytest.mark.parametrize("place", ["in place", "copied"])


@pytest.fixture
def bucket(tmp_path: Path) -> FileBucket:
    return a_bucket(tmp_path)


def fetch(bucket: FileBucket, folder: Path, place: str) -> reader.Release:
    source = bucket if place == "in place" else remote(bucket)
    return reader.fetch(source, CATALOG, None, folder / "cache")


def rewritten(bucket: FileBucket, release_id: str, **changes: Any) -> str:
    """The release with another manifest, under an id that fits its bytes; current."""
    document = json.loads(bucket.read(manifests.manifest_key(CATALOG, release_id)))
    data = json.dumps({**document, **changes}).encode()
    other = f"{release_id.partition('-')[0]}-{hashlib.sha256(data).hexdigest()[:12]}"
    bucket.put(manifests.manifest_key(CATALOG, other), data)
    pointer = {"release": other, "previous": release_id, "switched_at": "2026-01-31T12:00:00Z"}
    bucket.put(manifests.pointer_key(CATALOG), json.dumps(pointer).encode())
    return other


def as_version_1(bucket: FileBucket, release_id: str) -> str:
    """The release as it was written before its manifest had a crc32 of each range; current."""
    document = json.loads(bucket.read(manifests.manifest_key(CATALOG, release_id)))
    files = [{name: value for name, value in file.items() if name != "crc32"} for file in document["files"]]
    return rewritten(bucket, release_id, format_version=1, files=files)


@PLACES
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("left", [999, 500, 0])
def test_R01_a_truncated_file_is_refused_by_name_and_size(
    bucket: FileBucket, tmp_path: Path, place: str, role: str, left: int
) -> None:
    release_id = published(bucket, tmp_path)
    path = file_of(bucket, release_id, role)
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(
        ReleaseCorrupt, match=rf"^{role} \(built-in/files/{path.name}\): expected 1000 bytes, found {left}$"
    ):
        fetch(bucket, tmp_path, place)


@PLACES
def test_R01_a_file_that_grew_is_refused(bucket: FileBucket, tmp_path: Path, place: str) -> None:
    path = file_of(bucket, published(bucket, tmp_path), "vectors")
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(ReleaseCorrupt, match=r"vectors .*: expected 1000 bytes, found 1001"):
        fetch(bucket, tmp_path, place)


@pytest.mark.parametrize("lost", [1, RANGE_BYTES, RANGE_BYTES + 1])
def test_R01_a_file_that_shrinks_while_it_is_copied_is_refused(bucket: FileBucket, tmp_path: Path, lost: int) -> None:
    size = 3 * RANGE_BYTES
    path = file_of(bucket, published(bucket, tmp_path, size=size), "vectors")

    def shrink(_: str) -> None:
        with path.open("r+b") as file:
            file.truncate(size - lost)

    with pytest.raises(ReleaseCorrupt, match=rf"vectors .*: expected {size} bytes, found {size - lost}"):
        reader.fetch(remote(bucket, shrink), CATALOG, ["vectors"], tmp_path / "cache")
    assert list((tmp_path / "cache" / "files").iterdir()) == []


@PLACES
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("position", [0, 500, 999])
def test_R02_one_flipped_bit_is_refused_with_both_checksums(
    bucket: FileBucket, tmp_path: Path, place: str, role: str, position: int
) -> None:
    path = file_of(bucket, published(bucket, tmp_path), role)
    expected = path.read_bytes()
    flip_a_bit(path, position)
    found = path.read_bytes()
    said = {
        "in place": f"bytes 0 to 1000: expected crc32 {zlib.crc32(expected):08x}, found {zlib.crc32(found):08x}",
        "copied": f"expected sha256 {hashlib.sha256(expected).hexdigest()}, found {hashlib.sha256(found).hexdigest()}",
    }
    with pytest.raises(ReleaseCorrupt, match=rf"^{role} .*: {said[place]}$"):
        fetch(bucket, tmp_path, place)


def test_R02_a_copy_is_what_its_name_says_whatever_another_catalog_says_of_it(
    bucket: FileBucket, tmp_path: Path
) -> None:
    """Copies are shared by their sha256, so a manifest that gives it to other bytes must not fill it."""
    right = file_of(bucket, published(bucket, tmp_path), "records").read_bytes()
    evil = a_bucket(tmp_path / "evil")
    release_id = published(evil, tmp_path / "evil")
    forged, sha256 = right[::-1], hashlib.sha256(right).hexdigest()
    document = json.loads(evil.read(manifests.manifest_key(CATALOG, release_id)))
    for file in document["files"]:
        if file["role"] == "records":
            file |= {"sha256": sha256, "crc32": [f"{zlib.crc32(forged):08x}"]}
    evil.put(manifests.file_key(CATALOG, sha256), forged)
    rewritten(evil, release_id, files=document["files"])
    with pytest.raises(ReleaseCorrupt, match="expected sha256"):
        fetch(evil, tmp_path, "copied")
    release = fetch(bucket, tmp_path, "copied")
    assert release.paths["records"].read_bytes() == right


@PLACES
def test_a_release_that_is_written_again_mends_what_was_damaged_in_the_bucket(
    bucket: FileBucket, tmp_path: Path, place: str
) -> None:
    release_id = published(bucket, tmp_path)
    flip_a_bit(file_of(bucket, release_id, "records"))
    into, anew = (bucket, False) if place == "in place" else (remote(bucket), True)
    assert writer.write(into, a_manifest(), some_files(tmp_path), anew=anew) == release_id
    fetch(bucket, tmp_path, place).close()


@PLACES
def test_R02_one_flipped_bit_is_refused_by_the_sha256_where_a_release_has_no_crc32(
    bucket: FileBucket, tmp_path: Path, place: str
) -> None:
    release_id = as_version_1(bucket, published(bucket, tmp_path))
    assert fetch(bucket, tmp_path, place).manifest.format_version == 1
    expected = digest_of(bucket, release_id, "records")
    path = file_of(bucket, release_id, "records")
    flip_a_bit(path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(ReleaseCorrupt, match=rf"^records .*: expected sha256 {expected}, found {found}$"):
        fetch(bucket, tmp_path / "again", place)


@PLACES
def test_R02_an_empty_file_under_the_name_of_another_is_refused(bucket: FileBucket, tmp_path: Path, place: str) -> None:
    release_id = published(bucket, tmp_path, size=0)
    document = json.loads(bucket.read(manifests.manifest_key(CATALOG, release_id)))
    bucket.put(manifests.file_key(CATALOG, "ab" * 32), b"")
    document["files"][0]["sha256"] = "ab" * 32
    rewritten(bucket, release_id, files=document["files"])
    with pytest.raises(ReleaseCorrupt, match=f"expected sha256 {'ab' * 32}, found e3b0c442"):
        fetch(bucket, tmp_path, place)


@PLACES
@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("version", [1, 2])
def test_R02_a_flipped_bit_in_any_range_is_refused(
    bucket: FileBucket, tmp_path: Path, place: str, part: int, version: int
) -> None:
    release_id = published(bucket, tmp_path, size=2 * RANGE_BYTES + 10)
    path = file_of(bucket, release_id, "vectors")
    flip_a_bit(path, part * RANGE_BYTES + 5)
    if version == 1:
        as_version_1(bucket, release_id)
    by_range = version == 2 and place == "in place"
    said = f"bytes {part * RANGE_BYTES} to .*: expected crc32" if by_range else "expected sha256"
    with pytest.raises(ReleaseCorrupt, match=said):
        fetch(bucket, tmp_path, place)
    assert list((tmp_path / "cache").glob("files/*.part")) == []


@PLACES
def test_R02_a_flipped_bit_in_the_manifest_is_refused(bucket: FileBucket, tmp_path: Path, place: str) -> None:
    release_id = published(bucket, tmp_path)
    flip_a_bit(object_path(bucket, manifests.manifest_key(CATALOG, release_id)))
    with pytest.raises(ReleaseCorrupt, match=f"manifest of release {release_id}: expected a sha256 that begins"):
        fetch(bucket, tmp_path, place)


def test_R02_the_release_that_is_loaded_goes_on_when_the_next_one_is_broken(bucket: FileBucket, tmp_path: Path) -> None:
    first = published(bucket, tmp_path)
    hosted = Hosted[reader.Release](
        lambda progress: reader.fetch(bucket, CATALOG, None, tmp_path / "cache", progress),
        is_stale=lambda release: reader.current(bucket, CATALOG).release != release.id,
        close=lambda release: release.close(),
        refresh_s=0,
    )
    assert hosted.wait(30)
    second = published(bucket, tmp_path, "b")
    flip_a_bit(file_of(bucket, second, "records"))
    while (error := hosted.state()["refresh_error"]) is None:
        with hosted.borrow() as release:
            assert release.id == first
    assert error["code"] == "release_corrupt"
    assert error["message"].startswith("records (")
    assert hosted.state()["release_pending"] is True
    hosted.close()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 99}, "format_version: expected 1 or 2, found 99"),
        ({"kind": "items"}, "kind: expected 'tables', found 'items'"),
        ({"embedder": {"provider": "embedded", "model": "tiny", "dimension": 0}}, r"embedder\.dimension: .*found '0'"),
        ({"embedder": {"provider": "embedded", "model": "", "dimension": 4}}, r"embedder\.model: .*found ''"),
        ({"rows": 4}, "rows of all families together: expected 4, found 5"),
        ({"families": []}, "rows of all families together: expected 5, found 0"),
        ({"catalog": "open-data"}, "catalog: expected 'built-in', found 'open-data'"),
        ({"files": []}, "files: expected one with role 'vectors', found only none"),
    ],
)
def test_R03_a_manifest_that_cannot_be_served_is_refused_by_field(
    bucket: FileBucket, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    other = rewritten(bucket, published(bucket, tmp_path), **changes)
    with pytest.raises(ReleaseIncompatible, match=message) as caught:
        reader.fetch(bucket, CATALOG, None, tmp_path / "cache", kind="tables")
    assert other in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\x00\xff", b'{"release": "../../x", "previous": null}'])
def test_R03_a_pointer_that_is_no_pointer_is_refused(bucket: FileBucket, tmp_path: Path, data: bytes) -> None:
    published(bucket, tmp_path)
    bucket.put(manifests.pointer_key(CATALOG), data)
    with pytest.raises(ReleaseIncompatible, match=r"built-in/current\.json"):
        fetch(bucket, tmp_path, "in place")


@PLACES
@pytest.mark.parametrize("name", ["../../../etc/passwd", "vectors.pkl", "A" * 64])
def test_R06_a_manifest_cannot_name_a_file_by_anything_but_its_content(
    bucket: FileBucket, tmp_path: Path, place: str, name: str
) -> None:
    release_id = published(bucket, tmp_path)
    document = json.loads(bucket.read(manifests.manifest_key(CATALOG, release_id)))
    document["files"][0]["sha256"] = name
    rewritten(bucket, release_id, files=document["files"])
    with pytest.raises(ReleaseIncompatible, match=r"files\.0\.sha256: "):
        fetch(bucket, tmp_path, place)


def test_R07_a_pointer_that_moves_while_files_are_copied_never_mixes_releases(
    bucket: FileBucket, tmp_path: Path
) -> None:
    first = published(bucket, tmp_path)
    moved: list[str] = []

    def publish_another(_: str) -> None:
        if not moved:
            moved.append("")
            moved[0] = published(bucket, tmp_path, "b")

    release = reader.fetch(remote(bucket, publish_another), CATALOG, None, tmp_path / "cache")
    assert release.id == first
    assert {role: path.read_bytes() for role, path in release.paths.items()} == bytes_of(tmp_path, "a")
    assert reader.current(bucket, CATALOG).release == moved[0]


@pytest.mark.parametrize("gone", ["one file", "the manifest and all files"])
def test_R07_a_release_that_is_pruned_while_it_is_copied_gives_way_to_the_current_one(
    bucket: FileBucket, tmp_path: Path, gone: str
) -> None:
    first = published(bucket, tmp_path, created_at="2026-01-01T00:00:00Z")
    victim = manifests.file_key(CATALOG, digest_of(bucket, first, "records"))
    moved: list[str] = []

    def publish_and_prune(key: str) -> None:
        if key == victim and not moved:
            moved.append("")
            published(bucket, tmp_path, "b", created_at="2026-01-02T00:00:00Z")
            moved[0] = published(bucket, tmp_path, "c", created_at="2026-01-03T00:00:00Z")
            if gone == "one file":
                bucket.delete(victim)
            else:
                writer.prune(bucket, CATALOG, keep=1)

    release = reader.fetch(remote(bucket, publish_and_prune), CATALOG, None, tmp_path / "cache")
    assert release.id == moved[0]
    assert {role: path.read_bytes() for role, path in release.paths.items()} == bytes_of(tmp_path, "c")


def test_R07_a_file_deleted_while_it_is_copied_is_an_error_where_the_pointer_did_not_move(
    bucket: FileBucket, tmp_path: Path
) -> None:
    published(bucket, tmp_path)
    with pytest.raises(ReleaseError, match="expected 1000 bytes, found no such object"):
        reader.fetch(remote(bucket, bucket.delete), CATALOG, None, tmp_path / "cache")


def claims_more_than_the_disk_has(bucket: FileBucket, release_id: str, folder: Path) -> int:
    """The release with a file that is larger than the disk, and its size."""
    document = json.loads(bucket.read(manifests.manifest_key(CATALOG, release_id)))
    huge = shutil.disk_usage(folder).total + 1
    document["files"][0] |= {"bytes": huge, "crc32": ["0" * 8] * -(-huge // RANGE_BYTES)}
    rewritten(bucket, release_id, files=document["files"])
    return huge


def test_R10_a_cache_without_room_is_refused_before_anything_is_copied(bucket: FileBucket, tmp_path: Path) -> None:
    """A manifest may claim any size; this one claims more than the disk has."""
    release_id = published(bucket, tmp_path)
    huge = claims_more_than_the_disk_has(bucket, release_id, tmp_path)
    far = remote(bucket)
    with pytest.raises(
        CacheUnusable,
        match=rf"CACHE_DIR has too little room: the release needs {huge + 1_000 * (len(ROLES) - 1)} bytes",
    ):
        reader.fetch(far, CATALOG, None, tmp_path / "cache")
    assert far.ranges == []


def test_R10_what_nobody_holds_makes_room(bucket: FileBucket, tmp_path: Path) -> None:
    published(bucket, tmp_path)
    reader.fetch(remote(bucket), CATALOG, None, tmp_path / "cache").close()
    release_id = published(bucket, tmp_path, "b")
    claims_more_than_the_disk_has(bucket, release_id, tmp_path)
    with pytest.raises(CacheUnusable):
        reader.fetch(remote(bucket), CATALOG, None, tmp_path / "cache")
    assert list((tmp_path / "cache" / "files").iterdir()) == []


def bytes_of(folder: Path, seed: str) -> dict[str, bytes]:
    files = some_files(folder / "again", seed)
    return {role: path.read_bytes() for role, path in files.items()}


def test_a_remote_bucket_of_these_tests_is_one_that_is_never_mapped(bucket: FileBucket, tmp_path: Path) -> None:
    writer.write(bucket, a_manifest(), some_files(tmp_path))
    assert isinstance(remote(bucket), RemoteBucket)
    assert all(remote(bucket).local_path(key) is None for key in bucket.keys(""))
