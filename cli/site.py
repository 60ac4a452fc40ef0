"""`askbucket build-site`: the pages as files, for a host that serves files and nothing else."""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from cli.options import add_json, answer
from shared.errors import SettingsError
from shared.settings import Settings
from shared.words import counted

if TYPE_CHECKING:
    from functions.pages.config import Addresses

_CHARSET = re.compile(rb'<meta charset="utf-8" ?/?>')
# Addresses without .html, which the pages function answers itself and a file host may not.
_SHORT = ("entry", "browse", "stats", "status")


def add_parser(verbs: Any) -> None:
    """Add the verb and its flags."""
    verb = verbs.add_parser(
        "build-site",
        help="write the pages as files for a static host",
        description="Every page with its scripts and styles, and where the services are. Files of other names stay.",
    )
    verb.add_argument(
        "--to", type=Path, required=True, metavar="DIR", help="the folder to write to; made where missing"
    )
    verb.add_argument(
        "--api", metavar="URL", help="where the tables' routes are (default: TABLES_URL, else DIR's host)"
    )
    verb.add_argument(
        "--site",
        action="append",
        default=[],
        metavar="KIND=URL",
        help="where a site is, once a kind (default: SITE_URLS, else /sites/KIND of the tables' address)",
    )
    add_json(verb)
    verb.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the files. Raises SettingsError for a wrong address or a folder that cannot be written."""
    from functions.pages.config import addresses

    settings = settings_of(args)
    found = addresses(settings)
    files = site_files(found, noindex=settings.robots_noindex)
    try:
        for name, content in files.items():
            path = args.to / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise SettingsError(f"--to {args.to}: {error.strerror or error}") from error
    told = {"to": str(args.to), "files": len(files), "tables": found.tables, "sites": dict(found.sites)}
    asked = [
        f"tables: {found.tables or 'the host of the pages'}",
        *(f"{kind}: {url}" for kind, url in found.sites.items()),
    ]
    answer(args, told, [f"{counted(len(files), 'file')} in {args.to}", *(f"  {line}" for line in asked)])


def settings_of(args: argparse.Namespace) -> Settings:
    """The environment's settings, with the addresses that were given in the place of its own."""
    settings = Settings.from_env()
    tables_url = args.api or settings.tables_url
    site_urls = _joined(args.site) if args.site else settings.site_urls
    return structs.replace(settings, tables_url=tables_url, site_urls=site_urls)


def site_files(found: Addresses, *, noindex: bool = False) -> dict[str, bytes]:
    """Each file's name, with forward slashes, and its bytes; the same pages give the same bytes."""
    from functions.pages.assets import STATIC, as_sent, asset_names
    from functions.pages.config import CONFIG, policy
    from functions.pages.service import OF_EACH_KIND
    from shared.sites.kinds import KINDS

    head = _head(policy(found, framed=False), noindex)
    files = {name: as_sent(name, (STATIC / name).read_bytes()) for name in asset_names()}
    ask = files.pop(OF_EACH_KIND)
    files.update({f"samples/{kind}/index.html": ask for kind in KINDS})
    if found.tables:
        own, theirs = b'href=".well-known/ard.json"', f'href="{found.tables}/.well-known/ard.json"'.encode()
        files["index.html"] = files["index.html"].replace(own, theirs)
    files = {name: _told(name, content, head) if name.endswith(".html") else content for name, content in files.items()}
    moved = {**{kind: f"samples/{kind}/" for kind in KINDS}, **{short: f"{short}.html" for short in _SHORT}}
    return {**files, **_moved(moved, head), CONFIG: found.script().encode()}


def _joined(sites: list[str]) -> str:
    """As SITE_URLS has it. Raises SettingsError for what names no kind, or one twice."""
    from shared.sites.kinds import KINDS

    kinds = [site.partition("=")[0] for site in sites]
    for kind in kinds:
        if kind not in KINDS or kinds.count(kind) > 1:
            raise SettingsError(f"--site {kind}=…: expected <kind>=<URL>, each kind once; kinds: {', '.join(KINDS)}")
    return ",".join(sites)


def _head(rules: str, noindex: bool) -> bytes:
    """What the pages function says in headers, as far as a page can say it itself."""
    lines = [f'<meta http-equiv="Content-Security-Policy" content="{html.escape(rules)}">']
    lines.append('<meta name="referrer" content="no-referrer">')
    lines.extend(['<meta name="robots" content="noindex">'] if noindex else [])
    return "\n    ".join(lines).encode()


def _told(name: str, page: bytes, head: bytes) -> bytes:
    """A page with these lines behind its charset: a policy holds for what comes after it."""
    told, times = _CHARSET.subn(lambda found: found[0] + b"\n    " + head, page)
    if times != 1:
        raise ValueError(f"{name} has to say its charset once")
    return told


def _moved(addresses: Mapping[str, str], head: bytes) -> dict[str, bytes]:
    """A page at each short address that leads on, with its query and its fragment; a link where no script runs."""
    page = (
        '<!doctype html>\n<html lang="en">\n  <head>\n    <meta charset="utf-8">\n'
        '    <meta name="viewport" content="width=device-width, initial-scale=1">\n    <title>Askbucket</title>\n'
        '    <link rel="icon" href="../icon.svg" type="image/svg+xml">\n'
        '    <link rel="canonical" href="../{to}">\n    <script src="../js/pages/moved.js"></script>\n  </head>\n'
        '  <body>\n    <p><a href="../{to}">This page has moved</a></p>\n  </body>\n</html>\n'
    )
    return {f"{short}/index.html": _told(short, page.format(to=to).encode(), head) for short, to in addresses.items()}
