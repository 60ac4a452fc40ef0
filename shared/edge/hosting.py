"""Releases as a function holds them: loaded after the fork, swapped when a new one is published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from shared.bucket.base import Bucket, open_bucket
from shared.edge.memory import memory_allows
from shared.edge.process import Hosted, ProcessLoop
from shared.errors import SettingsError
from shared.settings import Settings
from shared.tables.catalogs import mounts
from shared.tables.tables import Tables, open_tables

if TYPE_CHECKING:
    from shared.models.choice import Models
    from shared.release.reader import Progress
    from shared.sites.kinds import Kind
    from shared.sites.site import Site


M = TypeVar("M", bound="Mounted")


@dataclass(frozen=True, slots=True)
class Engine:
    """What all that asks models in a process has in common: the models, and the loop their connections hang on."""

    models: Models
    loop: ProcessLoop


def engine(settings: Settings) -> Engine:
    """An engine of its own. Starts nothing; raises SettingsError where the settings name a model without its key."""
    from shared.models.choice import Models  # what only looks up needs no models

    return Engine(Models(settings), ProcessLoop())


@dataclass(frozen=True, slots=True)
class Searched:
    """Tables to be searched and the models they are searched with: one for all functions of a process that search."""

    hosted: Hosted[Tables]
    models: Models

    def describe(self, tables: Tables) -> dict[str, Any]:
        """What /health shows of them."""
        return {**tables.describe(), "models": self.models.describe()}


class Mounted(Protocol):
    """What is opened from the mounted catalogs, can be out of date, and takes memory."""

    def stale(self) -> bool: ...

    def retire(self) -> None: ...

    @property
    def bytes(self) -> int: ...


def host_tables(settings: Settings) -> Hosted[Tables]:
    """The mounted catalogs for exact lookups. Starts nothing; raises SettingsError where settings are wrong."""
    return host(partial(open_tables, settings, None), settings)


def host_searched(settings: Settings, shared: Engine | None = None) -> Searched:
    """The mounted catalogs to be searched, with this engine or one of their own.

    Starts nothing; raises SettingsError where settings are wrong.
    """
    own = shared or engine(settings)
    return Searched(host(_searcher(own, settings), settings, own.loop), own.models)


def host_site(settings: Settings, kind: Kind, shared: Engine) -> Hosted[Site]:
    """A site's current release, to be asked with this engine. Starts nothing; raises SettingsError without a bucket."""
    bucket_of(settings)
    return _hosted(_asker(shared, settings, kind), settings, shared.loop)


def site_engine(settings: Settings) -> Engine:
    """An engine for sites, which serve without a chat model where the one that is set lacks its key, and say so."""
    from shared.models.choice import Models

    return Engine(Models(settings, may_lack_a_key=True), ProcessLoop())


def host(open_: Callable[[Progress], M], settings: Settings, loop: ProcessLoop | None = None) -> Hosted[M]:
    """What `open_` makes of the mounted catalogs. Starts nothing; raises SettingsError where settings are wrong."""
    mounts(settings)
    return _hosted(open_, settings, loop)


def bucket_of(settings: Settings) -> Bucket:
    """The bucket that BUCKET_URL names. Raises SettingsError."""
    if not settings.bucket_url:
        raise SettingsError("BUCKET_URL is not set: expected the URL under which releases lie")
    return open_bucket(settings.bucket_url, settings)


def _hosted(open_: Callable[[Progress], M], settings: Settings, loop: ProcessLoop | None) -> Hosted[M]:
    """A second release is opened beside the first only where memory has room for its files, since a cache on
    Cloud Run's /tmp is memory; until then /health says `release_pending`.
    """

    def fits() -> bool:
        with hosted.borrow() as mounted:
            return memory_allows(mounted.bytes)

    hosted = Hosted(
        open_,
        is_stale=lambda mounted: mounted.stale(),
        close=lambda mounted: mounted.retire(),
        refresh_s=settings.refresh_s,
        loop=loop,
        fits=fits,
    )
    return hosted


def _searcher(engine: Engine, settings: Settings) -> Callable[[Progress], Tables]:
    """Opens tables to be searched, in the order that has them soonest."""

    def opener(progress: Progress) -> Tables:
        engine.models.begin()
        # A thread reads the model's weights, 0.1 s without the interpreter's lock; meanwhile comes what needs it.
        import shared.tables.search  # noqa: F401

        _ = engine.loop.portal
        return open_tables(settings, engine.models, progress)

    return opener


def _asker(engine: Engine, settings: Settings, kind: Kind) -> Callable[[Progress], Site]:
    """Opens a site, in the order that has it soonest."""

    def opener(progress: Progress) -> Site:
        engine.models.begin()
        import shared.edge.streaming
        import shared.sites.answer  # noqa: F401 - beside the weights being read
        from shared.sites.site import open_site

        _ = engine.loop.portal
        return open_site(settings, kind, engine.models, progress)

    return opener
