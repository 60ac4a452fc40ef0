"""`askbucket doctor`: it finds what is wrong, says what to do, and never shows a secret."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from building import TINY_LEAVES, build_demo_site
from fakes.openrouter import KEY, OpenRouter
from fakes.site import movies, publish
from wire import free_port

from cli.main import main
from shared.sites.kinds import KINDS

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


@pytest.fixture(scope="module")
def site_bucket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bucket with two sites and no tables. Read only."""
    bucket = tmp_path_factory.mktemp("sites")
    for kind in ("homes", "reviews"):
        build_demo_site(bucket.as_uri(), kind)
    return bucket


def cut(bucket: Path, catalog: str) -> None:
    """Truncate the largest file of a catalog."""
    largest = max((bucket / catalog / "files").iterdir(), key=lambda path: path.stat().st_size)
    os.truncate(largest, 10)


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
    cut(bucket, "built-in")
    status, found = examine(bucket.as_uri())
    assert (status, found["releases"][0]["status"]) == (1, "failed")
    assert "found 10" in found["releases"][0]["message"]


def test_sites_alone_are_well_and_each_is_looked_at(site_bucket: Path, examine: Examine):
    status, found = examine(site_bucket.as_uri())
    assert (status, [each["status"] for each in found["releases"]]) == (0, ["ok", "ok"])
    assert [each["message"].partition(":")[0] for each in found["releases"]] == ["reviews", "homes"]
    assert found["releases"][1]["message"].endswith(" items of Demo Homes")
    assert [each["status"] for each in found["bucket"]] == ["ok"]
    assert {each["message"].partition(" ")[0] for each in found["embedder"]} == {"reviews", "homes"}


def test_a_truncated_file_of_a_site_is_a_failure_that_names_it(site_bucket: Path, tmp_path: Path, examine: Examine):
    bucket = shutil.copytree(site_bucket, tmp_path / "damaged")
    cut(bucket, "homes")
    status, found = examine(bucket.as_uri())
    assert (status, [each["status"] for each in found["releases"]]) == (1, ["ok", "failed"])
    assert found["releases"][1]["message"].startswith("homes: ")
    assert "found 10" in found["releases"][1]["message"]
    assert "--catalog homes" in found["releases"][1]["todo"]


def test_a_site_without_its_manifest_is_a_failure_that_names_it(site_bucket: Path, tmp_path: Path, examine: Examine):
    bucket = shutil.copytree(site_bucket, tmp_path / "damaged")
    shutil.rmtree(bucket / "homes" / "releases")
    status, found = examine(bucket.as_uri())
    assert (status, [each["status"] for each in found["releases"]]) == (1, ["ok", "failed"])
    assert "'homes'" in found["releases"][1]["message"]


def test_a_site_beside_the_tables_is_looked_at_too(
    tiny_bucket: str, site_bucket: Path, tmp_path: Path, examine: Examine
):
    bucket = shutil.copytree(tiny_bucket.removeprefix("file://"), tmp_path / "both")
    shutil.copytree(site_bucket / "homes", bucket / "homes")
    status, found = examine(bucket.as_uri())
    assert (status, [each["status"] for each in found["releases"]]) == (0, ["ok", "ok"])
    cut(bucket, "homes")
    assert examine(bucket.as_uri())[0] == 1


def test_a_site_whose_embedder_cannot_be_had_is_a_warning_since_words_find_its_items(tmp_path: Path, examine: Examine):
    status, found = examine(publish(tmp_path, movies(), KINDS["movies"]))
    assert (status, statuses(found)["embedder"]) == (0, "warning")
    assert "OPENROUTER_API_KEY" in found["embedder"][0]["todo"]


def test_tables_under_a_kinds_name_are_no_site(tmp_path: Path, examine: Examine, capsys: pytest.CaptureFixture[str]):
    url = tmp_path.as_uri()
    made = ["build", "tables", "--leaves", str(TINY_LEAVES), "--bucket", url, "--embedder", "embedded"]
    assert main([*made, "--catalog", "homes"]) == 0
    capsys.readouterr()
    status, found = examine(url)
    assert (status, [each["status"] for each in found["releases"]]) == (1, ["failed"])
    assert "'built-in'" in found["releases"][0]["message"]


def test_a_mounted_catalog_that_is_not_there_is_named_and_the_other_one_is_well(tiny_bucket: str, examine: Examine):
    status, found = examine(tiny_bucket, ARD_CATALOGS="open-data")
    assert status == 1
    assert [each["status"] for each in found["releases"]] == ["ok", "failed"]
    assert "'open-data'" in found["releases"][1]["message"]


def test_counters_can_be_written_and_nothing_is_left_behind(tiny_bucket: str, tmp_path: Path, examine: Examine):
    status, found = examine(tiny_bucket, STATS_URL=(tmp_path / "stats").as_uri())
    assert (status, found["stats"][0]["status"]) == (0, "ok")
    assert not (tmp_path / "stats").exists()


@pytest.mark.parametrize("there", [(), ("stats",), ("stats", "doctor"), ("stats", "2026-01-01")])
def test_the_folder_of_the_counters_is_left_as_it_was(
    tiny_bucket: str, tmp_path: Path, examine: Examine, there: tuple[str, ...]
):
    counters = tmp_path / "state"
    counters.joinpath(*there).mkdir(parents=True)
    before = sorted(counters.rglob("*"))
    status, found = examine(tiny_bucket, STATS_URL=(counters / "stats").as_uri())
    assert (status, found["stats"][0]["status"]) == (0, "ok")
    assert sorted(counters.rglob("*")) == before


def test_counters_that_cannot_be_written_are_a_failure(tiny_bucket: str, tmp_path: Path, examine: Examine):
    (tmp_path / "stats").write_text("no folder")
    status, found = examine(tiny_bucket, STATS_URL=(tmp_path / "stats").as_uri())
    assert (status, found["stats"][0]["status"]) == (1, "failed")


def test_a_cache_that_is_no_folder_is_told(tiny_bucket: str, tmp_path: Path, examine: Examine):
    (tmp_path / "taken").write_text("no folder")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "x", Path("/proc/x/y")):
        status, found = examine(tiny_bucket, CACHE_DIR=str(folder))
        assert (status, found["cache"][0]["status"]) == (1, "failed")


def test_a_cache_that_others_can_write_to_is_a_failure_as_it_is_for_a_release(
    tiny_bucket: str, tmp_path: Path, examine: Examine
):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    status, found = examine(tiny_bucket, CACHE_DIR=str(tmp_path / "open"))
    assert (status, found["cache"][0]["status"]) == (1, "failed")
    assert "no other user can write to" in found["cache"][0]["message"]


@pytest.mark.parametrize("there", [True, False])
def test_looking_at_the_cache_leaves_it_as_it_was(tiny_bucket: str, tmp_path: Path, examine: Examine, there: bool):
    cache = tmp_path / "state" / "cache"
    (cache if there else cache.parent).mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    status, found = examine(tiny_bucket, CACHE_DIR=str(cache))
    assert (status, found["cache"][0]["status"]) == (0, "ok")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("SITE_URLS", "recipes"), ("AGENT_FINDER_SELF", "example.org"), ("RATE_LIMIT_STORAGE_URL", "http://here")],
)
def test_what_serve_refuses_to_start_with_is_a_failure(tiny_bucket: str, examine: Examine, name: str, value: str):
    status, found = examine(tiny_bucket, **{name: value})
    failed = [each for each_of in found.values() for each in each_of if each["status"] == "failed"]
    assert (status, len(failed)) == (1, 1)
    assert name in failed[0]["message"] + failed[0]["todo"]


def test_without_a_bucket_both_ways_to_name_one_are_said_and_nothing_twice(
    monkeypatch: pytest.MonkeyPatch, examine: Examine
):
    monkeypatch.delenv("BUCKET_URL", raising=False)
    status, found = examine("")
    assert (status, found["bucket"][0]["status"], "settings" in found) == (1, "failed", False)
    for check in ("bucket", "releases"):
        assert found[check][0]["todo"] == "set BUCKET_URL, or give --bucket URL"


@pytest.mark.parametrize("key", ["", KEY])
def test_nobody_judging_by_choice_is_told_as_a_choice(tiny_bucket: str, fake: OpenRouter, examine: Examine, key: str):
    _, found = examine(tiny_bucket, LLM_PROVIDER="none", OPENROUTER_API_KEY=key, OPENROUTER_BASE_URL=fake.url)
    [told] = found["keys"]
    assert "LLM_PROVIDER=none: nobody judges" in told["message"]
    assert told["status"] == "warning"
    assert told["todo"].startswith("unset LLM_PROVIDER")


def test_a_gateway_that_is_gone_is_the_networks_fault_and_a_refused_key_the_keys(
    tiny_bucket: str, fake: OpenRouter, examine: Examine
):
    gone = f"http://127.0.0.1:{free_port()}"
    for url, cause in ((gone, "the network"), (fake.url, "OPENROUTER_API_KEY")):
        _, found = examine(tiny_bucket, OPENROUTER_API_KEY="sk-or-wrong", OPENROUTER_BASE_URL=url)
        assert cause in found["keys"][0]["todo"]
        assert ("valid" in found["keys"][0]["todo"]) == (url == fake.url)
        assert [each["todo"] for each in found.get("models", []) if each["status"] == "failed"] in (
            [], [found["keys"][0]["todo"]],
        )  # fmt: skip


def test_a_redis_that_does_not_answer_is_a_failure_without_its_password(tiny_bucket: str, examine: Examine):
    pytest.importorskip("limits", reason="limits is not installed")
    pytest.importorskip("redis", reason="redis is not installed")
    status, found = examine(tiny_bucket, RATE_LIMIT_STORAGE_URL=f"redis://me:hunter2@127.0.0.1:{free_port()}")
    assert (status, found["redis"][0]["status"]) == (1, "failed")
    assert "hunter2" not in json.dumps(found)
