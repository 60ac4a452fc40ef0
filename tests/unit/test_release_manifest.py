"""The manifest: canonical bytes, an id that names them, and a typed refusal for everything that is not right."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from releases import CATALOG, ROLES, a_manifest
from wire import ROOT

from shared.contracts.release import LEXICAL_ROLES, Embedder, Family, Manifest, NullBank, Pointer, ReleaseFile
from shared.contracts.status import STATUS_ROLE
from shared.contracts.strict import read
from shared.errors import ReleaseCorrupt, ReleaseError, ReleaseIncompatible, SettingsError
from shared.index.items import IDS_ROLE, VECTOR_ROLES, write_items
from shared.index.records import write_records
from shared.release import manifest as manifests

FILES = [
    {"role": role, "sha256": f"{number:064x}", "bytes": 10, "crc32": ["0" * 8]} for number, role in enumerate(ROLES)
]


def whole(**changes: Any) -> Manifest:
    return a_manifest(files=[ReleaseFile(**file) for file in FILES], **changes)


def reread(document: dict[str, Any], **wanted: Any) -> Manifest:
    """Parse a manifest whose id fits its bytes, whatever these say."""
    data = json.dumps(document).encode()
    return manifests.parse(data, CATALOG, f"20260131T120000Z-{hashlib.sha256(data).hexdigest()[:12]}", **wanted)


def changed(**changes: Any) -> dict[str, Any]:
    return {**to_builtins(whole()), **changes}


def test_a_manifest_survives_its_bytes() -> None:
    manifest = whole(null_bank=NullBank(queries=3, median=0.5, mad=0.1), gate={"recall": 0.9}, extends=["census"])
    data = manifests.encode(manifest)
    assert manifests.parse(data, CATALOG, manifests.id_of(manifest)) == manifest


def test_the_bytes_are_canonical() -> None:
    data = manifests.encode(whole(label="Tablés"))
    assert data == json.dumps(json.loads(data), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert "Tablés".encode() in data


def test_the_id_is_the_time_and_the_digest_of_the_bytes() -> None:
    manifest = whole()
    digest = hashlib.sha256(manifests.encode(manifest)).hexdigest()
    assert manifests.id_of(manifest) == f"20260131T120000Z-{digest[:12]}"


def test_the_time_of_an_id_is_utc() -> None:
    assert manifests.id_of(whole(created_at="2026-01-31T13:00:00+01:00")).startswith("20260131T120000Z-")


@pytest.mark.parametrize("time", ["yesterday", "2026-01-31T12:00:00", ""])
def test_a_time_without_zone_or_sense_is_refused(time: str) -> None:
    with pytest.raises(ReleaseIncompatible, match="created_at: expected"):
        manifests.id_of(whole(created_at=time))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 3}, r"format_version: expected 1 or 2, found 3"),
        ({"format_version": None}, r"format_version: expected 1 or 2, found None"),
        ({"format_version": True}, r"format_version: expected 1 or 2, found True"),
        ({"kind": "pictures"}, r"kind: .*'tables' or 'items'.*found 'pictures'"),
        ({"catalog": "other"}, r"catalog: expected 'built-in', found 'other'"),
        ({"created_at": "2027-01-31T12:00:00Z"}, r"created_at: expected '20260131T120000Z', found '20270131T120000Z'"),
        ({"rows": 0}, r"rows: .*greater than 0, found '0'"),
        ({"rows": "5"}, r"rows: .*integer, found '5'"),
        ({"rows": 6}, r"rows of all families together: expected 6, found 5"),
        ({"embedder": {"provider": "embedded", "model": "m", "dimension": 0}}, r"embedder\.dimension: .*found '0'"),
        ({"embedder": {"provider": "other", "model": "m", "dimension": 4}}, r"embedder\.provider: .*found 'other'"),
        (
            {"files": FILES[1:]},
            r"files: expected one with role 'vectors', found only lexical\.frequencies, .*, records$",
        ),
        *[({"files": FILES[:n] + FILES[n + 1 :]}, rf"expected one with role '{role}'") for n, role in enumerate(ROLES)],
        ({"files": []}, r"found only none"),
        ({"files": [*FILES, FILES[0]]}, r"files with role 'vectors': expected 1, found 2"),
        ({"files": [{**FILES[0], "sha256": "../../x"}, *FILES[1:]]}, r"files\.0\.sha256: .*found '\.\./\.\./x'"),
        ({"files": [{**FILES[0], "bytes": -1}, *FILES[1:]]}, r"files\.0\.bytes: .*found '-1'"),
        (
            {"files": [{**FILES[0], "crc32": ["0"]}, *FILES[1:]]},
            r"files\.0\.crc32: expected texts of 8 hexadecimal digits, found \"\['0'\]\"",
        ),
        ({"files": [{**FILES[0], "crc32": []}, *FILES[1:]]}, r"crc32 of 'vectors', their number: expected 1, found 0"),
        ({"format_version": 1}, r"crc32 of 'vectors', their number: expected 0, found 1"),
        ({"surprise": 1}, r"surprise: expected no such field, found 'surprise'"),
        ({"label": None}, r"label: expected a text, found 'None'"),
        ({"rows": True}, r"rows: expected an integer, found 'True'"),
        ({"gate": {"recall": "high"}}, r"gate\.recall: expected a number, found 'high'"),
        ({"gate": {"recall": 10**400}}, r"gate\.recall: expected a number, found '1000"),
        ({"extends": "census"}, r"extends: expected a list, found 'census'"),
    ],
)
def test_R03_a_manifest_that_is_not_right_is_refused_by_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ReleaseIncompatible, match=message) as caught:
        reread(changed(**changes))
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith("manifest of release 20260131T120000Z-")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"gate":{}', b'"gate":{"recall":1e999}'),
        (b'"label":"Tables"', b'"label":"\xed\xa0\x80"'),
        (b'"label":"Tables"', b'"label":"Tables","label":"Tables"'),
    ],
)
def test_R03_what_is_no_json_of_ours_is_refused(old: bytes, new: bytes) -> None:
    data = manifests.encode(whole())
    assert old in data
    data = data.replace(old, new)
    with pytest.raises(ReleaseIncompatible):
        manifests.parse(data, CATALOG, f"20260131T120000Z-{hashlib.sha256(data).hexdigest()[:12]}")


def family(name: str, first_row: int, rows: int, **sources: int) -> dict[str, Any]:
    return {"family": name, "first_row": first_row, "rows": rows, "sources": sources or {name: rows}}


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ([family("a", 0, 2), family("b", 3, 2)], r"families\.1 \(b\)\.first_row: expected 2, found 3"),
        ([family("a", 0, 3), family("b", 2, 2)], r"families\.1 \(b\)\.first_row: expected 3, found 2"),
        ([family("a", 1, 5)], r"families\.0 \(a\)\.first_row: expected 0, found 1"),
        ([family("b", 2, 3), family("a", 0, 2)], r"families\.0 \(b\)\.first_row: expected 0, found 2"),
        ([family("a", 0, 2), family("a", 2, 3)], r"name the family 'a': expected 1, found 2"),
        ([family("a", 0, 2, x=2), family("b", 2, 3, x=3)], r"name the source 'x': expected 1, found 2"),
        ([family("a", 0, 5, x=2, y=2)], r"sources, added up: expected 5, found 4"),
        ([], r"rows of all families together: expected 5, found 0"),
    ],
)
def test_R03_families_must_be_slices_that_cover_the_rows(families: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ReleaseIncompatible, match=message):
        reread(changed(families=families))


def test_R03_a_release_of_the_other_kind_is_refused() -> None:
    with pytest.raises(ReleaseIncompatible, match="kind: expected 'items', found 'tables'"):
        reread(changed(), kind="items")


@given(position=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_R02_any_flipped_bit_of_a_manifest_is_found(position: int, bit: int) -> None:
    manifest = whole()
    data = bytearray(manifests.encode(manifest))
    data[position % len(data)] ^= 1 << bit
    with pytest.raises(ReleaseCorrupt, match="expected a sha256 that begins"):
        manifests.parse(bytes(data), CATALOG, manifests.id_of(manifest))


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b"\xff", b'{"rows": NaN}', b"[" * 100_000])
def test_what_is_no_json_object_is_refused(data: bytes) -> None:
    release_id = f"20260131T120000Z-{hashlib.sha256(data).hexdigest()[:12]}"
    with pytest.raises(ReleaseIncompatible, match="expected"):
        manifests.parse(data, CATALOG, release_id)
    with pytest.raises(ReleaseIncompatible, match=r"expected|required"):
        manifests.parse_pointer(data, CATALOG)


@given(
    st.dictionaries(
        st.sampled_from(sorted(Manifest.__struct_fields__)),
        st.none() | st.integers() | st.text() | st.just([]),
    )
)
def test_any_wrong_field_is_a_release_error(changes: dict[str, Any]) -> None:
    document = changed(**changes)
    try:
        reread(document)
    except ReleaseError:
        return
    assert read(Manifest, document) is not None


@pytest.mark.parametrize("name", ["", "../other", "a/b", "A", "-a", "a" * 65, ".hidden"])
def test_a_catalog_name_is_no_path(name: str) -> None:
    with pytest.raises(SettingsError, match="catalog"):
        manifests.pointer_key(name)


@pytest.mark.parametrize("release_id", ["", "../x", "20260131T120000Z", "20260131T120000Z-ABCDEF012345", "x" * 500])
def test_a_pointer_names_nothing_but_a_release_id(release_id: str) -> None:
    pointer = {"release": release_id, "previous": None, "switched_at": "2026-01-31T12:00:00Z"}
    with pytest.raises(ReleaseIncompatible, match="release"):
        manifests.parse_pointer(json.dumps(pointer).encode(), CATALOG)


@pytest.mark.parametrize(
    ("role", "wanted", "expected"),
    [
        ("vectors", ["vectors"], True),
        ("vectors.name", ["vectors"], False),
        ("lexical.terms", ["lexical.*"], True),
        ("lexical", ["lexical.*"], False),
        ("lexicals.x", ["lexical.*"], False),
        ("records", [], False),
    ],
)
def test_a_role_is_wanted_by_name_or_by_prefix(role: str, wanted: list[str], expected: bool) -> None:
    assert manifests.matches(role, wanted) is expected


def test_a_family_may_have_many_sources() -> None:
    families = [Family(family="bigquery", first_row=0, rows=5, sources={"sec-bq": 1, "irs-990-bq": 4})]
    manifests.check(whole(families=families), "tables")


PAGE = (ROOT / "docs" / "data-format.md").read_text(encoding="utf-8")


def test_the_format_page_shows_a_manifest_that_is_accepted() -> None:
    [example] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    manifest = read(Manifest, json.loads(example))
    manifests.check(manifest, "tables")
    assert sorted(json.loads(example)) == list(json.loads(example))


def test_the_format_page_says_every_field_and_every_role() -> None:
    said = set(re.findall(r"^\| `([\w.]+)`", PAGE, re.MULTILINE))
    assert {name for kind in (Manifest, Pointer) for name in kind.__struct_fields__} <= said
    inner = {name for kind in (ReleaseFile, Embedder, Family, NullBank) for name in kind.__struct_fields__}
    assert {name for name in inner if f"`{name}`" not in PAGE} == set()
    roles = {"vectors", "records", "documents", STATUS_ROLE, IDS_ROLE, *VECTOR_ROLES, *LEXICAL_ROLES}
    assert {role for role in roles if f"`{role}`" not in PAGE} == set()


def test_the_format_page_gives_the_tables_and_columns_that_are_written(tmp_path: Path) -> None:
    write_records(tmp_path / "records.db", [], [], [])
    with closing(sqlite3.connect(tmp_path / "records.db")) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in filter(lambda name: not name.startswith("sqlite_"), tables):
            section = PAGE[PAGE.index(f"**{table}**") :].split("\n**")[0]
            for column in db.execute(f"PRAGMA table_info({table})"):
                assert f"`{column[1]}`" in section, f"{table}.{column[1]}"


def test_the_format_page_gives_the_tables_and_columns_of_items_that_are_written(tmp_path: Path) -> None:
    write_items(tmp_path / "records.db", [], [], [])
    with closing(sqlite3.connect(tmp_path / "records.db")) as db:
        for table in ("item", "fact", "word"):
            section = PAGE[PAGE.index(f"**{table}**") :].split("\n**")[0]
            for column in db.execute(f"PRAGMA table_info({table})"):
                assert f"`{column[1]}`" in section, f"{table}.{column[1]}"
