"""The fit of the items' ranker, on questions whose answers were drawn by a law that is known."""

from __future__ import annotations

import numpy as np
import pytest

from build_jobs.fit_item_ranker import Asked, bands_of, fit
from shared.models.embedded_ranker_of_items import Fitted


def questions(group: str, count: int, *, on_topic: bool, higher: float = 0.0) -> list[Asked]:
    random = np.random.default_rng(count + on_topic)
    drawn = []
    for n in range(count):
        logit = random.normal(0.0 if on_topic else -9.0, 4.0 if on_topic else 0.5, 30) + higher
        right = (random.random(30) < 1 / (1 + np.exp(-logit))) if on_topic else np.zeros(30, dtype=bool)
        vector = random.normal(1.5, 0.2, 30)
        drawn.append(Asked(group, f"question {n}", on_topic, vector, logit, right, int(right.sum())))
    return drawn


@pytest.fixture(scope="module")
def asked() -> list[Asked]:
    return [each for group in "abc" for on in (True, False) for each in questions(group, 100, on_topic=on)]


def test_of_strong_items_four_in_five_are_right_and_of_off_topic_questions_one_in_twenty_finds_any(asked):
    data = fit(asked)
    for figures in data["report"].values():
        assert figures["strongRight"] == pytest.approx(0.8, abs=0.02)
        assert figures["offTopicShown"] <= 0.06
        assert figures["rightShown"] > 0.85


def test_what_is_written_is_what_the_ranker_reads(asked):
    assert Fitted.of(fit(asked)) == bands_of(asked)


def test_one_collection_that_has_something_of_everything_does_not_silence_the_others(asked):
    odd = [*questions("odd", 100, on_topic=True), *questions("odd", 100, on_topic=False, higher=8.0)]
    assert bands_of([*asked, *odd]).least == pytest.approx(bands_of(asked).least, abs=0.2)


def test_the_report_says_how_well_each_order_does(asked):
    orders = fit(asked)["report"]["a"]["nDCG@10"]
    assert orders["logit"] > orders["zSum"] > orders["vectors"]
