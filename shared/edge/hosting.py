"""Releases as a function holds them: loaded after the fork, swapped when a new one is published; and sites so held.

Tables are held in shared/edge/hosting_tables.py: a site that imported theirs would start 24 ms later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

from shared.bucket.base import bucket_of
from shared.edge.memory import memory_allows
from shared.edge.process import Hosted, ProcessLoop
from shared.settings import Settings
from shared.sites.store_choice import Stores, store_of
from shared.timed import timed

if TYPE_CHECKING:
    from shared.models.choice import Models
    from shared.release.reader import Progress
    from shared.sites.site import Site


M = TypeVar("M", bound="Mounted")


class Engine(Struct, frozen=True):
    """What all that asks models in a process has in common: the models, the stores, and the loop their connections
    hang on."""

    models: Models
    loop: ProcessLoop
    stores: Stores


def engine(settings: Settings) -> Engine:
    """An engine of its own. Starts nothing; raises SettingsError where the settings name a model without its key."""
    from shared.models.choice import Models  # what only looks up needs no models

    return Engine(Models(settings), ProcessLoop(), Stores(settings))


class Mounted(Protocol):
    """What is opened from the mounted catalogs, can be out of date, and takes memory."""

    def stale(self) -> bool: ...

    def retire(self) -> None: ...

    @property
    def bytes(self) -> int: ...


def host_site(settings: Settings, kind: str, shared: Engine) -> Hosted[Site]:
    """The current release of this kind's site, to be asked with this engine.

    Raises SettingsError without a bucket, or where its store cannot be reached with these settings.
    """
    bucket_of(settings)
    store_of(settings, kind)
    return hosted_by(_site_opener(shared, settings, kind), settings, shared.loop)


def site_engine(settings: Settings) -> Engine:
    """An engine for sites, which serve without a chat model where the one that is set lacks its key, and say so."""
    from shared.models.choice import Models

    return Engine(Models(settings, may_lack_a_key=True), ProcessLoop(), Stores(settings))


def hosted_by(open_: Callable[[Progress], M], settings: Settings, loop: ProcessLoop | None) -> Hosted[M]:
    """What `open_` makes of the current release, and then of each newer one.

    A second release is opened beside the first only where memory has room for its files, since a cache on
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


def _site_opener(engine: Engine, settings: Settings, kind: str) -> Callable[[Progress], Site]:
    """Opens a site, in the order that has it soonest."""

    def opener(progress: Progress) -> Site:
        from shared.sites.fetching import fetching

        with fetching(settings, kind, engine.models, progress, engine.stores) as coming:
            # Beside it comes what the first answer needs.
            with timed("import"):
                engine.models.begin()
                engine.models.warm(engine.loop.portal)
                import shared.edge.streaming
                import shared.models.ranking_models
                import shared.sites.answer
                import shared.sites.request
                import shared.sites.request54  # noqa: F401
                from shared.sites.kinds import KINDS
                from shared.sites.site import opened

            return opened(coming, settings, KINDS[kind])

    return opener
