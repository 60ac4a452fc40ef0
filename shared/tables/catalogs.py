"""The catalogs a function serves: the built-in one and those mounted beside it, opened together and checked.

Every row of every catalog has one number, counted through the catalogs in their order; a source family may
have a slice in several of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.bucket.base import Bucket, open_bucket
from shared.contracts.leaf import Leaf, Source
from shared.errors import CatalogConflict, SettingsError
from shared.index.records import Records
from shared.release.manifest import pointer_key
from shared.release.reader import Progress, Release, current, evict, fetch
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.models.choice import Models
    from shared.tables.legs import Legs

BUILT_IN = "built-in"
_EXACT_ROLES = ("records",)
_SEARCH_ROLES = ("records", "vectors", "lexical.*")


@dataclass(frozen=True, slots=True)
class Mount:
    """Where a catalog lies."""

    name: str
    bucket: Bucket


@dataclass(frozen=True, slots=True)
class Catalog:
    """One opened catalog. Its row i has number `first_row + i` among all rows."""

    mount: Mount
    release: Release
    records: Records
    sources: Mapping[str, Source]
    first_row: int

    @property
    def name(self) -> str:
        """The catalog's name, as `catalogs` in a request spells it."""
        return self.mount.name

    @property
    def prefix(self) -> str:
        """What its document paths start with on the wire."""
        return "" if self.name == BUILT_IN else f"{self.name}:"

    @property
    def rows(self) -> int:
        """Its documents."""
        return self.release.manifest.rows


@dataclass(frozen=True, slots=True)
class Hit:
    """A leaf with the catalog it lies in."""

    catalog: Catalog
    leaf: Leaf

    @property
    def source(self) -> Source:
        """The source the leaf inherits from."""
        return self.catalog.sources[self.leaf.source]


@dataclass(frozen=True, slots=True)
class Tables:
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
        for catalog in self.catalogs:
            own = [row - catalog.first_row for row in wanted if 0 <= row - catalog.first_row < catalog.rows]
            for row, leaf in catalog.records.leaves(own).items():
                found[catalog.first_row + row] = Hit(catalog, leaf)
        return found

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


def open_tables(settings: Settings, models: Models | None = None, progress: Progress | None = None) -> Tables:
    """Fetch, check and open every catalog the settings mount: to be searched with these models, or without any for
    exact lookups, which need neither vectors nor postings. The caller closes the models.

    Raises ReleaseError for what lies in the bucket, ModelUnavailable for an embedder that cannot be had.
    """
    mounted = mounts(settings)
    roles = _SEARCH_ROLES if models else _EXACT_ROLES
    with ThreadPoolExecutor(len(mounted)) as pool:
        releases = list(pool.map(lambda mount: _fetch(mount, settings, roles, progress), mounted))
    with ExitStack() as opened:
        catalogs = _opened(mounted, releases, opened)
        combine(catalogs)
        tables = Tables(settings, catalogs, _legs(settings, catalogs, models))
        opened.pop_all()  # what is served stays open; what was refused was closed on the way out
    return tables


def _legs(settings: Settings, catalogs: Sequence[Catalog], models: Models | None) -> Legs | None:
    if models is None:
        return None
    from shared.tables.legs import open_legs

    return open_legs(settings, catalogs, models)


def mounts(settings: Settings) -> tuple[Mount, ...]:
    """The catalogs BUCKET_URL and ARD_CATALOGS name, the built-in one first.

    Raises SettingsError, also for a name that could be no catalog's.
    """
    if not settings.bucket_url:
        raise SettingsError(
            "BUCKET_URL is not set: expected the URL under which releases lie, such as file:///srv/askbucket"
        )
    names = {BUILT_IN: settings.bucket_url}
    for item in filter(None, (part.strip() for part in settings.ard_catalogs.split(","))):
        name, _, url = item.partition("=")
        if name in names:
            raise SettingsError(f"ARD_CATALOGS names {name!r} twice")
        pointer_key(name)
        names[name] = url or settings.bucket_url
    return tuple(Mount(name, _bucket(name, url, settings)) for name, url in names.items())


def _bucket(name: str, url: str, settings: Settings) -> Bucket:
    try:
        return open_bucket(url, settings)
    except SettingsError as error:
        raise SettingsError(f"{'BUCKET_URL' if name == BUILT_IN else 'ARD_CATALOGS'}: {error.message}") from error


def combine(catalogs: Sequence[Catalog]) -> None:
    """Check that catalogs can be searched as one. Raises CatalogConflict naming both and what differs."""
    for position, later in enumerate(catalogs):
        for earlier in catalogs[:position]:
            _same_embedder(earlier, later)
            _no_shared_source(earlier, later)
            _no_shared_urn(earlier, later)


def _fetch(mount: Mount, settings: Settings, roles: Sequence[str], progress: Progress | None) -> Release:
    return fetch(mount.bucket, mount.name, roles, Path(settings.cache_dir), progress, kind="tables")


def _opened(mounted: Sequence[Mount], releases: Sequence[Release], opened: ExitStack) -> tuple[Catalog, ...]:
    catalogs: list[Catalog] = []
    for release in releases:
        opened.callback(release.close)
    for mount, release in zip(mounted, releases, strict=True):
        records = opened.enter_context(closing(Records(release.paths["records"])))
        records.check(release.manifest.rows)
        first = catalogs[-1].first_row + catalogs[-1].rows if catalogs else 0
        catalogs.append(Catalog(mount, release, records, records.sources(), first))
    return tuple(catalogs)


def _same_embedder(earlier: Catalog, later: Catalog) -> None:
    one, other = earlier.release.manifest.embedder, later.release.manifest.embedder
    if one != other:
        raise CatalogConflict(
            f"catalogs {earlier.name!r} and {later.name!r} were embedded differently:"
            f" {one.model} ({one.dimension}) and {other.model} ({other.dimension})"
        )


def _no_shared_source(earlier: Catalog, later: Catalog) -> None:
    """Two catalogs may share a source directory only in a family the later one says it extends."""
    extends = later.release.manifest.extends
    for name in sorted(_shared(earlier, later)):
        if later.sources[name].family not in extends:
            raise CatalogConflict(
                f"catalogs {earlier.name!r} and {later.name!r} both hold source {name!r};"
                f" the later manifest extends {sorted(extends) or 'nothing'}"
            )


def _no_shared_urn(earlier: Catalog, later: Catalog) -> None:
    shared = sorted(_shared(earlier, later))
    twice = earlier.records.urns(shared) & later.records.urns(shared) if shared else set()
    if twice:
        raise CatalogConflict(
            f"catalogs {earlier.name!r} and {later.name!r} both hold {min(twice)} ({len(twice)} in all)"
        )


def _shared(earlier: Catalog, later: Catalog) -> set[str]:
    return set(earlier.sources) & set(later.sources)
