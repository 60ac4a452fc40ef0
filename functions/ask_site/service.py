"""One site: real items that answer a question in plain words, streamed as they are found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shared.edge.app import App
from shared.edge.asking import ask_routes, read_values
from shared.edge.call import Call
from shared.edge.cors import site_cors
from shared.edge.hosting import Engine, host_site, site_engine
from shared.edge.limits import Policy
from shared.edge.mcp.site_toolbox import SiteToolbox
from shared.edge.mcp.tool_route import tool_route
from shared.edge.mcp.toolbox import Toolbox
from shared.edge.route import Route, Routes
from shared.edge.stats.recorder import Recorder
from shared.errors import RequestError, SettingsError
from shared.settings import Settings
from shared.sites.health import health
from shared.sites.kinds import KINDS
from shared.sites.tuning import shown_properties
from shared.version import VERSION

if TYPE_CHECKING:
    from shared.contracts.ask import AskRequest
    from shared.contracts.events import Event
    from shared.edge.mcp.endpoint import Server
    from shared.sites.site import Site


def create(settings: Settings, shared: Engine | None = None, recorder: Recorder | None = None) -> App[Site]:
    """/ask, /who, /sites and POST /mcp of the site that SITE names; with the engine and the recorder that this process
    shares, or its own.

    Raises SettingsError where the settings alone are wrong; starts nothing.
    """
    kind = site_kind(settings)
    shown_properties(settings)
    engine = shared or site_engine(settings)
    counted = (recorder or Recorder(settings)).of_site(kind)
    hosted = host_site(settings, kind, engine)

    # What only a request needs is in memory since the release was opened: imported here, before the port opens, it
    # would be waited for by everybody.
    def asked(values: Mapping[str, Any]) -> AskRequest:
        from shared.models.ranking_models import ranking_models
        from shared.sites.request import parse_ask

        return parse_ask(values, [model.id for model in ranking_models(settings)])

    def answered(request: AskRequest, site: Site) -> AsyncIterator[Event]:
        from shared.sites.answer import answer

        return answer(request, site, engine.models)

    def make_server() -> Server[Any]:
        from shared.edge.mcp.endpoint import tool_server

        return tool_server(f"ask-{kind}", VERSION)

    def told(site: Site) -> str:
        from shared.sites.tools import instructions

        return instructions(site)

    def who(call: Call, site: Site) -> dict[str, Any]:
        from shared.sites.request import parse_ask
        from shared.sites.who import who_reply

        query = parse_ask({**call.query.once(), **call.body}).query
        if not query:
            raise RequestError("query must be a non-empty string")
        return who_reply(query, site, call.base_url)

    def sites(call: Call, site: Site) -> dict[str, Any]:
        from shared.sites.who import sites_reply

        return sites_reply(site, call.base_url)

    def toolboxes(site: Site) -> Sequence[Toolbox]:
        return (SiteToolbox(site, answered, counted, chooses=engine.models.describe()["judge"] == "openrouter"),)

    routes: Routes[Site] = {
        "/ask": ask_routes(asked, answered, settings.ask_timeout_s),
        "/who": {"GET": who, "POST": Route(who, reads=read_values)},
        "/sites": {"GET": sites},
        "/mcp": {"POST": tool_route(hosted, make_server, toolboxes, settings, told)},
    }
    return App(
        hosted,
        routes,
        describe=lambda site: {**health(site), "models": engine.models.describe()},
        settings=settings,
        observers=[counted],
        counted="asks",
        policy=Policy.of_site(settings, f"ask-{kind}"),
        cors=site_cors(settings.cors_origins),
    )


def site_kind(settings: Settings) -> str:
    """The kind that SITE names. Raises SettingsError."""
    if settings.site not in KINDS:
        found = f"SITE={settings.site!r}" if settings.site else "SITE is not set"
        raise SettingsError(f"{found}: expected one of {', '.join(KINDS)}")
    return settings.site
