"""How much is asked, what it comes to and what it costs, a day: data only."""

from __future__ import annotations

from typing import Any

from shared.contracts.text import whole_number
from shared.edge.app import App
from shared.edge.call import Call
from shared.edge.process import Hosted
from shared.edge.stats.recorder import Recorder
from shared.edge.stats.sums import DAYS_SHOWN, Sums
from shared.settings import Settings


def create(settings: Settings, recorder: Recorder | None = None) -> App[Sums]:
    """GET /stats.json. `recorder` is what counts in this process, where anything else in it does.

    Raises SettingsError where the settings alone are wrong; starts nothing.
    """
    counted = recorder or Recorder(settings)
    hosted = Hosted(
        lambda _: Sums(settings, counted), is_stale=lambda _: False, close=lambda _: None, refresh_s=settings.refresh_s
    )
    routes = {"/stats.json": {"GET": get_stats}}
    return App(hosted, routes, describe=lambda sums: {"scope": sums.scope}, settings=settings, counted="lookups")


def get_stats(call: Call, sums: Sums) -> dict[str, Any]:
    """The last `days` UTC days, of all instances where STATS_URL is set."""
    default, most = DAYS_SHOWN
    asked = call.query.text("days")
    return sums.shown(default if asked is None else max(1, min(most, whole_number(asked, "days"))))
