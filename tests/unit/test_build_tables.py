"""The whole build over real files: the same leaves give the same release, and a release is what its leaves say."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_build_embed import HashEmbedder

from build_jobs.build_report import BuildReport
from build_jobs.progress import Progress, Told, silent
from build_jobs.run import build_tables
from cli.main import main
from shared.bucket.base import open_bucket
from shared.contracts.release import Manifest
from shared.errors import SettingsError
from shared.index.records import Records
from shared.index.scan import Vectors
from shared.models.provider import Embedder
from shared.models.weights import installed
from shared.release import reader, writer
from shared.settings import Settings

AWKWARD = Path(__file__).parent.parent / "fixtures" / "leaves" / "awkward"
CATALOG = "built-in"


def build(tmp_path: Path, *, embedder: Embedder | None = None, bucket: str = "bucket", **options: Any) -> BuildReport:
    roots: Sequence[Path] = options.pop("roots", [AWKWARD])
    building = build_tables(
        roots,
        (tmp_path / bucket).as_uri(),
        settings=Settings(cache_dir=str(tmp_path / "cache")),
        embedder=embedder or HashEmbedder(),
        told=options.pop("told", silent),
        **options,
    )
    return asyncio.run(building)


def manifest(tmp_path: Path, bucket: str = "bucket") -> Manifest:
    opened = open_bucket((tmp_path / bucket).as_uri())
    return reader.read_manifest(opened, CATALOG, reader.current(opened, CATALOG).release)


def files(tmp_path: Path) -> Mapping[str, Path]:
    return reader.fetch(open_bucket((tmp_path / "bucket").as_uri()), CATALOG, None, tmp_path / "cache").paths


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_build_publishes_what_its_leaves_say(tmp_path: Path) -> None:
    report = build(tmp_path, extends=["census", "census"])
    published = manifest(tmp_path)
    assert report.status == "published"
    assert (published.rows, published.extends, published.kind) == (report.rows, ["census"], "tables")
    assert [family.family for family in published.families] == sorted(family.family for family in published.families)
    bigquery = published.families[0]
    assert (bigquery.first_row, bigquery.rows) == (0, 2)
    assert bigquery.sources == {"gcp-bigquery-public": 1, "gcp-marketplace-free": 1}
    assert published.null_bank is not None
    assert published.gate["sample_cosine_min"] > 0.99


def test_row_i_is_the_same_leaf_in_every_file(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    report = build(tmp_path, embedder=embedder)
    records, vectors = Records(files(tmp_path)["records"]), Vectors(files(tmp_path)["vectors"])
    leaves = records.leaves(range(report.rows))
    expected = asyncio.run(embedder.embed([leaves[row].text for row in range(report.rows)], "document", _ledger()))
    assert np.allclose(vectors.array.astype(np.float32), expected, atol=1e-3)
    broken = next(leaf for leaf in leaves.values() if leaf.path.endswith("broken-yaml.md"))
    assert broken.unreadable
    records.close()


def _ledger() -> Any:
    from shared.models.ledger import Ledger

    return Ledger()


def test_B01_two_builds_of_the_same_leaves_hold_the_same_bytes(tmp_path: Path) -> None:
    shutil.copytree(AWKWARD, tmp_path / "copy")
    build(tmp_path, bucket="one")
    build(tmp_path, bucket="two", roots=[tmp_path / "copy"])
    one, two = manifest(tmp_path, "one"), manifest(tmp_path, "two")
    assert one.files == two.files
    assert one.inputs_digest == two.inputs_digest


def test_a_second_build_of_the_same_leaves_writes_nothing(tmp_path: Path) -> None:
    first = build(tmp_path)
    before = everything(tmp_path / "bucket")
    embedder = HashEmbedder()
    second = build(tmp_path, embedder=embedder)
    assert (second.status, second.release) == ("unchanged", first.release)
    assert everything(tmp_path / "bucket") == before
    assert embedder.calls == 0


def test_force_publishes_again_but_embeds_nothing_again(tmp_path: Path) -> None:
    build(tmp_path)
    embedder = HashEmbedder()
    report = build(tmp_path, embedder=embedder, force=True)
    assert report.status == "published"
    assert report.embedded == 0
    assert not report.notes


def test_a_changed_leaf_is_the_only_one_that_is_embedded(tmp_path: Path) -> None:
    shutil.copytree(AWKWARD, tmp_path / "leaves")
    build(tmp_path, roots=[tmp_path / "leaves"])
    path = tmp_path / "leaves/sources/disasters/declarations.md"
    path.write_text(
        path.read_text(encoding="utf-8").replace("recent declarations", "new declarations"), encoding="utf-8"
    )
    report = build(tmp_path, roots=[tmp_path / "leaves"])
    assert (report.status, report.embedded) == ("published", 1)
    pointer = reader.current(open_bucket((tmp_path / "bucket").as_uri()), CATALOG)
    assert pointer.release == report.release
    assert pointer.previous is not None


def test_a_changed_access_document_or_body_is_a_new_release_without_a_new_vector(tmp_path: Path) -> None:
    shutil.copytree(AWKWARD, tmp_path / "leaves")
    first = build(tmp_path, roots=[tmp_path / "leaves"])
    with (tmp_path / "leaves/sources/datacommons/_access.md").open("a", encoding="utf-8") as file:
        file.write("\nOne more line about the publisher.\n")
    second = build(tmp_path, roots=[tmp_path / "leaves"])
    assert second.status == "published"
    assert second.release != first.release
    assert second.embedded == 0


def test_vectors_of_another_model_are_not_reused(tmp_path: Path) -> None:
    build(tmp_path)
    other = HashEmbedder()
    other.model = "test/other"
    report = build(tmp_path, embedder=other)
    assert (report.status, report.reused) == ("published", 0)


def test_a_dry_run_counts_and_writes_nothing_anywhere(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    report = build(tmp_path, embedder=embedder, dry_run=True)
    assert (report.status, report.release, report.reused) == ("planned", None, 0)
    assert report.embedded == report.rows - 1  # two leaves say the same words
    assert sum(report.collected.indexed.values()) == report.rows
    assert list(tmp_path.iterdir()) == []
    assert embedder.calls == 0


def test_a_dry_run_knows_what_the_current_release_already_has(tmp_path: Path) -> None:
    shutil.copytree(AWKWARD, tmp_path / "leaves")
    build(tmp_path, roots=[tmp_path / "leaves"])
    (tmp_path / "leaves/sources/mixed/no-title.md").unlink()
    before = everything(tmp_path)
    report = build(tmp_path, roots=[tmp_path / "leaves"], dry_run=True)
    assert (report.status, report.embedded) == ("planned", 0)
    assert everything(tmp_path) == before


def test_a_published_build_leaves_nothing_in_its_work_folder(tmp_path: Path) -> None:
    build(tmp_path)
    assert [path for path in (tmp_path / "cache" / "build").rglob("*") if path.is_file()] == []


def test_a_bad_catalog_name_is_refused_before_any_work(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    with pytest.raises(SettingsError, match="catalog"):
        build(tmp_path, embedder=embedder, catalog="../up")
    assert embedder.calls == 0


def test_every_stage_is_told_in_order(tmp_path: Path) -> None:
    told: list[Progress] = []
    recorder: Told = told.append
    build(tmp_path, told=recorder)
    assert list(dict.fromkeys(one.stage for one in told)) == ["collect", "embed", "index", "verify", "publish"]


@pytest.mark.skipif(not installed(), reason="the embedded models' weights are not installed")
def test_the_command_builds_with_the_real_model_and_the_verbs_tell_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CACHE_DIR", str(tmp_path / "cache"))
    url = (tmp_path / "bucket").as_uri()
    command = ["build", "tables", "--leaves", str(AWKWARD), "--bucket", url, "--embedder", "embedded", "--json"]
    first = _said(capsys, command)
    assert (first["status"], first["embedder"]["dimension"]) == ("published", 384)
    assert _said(capsys, command)["status"] == "unchanged"
    second = _said(capsys, [*command, "--force"])
    listed = _said(capsys, ["releases", "--bucket", url, "--json"])["releases"]
    assert {one["mark"] for one in listed} <= {"current", "previous"}
    if second["release"] != first["release"]:  # within one second they are the same document
        back = _said(capsys, ["rollback", "--bucket", url, "--json"])
        assert back["release"] == first["release"]
        assert _said(capsys, ["publish", second["release"], "--bucket", url, "--json"])["release"] == second["release"]
    assert _said(capsys, ["prune", "--keep", "1", "--bucket", url, "--json"])["files"] == []


def _said(capsys: pytest.CaptureFixture[str], command: list[str]) -> dict[str, Any]:
    assert main(command) == 0
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def test_errors_of_the_verbs_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.delenv("BUCKET_URL", raising=False)
    assert main(["releases"]) == 1
    assert main(["rollback", "--bucket", (tmp_path / "none").as_uri()]) == 1
    assert main(["publish", "--bucket", (tmp_path / "none").as_uri()]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("askbucket: ") for line in lines)
    assert writer.releases(open_bucket((tmp_path / "none").as_uri()), CATALOG) == []
