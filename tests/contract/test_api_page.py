"""docs/api.md: every route is on it, and its examples are what the service answers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from wire import ROOT, Service

from cli.gateway import gateway as make_gateway
from shared.settings import Settings

SCORES = {"source", "score", "embedScore", "rerankScore", "foundBy"}
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```http\n(GET|POST) (\S+)\n(?:\n(\{.*?\})\n)?```\n\n```json\n(.*?)\n```", PAGE, re.DOTALL)


def test_every_route_is_on_the_page() -> None:
    functions = make_gateway(Settings(bucket_url="file:///nowhere")).functions
    for app in functions.values():
        for path in app.paths:
            assert re.search(rf"`(GET|POST) {path}`", PAGE), path


@pytest.mark.parametrize(("method", "path", "body", "reply"), EXAMPLES)
def test_an_example_is_what_the_service_answers(
    gateway: Service, method: str, path: str, body: str, reply: str
) -> None:
    answer = gateway.send(method, path, body.encode() or None)
    assert answer.status == 200
    documented = json.loads(reply)
    assert answer.json.keys() == documented.keys()
    for key in documented.keys() - {"@context", "results", "usage", "notices", "searches", "release", "releases"}:
        assert answer.json[key] == documented[key], key
    if documented.get("results"):
        assert_shown_part(answer.json["results"][0], documented["results"][0])


def assert_shown_part(entry: dict[str, Any], shown: dict[str, Any]) -> None:
    """What the page shows of an entry is there, word for word but for what it leaves out and for scores."""
    for key, value in shown.items():
        if "…" in json.dumps(value, ensure_ascii=False) or key in SCORES:
            assert key in entry
        else:
            assert entry[key] == value, key


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) == PAGE.count("```http")
