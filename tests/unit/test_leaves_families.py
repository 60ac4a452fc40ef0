"""One leaf maker a family: the front matter that callers and the index read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from build_jobs.collect import collect
from build_jobs.frontmatter import read_file
from build_jobs.leaves.families import FAMILIES
from build_jobs.leaves.generate import write_leaves

DATACOMMONS = {
    "id": "Count_Person_25To34Years_Female",
    "title": "Count Person 25 To34 Years Female",
    "titleSource": "mechanical:dcid",
    "source": "datacommons",
    "family": "usc_s0101",
    "populationType": "Person",
    "measuredProperty": "count",
    "statType": "measuredValue",
    "constraints": {"age": "Years25To34", "gender": "Female"},
    "measurementDenominator": "Count_Person",
    "coverage": ["AdministrativeArea2", "Country", "State", "EurostatNUTS2"],
}
CENSUS = {
    "id": "DP02_0058PE",
    "title": "% SCHOOL ENROLLMENT — Population 3 years and over — College",
    "description": "ACS 5-year 2019 profile variable DP02_0058PE, table DP02.",
    "tags": ["census", "acs", "profile", "DP02"],
    "source": "census",
    "table": "DP02",
    "concept": "SELECTED SOCIAL CHARACTERISTICS",
    "label": "% SCHOOL ENROLLMENT — Population 3 years and over — College",
}
SEC_EDGAR = {
    "id": "ProfitLoss",
    "title": "Profit Loss",
    "tags": ["finance", "sec"],
    "source": "sec-edgar",
    "concept": "ProfitLoss",
    "taxonomy": "us-gaap",
    "unit": "currency",
    "queries": ["Did we make a profit?", "Did we make a profit?", " "],
}
WORLDBANK = {
    "id": "SL.UEM.TOTL.FE.ZS",
    "title": "Unemployment, female (% of female labor force)",
    "description": "Women without work who look for it.",
    "tags": ["Social Protection & Labor"],
    "source": "worldbank",
    "periodicity": "Annual",
    "aggregation": "Weighted average",
    "origin": "International Labour Organization",
    "limitations": "Definitions differ.",
}
CURRENCY = {
    "id": "v1/accounting/od/rates_of_exchange|Euro Zone-Euro",
    "title": "Treasury Reporting Rates of Exchange: Euro Zone-Euro",
    "description": "Exchange rate to the US dollar.",
    "source": "treasury",
    "path": "v1/accounting/od/rates_of_exchange",
}
DEBT = {**CURRENCY, "id": "v2/accounting/od/debt_to_penny|tot_pub_debt_out_amt", "title": "Debt to the Penny: Total"}


def front_matter(tmp_path: Path, family: str, row: dict[str, Any], stem: str) -> dict[str, Any]:
    source = tmp_path / "rows.jsonl"
    source.write_text(json.dumps(row) + "\n", encoding="utf-8")
    write_leaves(family, str(source), tmp_path)
    found = read_file(tmp_path / "sources" / family / f"{stem}.md")
    assert found.unreadable is None
    return found.front_matter


def test_a_data_commons_leaf_keeps_the_schema_and_speaks_of_levels(tmp_path: Path) -> None:
    matter = front_matter(tmp_path, "datacommons", DATACOMMONS, "count-person-25to34years-female")
    assert matter["title"] == "Count Person 25 To34 Years Female — Data Commons (Census ACS S0101)"
    assert matter["variable"] == "Count_Person_25To34Years_Female"
    assert matter["constraints"] == {"age": "Years25To34", "gender": "Female"}
    assert matter["facet"] == {"importName": "usc_s0101"}
    assert matter["measurementDenominator"] == "Count_Person"
    assert matter["coverage"]["levels"] == ["region", "country", "state", "district"]
    assert matter["tags"] == ["datacommons", "census-acs-s0101", "person", "region", "country", "state", "district"]
    assert matter["representativeQueries"][1] == "share of people, aged 25 to 34, female"


def test_a_variable_without_constraints_has_an_empty_mapping_and_one_without_schema_none(tmp_path: Path) -> None:
    total = {key: value for key, value in DATACOMMONS.items() if key != "constraints"}
    assert front_matter(tmp_path, "datacommons", total, "count-person-25to34years-female")["constraints"] == {}
    bare = {"id": "dc/abc123", "title": "Men in prison", "source": "datacommons", "family": "nl-only"}
    matter = (
        front_matter(tmp_path / "bare", "datacommons", bare, "dc-abc123") if (tmp_path / "bare").mkdir() is None else {}
    )
    assert "constraints" not in matter
    assert "facet" not in matter
    assert matter["title"] == "Men in prison — Data Commons"


def test_a_census_leaf_names_dataset_and_key_but_holds_no_secret(tmp_path: Path) -> None:
    matter = front_matter(tmp_path, "census", CENSUS, "dp02-0058pe")
    assert (matter["dataset"], matter["get"], matter["table"]) == ("profile", "NAME,DP02_0058PE", "DP02")
    assert matter["key"] == "env:CENSUS_API_KEY"
    assert matter["vintage"] == "2019"
    assert matter["representativeQueries"] == ["percentage of College, Population 3 years and over, School enrollment"]
    assert {"state", "county", "tract"} <= set(matter["tags"])


@pytest.mark.parametrize(
    ("code", "dataset"), [("S0101_C01_001E", "subject"), ("B01001_001E", "detailed"), ("C15002_001E", "detailed")]
)
def test_a_census_dataset_follows_from_the_code(tmp_path: Path, code: str, dataset: str) -> None:
    assert (
        front_matter(tmp_path, "census", {**CENSUS, "id": code}, code.lower().replace("_", "-"))["dataset"] == dataset
    )


def test_an_edgar_leaf_keeps_its_own_questions_and_says_only_what_the_row_says(tmp_path: Path) -> None:
    matter = front_matter(tmp_path, "sec-edgar", SEC_EDGAR, "profit-loss")
    assert (matter["taxonomy"], matter["concept"], matter["unit"]) == ("us-gaap", "ProfitLoss", "currency")
    assert "periodType" not in matter
    assert matter["representativeQueries"] == ["Did we make a profit?"]


def test_a_world_bank_leaf_asks_by_rule_and_keeps_the_prose_in_its_body(tmp_path: Path) -> None:
    matter = front_matter(tmp_path, "worldbank", WORLDBANK, "sl-uem-totl-fe-zs")
    assert matter["indicator"] == "SL.UEM.TOTL.FE.ZS"
    assert (matter["periodicity"], matter["aggregation"]) == ("Annual", "Weighted average")
    assert matter["tags"] == ["worldbank", "social-protection-labor", "country", "region"]
    assert matter["representativeQueries"] == [
        "Unemployment, female (% of female labor force)",
        "Unemployment, female",
        "female unemployment",
        "female unemployment as a percentage of female labor force",
        "female unemployment by country",
    ]
    body = (tmp_path / "sources/worldbank/sl-uem-totl-fe-zs.md").read_text(encoding="utf-8")
    assert "# Limitations\n\nDefinitions differ." in body


def test_a_treasury_series_pins_its_filter_and_keeps_its_row_id_as_code(tmp_path: Path) -> None:
    matter = front_matter(tmp_path, "treasury", CURRENCY, "rates-of-exchange-euro-zone-euro")
    assert matter["code"] == CURRENCY["id"]
    assert matter["path"] == "v1/accounting/od/rates_of_exchange"
    assert (matter["tfield"], matter["filter"]) == ("exchange_rate", "country_currency_desc:eq:Euro Zone-Euro")
    assert matter["type"] == "Treasury Fiscal Series"
    assert "Euro Zone Euro exchange rate to the US dollar" in matter["representativeQueries"]


def test_a_treasury_field_is_a_column_without_a_filter(tmp_path: Path) -> None:
    matter = front_matter(tmp_path, "treasury", DEBT, "debt-to-penny-tot-pub-debt-out-amt")
    assert (matter["type"], matter["tfield"]) == ("Treasury Fiscal Field", "tot_pub_debt_out_amt")
    assert "filter" not in matter


def test_a_treasury_id_that_is_no_path_and_field_is_a_bad_row(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text(json.dumps({**CURRENCY, "id": "no bar"}) + "\n" + json.dumps(CURRENCY) + "\n", encoding="utf-8")
    report = write_leaves("treasury", str(source), tmp_path)
    assert [(row.line, row.reason) for row in report.bad] == [(1, "id is not `path|field`")]


ROWS = {
    "datacommons": DATACOMMONS,
    "census": CENSUS,
    "sec-edgar": SEC_EDGAR,
    "worldbank": WORLDBANK,
    "treasury": CURRENCY,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_comes_with_an_access_document_that_names_publisher_trust_and_scope(
    tmp_path: Path, family: str
) -> None:
    row = ROWS.get(family, {"id": "soup", "title": "Soup"})
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    write_leaves(family, str(tmp_path / "rows.jsonl"), tmp_path)
    access = read_file(tmp_path / "sources" / family / "_access.md").front_matter
    assert access["trust"] == {"identity": f"did:web:{access['publisher']}", "identityType": "did"}
    assert access["entityType"]
    assert access["title"].endswith("(access)")
    (source,) = collect([tmp_path]).sources
    assert source.publisher == access["publisher"]


def test_the_same_rows_in_another_order_give_the_same_files(tmp_path: Path) -> None:
    rows = [{**DATACOMMONS, "id": code} for code in ("Count_A", "count_a", "Count_B", "x" * 200)]
    for name, ordered in (("one", rows), ("two", rows[::-1])):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, ordered)), encoding="utf-8")
        write_leaves("datacommons", str(tmp_path / f"{name}.jsonl"), tmp_path / name)
    assert _bytes(tmp_path / "one") == _bytes(tmp_path / "two")


def test_files_of_an_earlier_run_are_reported_and_stay(tmp_path: Path) -> None:
    front_matter(tmp_path, "worldbank", WORLDBANK, "sl-uem-totl-fe-zs")
    source = tmp_path / "rows.jsonl"
    source.write_text(json.dumps({**WORLDBANK, "id": "OTHER.ID"}), encoding="utf-8")
    report = write_leaves("worldbank", str(source), tmp_path)
    assert report.left_over == ["sl-uem-totl-fe-zs.md"]
    assert (tmp_path / "sources/worldbank/sl-uem-totl-fe-zs.md").exists()


def _bytes(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.md")}


@pytest.mark.skipif("ASKBUCKET_TEST_DATA" not in os.environ, reason="ASKBUCKET_TEST_DATA is not set")
@pytest.mark.parametrize(("file", "family", "rows"), [("worldbank", "worldbank", 1575), ("treasury", "treasury", 184)])
def test_a_whole_published_catalog_becomes_leaves_that_all_read_back(
    tmp_path: Path, file: str, family: str, rows: int
) -> None:
    source = Path(os.environ["ASKBUCKET_TEST_DATA"]) / f"tables-{file}.jsonl.xz"
    command = [
        sys.executable,
        "-m",
        "cli.main",
        "leaves",
        family,
        "--from",
        str(source),
        "--to",
        str(tmp_path),
        "--json",
    ]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert (report["written"], report["bad"]) == (rows, [])
    collected = collect([tmp_path])
    assert len(collected.leaves) == rows
    assert all(leaf.code for leaf in collected.leaves)
    assert not collected.report.unreadable
