"""`/sites` and `/who` of all sites behind one port: each site is asked, and their replies are one."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import flask

from shared.edge.app import MOUNTED, App
from shared.edge.reply import encoded

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

OF_ALL = ("/sites", "/who")
_LISTS = ("sites", "details", "results")

Json = dict[str, Any]


def of_all(path: str, sites: Mapping[str, App[Any]], environ: WSGIEnvironment) -> flask.Response:
    """The reply of the first site, with what the others say put into its lists, the best first.

    What the first one refuses is refused. A site that does not answer now is named in `unavailable`.
    """
    told: dict[str, flask.Response] = {}
    for kind, app in sites.items():
        told[kind] = response = _asked(kind, app, path, environ)
        if environ["REQUEST_METHOD"] not in ("GET", "POST") or response.status_code not in (200, 503):
            return response
        if response.status_code == 200:
            environ = _again(environ, response)
    answered = [each for each in told.values() if each.status_code == 200]
    if not answered:
        return response
    away = [kind for kind, each in told.items() if each.status_code != 200]
    whole = merged([_body(each) for each in answered])
    answered[0].set_data(encoded({**whole, **({"unavailable": away} if away else {})}))
    return answered[0]


def merged(answers: list[Json]) -> Json:
    """Replies of several sites as one."""
    lists = {name: [each for answer in answers for each in answer[name]] for name in _LISTS if name in answers[0]}
    if "results" in lists:
        lists["results"].sort(key=lambda each: -each["score"])
    return {**answers[0], **lists}


def _asked(kind: str, app: App[Any], path: str, environ: WSGIEnvironment) -> flask.Response:
    return app(flask.Request({**environ, "PATH_INFO": path, MOUNTED: f"sites/{kind}/"}))


def _again(environ: WSGIEnvironment, answer: flask.Response) -> WSGIEnvironment:
    """The request for the next site: a body can be read only once, so what was understood of it is sent instead."""
    if environ["REQUEST_METHOD"] != "POST":
        return environ
    body = json.dumps({"query": _body(answer)["query"]}).encode()
    fresh = {"CONTENT_LENGTH": str(len(body)), "QUERY_STRING": "", "wsgi.input": io.BytesIO(body)}
    return {**{name: value for name, value in environ.items() if name != "HTTP_TRANSFER_ENCODING"}, **fresh}


def _body(response: flask.Response) -> Json:
    body: Json = json.loads(response.get_data())
    return body
