"""docs/api.md: every route is on it, and its examples are what the demo answers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from examples import BLOCK, COUNTING, PAGE, block, pretty, without_scores
from wire import Service

from cli.gateway import PAGES
from cli.gateway import gateway as make_gateway
from shared.edge.openapi.document import EXAMPLES
from shared.edge.openapi.operations import OPERATIONS
from shared.edge.openapi.site_operations import SITE
from shared.settings import Settings

TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = [found.groups() for found in BLOCK.finditer(TEXT)]
FENCE = re.compile(r"```(\w+)\n(.*?)\n```", re.DOTALL)
# docs/sites.md has what a site answers.
BY_ID = {each.id: each for each in OPERATIONS if each.function != SITE}
# Said in one sentence, or the same as another one.
WITHOUT_EXAMPLE = {"get_healthz", "get_openapi_json", "get_well_known_ai_catalog_json"}


def test_every_route_is_on_the_page() -> None:
    functions = make_gateway(Settings(bucket_url="file:///nowhere")).functions
    for name, app in functions.items():
        for path in app.paths if name != PAGES else ():
            assert re.search(rf"`(GET|POST)[^`]* {re.escape(path)}`", TEXT), path


def test_every_operation_has_an_example_on_the_page() -> None:
    assert {name for name, _, _ in BLOCKS} | WITHOUT_EXAMPLE == BY_ID.keys()


@pytest.mark.parametrize(
    ("name", "given", "written"), BLOCKS, ids=[f"{name}{given or ''}" for name, given, _ in BLOCKS]
)
def test_an_example_is_what_the_demo_answers(demo_gateway: Service, name: str, given: str | None, written: str) -> None:
    now = FENCE.findall(block(BY_ID[name], given, demo_gateway))
    before = FENCE.findall(written)
    assert [language for language, _ in before] == [language for language, _ in now], "run `make examples`"
    for (language, was), (_, told) in zip(before, now, strict=True):
        assert comparable(language, was, name) == comparable(language, told, name), "run `make examples`"


def test_letters_are_written_as_they_are() -> None:
    told = {"…": "é" * 200, "ü": [{"naïve": "→" * 120}]}
    assert json.loads(pretty(told)) == told
    for text in (pretty(told), TEXT, EXAMPLES.read_text(encoding="utf-8")):
        assert not re.search(r"\\u[0-9a-f]{4}", text), "run `make examples`"


def comparable(language: str, text: str, name: str) -> Any:
    """What has to be the same on every machine; of counters only their names."""
    if language != "json":
        return text
    value = json.loads(text)
    return sorted(value) if name in COUNTING else without_scores(value)
