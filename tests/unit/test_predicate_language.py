"""The language of predicate suites: what a record says, what it denies, and what it does not say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from build_jobs.predicates import Asked, read_suite

FACTS = {
    "price": [{"path": "price", "as": "number"}, {"path": "offers.price", "as": "number"}],
    "time": {"path": "time", "as": "minutes"},
    "cooking": [{"path": "total", "as": "minutes"}, {"sum": ["prep", "cook"], "as": "minutes"}],
    "walks": {"path": "walks", "find": "[^|,]+", "as": "minutes"},
    "far": {"path": "props[Distance].value", "as": "km"},
    "lot": {"path": "lot", "as": "sqft"},
    "year": {"path": "date", "as": "year"},
    "day": {"path": "date", "as": "date"},
    "who": "actor.name",
    "in": "ingredients",
}
LISTS = {"egg": {"words": ["egg", "mayonnaise"], "but": ["egg free"]}, "meat": ["beef", "ham"]}


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    def read(**question: Any) -> Asked:
        suite = {"kind": "homes", "facts": FACTS, "lists": LISTS, "questions": [{"ask": "what", **question}]}
        path = tmp_path / "suite.yaml"
        path.write_text(yaml.safe_dump(suite), encoding="utf-8")
        return read_suite(path).questions[0]

    return read


@pytest.mark.parametrize(
    ("where", "record", "expected"),
    [
        ({"of": "price", "most": 5}, {"price": "$1,495"}, False),
        ({"of": "price", "least": 1495, "most": 1495}, {"price": "$1,495"}, True),
        ({"of": "price", "under": 7}, {"offers": [{"price": 9}, {"price": "6.5"}]}, True),
        ({"of": "price", "under": 7}, {"price": {"currency": "USD"}, "offers": {}}, None),
        ({"of": "time", "most": 90}, {"time": "PT1H30M"}, True),
        ({"of": "time", "under": 90}, {"time": "1 hr 30 min"}, False),
        ({"of": "time", "over": 89}, {"time": "1 hr - 1 hr 30 min"}, True),
        ({"of": "time", "most": 60}, {"time": "about an hour"}, True),
        ({"of": "time", "least": 4320}, {"time": "2-3 days"}, True),
        ({"of": "cooking", "most": 30}, {"prep": "PT10M", "cook": "PT20M"}, True),
        ({"of": "cooking", "most": 30}, {"prep": "PT10M"}, None),
        ({"of": "walks", "under": 30}, {"walks": "20 min | 90 min loop"}, True),
        ({"of": "far", "most": 5}, {"props": [{"name": "Dogs", "value": "9 km"}]}, None),
        ({"of": "far", "most": 5}, {"props": [{"name": "distance", "value": "3 miles"}]}, True),
        ({"of": "far", "under": 1}, {"props": [{"name": "Distance", "value": "700 m"}]}, True),
        ({"of": "lot", "least": 43560}, {"lot": {"value": 1, "unitCode": "ACR"}}, True),
        ({"of": "lot", "least": 43560}, {"lot": {"value": "5,000", "unitCode": "FTK"}}, False),
        ({"of": "year", "least": 1950, "most": 1959}, {"date": "1954-04-26"}, True),
        ({"of": "who", "is": "Saïd Taghmaoui"}, {"actor": [{"name": "Said Taghmaoui"}, {"name": "Someone"}]}, True),
        ({"of": "who", "is": "Said"}, {"actor": ["Said Taghmaoui"]}, False),
        ({"of": "in", "lacks": "egg"}, {"ingredients": ["2 eggs"]}, False),
        ({"of": "in", "lacks": "egg"}, {"ingredients": ["1 eggplant", "egg-free noodles"]}, True),
        ({"of": "in", "lacks": "egg"}, {}, None),
        ({"of": "in", "lacks": ["egg", "meat", "tomato"]}, {"ingredients": ["3 Tomatoes"]}, False),
        ({"of": "in", "lacks": {"words": ["milk"], "but": ["soy milk"]}}, {"ingredients": ["soy milk"]}, True),
        ({"of": "in", "word": "meat"}, {"ingredients": ["hamburger bun", "graham crackers"]}, False),
        ({"of": "price", "said": False}, {}, True),
        ({"not": {"of": "price", "most": 5}}, {"price": 6}, True),
        ({"not": {"of": "price", "most": 5}}, {}, None),
        ({"all": [{"of": "price", "most": 5}, {"of": "time", "most": 5}]}, {"price": 6}, False),
        ({"all": [{"of": "price", "most": 5}, {"of": "time", "most": 5}]}, {"price": 4}, None),
        ({"any": [{"of": "price", "most": 5}, {"of": "time", "most": 5}]}, {"price": 4}, True),
        ({"any": [{"of": "price", "most": 5}, {"of": "time", "most": 5}]}, {"price": 6}, None),
    ],
)
def test_a_condition_is_true_false_or_not_said(
    where: dict[str, Any], record: dict[str, Any], expected: bool | None, asked: Any
) -> None:
    assert asked(where=where).states(record) is expected


def test_a_record_that_does_not_say_is_no_right_answer(asked: Any) -> None:
    question = asked(where={"of": "price", "most": 5}, about={"of": "in", "word": "egg"})
    assert question.answers({"price": 5, "ingredients": ["egg"]})
    assert not question.answers({"price": 5})
    assert not question.answers({"ingredients": ["egg"]})


@pytest.mark.parametrize(
    ("first", "best"), [({"of": "day", "most": True}, 20260814), ({"of": "day", "least": True}, 20251231)]
)
def test_the_first_of_a_superlative_is_the_most_or_the_least_of_what_is_said(
    first: dict[str, Any], best: float, asked: Any
) -> None:
    records = [{"date": "2026-08-14T09:00:00Z"}, {"date": "2025-12-31"}, {}]
    assert asked(first=first).first.best(records) == best
    assert asked(first=first).first.best([{}]) is None
