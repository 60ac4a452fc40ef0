"""The tables as a function holds them: loaded after the fork, swapped when a new release is published."""

from __future__ import annotations

from functools import partial

from shared.edge.process import Hosted, memory_allows
from shared.models.choice import judge_provider
from shared.models.gateway import Gateway
from shared.settings import Settings
from shared.tables.catalogs import Need, Tables, mounts, open_tables


def host_tables(settings: Settings, need: Need) -> Hosted[Tables]:
    """What `need` takes of every mounted catalog. Starts nothing; raises SettingsError where settings are wrong.

    A second release is opened beside the first only where memory has room for its files, since a cache on
    Cloud Run's /tmp is memory; until then /health says `release_pending`.
    """
    mounts(settings)
    gateway = None
    if need == "search":
        judge_provider(settings)
        gateway = Gateway(settings)

    def fits() -> bool:
        with hosted.borrow() as tables:
            return memory_allows(tables.bytes)

    hosted = Hosted(
        partial(open_tables, settings, need, gateway=gateway),
        is_stale=Tables.stale,
        close=Tables.retire,
        refresh_s=settings.refresh_s,
        needs_loop=need == "search",
        fits=fits,
    )
    return hosted
