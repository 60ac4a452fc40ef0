"""The gate of an items build: each thing that may be wrong with what was written is found, and named."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from build_jobs.embed import Checkpoints
from build_jobs.item_index import write_item_index
from build_jobs.items.embed import Texts, embed_items, texts_of
from build_jobs.items.load import load_items
from build_jobs.items.verify import verify_items
from shared.contracts.items import Item
from shared.errors import BuildError
from shared.models.ledger import Ledger
from shared.sites.kinds import KINDS

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from test_build_embed import HashEmbedder

Built = tuple[Mapping[str, Path], list[Item], Texts]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("items")
    records = [
        {"@type": "Recipe", "name": f"Dal {n}", "url": f"https://a.example/{n}", "text": f"t{n}"} for n in range(9)
    ]
    (folder / "recipes.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    items = list(load_items([folder / "recipes.jsonl"], KINDS["recipes"], "kitchen").items)
    texts = texts_of(items, HashEmbedder.model)
    kept = Checkpoints(folder / "kept", HashEmbedder.dimension)
    vectors, _ = asyncio.run(embed_items(texts, HashEmbedder(), known={}, checkpoints=kept, ledger=Ledger()))
    files = write_item_index(folder / "index", items, KINDS["recipes"], vectors, texts.signatures)
    return files, items, texts


@pytest.fixture
def built(whole: Built, tmp_path: Path) -> Built:
    files, items, texts = whole
    return {role: Path(shutil.copy(path, tmp_path / path.name)) for role, path in files.items()}, items, texts


def refused(built: Built, wrong: str, dimension: int = HashEmbedder.dimension) -> None:
    with pytest.raises(BuildError, match=wrong):
        verify_items(*built, dimension)


def changed_row(path: Path, row: int, value: float) -> None:
    matrix = np.load(path)
    matrix[row] = value
    np.save(path, matrix)


def test_what_was_written_whole_passes(built):
    verify_items(*built, HashEmbedder.dimension)


def test_a_zero_row_of_a_field_that_says_something_is_named(built):
    changed_row(built[0]["vectors.body"], 3, 0)
    refused(built, "vectors.body: row 3: expected a unit vector")


def test_a_vector_of_a_field_that_says_nothing_is_named(built):
    changed_row(built[0]["vectors.description"], 2, 0.25)
    refused(built, "vectors.description: row 2: expected zeros")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 3.0])
def test_a_row_that_is_no_direction_is_named(built, value):
    changed_row(built[0]["vectors.name"], 5, value)
    refused(built, "vectors.name: row 5: expected a unit vector")


def test_a_matrix_of_another_shape_is_named_with_both_shapes(built):
    refused(built, "vectors.name: expected 9 x 17, found 9 x 16", dimension=17)


def test_a_file_cut_short_is_named(built):
    path = built[0]["vectors.body"]
    path.write_bytes(path.read_bytes()[:-10])
    refused(built, "cannot be opened: vectors.body")


def test_a_record_that_is_not_the_one_that_was_read_is_named(built):
    with closing(sqlite3.connect(built[0]["records"])) as db, db:
        db.execute("UPDATE item SET record = '{}' WHERE row = 4")
    refused(built, "records.db: row 4: expected https://a.example/4")


def test_a_signature_of_another_text_is_named(built):
    with closing(sqlite3.connect(built[0]["records"])) as db, db:
        db.execute("UPDATE item SET body_signature = 'ffffffffffff' WHERE row = 4")
    refused(built, "records.db: row 4 carries the signature of another body")


def test_postings_of_other_items_are_refused(built):
    np.save(built[0]["lexical.lengths"], np.ones((8, 3), dtype="<u2"))
    refused(built, r"cannot be opened: lexical\.lengths")
