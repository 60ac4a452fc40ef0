"""The files that pages are made of, as they are sent."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

STATIC = Path(__file__).parent / "static"

# What is not of these kinds is no part of a page.
CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
# A comment alone on its lines. It becomes empty lines: the browser's line numbers are then those of the file.
_COMMENTS = {
    ".css": re.compile(rb"/\*(?:[^*]|\*(?!/))*\*/"),
    ".js": re.compile(rb"^[ \t]*(?:/\*(?:[^*]|\*(?!/))*\*/[ \t]*$|//[^\n]*)", re.MULTILINE),
}
_LEAST_GZIPPED = 512  # a smaller file fits one packet either way

Stamp = Mapping[str, tuple[int, int]]


class Asset(Struct, frozen=True):
    """A file's bytes, the same as gzip where that is smaller, and their digest."""

    content: bytes
    content_type: str
    digest: str
    gzipped: bytes | None


class Assets:
    """Every file by its name, read once. `changed` says whether one on the disk is another by now."""

    def __init__(self, files: Mapping[str, Asset], folder: Path, stamp: Stamp) -> None:
        self._files = files
        self._folder = folder
        self._stamp = stamp

    def __getitem__(self, name: str) -> Asset:
        return self._files[name]

    def __len__(self) -> int:
        return len(self._files)

    def changed(self) -> bool:
        """Looked at beside a request, so that a page being written is seen without a new start."""
        return _stamp_of(self._folder) != self._stamp


def asset_names(folder: Path = STATIC) -> list[str]:
    """The names of all files, with forward slashes, in order."""
    return sorted(path.relative_to(folder).as_posix() for path in _paths(folder))


def open_assets(made: Mapping[str, bytes], folder: Path = STATIC) -> Assets:
    """All files in memory; those in `made` stand in place of the file of that name."""
    stamp = _stamp_of(folder)
    contents = {name: made.get(name) or as_sent(name, (folder / name).read_bytes()) for name in asset_names(folder)}
    return Assets({name: _asset(name, content) for name, content in contents.items()}, folder, stamp)


def as_sent(name: str, content: bytes) -> bytes:
    """A script or style sheet without its comments, a fifth of what a page weighed; anything else as it is."""
    comments = _COMMENTS.get(Path(name).suffix)
    return content if comments is None else comments.sub(lambda found: b"\n" * found[0].count(b"\n"), content)


def _asset(name: str, content: bytes) -> Asset:
    kind = CONTENT_TYPES[Path(name).suffix]
    digest = hashlib.sha256(content).hexdigest()[:32]
    squeezed = gzip.compress(content, 9, mtime=0) if len(content) >= _LEAST_GZIPPED else content
    return Asset(content, kind, digest, squeezed if len(squeezed) < len(content) else None)


def _paths(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and path.suffix in CONTENT_TYPES)


def _stamp_of(folder: Path) -> Stamp:
    return {str(path): (stat.st_mtime_ns, stat.st_size) for path in _paths(folder) for stat in [path.stat()]}
