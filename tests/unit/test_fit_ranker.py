"""The fit: it finds weights that are known, and does not depend on how many questions a set has."""

from __future__ import annotations

import numpy as np
import pytest

from build_jobs.fit_ranker import PRIORS, Sample, _equal_shares, _logistic, fit_order
from shared.models.features import FEATURES


def samples(weights: np.ndarray, count: int, group: str = "one") -> list[Sample]:
    """Questions whose right answers were drawn by a conditional logit with these weights."""
    random = np.random.default_rng(count)
    drawn = []
    for _ in range(count):
        features = random.normal(size=(20, len(weights)))
        values = features @ weights + random.gumbel(size=20)
        drawn.append(Sample(group, False, features, values == values.max(), 0.0))
    return drawn


def test_the_fit_finds_the_weights_that_drew_the_answers():
    weights = np.zeros(len(FEATURES))
    weights[:3] = (2.0, -1.0, 0.5)
    for name, (prior, _) in PRIORS.items():
        weights[FEATURES.index(name)] = prior
    found = fit_order(samples(weights, 1500))
    np.testing.assert_allclose(found, weights, atol=0.15)


def test_a_weight_that_is_given_stays_as_given_whatever_the_answers_say():
    found = fit_order(samples(np.ones(len(FEATURES)), 200), {"missing": (-3.0, "for the test")})
    assert found[FEATURES.index("missing")] == -3.0
    assert found[FEATURES.index("cosine")] > 0.5


def test_a_large_set_counts_no_more_than_a_small_one():
    shares = _equal_shares(["large"] * 90 + ["small"] * 10)
    assert shares[:90].sum() == pytest.approx(shares[90:].sum())
    assert shares.mean() == pytest.approx(1)


def test_the_gates_slope_grows_with_what_tells_apart():
    random = np.random.default_rng(0)
    labels = np.repeat([1.0, 0.0], 400)
    near = np.concatenate([random.normal(3, 1, 400), random.normal(0, 1, 400)])
    assert _logistic(near, labels, np.ones(800)) == pytest.approx(3, abs=0.6)
    assert abs(_logistic(random.normal(size=800), labels, np.ones(800))) < 0.3
