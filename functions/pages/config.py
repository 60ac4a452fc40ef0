"""Where the pages find the services: config.js, and the policy that lets a browser ask those and nobody else."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from shared.errors import SettingsError
from shared.settings import Settings, without_userinfo
from shared.sites.kinds import KINDS

CONFIG = "config.js"

# What may stand in a policy and in a script: no user, no query, and no sign that ends either.
_ADDRESS = re.compile(r"https?://[A-Za-z0-9._-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?", re.ASCII)


class Addresses(Struct, frozen=True):
    """The tables' base URL, empty where it is the pages' own origin, and each site's, without slashes at their ends.

    A site's address that begins with a slash lies at the pages' own origin.
    """

    tables: str
    sites: Mapping[str, str]

    def script(self) -> str:
        """config.js. A page's own origin is asked of the browser, so that the file is right behind any proxy."""
        sites = "".join(f"  {json.dumps(kind)}: {_expression(url)},\n" for kind, url in self.sites.items())
        return f"window.ASKBUCKET_API = {_expression(self.tables)};\nwindow.NLWEB_API = {{\n{sites}}};\n"

    def origins(self) -> list[str]:
        """The other origins that pages may ask, each once."""
        urls = [urlsplit(url) for url in (self.tables, *self.sites.values()) if "://" in url]
        return list(dict.fromkeys(f"{url.scheme}://{url.netloc}" for url in urls))


def addresses(settings: Settings, here: Collection[str] = ()) -> Addresses:
    """From TABLES_URL and SITE_URLS; the sites in `here` lie below /sites/ of the pages' own origin.

    Where SITE_URLS names none, all lie below /sites/ of the tables' address. Raises SettingsError for what is no http
    or https address.
    """
    tables = _address(settings.tables_url, "TABLES_URL") if settings.tables_url else ""
    named = {kind: _address(url, "SITE_URLS") for kind, url in _pairs(settings.site_urls)}
    elsewhere = named or {kind: f"{tables}/sites/{kind}" for kind in KINDS}
    own = {kind: f"/sites/{kind}" for kind in here}
    return Addresses(tables, {kind: url for kind in KINDS if (url := own.get(kind) or elsewhere.get(kind))})


def policy(found: Addresses, *, framed: bool = True) -> str:
    """The Content-Security-Policy: our own files, pictures over https, and requests to the services alone.

    `framed` says that nobody may frame a page, which only a header can.
    """
    rules = {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "https:", "data:"],
        "connect-src": ["'self'", *found.origins()],
        "font-src": ["'self'"],
        "form-action": ["'none'"],
        "base-uri": ["'none'"],
        **({"frame-ancestors": ["'none'"]} if framed else {}),
    }
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in rules.items())


def _pairs(site_urls: str) -> Iterator[tuple[str, str]]:
    for item in filter(None, (part.strip() for part in site_urls.split(","))):
        kind, _, url = item.partition("=")
        if kind in KINDS:  # others are tools of POST /mcp, for which there is no page
            yield kind, url


def _address(url: str, setting: str) -> str:
    """Without the slash at its end, and without the `/mcp` that SITE_URLS may name. Raises SettingsError."""
    trimmed = url.rstrip("/").removesuffix("/mcp").rstrip("/")
    if not _ADDRESS.fullmatch(trimmed):
        raise SettingsError(f"{setting} has {without_userinfo(url)!r}: expected an http or https address")
    return trimmed


def _expression(url: str) -> str:
    """The address as JavaScript says it."""
    quoted = json.dumps(url)
    return f"location.origin + {quoted}" if url.startswith("/") else quoted
