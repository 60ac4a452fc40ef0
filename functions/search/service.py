"""Which published tables describe this quantity?"""

from __future__ import annotations

from typing import Any

from shared.contracts.tables import SearchRequest
from shared.edge.app import App
from shared.edge.call import Call
from shared.edge.deadline import run_within
from shared.edge.hosting_tables import Searched, host_searched
from shared.edge.media_types import read_question, wants_text
from shared.edge.reply import TEXT, Reply
from shared.edge.route import Route
from shared.edge.stats.recorder import Recorder
from shared.settings import Settings
from shared.tables.reply_text import as_text
from shared.tables.request import parse_ask, parse_search
from shared.tables.tables import Tables


def create(settings: Settings, recorder: Recorder | None = None, searched: Searched | None = None) -> App[Tables]:
    """POST /search, and GET and POST /ask; with the recorder and the tables that this process shares, or their own.

    Raises SettingsError where the settings alone are wrong; starts nothing.
    """
    searched = searched or host_searched(settings)
    hosted = searched.hosted

    def answer(request: SearchRequest, call: Call, tables: Tables) -> dict[str, Any]:
        from shared.tables.search import search  # in memory since the release was opened

        return run_within(
            settings.query_timeout_s, hosted.portal, lambda ledger: search(request, tables, ledger, call.base_url)
        )

    def post_search(call: Call, tables: Tables) -> dict[str, Any]:
        return answer(parse_search(call.body, settings.okf_namespace), call, tables)

    def ask(call: Call, tables: Tables) -> Reply:
        reply = answer(parse_ask(call.query.once(), call.body), call, tables)
        if wants_text(call.headers.get("accept")):
            return Reply(200, as_text(reply).encode(), {"Vary": "Accept"}, TEXT, said=reply)
        return Reply(200, reply, {"Vary": "Accept"})

    routes = {
        "/search": {"POST": Route(post_search, paid=True)},
        "/ask": {"GET": Route(ask, paid=True), "POST": Route(ask, paid=True, reads=read_question)},
    }
    observers = [recorder or Recorder(settings)]
    return App(hosted, routes, describe=searched.describe, settings=settings, observers=observers)
