"""The seam to functions-framework."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import flask

from shared.edge import log
from shared.edge.app import App

Target = Callable[[flask.Request], flask.Response]


def target(app: App[Any]) -> Target:
    """The plain function that functions-framework calls (it refuses any other callable).

    Made while the framework imports a main.py, it also puts the app in the place of the framework's own
    routing, which redirects `//search`, answers /robots.txt in HTML, and after a refused body reads the
    rest of it into memory (50 MB and all, measured with 3.10.2). And numpy is to have one thread, see below.
    """
    log.to_stderr(secrets=app.secrets)
    # numpy's BLAS starts a thread a core, which spin 0.1 s for want of work, beside a release that is being checked;
    # nothing that serves multiplies matrices with them.
    os.putenv("OPENBLAS_NUM_THREADS", "1")
    if flask.has_app_context():
        flask.current_app.wsgi_app = app.wsgi  # type: ignore[method-assign]

    def handle(request: flask.Request) -> flask.Response:
        return app(request)

    return handle
