"""Every function behind one port, as one WSGI application: what a load balancer's URL map does in production."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shared.edge.app import App
from shared.edge.hosting import Searched, host_searched
from shared.edge.stats.recorder import Recorder
from shared.errors import SettingsError
from shared.settings import Settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

FUNCTIONS = ("search", "variable", "registry", "mcp", "stats")
RECORDED = ("search", "mcp", "stats")
SEARCHING = ("search", "mcp")


class Gateway:
    """Sends each path to the function that answers it.

    What two functions answer, such as /health, or none does, goes to the first.
    """

    def __init__(self, functions: Mapping[str, App[Any]]) -> None:
        self.functions = functions
        self._first: App[Any] = next(iter(functions.values()))

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """One request, as WSGI."""
        app = next((app for app in self.functions.values() if app.answers(environ)), self._first)
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
    # Only where something searches: settings that are wrong for a search are no concern of the others.
    shared = _Shared(Recorder(settings), host_searched(settings) if wanted & set(SEARCHING) else None)
    return Gateway({name: _create(name, settings, shared) for name in FUNCTIONS if name in wanted})


@dataclass(frozen=True, slots=True)
class _Shared:
    """What the functions of one process have in common: one count, and one copy of the tables and models in memory."""

    recorder: Recorder
    searched: Searched | None


def _create(name: str, settings: Settings, shared: _Shared) -> App[Any]:
    """One function; those not wanted are not imported."""
    given: dict[str, Any] = {"recorder": shared.recorder} if name in RECORDED else {}
    if name in SEARCHING:
        given["searched"] = shared.searched
    app: App[Any] = import_module(f"functions.{name}.service").create(settings, **given)
    return app
