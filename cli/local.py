"""A search, or a question to a site, in this process, without a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from shared.errors import UnknownName
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


def ask_here(settings: Settings, site: str, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of POST /ask over a site's release in the settings' bucket, as they come about.

    Raises UnknownName for a site that is none, and what the release refuses to be opened with.
    """
    from anyio.from_thread import start_blocking_portal

    from shared.edge.asking import named
    from shared.edge.sse import Frames
    from shared.edge.stream import Stream
    from shared.edge.streaming import Running
    from shared.models.choice import Models
    from shared.models.ranking_models import ranking_models
    from shared.sites.answer import answer
    from shared.sites.kinds import KINDS
    from shared.sites.request import parse_ask
    from shared.sites.site import open_site

    if site not in KINDS:
        raise UnknownName(f"{site!r} is no site: expected one of {', '.join(KINDS)}", list(KINDS))
    request = named(parse_ask(values, [model.id for model in ranking_models(settings)]))
    with (
        start_blocking_portal() as portal,
        closing(Models(settings, may_lack_a_key=True)) as models,
        closing(open_site(settings, KINDS[site], models)) as opened,
    ):
        events = answer(request, opened, models)
        stream = Stream(lambda: events, deadline_s=settings.ask_timeout_s)
        running = Running(stream, lambda: portal, None, "here")
        frames = Frames(request.query_id, request.query)
        try:
            yield from (frames.envelope(event) for event in running.events() if event is not None)
        finally:
            running.close()
