"""A release of production's shape, made up: 118,703 documents of five families with 1,536 dimensions each.

`askbucket bench make` puts one of any size into a bucket, for the other benches to measure over.
Vectors are made-up unit vectors; titles, questions and descriptions are drawn from as many words as the real
catalogs have, the common ones as common, so that postings are as long.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from build_jobs.index import families_of, keyword_documents
from cli.bench.made_vectors import unit_blocks
from shared.bucket.base import Bucket, open_bucket
from shared.contracts.leaf import Leaf, Source
from shared.contracts.release import FORMAT_VERSION, Embedder, Manifest
from shared.errors import SettingsError
from shared.release import writer
from shared.settings import Settings
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


def make(settings: Settings, rows: int, dimension: int, *, clustered: bool) -> dict[str, Any]:
    """Make such a release the first of the settings' bucket, which is left as it is for other benches.

    Raises SettingsError for a bucket that has tables already, and for a size that holds nothing.
    """
    if not settings.bucket_url:
        raise SettingsError("bench make needs a bucket to put the release in: --bucket file:///…")
    if min(rows, dimension) < 1:
        raise SettingsError("bench make needs --rows and --dimension to be at least 1")
    bucket = open_bucket(settings.bucket_url, settings)
    if writer.exists(bucket, BUILT_IN):
        raise SettingsError("bench make needs a bucket without tables: it would replace what is current there")
    with TemporaryDirectory() as folder:
        release_id = publish(bucket, Path(folder), rows, dimension, clustered=clustered)
    return {"release": release_id, "rows": rows, "dimension": dimension, "clustered": clustered}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report of `make` as people read it."""
    shape = f"{report['rows']:,} x {report['dimension']:,}{', in clusters' if report['clustered'] else ''}"
    yield f"{report['release']}: {shape}"


def publish(
    bucket: Bucket, folder: Path, rows: int = ROWS, dimension: int = DIMENSION, *, clustered: bool = False
) -> str:
    """Write such a release and make it current; `folder` is for its files on the way. Returns its id."""
    leaves = list(_leaves(rows))
    manifest = Manifest(
        format_version=FORMAT_VERSION, kind="tables", catalog=BUILT_IN, label="Made up",
        created_at="2026-01-31T12:00:00Z", builder="askbucket bench", inputs_digest="0" * 64,
        embedder=Embedder(provider="openrouter", model=MODEL, dimension=dimension),
        rows=len(leaves), families=families_of(leaves), files=[],
    )  # fmt: skip
    release_id = writer.write(bucket, manifest, _files(folder, leaves, _unit_rows(rows, dimension, clustered)))
    writer.switch(bucket, BUILT_IN, release_id)
    return release_id


def _files(folder: Path, leaves: Sequence[Leaf], made: Float16) -> dict[str, Path]:
    from shared.index.lexical import write_lexical
    from shared.index.records import write_records
    from shared.index.scan import write_vectors

    sources = [Source(name, name, PUBLISHER, f"urn:air:{PUBLISHER}:okf:{name}", None, {}, "") for name in FAMILIES]
    vectors, records = folder / "vectors.npy", folder / "records.db"
    write_vectors(vectors, made)
    write_records(records, leaves, sources, [""] * len(leaves))
    return {"vectors": vectors, "records": records, **write_lexical(folder, keyword_documents(leaves))}


def _unit_rows(rows: int, dimension: int, clustered: bool) -> Float16:
    import numpy as np

    made = np.empty((rows, dimension), dtype=np.float16)
    for start, block in unit_blocks(rows, dimension, clustered=clustered):
        made[start : start + len(block)] = block
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
