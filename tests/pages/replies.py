"""Replies that the reporting pages read, made by a test, and how a browser is given them."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

NASTY = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script> \u202egnp.exe'


def answering(page: Page, path: str, body: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
    """Answer requests to this path of any service with a body of our own."""
    page.route(f"**{path}", lambda route: route.fulfill(status=status, json=body, headers=headers))


def stats(days: int = 3, models: int = 2, **more: Any) -> dict[str, Any]:
    """A reply of /stats.json with so many days before the last of October, one of them without a search."""
    names = [f"vendor/model-{number}" for number in range(models)]
    spent = {
        name: {
            "calls": 5,
            "tokens": 900,
            "cost_usd": 0.004 * (place + 1),
            "latency_seconds": {"median": 0.4, "p95": 1.2},
        }
        for place, name in enumerate(names)
    }
    one = {
        "searches": 40, "with_results": 30, "no_match": 8, "failed": 2, "callers": 5, "calls": 10, "tokens": 1800,
        "cost_usd": 0.012, "latency_seconds": {"median": 0.4, "p95": 1.84},
    }  # fmt: skip
    by_day = {f"2026-10-{31 - day:02}": {**one, "models": spent} for day in range(days) if day != 1}
    return {
        "scope": "all", "generated_at": "2026-10-31T12:00:00Z", "days": by_day, "models": spent, "total": one,
        "provider": {"name": "openrouter", "spend_usd": 12.3}, "notices": [], **more,
    }  # fmt: skip


def question(verdict: str, **more: Any) -> dict[str, Any]:
    results = [{"identifier": "urn:air:a:b:c", "title": "Rainfall", "score": 81, "right": True}]
    return {
        "suite": "money", "id": verdict, "text": f"a question that was {verdict}", "expected": ["urn:air:a:b:c"],
        "results": results, "verdict": verdict, "rank": 1, **more,
    }  # fmt: skip


def status(**more: Any) -> dict[str, Any]:
    """A reply of /status.json with one catalog."""
    verdicts = ("right", "partly", "missed", "no_match_right", "no_match_wrong")
    scores = {"questions": 40, "recall_at_1": 0.825, "recall_at_10": 1.0, "mrr": 0.8912, "no_match_right": None}
    checks = [{"name": "recall", "verdict": "passed", "message": "0.95 is at least 0.90"},
              {"name": "twins", "verdict": "skipped", "message": "no twin"}]  # fmt: skip
    catalog = {
        "catalog": "built-in", "release": "20261031T120000Z-0123456789ab", "label": "Tables",
        "evaluated_at": "2026-10-31T12:00:00Z",
        "embedder": "BAAI/bge-small-en-v1.5", "judge": "embedded", "scores": {"money": scores},
        "gate": {"verdict": "passed", "checks": checks}, "questions": [question(each) for each in verdicts], **more,
    }  # fmt: skip
    return {"catalogs": [catalog]}
