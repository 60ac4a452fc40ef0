"""`askbucket bench start` and `bench make`: every stage of a start is told, from a folder and from a cloud."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.storage import gcs_server
from wire import running

from cli.bench.made_release import make
from cli.bench.made_vectors import ROWS_PER_CLUSTER, unit_blocks
from cli.main import main
from shared.bucket.base import open_bucket
from shared.errors import SettingsError
from shared.release.reader import current, read_manifest
from shared.settings import Settings


def bench(*arguments: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    command = [sys.executable, "-m", "cli.main", "bench", *arguments, "--json"]
    with running(command, env or {}) as (process, log):
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0, log.read_text()
    report: dict[str, Any] = json.loads(said)
    return report


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A bucket with a small release whose embedder is behind the gateway."""
    url = (tmp_path_factory.mktemp("made") / "bucket").as_uri()
    make(Settings(bucket_url=url), rows=80, dimension=64, clustered=True)
    return url


def test_every_stage_of_a_start_is_told_from_a_folder_and_from_a_copy_in_the_cloud(demo_bucket: str) -> None:
    with gcs_server():
        pass  # skips where the server is not installed
    flags = ["--runs", "1", "--gcs", "--only", "variable,trails,stats"]
    report = bench("start", "--bucket", demo_bucket, *flags, env={"LLM_PROVIDER": "embedded"})
    starts = {(each["function"], each["place"]): each for each in report["starts"]}
    assert set(starts) == {
        ("variable", "file"), ("trails", "file"), ("stats", "file"),
        ("variable", "a copy in gs"), ("trails", "a copy in gs"),
    }  # fmt: skip
    for (name, place), each in starts.items():
        told = {stage for stage, ms in each["stages_ms"].items() if ms > 0}
        read = {"manifest", "verify", "map"} | ({"fetch"} if place == "a copy in gs" else set())
        expected = {"stats": set(), "variable": read, "trails": read | {"import"}}[name]
        assert told - {"models", "store"} == expected, (name, place)
        assert 0 < each["begun_s"] < each["ready_s"] < each["answered_s"]
        # A site imports beside its release, and what comes over a network is checked beside that.
        beside = {"import"} if place == "file" else {"import", "verify"}
        one_by_one = sum(ms for stage, ms in each["stages_ms"].items() if stage not in beside)
        assert max(one_by_one, each["stages_ms"]["import"]) / 1e3 < each["ready_s"] - each["begun_s"]
    assert [bar["rule"].partition(" ")[0] for bar in report["bars"]] == ["/variable", "a"]
    assert set(report["functions"]) == {"variable", "ask_site", "stats"}
    assert report["floor"]["median_s"] > 0
    assert set(report["models"]) == {"trails"}


def test_a_release_whose_models_are_remote_is_started_beside_the_fake_gateway(made: str) -> None:
    report = bench("start", "--bucket", made, "--runs", "1", "--only", "search")
    [start] = report["starts"]
    assert 0 < start["begun_s"] < start["ready_s"] < start["answered_s"]
    assert [bar["rule"].partition(" ")[0] for bar in report["bars"]] == ["/search"]


@pytest.mark.parametrize(
    ("flags", "said"), [(["--only", "search,trails"], "cannot start 'trails'"), (["--runs", "0"], "--runs")]
)
def test_a_start_that_measures_nothing_is_refused(
    made: str, flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "start", "--bucket", made, *flags]) == 1
    assert said in capsys.readouterr().err


def test_a_function_that_refuses_its_release_ends_the_bench_with_its_reason(tmp_path: Path, made: str) -> None:
    from shutil import copytree

    folder = tmp_path / "bucket"
    copytree(made.removeprefix("file://"), folder)
    bucket = open_bucket(folder.as_uri())
    manifest = read_manifest(bucket, "built-in", current(bucket, "built-in").release)
    [records] = [file for file in manifest.files if file.role == "records"]
    (folder / "built-in" / "files" / records.sha256).write_bytes(b"")
    command = [sys.executable, "-m", "cli.main", "bench", "start", "--bucket", folder.as_uri(), "--only", "variable"]
    with running(command, {}) as (process, log):
        process.communicate(timeout=60)
        assert process.returncode == 1
        assert "release_corrupt" in log.read_text()


def test_a_made_release_has_the_shape_that_was_asked_for(made: str) -> None:
    bucket = open_bucket(made)
    manifest = read_manifest(bucket, "built-in", current(bucket, "built-in").release)
    assert (manifest.rows, manifest.embedder.dimension) == (80, 64)


def test_a_release_is_made_only_where_none_is(made: str) -> None:
    before = open_bucket(made).read("built-in/current.json")
    with pytest.raises(SettingsError, match="a bucket without tables"):
        make(Settings(bucket_url=made), rows=10, dimension=8, clustered=False)
    assert open_bucket(made).read("built-in/current.json") == before


@pytest.mark.parametrize("shape", [{"rows": 0, "dimension": 8}, {"rows": 8, "dimension": 0}])
def test_a_release_of_nothing_is_not_made(tmp_path: Path, shape: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        make(Settings(bucket_url=tmp_path.as_uri()), **shape, clustered=False)


@pytest.mark.parametrize("clustered", [False, True])
def test_made_vectors_are_of_length_one_the_same_each_time_and_lie_together_only_in_clusters(clustered: bool) -> None:
    rows = 5 * ROWS_PER_CLUSTER
    first, again = (np.concatenate([block for _, block in unit_blocks(rows, 384, clustered=clustered)]) for _ in "ab")
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-5)
    near = (first[:50] @ first.T > 0.45).sum(axis=1)
    assert (near > ROWS_PER_CLUSTER / 2).all() if clustered else (near == 1).all()
