"""How much is asked, what it comes to and costs; and what sample questions got from what is served: data only."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from shared.contracts.text import whole_number
from shared.edge.app import App
from shared.edge.call import Call
from shared.edge.process import Hosted
from shared.edge.route import Routes
from shared.edge.stats.recorder import Recorder
from shared.edge.stats.sums import DAYS_SHOWN, Sums
from shared.settings import Settings
from shared.tables.status import Ledgers


class Told(Struct, frozen=True):
    """What this function tells of: searches that were counted, and the ledgers of the current releases."""

    sums: Sums
    ledgers: Ledgers


def create(settings: Settings, recorder: Recorder | None = None) -> App[Told]:
    """GET /stats.json and /status.json. `recorder` is what counts in this process, where anything else in it does.

    Raises SettingsError where the settings alone are wrong; starts nothing.
    """
    counted = recorder or Recorder(settings)
    ledgers = Ledgers(settings)
    hosted = Hosted(
        lambda _: Told(Sums(settings, counted), ledgers),
        is_stale=lambda _: False,
        close=lambda _: None,
        refresh_s=settings.refresh_s,
    )
    routes: Routes[Told] = {"/stats.json": {"GET": get_stats}, "/status.json": {"GET": get_status}}
    return App(hosted, routes, describe=lambda told: {"scope": told.sums.scope}, settings=settings, counted="lookups")


def get_stats(call: Call, told: Told) -> dict[str, Any]:
    """The last `days` UTC days, of all instances where STATS_URL is set."""
    default, most = DAYS_SHOWN
    asked = call.query.text("days")
    return told.sums.shown(default if asked is None else max(1, min(most, whole_number(asked, "days"))))


def get_status(_: Call, told: Told) -> dict[str, Any]:
    """What sample questions got from each mounted catalog's current release before it was published."""
    return told.ledgers.shown()
