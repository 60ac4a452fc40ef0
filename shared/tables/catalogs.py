"""The catalogs a function serves: the built-in one and those mounted beside it, opened together and checked.

Every row of every catalog has one number, counted through the catalogs in their order; a source family may
have a slice in several of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from shared.bucket.base import Bucket, bucket_of, opened_as
from shared.contracts.leaf import Leaf, Source
from shared.contracts.release import Manifest
from shared.errors import CatalogConflict, ReleaseIncompatible, SettingsError
from shared.index.records import Records
from shared.release.manifest import pointer_key
from shared.release.reader import Progress, Release, fetch
from shared.settings import Settings

if TYPE_CHECKING:
    pass

BUILT_IN = "built-in"
EXACT_ROLES = ("records",)
SEARCH_ROLES = ("records", "vectors", "lexical.*")
# Releases that were built before documents were part of one can be browsed all the same.
BROWSE_ROLES = ("records", "lexical.*", "documents?")


class Mount(Struct, frozen=True):
    """Where a catalog lies."""

    name: str
    bucket: Bucket


class Catalog(Struct, frozen=True):
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


class Hit(Struct, frozen=True):
    """A leaf with the catalog it lies in."""

    catalog: Catalog
    leaf: Leaf

    @property
    def source(self) -> Source:
        """The source the leaf inherits from."""
        return self.catalog.sources[self.leaf.source]


def mounts(settings: Settings) -> tuple[Mount, ...]:
    """The catalogs BUCKET_URL and ARD_CATALOGS name, the built-in one first.

    Raises SettingsError, also for a name that could be no catalog's.
    """
    found = {BUILT_IN: bucket_of(settings)}
    for item in filter(None, (part.strip() for part in settings.ard_catalogs.split(","))):
        name, _, url = item.partition("=")
        if name in found:
            raise SettingsError(f"ARD_CATALOGS names {name!r} twice")
        pointer_key(name)
        found[name] = opened_as("ARD_CATALOGS", url or settings.bucket_url, settings)
    return tuple(Mount(name, bucket) for name, bucket in found.items())


def combine(catalogs: Sequence[Catalog]) -> None:
    """Check that catalogs can be searched as one. Raises CatalogConflict naming both and what differs."""
    for position, later in enumerate(catalogs):
        for earlier in catalogs[:position]:
            _same_embedder(earlier, later)
            _no_shared_source(earlier, later)
            _no_shared_urn(earlier, later)


def fetch_release(mount: Mount, settings: Settings, roles: Sequence[str], progress: Progress | None) -> Release:
    return fetch(mount.bucket, mount.name, roles, Path(settings.cache_dir), progress, kind="tables")


def open_catalogs(mounted: Sequence[Mount], releases: Sequence[Release], opened: ExitStack) -> tuple[Catalog, ...]:
    catalogs: list[Catalog] = []
    for release in releases:
        opened.callback(release.close)
    for mount, release in zip(mounted, releases, strict=True):
        records = opened.enter_context(closing(Records(release.paths["records"])))
        records.check(release.manifest.rows)
        _check_sources(release.manifest, records.sources())
        first = catalogs[-1].first_row + catalogs[-1].rows if catalogs else 0
        catalogs.append(Catalog(mount, release, records, records.sources(), first))
    return tuple(catalogs)


def _check_sources(manifest: Manifest, known: Mapping[str, Source]) -> None:
    """Whether the records have every source that the manifest counts, in its family. Raises ReleaseIncompatible."""
    for family in manifest.families:
        for name in family.sources:
            found = known[name].family if name in known else "no such source"
            if found != family.family:
                raise ReleaseIncompatible(
                    f"records: source {name!r}: expected family {family.family!r}, found {found!r}"
                )


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
