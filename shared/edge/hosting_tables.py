"""The mounted table catalogs as a function holds them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from shared.edge.hosting import Engine, M, engine, hosted_by
from shared.edge.process import Hosted, ProcessLoop
from shared.settings import Settings
from shared.tables.catalogs import mounts
from shared.tables.tables import Tables, open_tables
from shared.timed import carried, timed

if TYPE_CHECKING:
    from shared.models.choice import Models
    from shared.release.reader import Progress


class Searched(Struct, frozen=True):
    """Tables to be searched and the models they are searched with: one for all functions of a process that search."""

    hosted: Hosted[Tables]
    models: Models

    def describe(self, tables: Tables) -> dict[str, Any]:
        """What /health shows of them."""
        return {**tables.describe(), "models": self.models.describe()}


def host_tables(settings: Settings) -> Hosted[Tables]:
    """The mounted catalogs for exact lookups. Starts nothing; raises SettingsError where settings are wrong."""
    return host(partial(open_tables, settings, None), settings)


def host_searched(settings: Settings, shared: Engine | None = None) -> Searched:
    """The mounted catalogs to be searched, with this engine or one of their own.

    Starts nothing; raises SettingsError where settings are wrong.
    """
    own = shared or engine(settings)
    return Searched(host(_searcher(own, settings), settings, own.loop), own.models)


def host(open_: Callable[[Progress], M], settings: Settings, loop: ProcessLoop | None = None) -> Hosted[M]:
    """What `open_` makes of the mounted catalogs. Starts nothing; raises SettingsError where settings are wrong."""
    mounts(settings)
    return hosted_by(open_, settings, loop)


def _searcher(engine: Engine, settings: Settings) -> Callable[[Progress], Tables]:
    """Opens tables to be searched, in the order that has them soonest."""

    def opener(progress: Progress) -> Tables:
        with timed("import"):
            engine.models.begin()  # first: what waits longest of a small release is the model
        with ThreadPoolExecutor(1, thread_name_prefix="imports") as beside:
            imported = beside.submit(carried(_import_search), engine)
            tables = open_tables(settings, engine.models, progress)
        try:
            imported.result()
        except BaseException:
            tables.close()
            raise
        return tables

    return opener


def _import_search(engine: Engine) -> None:
    """What a search needs, while the release is fetched and checked: checksums, and a model's weights, which another
    thread reads, take no interpreter's lock.
    """
    with timed("import"):
        engine.models.warm(engine.loop.portal)
        import shared.tables.search  # noqa: F401
