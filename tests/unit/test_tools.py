"""The tables as tools: what they list, and that what they answer is what they say they answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import anyio
import jsonschema
import pytest

from shared.contracts.tables import MAX_ASK_CHARS
from shared.errors import NotFound, RequestError
from shared.models.ledger import Ledger
from shared.tables.tables import Tables
from shared.tables.tools import MOST_TEXT_CHARS, TOOLS

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "life expectancy in Japan", "pageSize": 2}),
    ("search", {"query": "life expectancy", "sources": ["worldbank"], "rerank": False, "order": "score"}),
    ("search", {"query": "the boiling point of xenon"}),
    ("variable", {"id": "LifeExpectancy_Person", "pageSize": 1}),
    ("variable", {"id": "Nobody_Publishes_This"}),
    ("variables", {"populationType": "Person", "measuredProperty": "count", "statType": "measuredValue"}),
    (
        "variables",
        {"populationType": "Person", "measuredProperty": "count", "statType": "measuredValue", "constraints": []},
    ),
    ("publishers", {}),
    ("entry", {"id": "sources/datacommons/_access.md"}),
]


def ask(name: str, arguments: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        return await TOOLS[name].ask(arguments)(tables, Ledger(), "http://127.0.0.1/")

    return anyio.run(run)


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_is_listed_with_two_valid_schemas_of_objects(name):
    listed = TOOLS[name].listed()
    assert re.fullmatch(r"[a-z]+", listed["name"])
    for schema in (listed["inputSchema"], listed["outputSchema"]):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert "#/components" not in str(listed)
    assert listed["inputSchema"]["additionalProperties"] is False


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=lambda value: value if isinstance(value, str) else "")
def test_what_a_tool_takes_and_answers_fits_its_schemas(name, arguments, demo_tables):
    tool = TOOLS[name]
    jsonschema.validate(arguments, tool.listed()["inputSchema"], jsonschema.Draft202012Validator)
    reply = ask(name, arguments, demo_tables)
    jsonschema.validate(reply, tool.listed()["outputSchema"], jsonschema.Draft202012Validator)
    assert tool.as_text(reply).strip()


def test_the_text_names_what_the_structure_holds(demo_tables):
    found = ask("search", {"query": "life expectancy", "pageSize": 3}, demo_tables)
    text = TOOLS["search"].as_text(found)
    assert all(each["identifier"] in text and each["displayName"] in text for each in found["results"])


def test_an_entry_is_found_by_urn_and_by_path_and_says_its_document(demo_tables):
    found = ask("search", {"query": "life expectancy", "pageSize": 1}, demo_tables)["results"][0]
    by_urn = ask("entry", {"id": found["identifier"]}, demo_tables)
    assert by_urn == ask("entry", {"id": found["okf:sourceDocument"]}, demo_tables)
    assert by_urn["data"]["content"][:MOST_TEXT_CHARS].strip()[:40] in TOOLS["entry"].as_text(by_urn)


def test_a_long_document_is_cut_in_the_text_and_the_text_says_so():
    entry = {"displayName": "A", "identifier": "urn:air:a:b", "description": "", "data": {"content": "x" * 9_000}}
    text = TOOLS["entry"].as_text(entry)
    assert len(text) < MOST_TEXT_CHARS + 100
    assert text.endswith("(cut; structuredContent has all)")


def test_an_unknown_entry_is_not_found(demo_tables):
    with pytest.raises(NotFound):
        ask("entry", {"id": "../../etc/passwd"}, demo_tables)


@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("search", {}, "query"),
        ("search", {"query": "  "}, "query"),
        ("search", {"query": 7}, "query"),
        ("search", {"query": "x" * (MAX_ASK_CHARS + 1)}, str(MAX_ASK_CHARS)),
        ("search", {"query": "rain", "pageSize": True}, "pageSize"),
        ("search", {"query": "rain", "sources": [1]}, "sources"),
        ("search", {"query": "rain", "order": "best"}, "order"),
        ("variable", {}, "id"),
        ("variable", {"id": "a", "pageSize": "many"}, "pageSize"),
        ("search", {"query": "rain", "catalogs": ["built-in"]}, "catalogs"),
        ("search", {"query": "rain", "pagesize": 3}, "pagesize"),
        ("variables", {"populationType": "Person", "measuredProperty": "count"}, "statType"),
        (
            "variables",
            {"populationType": "P", "measuredProperty": "c", "statType": "m", "constraints": 1},
            "constraints",
        ),
        ("entry", {"id": ["urn:air:a:b"]}, "id"),
    ],
)
def test_wrong_arguments_are_refused_by_name(name, arguments, named):
    with pytest.raises(RequestError, match=named):
        TOOLS[name].ask(arguments)
