"""A release of production's shape in a Cloud Storage server on the loopback, to measure opening it.

    $ PYTHONPATH=tests .venv/bin/python -m fakes.release
    ready STORAGE_EMULATOR_HOST=127.0.0.1:37213 BUCKET_URL=gs://contract

Vectors are random, documents are a title and a code; the bytes and the rows are what counts. Serves until Ctrl-C.
"""

from __future__ import annotations

import argparse
import signal
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from releases import CATALOG, a_manifest

from build_jobs.index import families_of, keyword_documents
from fakes.storage import gcs_server
from shared.bucket.base import Bucket, open_bucket
from shared.contracts.leaf import Leaf, Source
from shared.contracts.release import Embedder
from shared.index.lexical import write_lexical
from shared.index.records import write_records
from shared.index.scan import write_vectors
from shared.release import writer
from shared.settings import Settings

ROWS = 118_703
DIMENSION = 1_536
PUBLISHER = "example.org"


def publish(bucket: Bucket, rows: int, dimension: int) -> str:
    """Write such a release and make it current."""
    leaves = [a_leaf(row) for row in range(rows)]
    embedder = Embedder(provider="openrouter", model="openai/text-embedding-3-small", dimension=dimension)
    manifest = a_manifest(embedder=embedder, rows=rows, families=families_of(leaves))
    with tempfile.TemporaryDirectory() as folder:
        release_id = writer.write(bucket, manifest, write_files(Path(folder), leaves, dimension))
    writer.switch(bucket, CATALOG, release_id)
    return release_id


def write_files(folder: Path, leaves: Sequence[Leaf], dimension: int) -> dict[str, Path]:
    """The files of the release: role → path."""
    source = Source("made", "made", PUBLISHER, f"urn:air:{PUBLISHER}:okf:made", None, {}, "")
    vectors, records = folder / "vectors.npy", folder / "records.db"
    write_vectors(vectors, unit_rows(len(leaves), dimension))
    write_records(records, leaves, [source], [""] * len(leaves))
    return {"vectors": vectors, "records": records, **write_lexical(folder, keyword_documents(leaves))}


def unit_rows(rows: int, dimension: int) -> np.ndarray:
    """Random float16 rows of length one."""
    made = np.empty((rows, dimension), dtype=np.float16)
    random = np.random.default_rng(0)
    for start in range(0, rows, 4_096):
        block = random.standard_normal((min(4_096, rows - start), dimension), dtype=np.float32)
        made[start : start + len(block)] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return made


def a_leaf(row: int) -> Leaf:
    """A table document with nothing but a title and a code."""
    code = f"V{row:06}"
    return Leaf(
        path=f"sources/made/{code}.md", urn=f"urn:air:{PUBLISHER}:okf:made.{code}", family="made", source="made",
        publisher=PUBLISHER, code=code, title=f"Quantity {row}", description="", queries=(), tags=(), scope="",
        front_matter={"variable": code}, body="",
    )  # fmt: skip


def main() -> None:
    """Publish, say where, wait."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--dimension", type=int, default=DIMENSION)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with gcs_server() as address:
        publish(open_bucket("gs://contract", Settings(storage_emulator_host=address)), args.rows, args.dimension)
        print(f"ready STORAGE_EMULATOR_HOST={address} BUCKET_URL=gs://contract", flush=True)
        signal.pause()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
