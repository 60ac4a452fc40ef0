"""Every family reads its publisher's own files: what becomes a leaf, what is left out and why, what is refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from publishers import SAMPLES, samples, write_all

from build_jobs.collect import Collected, collect
from build_jobs.frontmatter import read_file
from build_jobs.leaves.families import FAMILIES
from build_jobs.leaves.generate import LeavesReport, write_leaves
from shared.errors import BuildError


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("published")


@pytest.fixture(scope="module")
def reports(root: Path) -> dict[str, LeavesReport]:
    return write_all(root)


@pytest.fixture(scope="module")
def collected(root: Path, reports: dict[str, LeavesReport]) -> Collected:
    return collect([root])


def matter(root: Path, family: str, stem: str) -> dict[str, Any]:
    found = read_file(root / "sources" / family / f"{stem}.md")
    assert found.unreadable is None
    return found.front_matter


LEAVES = [
    ("census", "dp02-0068pe", {"dataset": "profile", "get": "NAME,DP02_0068PE", "variable": "DP02_0068PE",
     "title": "% EDUCATIONAL ATTAINMENT — Population 25 years and over — Bachelor's degree or higher — US Census"}),
    ("census", "b01001-026e", {"dataset": "detailed", "table": "B01001", "universe": "Total population",
     "title": "Sex by age: Total — Female — US Census", "representativeQueries": ["Female", "Female, sex by age"]}),
    ("census", "b01001-001e", {"representativeQueries": ["Sex by age"]}),
    ("census", "s2201-c03-001e", {"dataset": "subject", "concept": "FOOD STAMPS/SNAP"}),
    ("sec-edgar", "deferred-catering-revenue-current", {"title": "Deferred Catering Revenue, Current — SEC EDGAR",
     "unit": "currency", "periodType": "instant", "concept": "DeferredCateringRevenueCurrent", "taxonomy": "us-gaap",
     "description": 'What customers paid for "catering" that is due within a year.'}),
    ("sec-edgar", "diluted-earnings-per-meal", {"unit": "per-share", "periodType": "duration"}),
    ("sec-edgar", "kitchen-rent-expense", {"unit": "currency", "periodType": "duration"}),
    ("sec-edgar", "ovens-owned", {"title": "Ovens Owned — SEC EDGAR", "unit": "shares", "periodType": "instant"}),
    ("sec-edgar", "table-linen-cost", {"unit": "currency", "periodType": "instant"}),
    ("sec-edgar", "serving-trays-net", {"unit": "currency", "periodType": "instant"}),
    ("worldbank", "is-ftp-totl-km", {"indicator": "IS.FTP.TOTL.KM", "origin": "Example Path Union",
     "tags": ["worldbank", "infrastructure", "country", "region"]}),
    ("worldbank", "ag-lnd-orch-ha", {"unit": "hectares", "periodicity": "Annual", "aggregation": "Sum"}),
    ("un-sdg", "sh-h2o-safe", {"series": "SH_H2O_SAFE", "unit": "%", "goals": ["6"], "indicators": ["6.1.1"],
     "tags": ["un-sdg", "goal-6", "country", "region"]}),
    ("treasury", "example-debt-ice-cream-debt-amt", {"title": "Example Debt: Ice Cream Debt",
     "tfield": "ice_cream_debt_amt", "path": "v2/accounting/od/example_debt",
     "coverage": {"levels": ["country"], "dates": {"first": "1993-04-01", "last": "2026-10-30"}}}),
    ("treasury", "rates-of-exchange-guyana-dollar", {"filter": "country_currency_desc:eq:Guyana-Dollar"}),
    ("usaspending", "agency-012", {"toptier_code": "012", "abbreviation": "USDA",
     "identity": {"match": "key", "field": "toptier_code"}}),
    ("usaspending", "agency-toptier-code-awards", {"method": "GET",
     "endpoint": "/api/v2/agency/{toptier_code}/awards/"}),
    ("nonprofit-990", "totrevenue", {"field": "totrevenue", "unit": "USD", "title": "Total Revenue — IRS Form 990",
     "coverage": {"levels": ["country"], "dates": {"first": "2022", "last": "2023"}}}),
    ("nonprofit-990", "soupladles", {"title": "Ladles bought — IRS Form 990", "line": "Part X, line 99"}),
    ("nonprofit-bmf", "deductibility", {"bmf": "deductibility", "fields": ["deductibility_code"]}),
    ("nonprofit-profile", "employees", {"profile": "employees", "property": "P1128", "datatype": "quantity"}),
    ("nonprofit-profile", "total-revenue", {"profile": "total-revenue", "property": "P2139"}),
    ("cdc-places", "casthma", {"measureid": "CASTHMA", "category": "Health Outcomes",
     "tags": ["health", "cdc", "places", "health-outcomes", "county", "city", "zip", "tract"]}),
    ("cdc-places", "stairs", {"unit": "%", "coverage": {"levels": ["county", "city", "zip", "tract"],
     "dates": {"first": "2021", "last": "2022"}}}),
    ("college-scorecard", "latest-cost-tuition-in-state", {"scorecard": "latest.cost.tuition.in_state",
     "key": "env:DATA_GOV_API_KEY"}),
    ("college-scorecard", "latest-academics-program-percentage-cookery",
     {"title": "Fields of study – share in cookery — College Scorecard"}),
    ("fema", "disaster-declarations-summaries", {"fema": "DisasterDeclarationsSummaries", "version": "v2"}),
    ("irs-grants", "grants-made-by-an-organization", {"irsgrants": {"direction": "forward"},
     "type": "Grant Graph — Grants Made", "coverage": {"levels": ["country", "state"],
     "dates": {"first": "2022", "last": "2023"}}}),
    ("nih-reporter", "research-grants", {"fy": 2024, "offset": 0,
     "identity": {"match": "name", "field": "organization.org_name"}}),
    ("nsf-awards", "research-by-topic", {"search": {"operation": "awards_by_topic", "arg": "topic", "want": "topic",
     "extract": "response.award"}}),
    ("grants-gov", "federal-funding-opportunities-in-food-and-nutrition", {"category": "FN", "code": "FN"}),
    ("gcp-bigquery-public", "usa-names", {"datasetId": "usa_names", "project": "bigquery-public-data",
     "resource": "//bigquery.googleapis.com/projects/bigquery-public-data/datasets/usa_names", "location": "US",
     "title": "Usa names — BigQuery public datasets"}),
    ("gcp-marketplace-free", "weather-feeds-hail-reports", {"publisher": "Example Weather Ltd",
     "marketplacePrice": "free", "tags": ["marketplace", "dataset", "climate-and-environment"]}),
    ("census-acs-bq", "median-rent", {"title": "Median rent by county — US Census ACS (BigQuery)"}),
    ("irs-990-bq", "noemplyeesw3cnt", {"title": "Number of Employees by nonprofit — IRS 990 population (BigQuery)"}),
]  # fmt: skip


@pytest.mark.parametrize(("family", "stem", "expected"), LEAVES, ids=[f"{one[0]}-{one[1]}" for one in LEAVES])
def test_a_publishers_record_becomes_a_leaf_with_its_familys_keys(
    root: Path, reports: dict[str, LeavesReport], family: str, stem: str, expected: dict[str, Any]
) -> None:
    found = matter(root, family, stem)
    assert {key: found.get(key) for key in expected} == expected


def test_every_family_has_samples_and_a_leaf_that_is_tested(reports: dict[str, LeavesReport]) -> None:
    tested = {family for family, _, _ in LEAVES} | {"datacommons", "sec-bq"}
    assert tested == set(FAMILIES) == {path.name for path in SAMPLES.iterdir()}


def test_a_data_commons_variable_has_a_leaf_for_each_source_with_coverage_and_facet(
    root: Path, reports: dict[str, LeavesReport]
) -> None:
    acs = matter(root, "datacommons", "count-person-censusacs5yearsurvey-censusacs5yrsurvey")
    pep = matter(root, "datacommons", "count-person-uscensuspep-annualpopulation-censuspepsurvey-p1y")
    assert acs["variable"] == pep["variable"] == "Count_Person"
    assert acs["title"] == "Total population — Data Commons (Census ACS5 Year Survey)"
    assert acs["facet"]["measurementMethod"] == "CensusACS5yrSurvey"
    assert acs["coverage"] == {
        "places": 3,
        "levels": ["country", "state", "county"],
        "dates": {"first": "2011", "last": "2023"},
        "observations": 39,
    }
    assert pep["facet"]["observationPeriod"] == "P1Y"
    assert (pep["latestObservation"], pep["coverage"]["places"]) == ("2024", 1)
    assert acs["constraints"] == {}


def test_a_data_commons_split_keeps_the_values_of_its_constraints(root: Path, reports: dict[str, LeavesReport]) -> None:
    found = matter(root, "datacommons", "count-person-female-censusacs5yearsurvey-censusacs5yrsurvey")
    assert found["constraints"] == {"gender": "Female"}
    assert (found["populationType"], found["measuredProperty"], found["statType"]) == (
        "Person",
        "count",
        "measuredValue",
    )


def test_a_data_commons_summary_counts_places_by_type(root: Path, reports: dict[str, LeavesReport]) -> None:
    found = matter(root, "datacommons", "percent-household-pipedwater-dwellingsurvey-surveyestimate-p1y")
    assert found["coverage"]["places"] == 398
    assert found["coverage"]["levels"] == ["country", "state"]
    assert found["unit"] == "Percent"


def test_another_source_of_a_variable_gives_the_others_no_other_name(tmp_path: Path) -> None:
    document = json.loads((SAMPLES / "datacommons" / "observation.json").read_text(encoding="utf-8"))
    for reply in document["byVariable"].values():
        for place in reply["byEntity"].values():
            place["orderedFacets"] = [each for each in place.get("orderedFacets", []) if each["facetId"] == "22"]
    (tmp_path / "one.json").write_text(json.dumps(document), encoding="utf-8")
    node = str(SAMPLES / "datacommons" / "node.json")
    stems = []
    for name, observed in (("one", str(tmp_path / "one.json")), ("two", str(SAMPLES / "datacommons/observation.json"))):
        write_leaves("datacommons", [node, observed], tmp_path / name)
        stems.append({path.stem for path in (tmp_path / name / "sources" / "datacommons").glob("count-person-census*")})
    assert stems[0] == stems[1] != set()


def test_a_ranking_over_all_companies_takes_the_latest_year_and_the_usual_length_of_period(
    root: Path, reports: dict[str, LeavesReport]
) -> None:
    found = matter(root, "sec-bq", "kitchenrevenue")
    assert found["bq"]["filter"] == (
        "measure_tag='KitchenRevenue' AND units='USD' AND form='10-K' AND number_of_quarters=4 AND fiscal_year=2019"
    )
    assert (found["bq"]["group_agg"], found["code"]) == ("MAX", "KitchenRevenue")
    assert "number_of_quarters=0" in matter(root, "sec-bq", "ovenassets")["bq"]["filter"]


BAD = {
    "datacommons": ["variable 'Count_Unheard_Of' is observed, but no node reply describes it"],
    "un-sdg": ["no code"],
    "usaspending": ["no toptier_code"],
    "fema": ["version 'two' is no number"],
    "grants-gov": ["no label"],
    "gcp-marketplace-free": ["name 'hail' is not projects/…/locations/…/dataExchanges/…/listings/…"],
    "sec-bq": ["measure_tag \"Bad'Tag\" or units 'USD' is no name"],
}
LEFT_OUT = {
    "datacommons": {"a Class, no statistical variable": 1},
    "sec-edgar": {
        "a company's own tag": 1,
        "a concept of dei, not of us-gaap": 2,
        "a concept that is no number": 1,
        "a deprecated concept": 1,
        "an abstract concept": 2,
        "an element that is no item": 1,
    },
    "census": {"a margin of error or an annotation": 1, "a part of every query, no variable": 2},
    "worldbank": {"an indicator of another database than the World Development Indicators": 1},
    "treasury": {
        "a column of dates, texts or line numbers": 3,
        "a column that stacks series; the dataset's own rows name them": 1,
    },
    "usaspending": {"an endpoint that serves no figures": 1},
    "nonprofit-profile": {"an entity that is no property of Wikidata": 2},
    "college-scorecard": {
        "a value of the element above it": 1,
        "an element that is no number": 1,
        "an element that says which school it is": 2,
    },
    "fema": {"a dataset that is deprecated": 1},
    "irs-grants": {"a return of a form without a list of grants": 1},
    "gcp-bigquery-public": {"a dataset of another project than bigquery-public-data": 1},
    "gcp-marketplace-free": {"a product that is sold": 1},
    "census-acs-bq": {"a column that is no number": 2},
    "sec-bq": {"a fact of a part of the year": 1, "a fact of another form than the annual report": 1},
    "irs-990-bq": {
        "a column that is no amount of the form, or whose line is not known": 1,
        "a column that is no number": 2,
    },
}  # fmt: skip


def test_every_record_that_is_no_leaf_is_reported_with_its_reason(reports: dict[str, LeavesReport]) -> None:
    assert {name: [row.reason for row in report.bad] for name, report in reports.items() if report.bad} == BAD
    assert {name: report.skipped for name, report in reports.items() if report.skipped} == LEFT_OUT


def test_a_bad_record_is_named_by_its_place_and_where_several_files_were_read_by_its_file(
    reports: dict[str, LeavesReport],
) -> None:
    assert [(row.line, row.file) for row in reports["sec-bq"].bad] == [(8, "")]
    (row,) = reports["usaspending"].bad
    assert str(row).endswith("usaspending/toptier_agencies.json line 2: no toptier_code")


def test_every_leaf_has_a_code_questions_and_front_matter_that_reads_back(
    collected: Collected, reports: dict[str, LeavesReport]
) -> None:
    assert len(collected.leaves) == sum(report.written for report in reports.values())
    assert [leaf.path for leaf in collected.leaves if not leaf.code or not leaf.queries] == []
    report = collected.report
    assert [*report.unreadable, *report.without_publisher, *report.trust_differs] == []


_PLACEHOLDER = re.compile(r"\{(\w+)[^}]*\}|\$([a-z_]+)\b")
_SQL_FAMILIES = {"census-acs-bq", "sec-bq", "irs-990-bq"}
_WALKED = {"irs-grants"}


def _value(operation: dict[str, Any]) -> str:
    """Where a reply holds the value: a key of the leaf in many sources."""
    return str(operation.get("capability", {}).get("returns", {}).get("value", ""))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_caller_can_ask_for_data_by_the_fields_of_a_leaf(
    collected: Collected, reports: dict[str, LeavesReport], family: str
) -> None:
    """Every leaf has a key that an operation of its access document, or its SQL, is filled with."""
    operations = FAMILIES[family].access["access"]["operations"]
    asked = {
        name
        for each in operations.values()
        for found in _PLACEHOLDER.findall(f"{each['url']} {each.get('body', '')} {_value(each)}")
        for name in found
        if name
    }
    for leaf in (leaf for leaf in collected.leaves if leaf.source == family):
        if family in _SQL_FAMILIES:
            assert {"table", "entity_field"} <= set(leaf.front_matter["bq"])
        elif family in _WALKED:
            assert leaf.front_matter["irsgrants"]["direction"]
        elif "search" in leaf.front_matter:
            search = leaf.front_matter["search"]
            assert search["operation"] in operations
        else:
            assert asked & set(leaf.front_matter), leaf.path


def test_access_documents_hold_no_secret_and_only_https_addresses() -> None:
    for family in FAMILIES.values():
        for name, operation in family.access["access"]["operations"].items():
            assert operation["method"] in {"GET", "POST", "BIGQUERY", "LOCAL", "INTERACTIVE"}, name
            if operation["method"] in {"GET", "POST"}:
                assert operation["url"].startswith("https://")
        headers = family.access["access"].get("headers", {})
        assert all(value.startswith("env:") for value in headers.values())


def test_the_same_files_in_any_order_give_the_same_urns_and_bytes(
    root: Path, collected: Collected, tmp_path: Path
) -> None:
    for family in FAMILIES:
        write_leaves(family, samples(family)[::-1], tmp_path)
    again = collect([tmp_path])
    assert [leaf.urn for leaf in again.leaves] == [leaf.urn for leaf in collected.leaves]
    assert len({leaf.urn for leaf in again.leaves}) == len(again.leaves)
    assert {path: file.digest for path, file in again.files.items()} == {
        path: file.digest for path, file in collected.files.items()
    }


CHANGED = [
    ("datacommons", "observation.json", '"facetId"', '"facet"', "facetId"),
    ("datacommons", "info.json", '"placeTypeSummary"', '"placeTypes"', "placeTypeSummary"),
    ("sec-edgar", "tag.txt", "datatype", "data_kind", "a table with tag, version"),
    ("sec-edgar", "us-gaap-2024.xsd", "substitutionGroup", "group", "substitutionGroup"),
    ("census", "variables.json", '"label"', '"text"', "label"),
    ("census", "variables.json", '"variables"', '"vars"', "an object with vars"),
    ("worldbank", "indicator.json", '"sourceNote"', '"note"', "sourceNote"),
    ("un-sdg", "series.json", '"target"', '"aim"', "target"),
    ("treasury", "metadata.json", '"data_type"', '"kind"', "data_type"),
    ("usaspending", "toptier_agencies.json", '"toptier_code"', '"code"', "toptier_code"),
    ("nonprofit-990", "organization.json", '"totrevenue"', '"revenue"', "totrevenue"),
    ("nonprofit-bmf", "eo1.csv", "DEDUCTIBILITY", "DEDUCT", "a table with ein, name"),
    ("nonprofit-profile", "properties.json", '"labels"', '"names"', "labels"),
    ("cdc-places", "dictionary.csv", "Measure full name", "Full name", "a table with measureid"),
    ("college-scorecard", "dictionary.csv", "developer-friendly name", "api name", "a table with name_of_data_element"),
    ("fema", "OpenFemaDataSets.json", '"version"', '"edition"', "version"),
    ("irs-grants", "index_2024.csv", "TAX_PERIOD", "PERIOD", "a table with return_id"),
    ("nih-reporter", "search.json", '"award_amount"', '"amount"', "award_amount"),
    ("nsf-awards", "awards.json", '"fundsObligatedAmt"', '"funds"', "fundsObligatedAmt"),
    ("grants-gov", "search2.json", '"closeDate"', '"closes"', "hit.closeDate"),
    ("gcp-bigquery-public", "datasets.json", '"datasetReference"', '"reference"', "datasetReference"),
    ("gcp-marketplace-free", "listings.json", '"displayName"', '"title"', "displayName"),
    ("census-acs-bq", "county_2018_5yr.json", '"tableReference"', '"reference"', "table"),
    ("irs-990-bq", "irs_990_2017.json", '"type"', '"kind"', "type"),
    ("sec-bq", "quick_summary.jsonl", '"number_of_quarters"', '"quarters"', "number_of_quarters"),
]


@pytest.mark.parametrize(
    ("family", "file", "old", "new", "named"), CHANGED, ids=[f"{one[0]}-{one[1]}-{one[2]}" for one in CHANGED]
)
def test_B02_a_publishers_file_that_has_changed_its_schema_is_refused_by_what_is_missing(
    tmp_path: Path, family: str, file: str, old: str, new: str, named: str
) -> None:
    content = (SAMPLES / family / file).read_bytes()
    assert old.encode() in content
    changed = tmp_path / file
    changed.write_bytes(content.replace(old.encode(), new.encode()))
    with pytest.raises(BuildError, match=re.escape(named)) as refused:
        write_leaves(family, [*samples(family), str(changed)], tmp_path / "root")
    assert str(changed) in refused.value.message
    assert "expected " in refused.value.message
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"<!DOCTYPE html>\n<html><head><title>Busy</title></head></html>", "found an HTML page titled 'Busy'"),
        (b'{"error": {"code": 429}, "status": "slow down"}', "found an object with error, status"),
        (b'[{"message": [{"key": "Invalid value"}]}]', "found a list of 1, the first of them an object with message"),
        (b"name;value\n1;2\n", "found "),
    ],
    ids=["html", "error", "message", "text"],
)  # fmt: skip
def test_B02_what_is_no_catalog_is_refused_by_what_it_is_and_the_leaves_there_are_stay(
    tmp_path: Path, family: str, content: bytes, found: str
) -> None:
    standing = tmp_path / "root" / "sources" / family / "standing.md"
    standing.parent.mkdir(parents=True)
    standing.write_text("as it was", encoding="utf-8")
    page = tmp_path / "page"
    page.write_bytes(content)
    if content.startswith(b"name") and not any(shape.is_table for shape in FAMILIES[family].shapes):
        found = "not JSON"
    with pytest.raises(BuildError, match=re.escape(found)):
        write_leaves(family, str(page), tmp_path / "root")
    assert [path.name for path in standing.parent.iterdir()] == ["standing.md"]


def test_B02_a_record_that_comes_twice_is_reported_and_counted_once(tmp_path: Path) -> None:
    series = json.loads((SAMPLES / "un-sdg" / "series.json").read_text(encoding="utf-8"))
    twice = tmp_path / "twice.json"
    twice.write_text(json.dumps([series[0], series[0]], indent=1), encoding="utf-8")
    report = write_leaves("un-sdg", str(twice), tmp_path)
    assert (report.written, [str(row) for row in report.bad]) == (1, ["line 2: id 'SH_H2O_SAFE' was seen before"])


def test_B02_a_file_of_a_page_whose_next_one_is_missing_is_read_and_said_to_go_on(tmp_path: Path) -> None:
    page = json.loads((SAMPLES / "worldbank" / "indicator.json").read_text(encoding="utf-8"))
    page[0]["pages"] = 3
    (tmp_path / "page.json").write_text(json.dumps(page), encoding="utf-8")
    report = write_leaves("worldbank", str(tmp_path / "page.json"), tmp_path)
    assert report.written == 2
    assert report.notes == [
        f"{tmp_path}/page.json: every page of the World Bank's `v2/indicator?format=json` says that another follows"
    ]


@pytest.mark.parametrize("family", ["census", "un-sdg", "fema"])
def test_B02_a_download_that_was_cut_short_is_refused_though_other_files_are_whole(tmp_path: Path, family: str) -> None:
    (whole, *_) = [path for path in samples(family) if path.endswith(".json")]
    (tmp_path / "half.json").write_bytes(Path(whole).read_bytes()[:-40])
    with pytest.raises(BuildError, match=r"half\.json: expected .*; found JSON that is broken, or was cut short"):
        write_leaves(family, [*samples(family), str(tmp_path / "half.json")], tmp_path / "root")


def test_pages_one_a_line_and_compressed_are_read_like_single_files(tmp_path: Path) -> None:
    import gzip

    document = json.dumps(json.loads((SAMPLES / "worldbank" / "indicator.json").read_text(encoding="utf-8")))
    with gzip.open(tmp_path / "pages.jsonl.gz", "wt", encoding="utf-8") as pages:
        pages.write(document + "\n\n" + document.replace("IS.FTP", "IS.PTH").replace("SH.H2O", "SH.TEA") + "\n")
    assert write_leaves("worldbank", str(tmp_path / "pages.jsonl.gz"), tmp_path).written == 4


def test_a_table_in_another_encoding_is_read_and_said_to_be(reports: dict[str, LeavesReport]) -> None:
    (note,) = reports["college-scorecard"].notes
    assert note.endswith("dictionary.csv: not UTF-8, read as Windows-1252")


def test_rows_of_ours_make_leaves_of_every_family(tmp_path: Path) -> None:
    """An id, a title, and what else is known; of all families in one stream."""
    rows = [
        {"directory": family, "id": "a|b", "title": "Soup eaten", "queries": ["how much soup"]} for family in FAMILIES
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for family in FAMILIES:
        report = write_leaves(family, str(tmp_path / "rows.jsonl"), tmp_path / "root")
        assert (report.written, report.other_directories, report.bad) == (1, len(FAMILIES) - 1, [])
    found = collect([tmp_path / "root"])
    assert {leaf.source for leaf in found.leaves} == set(FAMILIES)
    assert all(leaf.queries == ("how much soup",) for leaf in found.leaves)
    shutil.rmtree(tmp_path / "root")
