"""The tables as a function holds them: loaded after the fork, swapped when a new release is published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from shared.edge.process import Hosted, memory_allows
from shared.settings import Settings
from shared.tables.catalogs import mounts
from shared.tables.tables import Tables, open_tables

if TYPE_CHECKING:
    from shared.models.choice import Models
    from shared.release.reader import Progress


def host_tables(settings: Settings, models: Models | None = None) -> Hosted[Tables]:
    """The mounted catalogs, to be searched with these models or, without any, for exact lookups.

    Starts nothing; raises SettingsError where settings are wrong.

    A second release is opened beside the first only where memory has room for its files, since a cache on
    Cloud Run's /tmp is memory; until then /health says `release_pending`.
    """
    mounts(settings)

    def fits() -> bool:
        with hosted.borrow() as tables:
            return memory_allows(tables.bytes)

    hosted = Hosted(
        _searcher(models, settings, lambda: hosted.portal) if models else partial(open_tables, settings, None),
        is_stale=Tables.stale,
        close=Tables.retire,
        refresh_s=settings.refresh_s,
        needs_loop=models is not None,
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
