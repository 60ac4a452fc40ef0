"""A search in this process, without a server."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from shared.models.ledger import Ledger
from shared.settings import Settings
from shared.tables.request import parse_search
from shared.tables.search import search
from shared.tables.tables import open_tables


def search_here(settings: Settings, body: Mapping[str, Any]) -> dict[str, Any]:
    """The reply of POST /search over the releases in the settings' bucket."""
    from anyio.from_thread import start_blocking_portal

    from shared.models.choice import Models

    request = parse_search(body)
    with (
        start_blocking_portal() as portal,
        closing(Models(settings)) as models,
        closing(open_tables(settings, models)) as tables,
    ):
        return portal.call(search, request, tables, Ledger())
