"""The offline verbs from the command line: tasks, plans, history and prune, as people and programs read them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from building import TINY_LEAVES

from cli.main import main
from shared.models.weights import installed

pytestmark = pytest.mark.skipif(not installed(), reason="the embedded models' weights are not installed")


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LLM_PROVIDER", "embedded")
    return (tmp_path / "bucket").as_uri()


def build(url: str, *more: str) -> list[str]:
    return ["build", "tables", "--leaves", str(TINY_LEAVES), "--bucket", url, "--embedder", "embedded", *more]


def said(capsys: pytest.CaptureFixture[str], command: list[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_tasks_by_flag_and_by_platform_make_one_release_between_them(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = said(capsys, build(url, "--task", "1", "--of", "2"))
    assert (first["status"], first["task"]) == ("waiting", {"index": 1, "of": 2, "waitingFor": [0]})
    monkeypatch.setenv("CLOUD_RUN_TASK_INDEX", "0")
    monkeypatch.setenv("CLOUD_RUN_TASK_COUNT", "2")
    second = said(capsys, build(url))
    assert (second["status"], second["task"]["waitingFor"]) == ("published", [])
    assert said(capsys, build(url))["status"] == "unchanged"


@pytest.mark.parametrize("flags", [["--task", "2", "--of", "2"], ["--task", "0"], ["--of", "3"]])
def test_tasks_that_make_no_sense_are_refused_in_one_line(
    url: str, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    assert main(build(url, *flags)) == 1
    assert re.fullmatch(r"askbucket: .*task.*\n", capsys.readouterr().err)


def test_a_dry_run_prints_the_plan_of_every_task_and_its_price(
    url: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = said(capsys, build(url, "--dry-run", "--task", "0", "--of", "3"))["plan"]
    assert [task["task"] for task in plan["tasks"]] == [0, 1, 2]
    assert sum(task["rows"] for task in plan["tasks"]) == 15
    assert sum(task["texts"] for task in plan["tasks"]) == plan["texts"]
    assert plan["costUsd"] == 0
    monkeypatch.setenv("OPENROUTER_API_KEY", "a-key")
    monkeypatch.setenv("EMBEDDING_CALLS_PER_MINUTE", "1")
    paid = said(capsys, [*build(url, "--dry-run")[:-3], "--embedder", "openrouter", "--dry-run"])["plan"]
    assert paid["tokens"] > 0
    assert paid["leastSeconds"] == 60.0 * paid["calls"]
    assert main(build(url, "--dry-run", "--task", "0", "--of", "3")) == 0
    text = capsys.readouterr().out
    assert re.search(r"plan: \d+ texts to embed in 1 call, about [\d,]+ tokens, \$0\.0000", text)
    assert "task 2: 5 rows" in text
    assert not (tmp_path / "bucket").exists()


def test_releases_show_counts_scores_and_sizes_and_a_page_with_plots(
    url: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "asked.yaml").write_text("- question: how many people\n  answers: [Count_Person]\n")
    said(capsys, build(url, "--questions", str(tmp_path / "asked.yaml")))
    said(capsys, build(url, "--force", "--questions", str(tmp_path / "asked.yaml")))
    page = tmp_path / "history.html"
    listed = said(capsys, ["releases", "--bucket", url, "--report", str(page)])["releases"]
    assert [one["mark"] for one in listed] == ["current", "previous"]
    assert [one["forced"] for one in listed] == [True, False]
    assert all(one["rows"] == 15 and one["bytes"] > 0 and one["gate"]["recall_at_10"] == 1.0 for one in listed)
    assert listed[0]["sources"] == {"census": 3, "datacommons": 8, "worldbank": 4}
    html = page.read_text()
    for name in ("Rows", "Right answer in the first ten", "Median milliseconds a question", "Dollars a question"):
        assert f"<figcaption>{name}</figcaption>" in html
    assert html.count('class="dot"') >= 2 * 4
    assert all(one["release"] in html for one in listed)
    assert main(["releases", "--bucket", url]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["release", "rows", "MB", "R@10"]
    assert re.search(r" 15 .* 1\.000 .*current, forced", lines[1])


def test_a_report_that_could_not_be_written_is_refused_first(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["releases", "--bucket", url, "--report", "/no/such/folder/x.html"]) == 1
    assert "--report" in capsys.readouterr().err


def test_prune_keeps_what_is_set_and_says_what_is_gone(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, build(url, "--task", "0", "--of", "2"))
    said(capsys, build(url))
    left = said(capsys, ["prune", "--keep", "1", "--bucket", url])
    assert left == {"catalog": "built-in", "releases": [], "files": [], "bytes": 0, "abandoned": []}
