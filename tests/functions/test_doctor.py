"""`askbucket doctor`: it finds what is wrong, says what to do, and never shows a secret."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.openrouter import KEY, OpenRouter
from wire import free_port

from cli.main import main

Examine = Callable[..., tuple[int, dict[str, list[dict[str, Any]]]]]


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Examine:
    """Run the doctor over a bucket and settings: its exit status and its findings by check."""

    def run(bucket: str, **settings: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
        for name, value in {"CACHE_DIR": str(tmp_path / "cache"), **settings}.items():
            monkeypatch.setenv(name, value)
        status = main(["doctor", "--bucket", bucket, "--json"])
        told = json.loads(capsys.readouterr().out)
        assert told["ok"] == (status == 0)
        found: dict[str, list[dict[str, Any]]] = {}
        for each in told["checks"]:
            found.setdefault(each["name"], []).append(each)
        return status, found

    return run


@pytest.fixture
def fake() -> Iterator[OpenRouter]:
    with OpenRouter(key=KEY) as fake:
        yield fake


def statuses(found: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    """Check → its worst status."""
    order = ["ok", "warning", "failed"]
    return {name: max((each["status"] for each in each_of), key=order.index) for name, each_of in found.items()}


def test_a_sound_bucket_without_a_key_is_well(tiny_bucket: str, examine: Examine):
    status, found = examine(tiny_bucket)
    assert status == 0
    assert {name for name, worst in statuses(found).items() if worst != "ok"} <= {"mcp"}
    [release] = found["releases"]
    assert "15 tables of 3 sources" in release["message"]


def test_each_finding_is_a_line_and_what_to_do_stands_below(
    tiny_bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("CACHE_DIR", str(tmp_path))
    assert main(["doctor", "--bucket", tmp_path.as_uri()]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("failed   releases: catalog 'built-in' has no release") for line in lines)
    assert any("→ run `askbucket build tables`" in line for line in lines)


def test_a_key_is_tried_and_the_models_are_looked_up(tiny_bucket: str, fake: OpenRouter, examine: Examine):
    fake.spent_usd = 1.5
    status, found = examine(tiny_bucket, OPENROUTER_API_KEY=KEY, OPENROUTER_BASE_URL=fake.url)
    assert status == 0
    assert "$1.50" in found["keys"][0]["message"]
    assert found["models"][0]["message"] == "the gateway knows openai/gpt-oss-20b"
    assert fake.calls == []


def test_a_model_that_the_gateway_lacks_is_a_failure(tiny_bucket: str, fake: OpenRouter, examine: Examine):
    status, found = examine(
        tiny_bucket, OPENROUTER_API_KEY=KEY, OPENROUTER_BASE_URL=fake.url, RERANK_MODEL="openai/gpt-oss-2b"
    )
    assert (status, found["models"][0]["status"]) == (1, "failed")
    assert "openai/gpt-oss-2b" in found["models"][0]["message"]


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:9"])
def test_a_key_that_is_refused_or_a_gateway_that_is_gone_is_a_failure_without_the_key(
    tiny_bucket: str, fake: OpenRouter, examine: Examine, url: str
):
    status, found = examine(tiny_bucket, OPENROUTER_API_KEY="sk-or-wrong", OPENROUTER_BASE_URL=url or fake.url)
    assert (status, found["keys"][0]["status"]) == (1, "failed")
    assert "sk-or-wrong" not in json.dumps(found)


def test_a_provider_without_its_key_is_a_failure_that_names_the_setting(tiny_bucket: str, examine: Examine):
    status, found = examine(tiny_bucket, LLM_PROVIDER="openrouter")
    assert (status, found["keys"][0]["status"]) == (1, "failed")
    assert "OPENROUTER_API_KEY is not set" in found["keys"][0]["message"]


def test_a_setting_that_cannot_be_read_is_a_failure(tiny_bucket: str, examine: Examine):
    status, found = examine(tiny_bucket, ARD_PREFILTER_MAX="many")
    assert (status, list(found)) == (1, ["settings"])
    assert "ARD_PREFILTER_MAX='many'" in found["settings"][0]["message"]


def test_a_file_of_the_wrong_size_is_named(tiny_bucket: str, tmp_path: Path, examine: Examine):
    bucket = tmp_path / "damaged"
    shutil.copytree(tiny_bucket.removeprefix("file://"), bucket)
    largest = max((bucket / "built-in" / "files").iterdir(), key=lambda path: path.stat().st_size)
    os.truncate(largest, 10)
    status, found = examine(bucket.as_uri())
    assert (status, found["releases"][0]["status"]) == (1, "failed")
    assert "found 10" in found["releases"][0]["message"]


def test_a_mounted_catalog_that_is_not_there_is_named_and_the_other_one_is_well(tiny_bucket: str, examine: Examine):
    status, found = examine(tiny_bucket, ARD_CATALOGS="open-data")
    assert status == 1
    assert [each["status"] for each in found["releases"]] == ["ok", "failed"]
    assert "'open-data'" in found["releases"][1]["message"]


def test_counters_can_be_written_and_nothing_is_left_behind(tiny_bucket: str, tmp_path: Path, examine: Examine):
    status, found = examine(tiny_bucket, STATS_URL=(tmp_path / "stats").as_uri())
    assert (status, found["stats"][0]["status"]) == (0, "ok")
    assert [path for path in (tmp_path / "stats").rglob("*") if path.is_file()] == []


def test_counters_that_cannot_be_written_are_a_failure(tiny_bucket: str, tmp_path: Path, examine: Examine):
    (tmp_path / "stats").write_text("no folder")
    status, found = examine(tiny_bucket, STATS_URL=(tmp_path / "stats").as_uri())
    assert (status, found["stats"][0]["status"]) == (1, "failed")


def test_a_cache_that_is_no_folder_is_told(tiny_bucket: str, tmp_path: Path, examine: Examine):
    (tmp_path / "taken").write_text("no folder")
    _, found = examine(tiny_bucket, CACHE_DIR=str(tmp_path / "taken"))
    assert found["cache"][0]["status"] == "warning"


def test_a_redis_that_does_not_answer_is_a_failure_without_its_password(tiny_bucket: str, examine: Examine):
    pytest.importorskip("limits", reason="limits is not installed")
    pytest.importorskip("redis", reason="redis is not installed")
    status, found = examine(tiny_bucket, RATE_LIMIT_STORAGE_URL=f"redis://me:hunter2@127.0.0.1:{free_port()}")
    assert (status, found["redis"][0]["status"]) == (1, "failed")
    assert "hunter2" not in json.dumps(found)
