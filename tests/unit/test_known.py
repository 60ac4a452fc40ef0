"""A rebuild that parses only what changed gives the same release as one that parses everything."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace
from test_build_tables import AWKWARD, CATALOG, build, files, manifest

from build_jobs import frontmatter
from build_jobs.collect import collect
from build_jobs.known import KnownDocuments
from shared.bucket.base import open_bucket
from shared.release import reader, writer


def change(leaves: Path) -> None:
    """A leaf changed, one new, one gone, an access document changed."""
    path = leaves / "sources/disasters/declarations.md"
    path.write_text(path.read_text(encoding="utf-8").replace("recent declarations", "new"), encoding="utf-8")
    shutil.copy(path, path.with_name("once-more.md"))
    (leaves / "sources/mixed/no-title.md").unlink()
    with (leaves / "sources/datacommons/_access.md").open("a", encoding="utf-8") as file:
        file.write("\nOne more line.\n")


def test_a_rebuild_from_what_is_known_has_the_same_bytes_and_the_same_report(tmp_path: Path) -> None:
    leaves = tmp_path / "leaves"
    shutil.copytree(AWKWARD, leaves)
    build(tmp_path, roots=[leaves])
    change(leaves)
    again = build(tmp_path, roots=[leaves], force=True)
    anew = build(tmp_path, roots=[leaves], bucket="anew", force=True)
    assert {file.role: file.sha256 for file in manifest(tmp_path).files if file.role != "status"} == {
        file.role: file.sha256 for file in manifest(tmp_path, "anew").files if file.role != "status"
    }
    assert again.collected.as_json() == anew.collected.as_json()
    assert again.inputs_digest == anew.inputs_digest


def test_only_what_changed_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path)
    known = KnownDocuments(files(tmp_path)["records"], files(tmp_path)["documents"], manifest(tmp_path).rows)
    parsed: list[bytes] = []
    read = frontmatter.read_document
    monkeypatch.setattr(frontmatter, "read_document", lambda data: parsed.append(data) or read(data))
    everything = collect([AWKWARD])
    before = len(parsed)
    collected = collect([AWKWARD], known=known)
    # What broke is read again each time, and so is what no release holds: access documents, files without questions.
    indexed = [leaf for leaf in everything.leaves if leaf.unreadable is None]
    assert len(parsed) - before == before - len(indexed)
    assert [replace(leaf, front_matter=dict(leaf.front_matter)) for leaf in collected.leaves] == everything.leaves


def test_what_another_version_of_the_program_read_is_read_anew(tmp_path: Path) -> None:
    build(tmp_path)
    bucket, old = open_bucket((tmp_path / "bucket").as_uri()), manifest(tmp_path)
    other = writer.write(
        bucket, replace(old, builder="askbucket 0.0.1, index 1", inputs_digest="0" * 64), files(tmp_path)
    )
    writer.switch(bucket, CATALOG, other)
    shutil.rmtree(tmp_path / "cache")
    path = files(tmp_path)["documents"]
    assert reader.current(bucket, CATALOG).release == other
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1])  # would be refused if it were looked at
    report = build(tmp_path)
    assert (report.status, report.notes) == ("published", [])
