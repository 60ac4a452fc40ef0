"""What the registry says of itself: its manifest, its publishers, its card, and what crawlers may do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from shared.contracts.leaf import Source
from shared.settings import Settings
from shared.tables.catalogs import Catalog
from shared.tables.names import publishers, rows_by_source
from shared.tables.registry.browse import entry_url, source_entry
from shared.tables.registry.library import Library
from shared.tables.tables import Tables

REGISTRY_TYPE = "application/ai-registry+json"
MANIFEST = "/.well-known/ard.json"

# The specification asks for 2 to 5 questions an entry, and its tools warn of any other number.
_FEWEST_QUERIES, _MOST_QUERIES = 2, 5
_LEAVES_ASKED = 3
_IN_THE_MANIFEST = (
    "@context", "identifier", "displayName", "type", "description", "tags", "okf:sourceDirectory", "okf:entityType",
    "trustManifest",
)  # fmt: skip


def manifest(library: Library, base_url: str) -> dict[str, Any]:
    """The ARD manifest: this registry, and one entry a source. No key that the v0.9 schema does not know."""
    tables = library.tables
    rows = rows_by_source(tables)
    entries = [
        {**_source_line(catalog, source, tables, base_url), "okf:tableCount": rows[source.directory]}
        for catalog, source in _sources(tables)
    ]
    return {
        "specVersion": "1.0",
        "host": {
            "displayName": tables.settings.registry_name,
            "identifier": f"did:web:{quote(_host(base_url), safe='')}",
            "documentationUrl": tables.settings.documentation_url or base_url,
        },
        "entries": [_registry_line(entries, tables.settings, base_url), *entries],
    }


def list_publishers(tables: Tables) -> dict[str, Any]:
    """The domains that `filter.publisher` may name, with their source directories and how many entries those hold."""
    rows = rows_by_source(tables)
    found = [
        {"publisher": domain, "sources": sources, "entries": sum(rows[source] for source in sources)}
        for domain, sources in publishers(tables).items()
    ]
    return {"publishers": found, "total": len(found)}


def card(settings: Settings, base_url: str) -> dict[str, Any]:
    """What answers at the root: the name, and where to go on."""
    routes = {
        "search": "search", "explore": "explore", "list": "agents", "entry": "agents/entry", "manifest": MANIFEST[1:]
    }  # fmt: skip
    return {
        "name": settings.registry_name,
        "store": "object storage",
        "endpoints": {name: base_url + route for name, route in routes.items()},
    }


def robots(settings: Settings, base_url: str) -> str:
    """robots.txt: where the manifest is, and with ROBOTS_NOINDEX nothing else for crawlers.

    A comment names the manifest, which has a well-known path and a Link header at `/` besides: as a line of its own it
    is a directive that validators of robots.txt do not know, and Lighthouse then calls every page's file broken.
    """
    rules = [f"Allow: {MANIFEST}", "Disallow: /"] if settings.robots_noindex else ["Allow: /"]
    return "\n".join(["User-agent: *", *rules, "", f"# Agentmap: {base_url}{MANIFEST[1:]}", ""])


def _sources(tables: Tables) -> Iterator[tuple[Catalog, Source]]:
    """Every source once: a directory that a mounted catalog adds to is named by the catalog that has it first."""
    named: set[str] = set()
    for catalog in tables.catalogs:
        for source in sorted(catalog.sources.values(), key=lambda each: each.directory):
            if source.urn not in named:
                named.add(source.urn)
                yield catalog, source


def _source_line(catalog: Catalog, source: Source, tables: Tables, base_url: str) -> dict[str, Any]:
    full = source_entry(catalog, source, tables.settings.okf_namespace)
    return {
        **{key: full[key] for key in _IN_THE_MANIFEST if full.get(key)},
        "representativeQueries": _queries(full, catalog, source.directory),
        "url": entry_url(base_url, source.urn),
    }


def _queries(full: Mapping[str, Any], catalog: Catalog, directory: str) -> list[str]:
    """The source's own questions or, where it has too few, those of its first leaves and one about the source."""
    own: list[str] = full["representativeQueries"]
    if len(own) >= _FEWEST_QUERIES:
        return own[:_MOST_QUERIES]
    rows = catalog.records.first_rows(directory, _LEAVES_ASKED)
    leaves = catalog.records.leaves(rows)
    first = [leaves[row].queries[0] for row in rows if leaves[row].queries]
    rest = [query for row in rows for query in leaves[row].queries[1:]]
    asked = list(dict.fromkeys([*own, *first, *rest]))
    return asked[:_MOST_QUERIES] if len(asked) >= _FEWEST_QUERIES else [*asked, f"What does {full['displayName']} say?"]


def _registry_line(entries: list[dict[str, Any]], settings: Settings, base_url: str) -> dict[str, Any]:
    """This registry as an entry: what a client that was given the manifest alone needs to search it."""
    asked = [entry["representativeQueries"][0] for entry in entries if entry["representativeQueries"]]
    host = re.sub(r"[^a-zA-Z0-9.-]", "-", urlsplit(base_url).hostname or "").strip("-") or "localhost"
    return {
        "identifier": f"urn:air:{host}:registry:tables",
        "displayName": settings.registry_name,
        "type": REGISTRY_TYPE,
        "description": "Searches published tables by the quantity they describe.",
        "representativeQueries": [*dict.fromkeys(asked), "Which published tables describe this quantity?"][
            :_MOST_QUERIES
        ],
        "url": base_url,
    }


def _host(base_url: str) -> str:
    return urlsplit(base_url).netloc.rpartition("@")[2]
