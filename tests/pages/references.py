"""What a page is made of: its scripts and styles, found as a browser finds them, by the references in each file."""

from __future__ import annotations

import gzip
import posixpath
import re

from functions.pages.assets import STATIC, as_sent

# Each page's file, and the folder that its address lies in.
PAGES = {
    "index.html": "", "entry.html": "", "browse.html": "", "stats.html": "", "status.html": "",
    "samples/index.html": "samples/", "samples/how.html": "samples/", "samples/ask.html": "samples/recipes/",
    "samples/wake/index.html": "samples/wake/",
}  # fmt: skip

# A link to what is no part of the page, such as the registry's manifest, is not followed.
_TAG = re.compile(r'<(?:link rel="(?:stylesheet|icon|modulepreload)"|script|img|source)\s[^>]*>')
_ADDRESS = re.compile(r'\b(?:href|src)="([^"]*)"')
_IMPORT = re.compile(
    r"""^\s*(?:import|export)\s+(?:[\w\s*{},$]+?\s+from\s+)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']""",
    re.MULTILINE,
)
_URL = re.compile(r"""@import\s+["']([^"']+)["']|url\(\s*["']?([^"')]+)""")


def read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def loaded(page: str) -> set[str]:
    """The names of all files that a page loads, its own not included."""
    found: set[str] = set()
    waiting = [target(PAGES[page], address) for tag in _TAG.findall(read(page)) for address in _ADDRESS.findall(tag)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(target(posixpath.dirname(name), each) for each in referenced(name))
    return found


def referenced(name: str) -> list[str]:
    """The addresses that a script imports or a style sheet names."""
    pattern = {".js": _IMPORT, ".css": _URL}.get(posixpath.splitext(name)[1])
    return [] if pattern is None else [one or other for one, other in pattern.findall(read(name))]


def target(folder: str, address: str) -> str:
    """The file that a relative address names, from a folder of the pages."""
    assert not re.match(r"[a-z]+:|/", address), f"{address}: not relative"
    return posixpath.normpath(posixpath.join(folder, address.partition("?")[0]))


def weight(page: str) -> int:
    """Bytes of a page's scripts and styles, each compressed by itself as it is sent."""
    names = [name for name in loaded(page) if name.endswith((".js", ".css"))]
    return sum(len(gzip.compress(as_sent(name, (STATIC / name).read_bytes()), 9, mtime=0)) for name in names)
