"""A release as the plain way keeps it: float16 vectors to be widened, and one JSON file of every entry."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from shared.bucket.base import open_bucket
from shared.contracts.release import LEXICAL_ROLES
from shared.errors import BuildError
from shared.index.records import Records
from shared.index.scan import write_vectors
from shared.release.reader import Release, fetch
from shared.settings import Settings
from shared.tables.cards import MAX_CARD_QUERIES, geography
from shared.tables.catalogs import BUILT_IN
from shared.tables.entry import entry
from shared.tables.legs import KEYWORD_WEIGHTS

VECTORS, META, POSTINGS, MANIFEST = "vectors.npy", "meta.json", "postings.npz", "manifest.json"


def export(settings: Settings, folder: Path) -> None:
    """Write the built-in tables of the settings' bucket. Raises BuildError where OpenRouter's are not its vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    source = open_bucket(settings.bucket_url, settings)
    with closing(fetch(source, BUILT_IN, None, Path(settings.cache_dir), kind="tables")) as release:
        embedder = release.manifest.embedder
        if embedder.provider != "openrouter":
            raise BuildError("the plain way asks OpenRouter for its vectors; this release was embedded otherwise")
        slices = {each.family: [each.first_row, each.first_row + each.rows] for each in release.manifest.families}
        _write(folder / MANIFEST, {"model": embedder.model, "families": slices})
        write_vectors(folder / VECTORS, np.load(release.paths["vectors"], mmap_mode="r"))
        _write(folder / META, _entries(release, settings))
        np.savez(folder / POSTINGS, **_postings(release))


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def _entries(release: Release, settings: Settings) -> list[dict[str, Any]]:
    """One a row: what is shown of it, and what a judge reads of it."""
    with closing(Records(release.paths["records"])) as records:
        leaves, sources = records.leaves(range(release.manifest.rows)), records.sources()
    return [
        {
            "family": leaf.family,
            "title": leaf.title,
            "scope": leaf.scope,
            "geography": geography(leaf.tags),
            "queries": list(leaf.queries[:MAX_CARD_QUERIES]),
            "entry": entry(leaf, sources[leaf.source], prefix="", namespace=settings.okf_namespace),
        }
        for _, leaf in sorted(leaves.items())
    ]


def _postings(release: Release) -> dict[str, Any]:
    """Each token's rows and what it counts in each, BM25's saturation worked out beforehand: only idf is missing."""
    read = {role.partition(".")[2]: np.load(release.paths[role]) for role in LEXICAL_ROLES}
    lengths = read["lengths"].astype(np.float32)
    average = np.maximum(lengths.mean(axis=0, dtype=np.float64), 1.0).astype(np.float32)
    weights, k1 = KEYWORD_WEIGHTS, KEYWORD_WEIGHTS.k1
    b = np.asarray(weights.b, np.float32)
    share = 1 - b + b * lengths / average
    rows = read["rows"]
    weighted = (read["frequencies"] * np.asarray(weights.fields, np.float32) / share[rows]).sum(axis=1)
    return {
        "terms": read["terms"],
        "term_ends": read["term_ends"],
        "ends": read["posting_ends"],
        "rows": rows,
        "weights": (weighted / (weighted + k1) * (k1 + 1)).astype(np.float32),
    }
