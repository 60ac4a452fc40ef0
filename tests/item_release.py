"""Small releases of films in a bucket, of vectors that are made up: written fast, current when a test says so."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace
from releases import a_manifest

from build_jobs.item_index import write_item_index
from shared.bucket.base import Bucket, open_bucket
from shared.contracts.items import Item
from shared.contracts.release import Embedder, Family
from shared.release import writer
from shared.settings import Settings
from shared.sites.fields import fields_of
from shared.sites.kinds import KINDS

DIMENSION = 16
KIND = "movies"


def films(count: int, first: int = 0, **more: Any) -> list[Item]:
    """So many films; every fifth has no description. `more` is in the record of each."""
    return [_film(number, more) for number in range(first, first + count)]


def _film(number: int, more: dict[str, Any]) -> Item:
    url, name = f"https://films.example/{number:05}", f"Film {number}"
    told = {} if number % 5 == 0 else {"description": f"What happens in film {number}."}
    record = {"@type": "Movie", "name": name, "url": url, "datePublished": str(1950 + number % 70), **told, **more}
    return Item(url, url, name, "films", record)


def changed(items: Sequence[Item], **more: Any) -> list[Item]:
    """The same items, whose records say something else as well."""
    return [replace(item, record={**item.record, **more}) for item in items]


def bucket_of(folder: Path) -> Bucket:
    """The bucket that releases below this folder lie in."""
    return open_bucket((folder / "bucket").as_uri(), Settings())


def write_release(folder: Path, items: Sequence[Item], *, age_s: float = 0.0, current: bool = True) -> str:
    """A release of these items, built so long ago; returns its id."""
    bucket = bucket_of(folder)
    built = datetime.now(UTC) - timedelta(seconds=age_s)
    manifest = a_manifest(
        kind="items",
        catalog=KIND,
        label="Films",
        created_at=built.strftime("%Y-%m-%dT%H:%M:%SZ"),
        embedder=Embedder(provider="openrouter", model="made-up", dimension=DIMENSION),
        rows=len(items),
        families=[Family(family="films", first_row=0, rows=len(items), sources={"films": len(items)})],
    )
    fields = [fields_of(item.record) for item in items]
    vectors = [np.array([vector(each[place]) for each in fields], np.float16) for place in range(3)]
    signatures = [tuple("s" if field else "" for field in each) for each in fields]
    files = write_item_index(folder / "files", items, KINDS[KIND], vectors, signatures)  # type: ignore[arg-type]
    release_id = writer.write(bucket, manifest, files)
    if current:
        writer.switch(bucket, KIND, release_id)
    return release_id


def vector(text: str) -> npt.NDArray[np.float32]:
    """A unit vector that depends on the text alone; zeros for none."""
    if not text:
        return np.zeros(DIMENSION, np.float32)
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    found = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return found / np.linalg.norm(found)
