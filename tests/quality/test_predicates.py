"""Predicate suites: what they say of their collections holds, and the demo's sites keep what results are marked with.

The judge reads the raw records with words of its own (build_jobs/predicates.py), so it does not share the mistakes of
the reader of constraints or of the typed columns. Three rankers: the embedded one, one that is never wrong, and one
that keeps whatever stands first; what is marked must be right whatever the ranker is worth.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from fakes.openrouter import KEY, OpenRouter
from fakes.rankers import Speak, careless, perfect
from item_questions import records

from build_jobs.evaluate_items import evaluate_items_here
from build_jobs.predicates import Suite, read_suite
from build_jobs.report.item_figures import ItemReport, Outcome
from shared.contracts.items import Json
from shared.settings import Settings
from shared.sites.kinds import KINDS

SUITES = Path(__file__).parent / "predicates"
LEAST = 25
RANKERS = ("embedded", "perfect", "careless")
EVERY_KIND = pytest.mark.parametrize("kind", sorted(KINDS))

_DATA = os.environ.get("ASKBUCKET_TEST_DATA", "")
_FILES = {kind: f"items-{kind}.jsonl.xz" for kind in KINDS} | {"homes": "items-homes_ames.jsonl.xz"}


def suite_of(kind: str, collection: str = ".") -> Suite:
    return read_suite(SUITES / collection / f"{kind}.yaml")


def told_wrongly(suite: Suite, collection: list[Json]) -> list[str]:
    """Questions that have an answer and should have none, or the other way round."""
    return [asked.text for asked in suite.questions if any(map(asked.answers, collection)) is asked.none]


@EVERY_KIND
@pytest.mark.parametrize("collection", [".", "real"])
def test_a_suite_asks_at_least_25_different_questions_of_each_sort(kind: str, collection: str) -> None:
    suite = suite_of(kind, collection)
    assert suite.kind == kind
    assert len({asked.text for asked in suite.questions}) == len(suite.questions) >= LEAST
    assert any(asked.none for asked in suite.questions)
    assert any(asked.first for asked in suite.questions)
    assert any(asked.where is None for asked in suite.questions)


@EVERY_KIND
def test_a_question_has_an_answer_in_the_demo_unless_its_suite_says_it_has_none(kind: str) -> None:
    assert told_wrongly(suite_of(kind), records(kind)) == []


@EVERY_KIND
@pytest.mark.skipif(not _DATA, reason="ASKBUCKET_TEST_DATA is not set")
def test_a_question_has_an_answer_in_the_real_data_unless_its_suite_says_it_has_none(kind: str) -> None:
    with lzma.open(Path(_DATA) / _FILES[kind], "rt", encoding="utf-8") as lines:
        collection = [json.loads(line) for line in lines]
    assert told_wrongly(suite_of(kind, "real"), collection) == []


# The demo's sites


@contextmanager
def gateway(ranker: str) -> Iterator[dict[str, str]]:
    """The settings that reach a ranker."""
    if ranker == "embedded":
        yield {"llm_provider": "embedded"}
        return
    speaks: Speak = careless
    if ranker == "perfect":
        speaks = perfect(map(suite_of, KINDS), [record for kind in KINDS for record in records(kind)])
    with OpenRouter(answer=speaks) as fake:
        yield {"llm_provider": "openrouter", "openrouter_api_key": KEY, "openrouter_base_url": fake.url}


@pytest.fixture(scope="module", params=RANKERS)
def report(request: pytest.FixtureRequest, demo_bucket: str, tmp_path_factory: pytest.TempPathFactory) -> ItemReport:
    """Every suite, put to the demo's sites once with this ranker."""
    cache = str(tmp_path_factory.mktemp("predicates-cache"))
    with gateway(request.param) as reached:
        settings = Settings(bucket_url=demo_bucket, cache_dir=cache, **reached)  # type: ignore[arg-type]
        return anyio.run(evaluate_items_here, settings, [suite_of(kind) for kind in KINDS])


def told(outcomes: list[Outcome]) -> list[str]:
    return [f"{one.kind}: {one.question} (read {one.read}): {'; '.join(one.faults())}" for one in outcomes]


def test_no_question_fails(report: ItemReport) -> None:
    assert told([one for one in report.outcomes if one.failed]) == []


@EVERY_KIND
def test_every_item_that_is_marked_as_meeting_what_was_asked_does(kind: str, report: ItemReport) -> None:
    assert report.parts[kind].marked >= 50, "a promise that is never made is easily kept"
    assert told([one for one in report.outcomes if one.kind == kind and one.wrongly_marked]) == []


@EVERY_KIND
def test_nine_of_ten_questions_with_an_answer_show_one_among_the_first_ten(kind: str, report: ItemReport) -> None:
    part = report.parts[kind]
    missed = [one for one in report.outcomes if one.kind == kind and one.is_answerable and not one.is_answered]
    assert part.answerable >= LEAST
    assert part.answered >= 0.9 * part.answerable, told(missed)


@EVERY_KIND
def test_nothing_is_marked_where_nothing_in_the_collection_meets_what_was_asked(kind: str, report: ItemReport) -> None:
    assert report.parts[kind].silent == report.parts[kind].unanswerable > 0
