"""The tables' tools for MCP clients, and the sites' where SITE_URLS names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shared.edge.app import App
from shared.edge.hosting_tables import Searched, host_searched
from shared.edge.limits import Policy
from shared.edge.mcp.sites import Sites, site_urls
from shared.edge.mcp.tool_route import CORS, tool_route
from shared.edge.mcp.toolbox import TablesToolbox, Toolbox
from shared.edge.stats.recorder import Recorder
from shared.settings import Settings
from shared.tables.tables import Tables
from shared.version import VERSION

if TYPE_CHECKING:
    from shared.edge.mcp.endpoint import Server


def create(settings: Settings, recorder: Recorder | None = None, searched: Searched | None = None) -> App[Tables]:
    """POST /mcp, with the recorder of searches and the tables that this process shares, or its own.

    Raises SettingsError where the settings alone are wrong; starts nothing.
    """
    counted = recorder or Recorder(settings)
    searched = searched or host_searched(settings)
    sites = Sites(site_urls(settings), settings.query_timeout_s)

    def make_server() -> Server[Any]:
        from shared.edge.mcp.endpoint import tool_server
        from shared.tables.tools import INSTRUCTIONS

        return tool_server("askbucket", VERSION, INSTRUCTIONS)

    def toolboxes(tables: Tables) -> Sequence[Toolbox]:
        return (TablesToolbox(tables, counted), sites)

    routes = {"/mcp": {"POST": tool_route(searched.hosted, make_server, toolboxes, settings)}}
    policy = Policy.of_tables(settings, "mcp")
    return App(
        searched.hosted,
        routes,
        describe=searched.describe,
        settings=settings,
        counted="calls",
        policy=policy,
        cors=CORS,
    )
