"""GET /variable and GET /variables on the wire."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from test_search_contract import check_entry
from wire import Service

PERSONS = "populationType=Person&measuredProperty=count&statType=measuredValue"


def test_every_document_of_a_variable_comes_widest_coverage_first(variable_service: Service) -> None:
    reply = variable_service.get("/variable?id=Count_Person").json
    assert (reply["variable"], reply["total"]) == ("Count_Person", 2)
    for entry in reply["results"]:
        check_entry(entry, scored=False)
        assert "score" not in entry
    documents = [entry["okf:sourceDocument"] for entry in reply["results"]]
    assert documents == ["sources/datacommons/count-person-census.md", "sources/datacommons/count-person-wdi.md"]


AWKWARD_ID = "sdg/SH_DYN_MORT.AGE--Y0T4"


@pytest.mark.parametrize("spelled", [AWKWARD_ID, quote(AWKWARD_ID, safe=""), quote(AWKWARD_ID, safe="").lower()])
def test_an_id_with_slash_dot_and_dash_is_found_raw_or_encoded(variable_service: Service, spelled: str) -> None:
    reply = variable_service.get(f"/variable?id={spelled}").json
    # Lower-casing the whole spelling changes the id itself: ids differ by case.
    assert reply["total"] == (1 if "SH" in spelled else 0)


def test_an_id_nobody_publishes_is_an_empty_answer(variable_service: Service) -> None:
    reply = variable_service.get("/variable?id=count_person").json
    assert (reply["results"], reply["total"]) == ([], 0)


def test_a_quantity_names_the_dimensions_it_is_split_by(variable_service: Service) -> None:
    reply = variable_service.get(f"/variables?{PERSONS}").json
    assert reply["dimensions"] == [
        {"constraints": [], "count": 1},
        {"constraints": ["gender"], "count": 2},
        {"constraints": ["age", "gender"], "count": 1},
    ]
    assert reply["total"] == 3


@pytest.mark.parametrize(
    ("constraints", "found"),
    [
        ("gender", ["Count_Person_Female", "Count_Person_Male"]),
        ("age,gender", ["Count_Person_25To34Years_Female"]),
        ("gender%2C%20age", ["Count_Person_25To34Years_Female"]),
        ("race", []),
        ("", ["Count_Person"]),
    ],
)
def test_constraints_name_the_whole_set_and_empty_means_the_totals(
    variable_service: Service, constraints: str, found: list[str]
) -> None:
    reply = variable_service.get(f"/variables?{PERSONS}&constraints={constraints}").json
    assert [each["variable"] for each in reply["variables"]] == found
    assert (reply["total"], reply["truncated"]) == (len(found), False)


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/variable", ["id"]),
        ("/variable?id=", ["id"]),
        ("/variable?id=%20", ["id"]),
        ("/variables", ["populationType", "measuredProperty", "statType"]),
        ("/variables?populationType=Person&statType=", ["measuredProperty", "statType"]),
        ("/variable?id=a&id=b", ["id"]),
        ("/variable?id=%ff", ["UTF-8"]),
        (f"/variables?{PERSONS}&limit=many", ["limit"]),
    ],
)
def test_what_is_missing_twice_or_malformed_is_a_400_that_names_it(
    variable_service: Service, path: str, named: list[str]
) -> None:
    answer = variable_service.get(path)
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")
    assert all(name in answer.json["error"] for name in named)


def test_an_unknown_quantity_is_an_empty_answer(variable_service: Service) -> None:
    reply = variable_service.get("/variables?populationType=Ghost&measuredProperty=count&statType=measuredValue").json
    assert (reply["dimensions"], reply["total"]) == ([], 0)


def test_a_head_request_has_the_headers_of_a_get_and_no_body(variable_service: Service) -> None:
    get, head = (variable_service.send(method, "/variable?id=Count_Person") for method in ("GET", "HEAD"))
    assert (head.status, head.content) == (200, b"")
    assert head.headers["Content-Length"] == get.headers["Content-Length"] == str(len(get.content))


def test_health_names_the_release_and_counts_lookups(variable_service: Service) -> None:
    health = variable_service.get("/health").json
    assert health["ok"] is True
    assert health["status"] == "ready"
    assert health["entries"] == 15
    assert health["catalogs"] == {"built-in": 15}
    assert health["dimensions"] == 384
    assert health["release"] == health["releases"]["built-in"]
    assert health["lookups"]["total"] >= 0
