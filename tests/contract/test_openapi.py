"""/openapi.json: valid, complete in both directions, and true."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from examples import COUNTING, replies, shown, without_scores
from flask import Request
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from werkzeug.test import EnvironBuilder
from wire import ROOT, Service

from cli.gateway import PAGES
from cli.gateway import gateway as make_gateway
from functions.ask_site.service import create as create_site
from shared.contracts.tables import SearchQuery, SearchRequest
from shared.edge.app import App
from shared.edge.openapi.document import EXAMPLES, document
from shared.edge.openapi.operation import JSON
from shared.edge.openapi.operations import OPERATIONS
from shared.edge.openapi.site_operations import SITE
from shared.settings import Settings
from shared.tables.request import parse_search

DOCUMENT = document("http://127.0.0.1:8080/")


def operations() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def validator(schema: Mapping[str, Any]) -> Draft202012Validator:
    """One that finds the document's components."""
    resource = Resource(contents=DOCUMENT, specification=DRAFT202012)
    rooted = json.loads(json.dumps(schema).replace('"#/components', '"urn:document#/components'))
    return Draft202012Validator(rooted, registry=Registry().with_resource("urn:document", resource))


def methods_of(app: App[Any], path: str) -> set[str]:
    """What a function says that a path takes, but for what the edge adds by itself."""
    response = app(Request(EnvironBuilder(path=path.replace("{identifier}", "x"), method="OPTIONS").get_environ()))
    return set(response.headers["Allow"].split(", ")) - {"HEAD", "OPTIONS"}


def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1")


def test_its_version_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert DOCUMENT["info"]["version"] == project["version"]


def test_every_route_is_described_and_every_description_is_a_route() -> None:
    settings = Settings(bucket_url="file:///nowhere", site="movies")
    served = {(name, app, "") for name, app in make_gateway(settings).functions.items() if name != PAGES}
    served.add((SITE, create_site(settings), "/sites/{kind}"))
    answered = {
        (name if mount or path not in ("/health", "/healthz") else "every", method, mount + path)
        for name, app, mount in served
        for path in app.paths
        for method in methods_of(app, path)
    } | {(SITE, "GET", "/sites"), (SITE, "GET", "/who"), (SITE, "POST", "/who")}
    described = {(operation["tags"][0], method, path) for method, path, operation in operations()}
    assert answered == described


def test_every_parameter_and_body_and_reply_has_an_example_and_the_example_fits() -> None:
    for method, path, operation in operations():
        for parameter in operation.get("parameters", []):
            assert "example" in parameter
            assert parameter["description"]
        if "requestBody" in operation:
            content = operation["requestBody"]["content"][JSON]
            validator(content["schema"]).validate(content["example"])
        answer = operation["responses"]["200"]["content"]
        if JSON in answer and path != "/openapi.json":
            validator(answer[JSON]["schema"]).validate(answer[JSON]["example"])
        assert operation["operationId"]
        assert method in ("GET", "POST")


def test_every_error_of_an_operation_has_an_example_that_fits() -> None:
    for _, _, operation in operations():
        failures = {status: each for status, each in operation["responses"].items() if status not in ("200", "202")}
        assert {"400", "414", "500", "503"} <= failures.keys()
        for status, each in failures.items():
            for code, example in each["content"][JSON]["examples"].items():
                validator(each["content"][JSON]["schema"]).validate(example["value"])
                assert (example["value"]["code"], int(status) // 100 in (4, 5)) == (code, True)


def test_no_operation_has_two_ids_and_no_component_is_unused() -> None:
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(ids)) == len(ids)
    text = json.dumps(DOCUMENT)
    assert [name for name in DOCUMENT["components"]["schemas"] if f'schemas/{name}"' not in text] == []


def test_the_body_of_a_search_has_the_fields_of_its_contract() -> None:
    body = DOCUMENT["paths"]["/search"]["post"]["requestBody"]["content"][JSON]["schema"]
    assert body["properties"].keys() == {*map(camel, SearchRequest.__struct_fields__), "limit", "federation"}
    assert body["properties"]["query"]["properties"].keys() == {*map(camel, SearchQuery.__struct_fields__)}
    assert parse_search(DOCUMENT["paths"]["/search"]["post"]["requestBody"]["content"][JSON]["example"])


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def test_it_is_served_with_the_address_it_was_asked_at(demo_gateway: Service) -> None:
    answer = demo_gateway.get("/openapi.json")
    assert answer.json == document(f"{demo_gateway.url}/")
    assert answer.headers["ETag"]
    assert demo_gateway.get("/openapi.json", {"If-None-Match": answer.headers["ETag"]}).status == 304


def test_the_examples_are_what_the_demo_answers(demo_gateway: Service) -> None:
    now, written = replies(demo_gateway), json.loads(EXAMPLES.read_text(encoding="utf-8"))
    assert now.keys() == written.keys(), "run `make examples`"
    for name in now.keys() - COUNTING:
        assert without_scores(now[name]) == without_scores(written[name]), f"{name}: run `make examples`"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.id)
def test_what_the_demo_answers_has_the_shape_that_is_described(demo_gateway: Service, operation: Any) -> None:
    from examples import ask, request_of

    answer = ask(demo_gateway, operation, request_of(operation))
    assert answer.status == 200
    kind = answer.headers["Content-Type"].partition(";")[0]
    assert kind in operation.media
    if kind == JSON:
        schema = DOCUMENT["paths"][operation.path][operation.method.lower()]["responses"]["200"]["content"][JSON][
            "schema"
        ]
        validator(schema).validate(json.loads(answer.content))
        assert shown(answer, demo_gateway)
