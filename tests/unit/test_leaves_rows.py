"""Reading a publisher's rows: whatever a line holds, it is a row or it is named by its number."""

from __future__ import annotations

import gzip
import io
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from build_jobs.leaves.families import FAMILIES
from build_jobs.leaves.generate import write_leaves
from build_jobs.leaves.reading import Reading, read
from build_jobs.leaves.rows import BadRow, Located
from shared.errors import BuildError, UnknownName

ROW: dict[str, Any] = {
    "id": "AG.LND.TOTL.K2",
    "title": "Land area (sq. km)",
    "description": "Total area.",
    "source": "worldbank",
}


def read_rows(source: str) -> list[tuple[int, Any]]:
    """Each row, or what is wrong with it, with its line."""
    found = read([source], (), Reading())
    return [(each.line, each.row if isinstance(each, Located) else each) for each in found]


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize(
    ("name", "pack"), [("rows.jsonl", bytes), ("rows.jsonl.xz", lzma.compress), ("rows.jsonl.gz", gzip.compress)]
)
def test_rows_are_read_from_plain_and_compressed_files(tmp_path: Path, name: str, pack: Any) -> None:
    (tmp_path / name).write_bytes(pack(lines(ROW)))
    assert (read_rows(str(tmp_path / name))) == [(1, ROW)]


def test_rows_are_read_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines(ROW, ROW))))
    assert [number for number, _ in read_rows("-")] == [1, 2]


def test_a_line_that_is_no_row_is_named_by_its_number_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n{broken\n[1]\n\xff\xfe\n" + b"[" * 100_000 + b"\n" + lines(ROW))
    assert (read_rows(str(path))) == [
        (2, BadRow(2, "not JSON")),
        (3, BadRow(3, "not a JSON object")),
        (4, BadRow(4, "not UTF-8")),
        (5, BadRow(5, "not JSON")),
        (6, ROW),
    ]


def test_a_file_that_is_not_there_or_not_compressed_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"none\.jsonl"):
        (read_rows(str(tmp_path / "none.jsonl")))
    for name in ("rows.jsonl.xz", "rows.jsonl.gz"):
        (tmp_path / name).write_bytes(b"plain text")
        with pytest.raises(BuildError, match="not a readable"):
            (read_rows(str(tmp_path / name)))


def test_rows_of_other_directories_are_skipped_and_counted_bad_rows_reported(tmp_path: Path) -> None:
    rows = [
        {"directory": "worldbank", **ROW},
        {"directory": "census", "id": "B01001_001E", "title": "Total"},
        {"id": "X", "title": "Of another source", "source": "treasury"},
        {"directory": "worldbank", "title": "no id"},
        {"directory": "worldbank", "id": "NO.TITLE", "title": "  "},
        {"directory": "worldbank", **ROW},
        {"id": "Y.Y", "title": "Says neither directory nor source"},
    ]
    source = tmp_path / "rows.jsonl"
    source.write_bytes(lines(*rows))
    report = write_leaves("worldbank", str(source), tmp_path / "root")
    assert (report.rows, report.written, report.other_directories) == (7, 2, 2)
    assert [(row.line, row.reason) for row in report.bad] == [
        (4, "no id"),
        (5, "no title"),
        (6, "id 'AG.LND.TOTL.K2' was seen before"),
    ]


def test_no_usable_row_at_all_is_an_error_that_says_why(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_bytes(lines({"id": "no title"}))
    with pytest.raises(BuildError, match="1 row read, 0 of other directories, 1 bad; line 1: no title"):
        write_leaves("census", str(source), tmp_path / "root")


def test_an_unknown_family_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="census, census-acs-bq, college-scorecard, datacommons"):
        write_leaves("nasa", "-", tmp_path)


def test_a_table_whose_first_line_is_no_table_is_refused_by_the_name_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_bytes(b"\0" * 2_000_000)
    table = FAMILIES["cdc-places"].shapes
    with pytest.raises(BuildError, match=r"places\.csv: not a readable table"):
        list(read([str(path)], table, Reading()))
