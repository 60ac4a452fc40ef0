"""The tables as a function holds them: loaded after the fork, swapped when a new release is published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from shared.edge.process import Hosted, memory_allows
from shared.settings import Settings
from shared.tables.catalogs import Need, Tables, mounts, open_tables

if TYPE_CHECKING:
    from shared.release.reader import Progress


def host_tables(settings: Settings, need: Need) -> Hosted[Tables]:
    """What `need` takes of every mounted catalog. Starts nothing; raises SettingsError where settings are wrong.

    A second release is opened beside the first only where memory has room for its files, since a cache on
    Cloud Run's /tmp is memory; until then /health says `release_pending`.
    """
    mounts(settings)

    def fits() -> bool:
        with hosted.borrow() as tables:
            return memory_allows(tables.bytes)

    hosted = Hosted(
        _searcher(settings, lambda: hosted.portal) if need == "search" else partial(open_tables, settings, need),
        is_stale=Tables.stale,
        close=Tables.retire,
        refresh_s=settings.refresh_s,
        needs_loop=need == "search",
        fits=fits,
    )
    return hosted


def _searcher(settings: Settings, start_loop: Callable[[], object]) -> Callable[[Progress], Tables]:
    """Opens tables to be searched, with one way to the models for all the releases to come."""
    from shared.models.choice import judge_provider, likely_embedder
    from shared.models.gateway import Gateway

    judge_provider(settings)
    gateway = Gateway(settings)

    def opener(progress: Progress) -> Tables:
        early = likely_embedder(settings)
        # A thread reads the model's weights, 0.1 s without the interpreter's lock; meanwhile comes what needs it.
        import shared.tables.search  # noqa: F401

        start_loop()
        return open_tables(settings, "search", progress, gateway, early)

    return opener
