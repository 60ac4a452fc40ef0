"""The gate: what it lets pass, what it refuses and with which words, and what is written down of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_jobs.gate import Gate, Limits
from build_jobs.samples import (
    Heard,
    Question,
    TableQuestion,
    questions_beside,
    read_table_suites,
    sampled,
    scores_of,
)
from shared.contracts.status import Returned, Scores, Status, encode, parse
from shared.errors import BuildError, ReleaseIncompatible

LIMITS = Limits(most_shrink=0.2, score_margin=0.02)


def scores(recall: float | None = 0.9, mrr: float | None = 0.8, silent: float | None = None) -> Scores:
    return Scores(questions=10, recall_at_1=0.5, recall_at_10=recall, mrr=mrr, no_match_right=silent, asked="x")


def test_a_source_may_lose_the_share_that_is_set_and_not_a_row_more() -> None:
    gate = Gate(LIMITS)
    gate.compare_sources({"rain": {"rows": 10}}, {"rain": {"rows": 8}})
    assert gate.checks[-1].verdict == "passed"
    with pytest.raises(BuildError, match=r"\(sources\): source rain: rows fell from 10 to 7"):
        gate.compare_sources({"rain": {"rows": 10}}, {"rain": {"rows": 7}})


def test_a_source_that_is_gone_is_named_and_a_new_one_is_welcome() -> None:
    with pytest.raises(BuildError, match="source snow: rows fell from 1 to 0"):
        Gate(LIMITS).compare_sources({"snow": {"rows": 1}}, {"rain": {"rows": 5}})
    gate = Gate(LIMITS)
    gate.compare_sources({}, {"rain": {"rows": 5}})
    assert gate.checks[-1].verdict == "passed"


def test_what_is_forced_is_written_down_as_failed() -> None:
    gate = Gate(LIMITS, force=True)
    gate.compare_sources({"rain": {"rows": 10}}, {})
    assert (gate.was_forced, gate.checks[-1].verdict) == (True, "failed")


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (scores(recall=0.87), r"suite asked: R@10 fell from 0\.900 to 0\.870"),
        (scores(mrr=0.7), r"suite asked: MRR@10 fell from 0\.800 to 0\.700"),
        (scores(silent=0.5), "suite asked: no match where nothing answers fell from 1.000 to 0.500"),
    ],
)
def test_B04_a_score_that_falls_by_more_than_the_margin_is_refused_by_name(after: Scores, said: str) -> None:
    with pytest.raises(BuildError, match=said):
        Gate(LIMITS).compare_scores({"asked": scores(silent=1.0)}, {"asked": after})


def test_a_score_within_the_margin_and_one_that_nobody_measured_pass() -> None:
    gate = Gate(LIMITS)
    gate.compare_scores({"asked": scores(recall=0.9)}, {"asked": scores(recall=0.88, mrr=None)})
    assert gate.checks[-1].verdict == "passed"


def test_the_ledger_survives_its_bytes_and_anything_else_is_refused() -> None:
    question = sampled("s", Question("1", "rain?"), Heard(["a"], [returned("b"), returned("a")], False))
    status = Status(
        version=1, judge="none", forced=False, checks=[], sources={"rain": {"rows": 1}}, scores={}, questions=[question]
    )
    assert parse(encode(status)) == status
    for broken in (b"", b"[]", b"{}", encode(status).replace(b'"version":1', b'"version":2')):
        with pytest.raises(ReleaseIncompatible, match="status"):
            parse(broken)


def returned(name: str) -> Returned:
    return Returned(identifier=name, title=name, score=60)


@pytest.mark.parametrize(
    ("results", "ruled_out", "verdict", "rank"),
    [
        ("ab", False, "right", 1),
        ("ba", False, "partly", 2),
        ("bc", False, "missed", None),
        ("ab", True, "missed", None),
    ],
)
def test_a_question_is_judged_by_its_first_right_result(
    results: str, ruled_out: bool, verdict: str, rank: int | None
) -> None:
    said = sampled("s", Question("1", "rain?"), Heard(["a"], [returned(each) for each in results], False, ruled_out))
    assert (said.verdict, said.rank) == (verdict, rank)
    assert [each.right for each in said.results] == [each == "a" for each in results]


def test_a_question_that_nothing_answers_is_right_where_nothing_is_shown() -> None:
    nothing = Question("1", "hello", nothing=True)
    right, wrong = sampled("s", nothing, Heard([], [], True)), sampled("s", nothing, Heard([], [returned("a")], False))
    assert (right.verdict, wrong.verdict) == ("no_match_right", "no_match_wrong")
    together = scores_of([right, wrong], "x")
    assert (together.no_match_right, together.recall_at_10) == (0.5, None)


def test_questions_are_read_as_yaml_and_as_judged_pairs_and_named_apart(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("- question: how much rain\n  answers: [R1, 7]\n- nothing to see\n")
    (tmp_path / "a.jsonl").write_text('{"_id": "q", "text": "snow"}\n')
    (tmp_path / "a.tsv").write_text("query\tleaf\tscore\nq\tsec_edgar:S1\t1\n")
    suites = read_table_suites([tmp_path / "a.yaml", tmp_path / "a.jsonl"], [tmp_path / "a.tsv"])
    assert [suite.name for suite in suites] == ["a", "a (2)"]
    first, second = suites[0].questions
    assert [target.code for target in first.targets] == ["R1", "7"]
    assert (first.nothing, second) == (False, TableQuestion("2", "nothing to see", nothing=True))
    assert suites[1].questions[0].targets[0].family == "sec-edgar"


@pytest.mark.parametrize(
    ("text", "said"), [("{}", "list of questions"), ("- question: x", "question 1"), ("- [", "no YAML")]
)
def test_a_file_that_holds_no_questions_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(BuildError, match=rf"a\.yaml.*{said}"):
        read_table_suites([tmp_path / "a.yaml"], [])


def test_judgements_that_are_missing_or_too_many_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="needs its --qrels: found 1 and 0"):
        read_table_suites([tmp_path / "a.jsonl"], [])


def test_questions_beside_the_leaves_are_found_but_for_those_of_sites() -> None:
    demo = Path(__file__).parents[2] / "demo"
    assert [path.stem for path in questions_beside([demo])] == [
        "money-schools-crime", "nonsense", "people-and-work", "world-energy-health",
    ]  # fmt: skip
