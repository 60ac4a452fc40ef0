"""Every family's leaves in one release, and the open-data catalog mounted beside it: searched and looked up as one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from publishers import SAMPLES, write_all
from wire import Service, serving

from build_jobs.collect import collect
from build_jobs.leaves.families import FAMILIES
from build_jobs.leaves.generate import write_leaves
from cli.main import main
from shared.contracts.leaf import Leaf

EMBEDDED = ("--embedder", "embedded")
INDIA = "Percent_Household_PipedWater"


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Leaves of every family, and those of the open-data catalog: detailed tables, and the India supplement."""
    built_in, open_data = (tmp_path_factory.mktemp(name) for name in ("built-in", "open-data"))
    write_all(built_in)
    write_leaves("census", str(_detailed_tables(open_data)), open_data)
    write_leaves("datacommons", _india_supplement(open_data), open_data)
    return built_in, open_data


def _detailed_tables(folder: Path) -> Path:
    """`variables.json` of the detailed tables, as it would be without those that the built-in catalog has."""
    path = folder / "variables.json"
    label = "Estimate!!Total:!!Car, truck, or van:!!Drove alone"
    concept = "MEANS OF TRANSPORTATION TO WORK"
    variable = {"label": label, "concept": concept, "predicateType": "int", "group": "B08301", "limit": 0}
    path.write_text(json.dumps({"variables": {"B08301_003E": variable}}), encoding="utf-8")
    return path


def _india_supplement(folder: Path) -> list[str]:
    """A variable of the built-in catalog from another source, and one that only India publishes."""
    summary = json.loads((SAMPLES / "datacommons" / "info.json").read_text(encoding="utf-8"))["data"][0]
    summary["info"]["provenanceSummary"] = {"dc/base/IndiaNFHS": _series("IndiaNFHS", 707)}
    own = {
        "node": "Count_Household_Handpump",
        "info": {"provenanceSummary": {"dc/base/IndiaNFHS": _series("IndiaNFHS", 36)}},
    }
    node = json.loads((SAMPLES / "datacommons" / "node.json").read_text(encoding="utf-8"))["data"]
    kept = {
        INDIA: node[INDIA],
        "Count_Household_Handpump": {
            "arcs": {
                **node[INDIA]["arcs"],
                "name": {"nodes": [{"value": "Households that draw their water by a handpump"}]},
                "measuredProperty": {"nodes": [{"dcid": "count"}]},
                "constraintProperties": {"nodes": [{"dcid": "waterSource"}]},
                "waterSource": {"nodes": [{"dcid": "Handpump"}]},
            }
        },
    }
    (folder / "info.json").write_text(json.dumps({"data": [summary, own]}), encoding="utf-8")
    (folder / "node.json").write_text(json.dumps({"data": kept}), encoding="utf-8")
    return [str(folder / "info.json"), str(folder / "node.json")]


def _series(name: str, districts: int) -> dict[str, Any]:
    types = {"AdministrativeArea2": {"placeCount": districts}}
    series = {"seriesKey": {}, "earliestDate": "2015", "latestDate": "2021", "placeTypeSummary": types}
    return {"importName": name, "seriesSummary": [series]}


@pytest.fixture(scope="module")
def bucket(roots: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    url = tmp_path_factory.mktemp("bucket").as_uri()
    assert main(["build", "tables", "--leaves", str(roots[0]), "--bucket", url, *EMBEDDED]) == 0
    assert main(mounted(roots[1], url, "--extends", "census,datacommons")) == 0
    return url


def mounted(leaves: Path, bucket: str, *flags: str) -> list[str]:
    """The command that builds the open-data catalog."""
    command = ["build", "tables", "--leaves", str(leaves), "--bucket", bucket, "--catalog", "open-data"]
    return [*command, *EMBEDDED, *flags]


@pytest.fixture(scope="module")
def service(bucket: str) -> Iterator[Service]:
    with serving(bucket, {"ARD_CATALOGS": "open-data", "LLM_PROVIDER": "embedded"}) as running:
        yield running


def by_code(service: Service, code: str) -> list[str]:
    """The documents that the exact lookup gives for a published code."""
    reply = service.get(f"/variable?{urlencode({'id': code, 'limit': 50})}").json
    return [result["okf:sourceDocument"] for result in reply["results"]]


def searched(service: Service, text: str, **query: Any) -> list[str]:
    body = {"query": {"text": text, **query}, "pageSize": 10, "order": "score"}
    return [result["okf:sourceDocument"] for result in service.post("/search", body).json["results"]]


def leaves_by_family(root: Path) -> dict[str, list[Leaf]]:
    found: dict[str, list[Leaf]] = {}
    for leaf in collect([root]).leaves:
        found.setdefault(leaf.source, []).append(leaf)
    return found


def test_leaves_of_every_family_are_found_by_search_and_by_the_exact_lookup(
    service: Service, roots: tuple[Path, Path]
) -> None:
    found = leaves_by_family(roots[0])
    assert set(found) == set(FAMILIES)
    lost = []
    for family, leaves in found.items():
        lost += [f"/variable {leaf.code}" for leaf in leaves if leaf.path not in by_code(service, leaf.code or "")]
        asked = leaves[0].queries[-1]
        if leaves[0].path not in searched(service, asked):
            lost.append(f"/search {family}: {asked}")
    assert lost == []


def test_the_india_supplement_is_found_by_the_exact_lookups_beside_the_built_in_leaves(service: Service) -> None:
    documents = by_code(service, INDIA)
    assert documents == [
        "open-data:sources/datacommons/percent-household-pipedwater-indianfhs.md",
        "sources/datacommons/percent-household-pipedwater-dwellingsurvey-surveyestimate-p1y.md",
        "sources/datacommons/percent-household-pipedwater-countrycensuses.md",
    ]
    assert by_code(service, "Count_Household_Handpump") == [
        "open-data:sources/datacommons/count-household-handpump-indianfhs.md"
    ]


def test_the_india_supplement_counts_among_the_dimensions_and_variables_of_a_quantity(service: Service) -> None:
    quantity = {"populationType": "Household", "statType": "measuredValue"}
    percent = service.get(
        f"/variables?{urlencode({**quantity, 'measuredProperty': 'percent', 'constraints': ''})}"
    ).json
    assert [(each["variable"], each["documents"]) for each in percent["variables"]] == [(INDIA, 3)]
    count = {**quantity, "measuredProperty": "count"}
    assert service.get(f"/variables?{urlencode(count)}").json["dimensions"] == [
        {"constraints": ["waterSource"], "count": 1}
    ]
    split = service.get(f"/variables?{urlencode({**count, 'constraints': 'waterSource'})}").json
    assert [each["variable"] for each in split["variables"]] == ["Count_Household_Handpump"]


def test_a_family_that_the_open_data_catalog_extends_is_searched_as_one(service: Service) -> None:
    documents = searched(service, "workers who drive alone to work", sources=["census"])
    assert "open-data:sources/census/b08301-003e.md" in documents
    water = searched(service, "households with piped water", sources=["datacommons"])
    assert {document.partition(":")[0] == "open-data" for document in water} == {True, False}


@pytest.mark.parametrize(
    ("extends", "said"),
    [
        ("census", "source datacommons is in the built-in catalog too, and its family is not extended"),
        ("census,datacommons,cenus", "it extends cenus, but the built-in catalog has only"),
    ],
)
def test_a_catalog_that_could_not_be_mounted_is_refused_before_it_is_current(
    bucket: str, roots: tuple[Path, Path], extends: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(mounted(roots[1], bucket, "--extends", extends)) == 1
    refusal = capsys.readouterr().err
    assert "(beside)" in refusal
    assert said in refusal


def test_a_document_of_the_built_in_catalog_is_refused_in_the_one_beside_it(
    bucket: str, roots: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_leaves("un-sdg", str(SAMPLES / "un-sdg" / "series.json"), tmp_path)
    assert main(mounted(tmp_path, bucket, "--extends", "un-sdg", "--dry-run", "--json")) == 0
    assert any("urn:air:unstats.un.org:okf:un-sdg.sh-h2o-safe is in the built-in catalog too (2 such in all)" in refusal
               for refusal in json.loads(capsys.readouterr().out)["plan"]["gate"])  # fmt: skip


def test_two_builds_of_the_same_files_have_the_same_urns_and_the_second_has_nothing_to_do(
    bucket: str, roots: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_all(tmp_path)
    urns = [leaf.urn for leaf in collect([roots[0]]).leaves]
    assert [leaf.urn for leaf in collect([tmp_path]).leaves] == urns
    assert main(["build", "tables", "--leaves", str(tmp_path), "--bucket", bucket, *EMBEDDED, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "unchanged"
