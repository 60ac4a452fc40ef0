"""The tables as a function holds them: loaded after the fork, swapped when a new release is published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from shared.edge.memory import memory_allows
from shared.edge.process import Hosted
from shared.settings import Settings
from shared.tables.catalogs import mounts
from shared.tables.tables import Tables, open_tables

if TYPE_CHECKING:
    from shared.models.choice import Models
    from shared.release.reader import Progress


M = TypeVar("M", bound="Mounted")


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


def host_searched(settings: Settings) -> Searched:
    """The mounted catalogs to be searched. Starts nothing; raises SettingsError where settings are wrong."""
    from shared.models.choice import Models  # what only looks up needs no models

    models = Models(settings)
    hosted = host(_searcher(models, settings, lambda: hosted.portal), settings, needs_loop=True)
    return Searched(hosted, models)


def host(open_: Callable[[Progress], M], settings: Settings, *, needs_loop: bool = False) -> Hosted[M]:
    """What `open_` makes of the mounted catalogs. Starts nothing; raises SettingsError where settings are wrong.

    A second release is opened beside the first only where memory has room for its files, since a cache on
    Cloud Run's /tmp is memory; until then /health says `release_pending`.
    """
    mounts(settings)

    def fits() -> bool:
        with hosted.borrow() as mounted:
            return memory_allows(mounted.bytes)

    hosted = Hosted(
        open_,
        is_stale=lambda mounted: mounted.stale(),
        close=lambda mounted: mounted.retire(),
        refresh_s=settings.refresh_s,
        needs_loop=needs_loop,
        fits=fits,
    )
    return hosted


def _searcher(models: Models, settings: Settings, start_loop: Callable[[], object]) -> Callable[[Progress], Tables]:
    """Opens tables to be searched, in the order that has them soonest."""

    def opener(progress: Progress) -> Tables:
        models.begin()
        # A thread reads the model's weights, 0.1 s without the interpreter's lock; meanwhile comes what needs it.
        import shared.tables.search  # noqa: F401

        start_loop()
        return open_tables(settings, models, progress)

    return opener
