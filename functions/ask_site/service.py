"""One site: real items that answer a question in plain words, streamed as they are found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from shared.contracts.ask import AskRequest
from shared.contracts.events import Event
from shared.edge.app import App
from shared.edge.asking import ask_routes
from shared.edge.cors import site_cors
from shared.edge.hosting import Engine, host_site, site_engine
from shared.edge.limits import Policy
from shared.edge.mcp.site_toolbox import SiteToolbox
from shared.edge.mcp.tool_route import tool_route
from shared.edge.mcp.toolbox import Toolbox
from shared.errors import SettingsError
from shared.models.ranking_models import ranking_models
from shared.settings import Settings
from shared.sites.health import health
from shared.sites.kinds import KINDS, Kind
from shared.sites.request import parse_ask
from shared.version import VERSION

if TYPE_CHECKING:
    from shared.edge.mcp.endpoint import Server
    from shared.sites.site import Site


def create(settings: Settings, shared: Engine | None = None) -> App[Site]:
    """GET and POST /ask, and POST /mcp, of the site that SITE names; with the engine this process shares, or its own.

    Raises SettingsError where the settings alone are wrong; starts nothing.
    """
    kind = site_kind(settings)
    engine = shared or site_engine(settings)
    hosted = host_site(settings, kind, engine)
    models = [model.id for model in ranking_models(settings)]

    def answered(request: AskRequest, site: Site) -> AsyncIterator[Event]:
        from shared.sites.answer import answer  # in memory since the release was opened

        return answer(request, site, engine.models)

    def make_server() -> Server[Any]:
        from shared.edge.mcp.endpoint import tool_server

        return tool_server(f"ask-{kind.name}", VERSION)

    def told(site: Site) -> str:
        from shared.sites.tools import instructions

        return instructions(site)

    def toolboxes(site: Site) -> Sequence[Toolbox]:
        return (SiteToolbox(site, answered, chooses=engine.models.describe()["judge"] == "openrouter"),)

    routes = {
        "/ask": ask_routes(lambda values: parse_ask(values, models), answered, settings.ask_timeout_s),
        "/mcp": {"POST": tool_route(hosted, make_server, toolboxes, settings, told)},
    }
    return App(
        hosted,
        routes,
        describe=lambda site: {**health(site), "models": engine.models.describe()},
        settings=settings,
        counted="asks",
        policy=Policy.of_site(settings, f"ask-{kind.name}"),
        cors=site_cors(settings.cors_origins),
    )


def site_kind(settings: Settings) -> Kind:
    """The kind that SITE names. Raises SettingsError."""
    if settings.site not in KINDS:
        found = f"SITE={settings.site!r}" if settings.site else "SITE is not set"
        raise SettingsError(f"{found}: expected one of {', '.join(KINDS)}")
    return KINDS[settings.site]
