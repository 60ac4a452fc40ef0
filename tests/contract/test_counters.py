"""The counters of /health."""

from __future__ import annotations

from shared.edge.counters import WINDOW, Counters


def test_nothing_answered_yet_is_said_with_nulls() -> None:
    assert Counters().snapshot() == {
        "total": 0,
        "last_at": None,
        "latency_seconds": {"median": None, "p95": None},
        "outcomes": {},
        "failures_by_status": {},
    }


def test_latency_is_that_of_the_last_thousand_answers() -> None:
    counters = Counters()
    for seconds in [9.0] * 500 + [0.1] * 900 + [0.5] * 100:
        counters.record(200, seconds, "answered")
    assert counters.snapshot()["total"] == 1_500
    assert counters.snapshot()["latency_seconds"] == {"median": 0.1, "p95": 0.5}
    assert WINDOW == 1_000


def test_failures_count_by_status_and_callers_mistakes_do_not_count() -> None:
    counters = Counters()
    for status, outcome in [
        (200, "answered"),
        (200, "no_match"),
        (503, ""),
        (503, ""),
        (504, ""),
        (400, ""),
        (413, ""),
    ]:
        counters.record(status, 0.1, outcome)
    found = counters.snapshot()
    assert found["total"] == 5
    assert found["outcomes"] == {"answered": 1, "no_match": 1, "failed": 3}
    assert found["failures_by_status"] == {"503": 2, "504": 1}
