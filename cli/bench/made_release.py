"""A release of production's shape, made up: 118,703 documents of five families with 1,536 dimensions each.

Vectors are random unit vectors; titles, questions and descriptions are drawn from as many words as the real
catalogs have, the common ones as common, so that postings are as long.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from build_jobs.index import families_of, keyword_documents
from shared.bucket.base import Bucket
from shared.contracts.leaf import Leaf, Source
from shared.contracts.release import FORMAT_VERSION, Embedder, Manifest
from shared.release import writer
from shared.tables.catalogs import BUILT_IN

if TYPE_CHECKING:
    from shared.index.scan import Float16

ROWS = 118_703
DIMENSION = 1_536
MODEL = "openai/text-embedding-3-small"
PUBLISHER = "example.org"
# Family → its share of the rows, as the real catalogs have it.
FAMILIES = {"census": 0.24, "datacommons": 0.45, "sec-edgar": 0.14, "treasury": 0.01, "worldbank": 0.16}
_WORDS = 30_000
_BLOCK = 4_096


def publish(bucket: Bucket, folder: Path, rows: int = ROWS, dimension: int = DIMENSION) -> str:
    """Write such a release and make it current; `folder` is for its files on the way. Returns its id."""
    leaves = list(_leaves(rows))
    manifest = Manifest(
        format_version=FORMAT_VERSION, kind="tables", catalog=BUILT_IN, label="Made up",
        created_at="2026-01-31T12:00:00Z", builder="askbucket bench", inputs_digest="0" * 64,
        embedder=Embedder(provider="openrouter", model=MODEL, dimension=dimension),
        rows=len(leaves), families=families_of(leaves), files=[],
    )  # fmt: skip
    release_id = writer.write(bucket, manifest, _files(folder, leaves, dimension))
    writer.switch(bucket, BUILT_IN, release_id)
    return release_id


def _files(folder: Path, leaves: Sequence[Leaf], dimension: int) -> dict[str, Path]:
    from shared.index.lexical import write_lexical
    from shared.index.records import write_records
    from shared.index.scan import write_vectors

    sources = [Source(name, name, PUBLISHER, f"urn:air:{PUBLISHER}:okf:{name}", None, {}, "") for name in FAMILIES]
    vectors, records = folder / "vectors.npy", folder / "records.db"
    write_vectors(vectors, _unit_rows(len(leaves), dimension))
    write_records(records, leaves, sources, [""] * len(leaves))
    return {"vectors": vectors, "records": records, **write_lexical(folder, keyword_documents(leaves))}


def _unit_rows(rows: int, dimension: int) -> Float16:
    """Random float16 rows of length one, the same in every run."""
    import numpy as np

    made = np.empty((rows, dimension), dtype=np.float16)
    draw = np.random.default_rng(0)
    for start in range(0, rows, _BLOCK):
        block = draw.standard_normal((min(_BLOCK, rows - start), dimension), dtype=np.float32)
        made[start : start + len(block)] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return made


def _leaves(rows: int) -> Iterator[Leaf]:
    draw = random.Random(0)  # noqa: S311 - a draw, not a secret
    words = [f"word{number}" for number in range(_WORDS)]
    # Zipf's law: the commonest word of all stands in half of the documents.
    weights = list(accumulate(1 / (place + 12) for place in range(_WORDS)))

    def text(length: int) -> str:
        return " ".join(draw.choices(words, cum_weights=weights, k=length))

    ends = [round(rows * share) for share in accumulate(FAMILIES.values())]
    for row in range(rows):
        family = next((name for name, end in zip(FAMILIES, ends, strict=True) if row < end), "worldbank")
        yield _leaf(row, family, text(9), tuple(f"what is the {text(7)}?" for _ in range(2)), text(25))


def _leaf(row: int, family: str, title: str, queries: tuple[str, ...], description: str) -> Leaf:
    code = f"V{row:06}"
    matter = {
        "title": title, "variable": code, "unit": "count", "measurementMethod": "census",
        "coverage": {"places": 3_142, "levels": ["country", "county"], "dates": {"first": "2009", "last": "2024"}},
        "request": {"url": f"https://{PUBLISHER}/data", "parameters": {"get": code, "for": "county:*"}},
    }  # fmt: skip
    return Leaf(
        path=f"sources/{family}/{code}.md", urn=f"urn:air:{PUBLISHER}:okf:{family}.{code}", family=family,
        source=family, publisher=PUBLISHER, code=code, title=title, description=description, queries=queries,
        tags=(family, "country", "county"), scope="an area", front_matter=matter, body=f"# Schema\n\n{description}\n",
    )  # fmt: skip
