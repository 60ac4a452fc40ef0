"""An item's document and its id: what the id says, and that a release lists exactly what will be loaded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from item_release import DIMENSION, KIND, changed, films, vector

from build_jobs.item_index import write_item_index
from shared.contracts.items import Item
from shared.errors import ReleaseIncompatible
from shared.index.cosmos_documents import (
    MOST_ITEM_BYTES,
    NUMBER_BYTES,
    document,
    document_id,
    documents,
    ids,
    matrices_of,
    numbers,
    read_ids,
    wire_bytes,
)
from shared.index.items import Items
from shared.sites.fields import fields_of
from shared.sites.kinds import KINDS

ITEM = Item("https://a.example/1?x#y", "https://a.example/1", "Amélie", "films", {"name": "Amélie", "n": 1})
FACTS = {"year": 2001, "genres": ("comedy", "romance"), "country": None, "rating": 8.3, "new": False}
VECTORS = [np.array(each, np.float16) for each in ([0.6, 0.8], [0.0, 0.0], [-0.8, 0.6])]


def test_a_document_holds_the_item_its_facts_and_the_vectors_of_fields_that_say_something():
    assert document("movies", ITEM, FACTS, VECTORS) == {
        "id": document_id(ITEM, FACTS, VECTORS),
        "site": "movies",
        "item": ITEM.id,
        "url": ITEM.url,
        "name": "Amélie",
        "collection": "films",
        "record": ITEM.record,
        "facts": {"year": 2001, "genres": ["comedy", "romance"], "country": None, "rating": 8.3, "new": False},
        "name_v": [0.60009766, 0.7998047],
        "body_v": [-0.7998047, 0.60009766],
    }


def test_an_id_is_41_characters_that_cosmos_db_takes_and_is_what_the_format_page_says():
    found = document_id(ITEM, FACTS, VECTORS)
    assert re.fullmatch(r"[0-9a-f]{16}~[0-9a-f]{24}", found)
    said = document("movies", ITEM, FACTS, VECTORS)
    contents = {name: said[name] for name in ("item", "url", "name", "collection", "record", "facts")}
    digest = hashlib.sha256(json.dumps(contents, sort_keys=True, ensure_ascii=False).encode())
    for each in VECTORS:
        digest.update(each.astype("<f2").tobytes())
    assert found == f"{hashlib.sha256(ITEM.id.encode()).hexdigest()[:16]}~{digest.hexdigest()[:24]}"


@pytest.mark.parametrize("what", ["record", "fact", "vector", "name", "collection"])
def test_whatever_changes_in_a_document_changes_its_id_and_not_whose_it_is(what):
    item, facts, vectors = ITEM, FACTS, VECTORS
    match what:
        case "record":
            item = changed([ITEM], n=2)[0]
        case "fact":
            facts = {**FACTS, "new": None}
        case "vector":
            vectors = [VECTORS[0], VECTORS[1], np.nextafter(VECTORS[2], np.float16(1))]
        case _:
            values = (ITEM.name, ITEM.site)
            name, site = ("Other", values[1]) if what == "name" else (values[0], "others")
            item = Item(ITEM.id, ITEM.url, name, site, ITEM.record)
    before, after = document_id(ITEM, FACTS, VECTORS), document_id(item, facts, vectors)
    assert before != after
    assert before.partition("~")[0] == after.partition("~")[0]


@given(st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=50))
def test_a_number_comes_back_from_json_as_the_float32_that_it_was(values):
    row = np.array(values, np.float16)
    told = json.loads(json.dumps(numbers(row)))
    assert np.array_equal(np.array(told, np.float32), row.astype(np.float32))


def test_a_release_lists_the_documents_that_its_files_give_row_by_row(tmp_path):
    paths = _index(tmp_path)
    records = Items(paths["records"])
    made = list(documents(KIND, records, matrices_of(paths), range(600)))
    assert [bytes(each).decode() for each in read_ids(paths["cosmos_ids"], 600)] == [each["id"] for each in made]
    assert [each["item"] for each in made[:3]] == [item.id for item in films(3)]
    with pytest.raises(ReleaseIncompatible, match="row 600"):
        list(documents(KIND, records, matrices_of(paths), [600]))
    records.close()


def test_a_release_lists_no_document_for_an_item_that_cosmos_db_would_not_take(tmp_path):
    paths = _index(tmp_path, count=6, large={1: 2_100_000, 4: 2_100_000})
    listed = read_ids(paths["cosmos_ids"], 6)
    assert [bytes(each) == b"" for each in listed] == [False, True, False, False, True, False]
    records = Items(paths["records"])
    made = list(documents(KIND, records, matrices_of(paths), range(6)))
    records.close()
    assert [wire_bytes(each) > MOST_ITEM_BYTES for each in made] == [bytes(each) == b"" for each in listed]


def test_what_is_too_large_is_decided_by_the_byte_and_not_by_the_sites_name(tmp_path):
    """An estimate says of nearly all items that they fit; where it does not, they are written out and counted."""
    sizes = [MOST_ITEM_BYTES - 2_000 + 200 * step for step in range(10)]
    paths = _index(tmp_path, count=len(sizes), large=dict(enumerate(sizes)))
    records = Items(paths["records"])
    told = {kind: list(documents(kind, records, matrices_of(paths), range(len(sizes)))) for kind in (KIND, "x" * 64)}
    records.close()
    is_listed = [bytes(each) != b"" for each in read_ids(paths["cosmos_ids"], len(sizes))]
    assert 0 < sum(is_listed) < len(sizes)
    for made in told.values():
        assert [wire_bytes(each) <= MOST_ITEM_BYTES for each in made] == is_listed
    written = json.dumps(told["x" * 64][0], ensure_ascii=False, separators=(",", ":"))
    assert len(written.encode()) < wire_bytes(told["x" * 64][0])


def test_no_number_takes_more_bytes_than_the_estimate_gives_it():
    every = np.arange(1 << 16, dtype="<u2").view("<f2")
    written = numbers(every[np.isfinite(every)])
    assert max(len(json.dumps(each)) for each in written) < NUMBER_BYTES


@pytest.mark.parametrize("wrong", ["too few", "twice", "other type"])
def test_a_list_of_ids_that_is_not_one_a_row_is_refused(tmp_path, wrong):
    paths = _index(tmp_path, count=4)
    records = Items(paths["records"])
    listed = ids(records, matrices_of(paths), 4)
    records.close()
    if wrong == "too few":
        listed = listed[:3]
    if wrong == "twice":
        listed[2] = listed[1]
    if wrong == "other type":
        listed = listed.astype("S50")
    path = tmp_path / "ids.npy"
    np.save(path, listed, allow_pickle=False)
    with pytest.raises(ReleaseIncompatible, match="cosmos_ids"):
        read_ids(path, 4)


def _index(folder: Path, count: int = 600, large: Mapping[int, int] | None = None) -> dict[str, Path]:
    """The files of so many films; `large` gives some rows a text of so many characters."""
    items = films(count)
    for row, size in (large or {}).items():
        items[row].record["text"] = "x" * size
    fields = [fields_of(item.record) for item in items]
    vectors = [np.array([vector(each[place]) for each in fields], np.float16) for place in range(3)]
    signatures = [tuple("s" if field else "" for field in each) for each in fields]
    assert vectors[0].shape == (count, DIMENSION)
    return write_item_index(folder, items, KINDS[KIND], vectors, signatures)  # type: ignore[arg-type]
