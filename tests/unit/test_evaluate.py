"""Evaluation: what files say, what a rank is, and what a report adds up."""

from __future__ import annotations

import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from build_jobs.evaluate import evaluate_by, rank_in, subject_over
from build_jobs.judged import JudgedQuestion, Target, read_judged, read_texts, sample
from build_jobs.report.figures import JudgedSet, Metrics, Report, Subject, as_json
from build_jobs.report.text import as_text
from shared.errors import BuildError

QUESTIONS = """{"_id": "q1", "text": "sales", "bm25Rank": 3}
{"_id": "q2", "text": "rent", "bm25Rank": null}
{"_id": "q3", "text": "nobody judged this"}
"""
QRELS = "query-id\tcorpus-id\tscore\nq1\tsec_edgar:Revenues\t1\nq2\tDP04_0134E\t1\nq1\tsec_edgar:Assets\t0\n"


def written(path: Path, text: str) -> Path:
    if path.suffix == ".xz":
        path.write_bytes(lzma.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", ["", ".xz"])
def test_judged_questions_are_read_plain_and_compressed(tmp_path, ending):
    questions = written(tmp_path / f"q.jsonl{ending}", QUESTIONS)
    qrels = written(tmp_path / f"q.tsv{ending}", QRELS)
    assert read_judged(questions, qrels) == [
        JudgedQuestion("q1", "sales", (Target("sec-edgar", "Revenues"),), hard=False),
        JudgedQuestion("q2", "rent", (Target(None, "DP04_0134E"),), hard=True),
    ]


@pytest.mark.parametrize(
    ("judgement", "target"),
    [
        ("sec_edgar:Revenues", Target("sec-edgar", "Revenues")),
        ("census_acs_variables:B01001_001E", Target("census", "B01001_001E")),
        ("treasury:v1/debt|Total: all", Target("treasury", "v1/debt|Total: all")),
        ("worldBank/NY_GDP_PCAP_CD", Target(None, "worldBank/NY_GDP_PCAP_CD")),
        ("sdg/SH_DYN_MORT.AGE--Y0T4", Target(None, "sdg/SH_DYN_MORT.AGE--Y0T4")),
    ],
)
def test_a_judgement_names_a_family_or_none(judgement, target):
    assert Target.parse(judgement) == target


def test_a_result_is_the_target_by_family_and_code():
    entry = {"okf:sourceDirectory": "sec-edgar", "okf:concept": "Revenues", "displayName": "Revenues"}
    assert Target("sec-edgar", "Revenues").is_entry(entry)
    assert Target(None, "Revenues").is_entry(entry)
    assert not Target("census", "Revenues").is_entry(entry)
    assert not Target("sec-edgar", "Assets").is_entry(entry)


def test_a_census_leaf_that_keeps_its_code_beside_name_is_found():
    assert Target("census", "DP03_0062E").is_entry({"okf:sourceDirectory": "census", "okf:get": "NAME,DP03_0062E"})


def test_a_broken_line_is_refused_by_file_and_line(tmp_path):
    questions = written(tmp_path / "questions.jsonl", '{"_id": "q1", "text": "a"}\nnot json\n')
    with pytest.raises(BuildError, match=r"questions\.jsonl: line 2"):
        read_judged(questions, written(tmp_path / "q.tsv", QRELS))
    with pytest.raises(BuildError, match="absent"):
        read_texts(tmp_path / "absent.txt")


def test_metrics_count_ranks_from_the_first_right_answer():
    metrics = Metrics.of([0, 1, 9, 10, 70, None], deep=True)
    assert metrics.questions == 6
    assert metrics.recall_1 == pytest.approx(1 / 6)
    assert metrics.recall_10 == pytest.approx(3 / 6)
    assert metrics.mrr_10 == pytest.approx((1 + 1 / 2 + 1 / 10) / 6)
    assert metrics.recall_60 == pytest.approx(4 / 6)
    assert metrics.recall_120 == pytest.approx(5 / 6)


def test_a_sample_is_the_same_every_time_and_everything_without_a_size():
    items = list(range(100))
    assert sample(items, 5) == sample(items, 5)
    assert sample(items, None) == sample(items, 1000) == items


RIGHT = {"displayName": "Revenues", "okf:sourceDirectory": "sec-edgar", "okf:concept": "Revenues", "score": 91}
OTHER = {"displayName": "Population", "okf:sourceDirectory": "census", "okf:variable": "B01001_001E", "score": 64}
SALES = JudgedQuestion("q1", "sales", (Target("sec-edgar", "Revenues"),), hard=False)
RENT = JudgedQuestion("q2", "rent", (Target(None, "DP04_0134E"),), hard=True)
OVER_HTTP = Subject("over HTTP at http://127.0.0.1")


def answering(replies: Mapping[str, Any]) -> Report:
    """What is measured of `sales` and `rent`, and of two questions that nothing answers."""

    async def ask(body: dict[str, Any]) -> Mapping[str, Any]:
        assert body["pageSize"] == 10
        found = replies[f"{body['query']['text']}, {body['order']}"]
        return {"results": found} if found else {"results": [], "eligibility": {"threshold": 50, "topScore": 31}}

    async def evaluated() -> Report:
        sets = [JudgedSet("both", [SALES, RENT], 7)]
        return await evaluate_by(ask, sets, subject=OVER_HTTP, unanswerable=["tell me a joke", "sing"])

    return anyio.run(evaluated)


REPLIES = {
    "sales, score": [RIGHT, OTHER],
    "sales, source": [OTHER, RIGHT],
    "rent, score": [],
    "rent, source": [],
    "tell me a joke, score": [],
    "sing, score": [OTHER],
}


def test_a_right_answer_under_the_threshold_counts_as_missed_and_the_order_asked_for_is_the_one_measured():
    report = answering(REPLIES)
    assert report.rows["score order"].mrr_10 == pytest.approx(0.5)
    assert report.rows["default order"].mrr_10 == pytest.approx(0.25)
    assert report.hard["score order"].recall_10 == 0
    assert (report.kept, report.no_match, report.answered_wrongly) == (0.5, 0.5, ["sing"])
    assert (report.questions, report.of, report.unanswered) == (2, 7, ["rent"])
    assert "answered: sing" in as_text(report)
    assert "a sample of 7" in as_text(report)
    assert as_json(report)["rows"]["score order"]["recall_1"] == 0.5


def test_scores_are_of_the_right_answer_and_of_the_best_document_where_nothing_answers():
    scores = answering(REPLIES).scores
    assert [at for at, count in enumerate(scores.right) if count] == [18]  # 91, in steps of 5
    assert scores.right_not_returned == 1
    assert [at for at, count in enumerate(scores.unanswerable) if count] == [6, 12]  # 31 by eligibility, 64 answered
    assert scores.unanswerable_unscored == 0


def test_a_service_is_measured_without_its_pool_and_the_report_says_so():
    report = answering(REPLIES)
    assert list(report.rows) == ["score order", "default order"]
    assert report.unknown_answers is None
    assert report.rows["score order"].recall_60 is None
    assert any("--bucket" in note and "pool" in note for note in report.notes)
    assert all(note in as_text(report) for note in report.notes)


def test_what_a_service_says_of_itself_is_taken_as_far_as_it_goes():
    health = {"releases": {"built-in": "r1"}, "catalogs": {"built-in": 542}, "models": {"judge": "embedded"}}
    assert subject_over("http://127.0.0.1", health) == Subject(
        "over HTTP at http://127.0.0.1", {"built-in": "r1"}, {"built-in": 542}, None, "embedded"
    )
    assert subject_over("http://127.0.0.1", {}) == OVER_HTTP
    assert subject_over("http://127.0.0.1", {"releases": "r1", "catalogs": 3, "models": None}) == OVER_HTTP


def test_a_rank_is_the_first_of_several_right_answers():
    entries = [{"okf:sourceDirectory": "census", "okf:variable": code} for code in ("a", "b", "c")]
    assert rank_in({"results": entries}, [Target(None, "c"), Target(None, "b")]) == 1
    assert rank_in({"results": entries}, [Target(None, "d")]) is None
