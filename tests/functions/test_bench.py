"""The benchmarks run, and what they count is what they say. How fast anything was is not asked here."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fakes.release import publish
from fakes.storage import gcs_server
from wire import running

from cli.bench.load import Plan, _of_release
from cli.bench.twin import MARK, Pair, make_pair
from cli.local import search_here
from cli.main import main
from shared.bucket.base import open_bucket
from shared.bucket.gcs import GcsBucket
from shared.release import reader, writer
from shared.settings import Settings

QUESTION = {"query": {"text": "average rainfall by country"}, "rerank": False}


def bench(*arguments: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The report of a bench, run as people run it."""
    command = [sys.executable, "-m", "cli.main", "bench", *arguments, "--json"]
    with running(command, dict(env or {})) as (process, log):
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0, log.read_text()
    report: dict[str, Any] = json.loads(said)
    return report


@pytest.fixture(scope="module")
def pair(tiny_bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return make_pair(Settings(bucket_url=tiny_bucket), tmp_path_factory.mktemp("pair"))


def replied(pair: Pair, release_id: str) -> dict[str, Any]:
    writer.switch(pair.bucket, "built-in", release_id)
    reply = search_here(Settings(bucket_url=pair.bucket.url), QUESTION)
    reply.pop("usage")
    return reply


def test_the_twin_finds_the_same_tables_and_marks_each(pair: Pair) -> None:
    first, twin = (replied(pair, release_id) for release_id in pair.ids)
    assert {entry["identifier"] for entry in first["results"]} == {entry["identifier"] for entry in twin["results"]}
    assert not any(entry["displayName"].endswith(MARK) for entry in first["results"])
    assert all(entry["displayName"].endswith(MARK) for entry in twin["results"])


@pytest.mark.parametrize("role", ["vectors", "records"])
def test_a_reply_whose_release_had_one_file_of_the_other_is_neither_releases(pair: Pair, role: str) -> None:
    expected = [replied(pair, release_id) for release_id in pair.ids]
    assert [_of_release(reply, expected) for reply in expected] == [0, 1]
    first, twin = (reader.fetch(pair.bucket, "built-in", None, Path(), release_id=each) for each in pair.ids)
    mixed = writer.write(pair.bucket, first.manifest, {**first.paths, role: twin.paths[role]})
    assert _of_release(replied(pair, mixed), expected) is None


def test_load_under_swaps_has_no_error_and_every_reply_is_of_one_release(tiny_bucket: str) -> None:
    flags = ["--rate", "20", "--seconds", "6", "--swap-every", "2"]
    before = open_bucket(tiny_bucket).read("built-in/current.json")
    report = bench("load", "--bucket", tiny_bucket, *flags)
    found = {bar["rule"]: bar["found"] for bar in report["bars"]}
    assert report["errors"] == {}
    assert found["no reply that is not wholly of one release"] == 0
    assert report["told_apart"]["different"] == report["told_apart"]["all"] > 0
    assert sum(route["requests"] for route in report["routes"].values()) == sum(report["replies"].values()) == 120
    assert all(report["replies"].values())
    assert len(report["swapped_at_s"]) == 2
    assert open_bucket(tiny_bucket).read("built-in/current.json") == before


@pytest.mark.parametrize(("seconds", "swaps"), [(60, [15, 30, 45]), (30, [15]), (40, [15, 30]), (20, [])])
def test_the_pointer_moves_between_equal_stretches(seconds: float, swaps: list[float]) -> None:
    assert Plan(rate=1, seconds=seconds, swap_every=15).swaps() == swaps


@pytest.mark.parametrize("flags", [["--seconds", "10"], ["--rate", "0"], ["--swap-every", "0"]])
def test_a_load_without_a_swap_is_refused(tiny_bucket: str, flags: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "load", "--bucket", tiny_bucket, *flags]) == 1
    assert "--seconds at least twice --swap-every" in capsys.readouterr().err


def test_open_measures_the_bytes_of_the_whole_release_each_way() -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    with gcs_server() as address:
        with closing(GcsBucket("gs://contract", Settings(storage_emulator_host=address))) as bucket:
            publish(bucket, rows=200, dimension=16)
            files = reader.read_manifest(bucket, "built-in", reader.current(bucket, "built-in").release).files
        report = bench(
            "open",
            "--bucket",
            "gs://contract",
            "--runs",
            "2",
            "--peers",
            "none",
            env={"STORAGE_EMULATOR_HOST": address},
        )
    assert report["bytes"] == sum(file.bytes for file in files)
    assert {name: len(seconds) for name, seconds in report["seconds"].items()} == {
        "plain copy": 2, "Python copy": 2, "ready": 2,
    }  # fmt: skip


def test_open_is_refused_for_a_bucket_that_is_not_in_the_cloud(
    tiny_bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "open", "--bucket", tiny_bucket]) == 1
    assert "--bucket gs://" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, b"", b'{"a": 1}x\n', b"[1]\n", b"\xff\n", b"\xfd7zXZ\x00 cut"])
def test_items_that_cannot_be_read_are_refused_by_the_name_of_their_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    path = tmp_path / ("items.jsonl.xz" if content and content.startswith(b"\xfd") else "items.jsonl")
    if content is not None:
        path.write_bytes(content)
    assert main(["bench", "lexical", "--items", str(path)]) == 1
    said = capsys.readouterr()
    assert f"--items {path}" in said.err
    assert not said.out
