"""Which published tables describe this quantity?"""

from __future__ import annotations

from typing import Any

from shared.edge.app import App
from shared.edge.call import Call
from shared.edge.deadline import run_within
from shared.edge.hosting import host_tables
from shared.models.choice import Models
from shared.settings import Settings
from shared.tables.request import parse_search
from shared.tables.tables import Tables


def create(settings: Settings) -> App[Tables]:
    """POST /search. Raises SettingsError where the settings alone are wrong; starts nothing."""
    models = Models(settings)
    hosted = host_tables(settings, models)

    def post_search(call: Call, tables: Tables) -> dict[str, Any]:
        from shared.tables.search import search  # in memory since the release was opened

        request = parse_search(call.body)
        return run_within(
            settings.query_timeout_s, hosted.portal, lambda ledger: search(request, tables, ledger, call.base_url)
        )

    def describe(tables: Tables) -> dict[str, Any]:
        return {**tables.describe(), "models": models.describe()}

    return App(hosted, {"/search": {"POST": post_search}}, describe=describe, settings=settings)
