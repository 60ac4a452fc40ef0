"""`askbucket bench search`: every stage is told, model calls apart, over a release of either embedder."""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from wire import running

from cli.bench.made_release import FAMILIES, publish
from cli.bench.search import PHRASINGS, Plan, Sample, _mapped, _percentiles, questions_of
from cli.main import main
from shared.bucket.base import open_bucket
from shared.errors import SettingsError
from shared.settings import Settings
from shared.tables.request import parse_search
from shared.tables.search import phrase
from shared.tables.tables import open_tables

STAGES = {"embed", "scan", "keyword", "select", "records", "cards", "judge", "reply", "json"}


def bench(*flags: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "cli.main", "bench", "search", "--json", *flags]
    with running(command, {}) as (process, log):
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0, log.read_text()
    report: dict[str, Any] = json.loads(said)
    return report


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small release of production's shape."""
    folder = tmp_path_factory.mktemp("made")
    url = (folder / "bucket").as_uri()
    publish(open_bucket(url), folder, rows=300)
    return url


def test_every_stage_is_told_at_every_level_and_model_calls_are_set_apart(made: str) -> None:
    report = bench("--bucket", made, "--requests", "6", "--concurrency", "1,3")
    assert (report["rows"], report["dimension"], report["phrasings"]) == (300, 1_536, PHRASINGS)
    assert [level["concurrency"] for level in report["levels"]] == [1, 3]
    for level in report["levels"]:
        p50 = {name: found["p50"] for name, found in level["ms"].items()}
        assert set(p50) >= STAGES | {"model calls", "outside models", "whole"}
        assert all(p50[stage] > 0 for stage in STAGES)
        assert max(p50["model calls"], p50["outside models"]) < p50["whole"]
    assert [bar["rule"].split(",")[0] for bar in report["bars"]] == [
        "p50 outside models", "p99 outside models", "private memory of a warm instance",
    ]  # fmt: skip
    assert report["scan_ms"] > 0
    assert 10e6 < report["memory"]["private"] < 1e9


def test_an_embedded_release_needs_no_gateway(tiny_bucket: str) -> None:
    report = bench("--bucket", tiny_bucket, "--requests", "3", "--concurrency", "1", "--judge", "embedded")
    assert report["levels"][0]["ms"]["model calls"]["p99"] == 0
    assert [bar["rule"] for bar in report["bars"]] == ["p50 of the whole search, ms, on one core"]


@pytest.mark.parametrize("flags", [["--concurrency", "0"], ["--concurrency", "4", "--requests", "3"]])
def test_a_plan_that_measures_nothing_is_refused(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "search", *flags]) == 1
    assert "--concurrency of 1 or more" in capsys.readouterr().err
    with pytest.raises(SettingsError):
        Plan(concurrency=()).check()


def test_the_made_release_has_all_families_and_its_questions_have_eight_phrasings(made: str, tmp_path: Path) -> None:
    settings = Settings(bucket_url=made, cache_dir=str(tmp_path))
    with closing(open_tables(settings)) as tables:
        asked = questions_of(tables)
        assert list(tables.families()) == sorted(FAMILIES)
        assert questions_of(tables) == asked
    assert {len(phrase(parse_search(body), 8_000)[0].phrasings) for body in asked} == {PHRASINGS}


def test_waiting_for_a_model_is_no_time_of_ours() -> None:
    sample = Sample(100.0, {"embed": 60.0, "scan": 20.0, "model": 55.0})
    assert sample.outside_ms == 45.0
    assert replace(sample, stages_ms={}).outside_ms == 100.0


def test_percentiles_are_values_that_were_measured() -> None:
    assert _percentiles([float(value) for value in range(1, 101)]) == {"p50": 50.0, "p90": 90.0, "p99": 99.0}
    assert _percentiles([3.0]) == {"p50": 3.0, "p90": 3.0, "p99": 3.0}


def test_a_release_file_that_is_mapped_is_not_counted_as_our_own_memory(tmp_path: Path) -> None:
    import mmap

    size = 32 << 20
    (tmp_path / "digest").write_bytes(b"x" * size)
    with (tmp_path / "digest").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert sum(mapped[::4096]) > 0
        without, release = _mapped(os.getpid(), {"digest"})
        own, nothing = _mapped(os.getpid(), set())
    assert (release, nothing) == (size, 0)
    assert own - without >= 0.9 * size
