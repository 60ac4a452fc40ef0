"""The tables a function serves: every mounted catalog, opened together and checked, and what they are searched with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from shared.release.reader import Progress, current, evict
from shared.settings import Settings
from shared.tables.catalogs import (
    EXACT_ROLES,
    SEARCH_ROLES,
    Catalog,
    Hit,
    combine,
    fetch_release,
    mounts,
    open_catalogs,
)
from shared.tables.entry import entry
from shared.timed import carried, timed

if TYPE_CHECKING:
    from shared.models.choice import Models
    from shared.tables.legs import Legs


class Tables(Struct, frozen=True):
    """Everything a table function answers from. `legs` is None where only exact lookups are served."""

    settings: Settings
    catalogs: tuple[Catalog, ...]
    legs: Legs | None

    @property
    def rows(self) -> int:
        """Documents of all catalogs together."""
        return sum(catalog.rows for catalog in self.catalogs)

    def hits(self, rows: Iterable[int]) -> dict[int, Hit]:
        """The leaves of these row numbers."""
        wanted, found = set(rows), {}
        with timed("records"):
            for catalog in self.catalogs:
                own = [row - catalog.first_row for row in wanted if 0 <= row - catalog.first_row < catalog.rows]
                for row, leaf in catalog.records.leaves(own).items():
                    found[catalog.first_row + row] = Hit(catalog, leaf)
        return found

    def entry(self, hit: Hit) -> dict[str, Any]:
        """The leaf as it goes over the wire."""
        return entry(hit.leaf, hit.source, prefix=hit.catalog.prefix, namespace=self.settings.okf_namespace)

    @property
    def searched_with(self) -> Legs:
        """The legs of tables that were opened to be searched."""
        if self.legs is None:
            raise RuntimeError("these tables were opened for exact lookups only")
        return self.legs

    def families(self) -> dict[str, list[str]]:
        """Family → its source directories over all catalogs, both sorted."""
        found: dict[str, set[str]] = {}
        for catalog in self.catalogs:
            for family in catalog.release.manifest.families:
                found.setdefault(family.family, set()).update(family.sources)
        return {family: sorted(found[family]) for family in sorted(found)}

    def stale(self) -> bool:
        """Whether a catalog's pointer has moved since it was opened."""
        return any(current(c.mount.bucket, c.name).release != c.release.id for c in self.catalogs)

    def describe(self) -> dict[str, Any]:
        """What /health says of the data."""
        return {
            "release": self.catalogs[0].release.id,
            "releases": {catalog.name: catalog.release.id for catalog in self.catalogs},
            "entries": self.rows,
            "dimensions": self.catalogs[0].release.manifest.embedder.dimension,
            "catalogs": {catalog.name: catalog.rows for catalog in self.catalogs},
        }

    def close(self) -> None:
        """Give back connections, threads and the hold on the cached files."""
        for catalog in self.catalogs:
            catalog.records.close()
            catalog.release.close()
        if self.legs:
            self.legs.close()

    def retire(self) -> None:
        """Close, and clear the cache of what no process holds: another release took this one's place."""
        self.close()
        evict(Path(self.settings.cache_dir))

    @property
    def bytes(self) -> int:
        """What a release beside this one would need: as much as this one."""
        return sum(path.stat().st_size for catalog in self.catalogs for path in catalog.release.paths.values())


def open_tables(
    settings: Settings,
    models: Models | None = None,
    progress: Progress | None = None,
    roles: Sequence[str] = EXACT_ROLES,
) -> Tables:
    """Fetch, check and open every catalog the settings mount: to be searched with these models, or without any for
    exact lookups, which need neither vectors nor postings, or for what needs the files of these `roles`. The caller
    closes the models.

    Raises ReleaseError for what lies in the bucket, ModelUnavailable for an embedder that cannot be had.
    """
    mounted = mounts(settings)
    roles = SEARCH_ROLES if models else roles
    with ThreadPoolExecutor(len(mounted)) as pool:
        fetched = carried(lambda mount: fetch_release(mount, settings, roles, progress))
        releases = list(pool.map(fetched, mounted))
    with ExitStack() as opened:
        with timed("map"):
            catalogs = open_catalogs(mounted, releases, opened)
            combine(catalogs)
        tables = Tables(settings, catalogs, _legs(settings, catalogs, models))
        opened.pop_all()  # what is served stays open; what was refused was closed on the way out
    return tables


def _legs(settings: Settings, catalogs: Sequence[Catalog], models: Models | None) -> Legs | None:
    if models is None:
        return None
    with timed("import"):
        from shared.tables.legs import open_legs

    return open_legs(settings, catalogs, models)
