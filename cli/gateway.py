"""Every function behind one port, as one WSGI application: what a load balancer's URL map does in production."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shared.edge.app import App, route_of
from shared.errors import SettingsError
from shared.settings import Settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

FUNCTIONS = ("search", "variable")


class Gateway:
    """Sends each path to the function that answers it.

    What two functions answer, such as /health, or none does, goes to the first.
    """

    def __init__(self, functions: Mapping[str, App[Any]]) -> None:
        self.functions = functions
        self._first: App[Any] = next(iter(functions.values()))
        self._by_path: dict[str, App[Any]] = {
            path: app for app in reversed(list(functions.values())) for path in app.paths
        }

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """One request, as WSGI."""
        app = self._by_path.get(route_of(environ), self._first)
        return app.wsgi(environ, start_response)

    def load(self) -> None:
        """Start loading in this process what the functions serve. Returns at once."""
        for app in self.functions.values():
            app.hosted.ensure()

    def wait(self, timeout_s: float) -> None:
        """Return when every function can answer. Raises what refused."""
        for app in self.functions.values():
            app.hosted.wait(timeout_s)
            with app.hosted.borrow():
                pass


def gateway(settings: Settings, only: Iterable[str] = FUNCTIONS) -> Gateway:
    """The functions named, in the order of FUNCTIONS. Raises SettingsError for a name nobody has."""
    wanted = set(only)
    unknown = wanted - set(FUNCTIONS)
    if unknown or not wanted:
        raise SettingsError(f"--only {','.join(sorted(unknown))}: expected some of {', '.join(FUNCTIONS)}")
    return Gateway({name: _create(name, settings) for name in FUNCTIONS if name in wanted})


def _create(name: str, settings: Settings) -> App[Any]:
    """One function; those not wanted are not imported."""
    app: App[Any] = import_module(f"functions.{name}.service").create(settings)
    return app
