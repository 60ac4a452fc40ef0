"""Every function behind one port, as one WSGI application: what a load balancer's URL map does in production."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from shared.bucket.base import bucket_of
from shared.edge.app import MOUNTED, App
from shared.edge.directory import OF_ALL, of_all
from shared.edge.hosting import Engine, engine, site_engine
from shared.edge.hosting_tables import Searched, host_searched
from shared.edge.route import route_of
from shared.edge.stats.recorder import Recorder
from shared.errors import NotFound, ObjectMissing, SettingsError
from shared.release.manifest import pointer_key
from shared.settings import Settings
from shared.sites.kinds import KINDS
from shared.tables.catalogs import BUILT_IN

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

TABLES = ("search", "variable", "registry", "mcp")
PAGES = "pages"
# The pages first: what is read at `/` is one, and the registry's card for those who ask for JSON.
FUNCTIONS = (PAGES, *TABLES, "stats")
SITES = "ask_site"
MOUNT = "/sites/"
RECORDED = ("search", "mcp", "stats")
SEARCHING = ("search", "mcp")
_MOST_SHOWN = 60


class Gateway:
    """Sends each path to the function that answers it; `/sites/<kind>/ask` to that site, which sees `/ask`.

    `/sites` and `/who` are asked of every site, and what they say is put together.
    A site that is not served is a 404 that names those that are.
    What two functions answer, such as /health, or none does, goes to the first: the tables' search, else a site.
    """

    def __init__(self, functions: Mapping[str, App[Any]], sites: Mapping[str, App[Any]] | None = None) -> None:
        self.functions = functions
        self.sites = sites or {}
        by_rank = [app for name, app in functions.items() if name in TABLES]
        self._first: App[Any] = next(iter([*by_rank, *self.sites.values(), *functions.values()]))

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """One request, as WSGI."""
        path = environ.get("PATH_INFO", "")
        kind, slash, inner = path.removeprefix(MOUNT).partition("/")
        if self.sites and route_of(environ) in OF_ALL:
            return of_all(route_of(environ), self.sites, environ)(environ, start_response)
        if path.startswith(MOUNT) and kind not in self.sites:
            return self._first.refuse(self._no_site(kind), environ, start_response)
        if path.startswith(MOUNT) and slash:
            return self.sites[kind].wsgi(_inside(environ, f"{MOUNT}{kind}", f"/{inner}"), start_response)
        app = next((app for app in self.functions.values() if app.answers(environ)), self._first)
        return app.wsgi(environ, start_response)

    def _no_site(self, kind: str) -> NotFound:
        served = f"there are {', '.join(self.sites)}" if self.sites else "no site is served"
        return NotFound(f"No site {kind[:_MOST_SHOWN]!r} here: {served}")

    def load(self) -> None:
        """Start loading in this process what the functions serve. Returns at once."""
        for app in self._apps():
            app.hosted.ensure()

    def wait(self, timeout_s: float) -> None:
        """Return when every function can answer. Raises what refused."""
        for app in self._apps():
            app.hosted.wait(timeout_s)
            with app.hosted.borrow():
                pass

    def _apps(self) -> Iterator[App[Any]]:
        yield from self.functions.values()
        yield from self.sites.values()


def gateway(settings: Settings, only: Iterable[str] | None = None) -> Gateway:
    """The functions named, in the order of FUNCTIONS, and each site that has a release, where `ask_site` is named.

    Without `only`: all that the bucket has something for; the tables too where it has nothing, so that they say what
    is missing. Raises SettingsError for a name nobody has, BucketError where the bucket cannot be read.
    """
    wanted = None if only is None else set(only)
    _check(wanted)
    found = released(settings) if wanted is None or SITES in wanted else ()
    if wanted is None:
        wanted = {*FUNCTIONS, SITES}
        if BUILT_IN not in found and not settings.ard_catalogs and found:
            wanted -= set(TABLES)
    kinds = [kind for kind in KINDS if kind in found and SITES in wanted]
    if wanted == {SITES} and not kinds:
        raise SettingsError(f"--only {SITES}: no site has a release here; expected one of {', '.join(KINDS)}")
    searching = bool(wanted & set(SEARCHING))
    # Only where something asks models: settings that are wrong for that are no concern of the others.
    shared = engine(settings) if searching else site_engine(settings) if kinds else None
    parts = _Shared(Recorder(settings), shared, host_searched(settings, shared) if searching else None)
    functions = {name: _create(name, settings, parts, kinds) for name in FUNCTIONS if name in wanted}
    return Gateway(functions, {kind: _site(kind, settings, parts) for kind in kinds})


def released(settings: Settings) -> Collection[str]:
    """Which of the built-in tables and the sites have a release in the bucket. Raises SettingsError, BucketError."""
    if not settings.bucket_url:
        return ()
    bucket = bucket_of(settings)

    def has_one(catalog: str) -> bool:
        try:
            bucket.read(pointer_key(catalog))
        except ObjectMissing:
            return False
        return True

    names = (BUILT_IN, *KINDS)
    with ThreadPoolExecutor(len(names)) as threads:
        return [name for name, has in zip(names, threads.map(has_one, names), strict=True) if has]


@dataclass(frozen=True, slots=True)
class _Shared:
    """What the functions of one process have in common: one count, and one copy of the tables and models in memory."""

    recorder: Recorder
    engine: Engine | None
    searched: Searched | None


def _check(wanted: set[str] | None) -> None:
    names = (*FUNCTIONS, SITES)
    unknown = (wanted or set()) - set(names)
    if unknown or wanted == set():
        raise SettingsError(f"--only {','.join(sorted(unknown))}: expected some of {', '.join(names)}")


def _create(name: str, settings: Settings, shared: _Shared, kinds: Collection[str]) -> App[Any]:
    """One function; those not wanted are not imported."""
    given: dict[str, Any] = {"recorder": shared.recorder} if name in RECORDED else {}
    if name == PAGES:
        given["here"] = kinds
    if name in SEARCHING:
        given["searched"] = shared.searched
    app: App[Any] = import_module(f"functions.{name}.service").create(settings, **given)
    return app


def _site(kind: str, settings: Settings, shared: _Shared) -> App[Any]:
    create = import_module(f"functions.{SITES}.service").create
    app: App[Any] = create(replace(settings, site=kind), shared.engine, shared.recorder)
    return app


def _inside(environ: WSGIEnvironment, mount: str, path: str) -> WSGIEnvironment:
    """The request as a function of its own would see it."""
    raw = environ.get("RAW_URI")
    shown = {} if raw is None else {"RAW_URI": raw.removeprefix(mount)}
    return {**environ, **shown, "SCRIPT_NAME": mount, "PATH_INFO": path, MOUNTED: f"{mount[1:]}/"}
