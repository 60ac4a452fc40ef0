"""What a bucket holds: what can be asked of it, and which answers are real."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from shared.bucket.base import Bucket
from shared.contracts.items import Item
from shared.contracts.leaf import Leaf
from shared.errors import BuildError
from shared.index.items import Items
from shared.index.records import Records
from shared.release import writer
from shared.release.reader import fetch
from shared.settings import Settings
from shared.sites.kinds import KINDS
from shared.tables.catalogs import BUILT_IN


@dataclass(frozen=True, slots=True)
class Known:
    """Every table and item of a bucket.

    `urns` are the identifiers of tables and of their sources; `urls` those of each site's items, by kind.
    """

    leaves: tuple[Leaf, ...]
    urns: frozenset[str]
    items: Mapping[str, tuple[Item, ...]]
    urls: Mapping[str, frozenset[str]]


def read(bucket: Bucket, settings: Settings) -> Known:
    """Read all of it. Raises BuildError for a bucket without tables, or with tables that nobody asks for."""
    found = writer.catalogs(bucket)
    if BUILT_IN not in found:
        raise BuildError(f"a load needs the catalog {BUILT_IN!r}; the bucket has {', '.join(found) or 'none'}")
    leaves, urns = _tables(bucket, settings)
    if not any(leaf.queries for leaf in leaves):
        raise BuildError("a load needs tables whose documents have questions")
    items = {kind: _items(bucket, kind, settings) for kind in KINDS if kind in found}
    urls = {kind: frozenset(item.url for item in every) for kind, every in items.items()}
    return Known(leaves, urns, items, urls)


def _tables(bucket: Bucket, settings: Settings) -> tuple[tuple[Leaf, ...], frozenset[str]]:
    with (
        closing(fetch(bucket, BUILT_IN, ("records",), Path(settings.cache_dir), kind="tables")) as release,
        closing(Records(release.paths["records"])) as records,
    ):
        leaves = records.leaves(range(release.manifest.rows))
        urns = frozenset(leaf.urn for leaf in leaves.values()) | {each.urn for each in records.sources().values()}
    return tuple(leaves[row] for row in sorted(leaves)), urns


def _items(bucket: Bucket, kind: str, settings: Settings) -> tuple[Item, ...]:
    with (
        closing(fetch(bucket, kind, ("records",), Path(settings.cache_dir), kind="items")) as release,
        closing(Items(release.paths["records"])) as records,
    ):
        items = records.items(range(release.manifest.rows))
    return tuple(items[row] for row in sorted(items))
