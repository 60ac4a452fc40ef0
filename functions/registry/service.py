"""The registry: browsing, facets, the manifest and the documents themselves. No model, no vectors, no event loop."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from shared.edge.app import App
from shared.edge.call import Call
from shared.edge.hosting_tables import host
from shared.edge.reply import TEXT, Reply, failure
from shared.edge.route import Routes
from shared.errors import NotFound, RequestError
from shared.settings import Settings
from shared.tables.registry.browse import (
    FILTERS,
    MOST_LISTED,
    entry_of,
    entry_of_urn,
    is_urn,
    list_entries,
    parse_listing,
)
from shared.tables.registry.documents import FILES, MOST_FILES, list_folder, read_file
from shared.tables.registry.explore import explore, parse_explore
from shared.tables.registry.library import Library, open_library
from shared.tables.registry.wellknown import MANIFEST, card, list_publishers, manifest, robots

MARKDOWN = "text/markdown; charset=utf-8"

# What was not found may be published any moment; a moment is enough against a client that asks in a loop.
_NOT_FOUND_S = 10


def create(settings: Settings) -> App[Library]:
    """The registry's routes. Raises SettingsError where the settings alone are wrong; starts nothing."""
    routes: Routes[Library] = {
        "/": {"GET": get_card},
        "/publishers": {"GET": get_publishers},
        "/agents": {"GET": get_agents},
        "/agents/entry": {"GET": get_entry},
        "/agents/{identifier}": {"GET": get_agent},
        "/explore": {"POST": post_explore},
        MANIFEST: {"GET": get_manifest},
        "/.well-known/ai-catalog.json": {"GET": get_manifest},
        "/robots.txt": {"GET": get_robots},
        "/okf/index": {"GET": get_folder},
        "/okf/file": {"GET": get_file},
        "/openapi.json": {"GET": get_openapi},
    }
    return App(
        host(partial(open_library, settings), settings),
        routes,
        describe=Library.describe,
        settings=settings,
        counted="lookups",
        headers={"X-Robots-Tag": "noindex"} if settings.robots_noindex else None,
    )


def get_card(call: Call, library: Library) -> Reply:
    """The name and where to go on."""
    kept = _kept(library, card(library.tables.settings, call.base_url))
    return replace(kept, headers={**kept.headers, "Link": f'<{MANIFEST}>; rel="ard"'})


def get_publishers(call: Call, library: Library) -> Reply:
    """The domains a filter may name."""
    del call
    return _kept(library, list_publishers(library.tables))


def get_agents(call: Call, library: Library) -> Reply:
    """A page of all entries, or of those that the filters leave."""
    query = call.query
    given = {name: query.text(name) for name in ("q", "publisher", "orderBy", *FILTERS)}
    listing = parse_listing(given, [value for name, value in query.pairs if name == "filter"])
    size = query.size(listing.page, MOST_LISTED)
    return _kept(library, list_entries(listing, size, _page_token(call), library, call.base_url))


def get_entry(call: Call, library: Library) -> Reply:
    """The full form of a leaf or a source, by its URN or its path."""
    identifier = _exactly(call, "id")
    return _found(call, library, entry_of(identifier, library.tables))


def get_agent(call: Call, library: Library) -> Reply:
    """The full form of a leaf or a source, by its URN: the specification's exact retrieve."""
    identifier = call.path["identifier"]
    if not is_urn(identifier):
        raise RequestError("identifier must be a URN of the form urn:air:<publisher>:<namespace>:<name>")
    return _found(call, library, entry_of_urn(identifier, library.tables))


def post_explore(call: Call, library: Library) -> dict[str, Any]:
    """How many of the matching entries have which publisher, source, type or tag."""
    return explore(parse_explore(call.body, library.tables.settings.okf_namespace), library)


def get_manifest(call: Call, library: Library) -> Reply:
    """The ARD manifest."""
    return _kept(library, manifest(library, call.base_url))


def get_robots(call: Call, library: Library) -> Reply:
    """What crawlers may do, and where the manifest is."""
    text = robots(library.tables.settings, call.base_url)
    return Reply.stable(text.encode(), max_age_s=_age_s(library), content_type=TEXT)


def get_folder(call: Call, library: Library) -> Reply:
    """The folders and files in a folder of the documents."""
    size = call.query.size(FILES, MOST_FILES)
    return _kept(library, list_folder(call.query.text("dir") or "", size, _page_token(call), library))


def get_file(call: Call, library: Library) -> Reply:
    """A document as it was published."""
    content = read_file(_exactly(call, "path"), library)
    return Reply.stable(content, max_age_s=_age_s(library), content_type=MARKDOWN)


def get_openapi(call: Call, library: Library) -> Reply:
    """The description of every function's routes."""
    from shared.edge.openapi.document import document  # and with it what the other functions' routes take

    return _kept(library, document(call.base_url))


def _exactly(call: Call, name: str) -> str:
    """A parameter that must not be blank, as it was sent: blanks around a path are part of it."""
    call.query.required(name)
    return call.query.text(name) or ""


def _page_token(call: Call) -> str | None:
    return call.query.text("pageToken") or None


def _found(call: Call, library: Library, entry: dict[str, Any] | None) -> Reply:
    if entry is not None:
        return _kept(library, entry)
    missing = failure(NotFound("no such entry"), call.request_id)
    return replace(missing, headers={"Cache-Control": f"public, max-age={_NOT_FOUND_S}"})


def _kept(library: Library, body: dict[str, Any]) -> Reply:
    return Reply.stable(body, max_age_s=_age_s(library))


def _age_s(library: Library) -> int:
    """A reply stands until another release is noticed, and no longer."""
    return int(library.tables.settings.refresh_s)
