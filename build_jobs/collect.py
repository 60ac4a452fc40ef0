"""From leaf roots to leaves: every measure's file read, named by its URN, and what could not be used reported."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from build_jobs.frontmatter import Document, read_file
from build_jobs.known import KnownDocuments
from build_jobs.progress import Progress, Told, silent
from build_jobs.text import clean, clean_list
from shared.contracts.leaf import Leaf, Source, code_of, family_of
from shared.errors import BuildError

ACCESS = "_access.md"
_MOST_NAMED = 5
_TOLD_EVERY = 100
URN = re.compile(r"^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$")

_RESERVED = {ACCESS, "index.md", "log.md"}
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,62})\.)+[a-z]{2,63}")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9._-]+")
# The second leaf root has no `sources/`: its directories are the two corpora.
_CORPORA = {
    "corpora/gcp-bigquery/okf/public": "gcp-bigquery-public",
    "corpora/gcp-bigquery/okf/marketplace": "gcp-marketplace-free",
    "corpora/gcp-bigquery/okf/marketplace-free": "gcp-marketplace-free",
}


@dataclass(slots=True)
class CollectReport:
    """What was read, and each file that is not an ordinary leaf, by path."""

    indexed: Counter[str] = field(default_factory=Counter)
    unreadable: dict[str, str] = field(default_factory=dict)
    without_queries: list[str] = field(default_factory=list)
    without_access: list[str] = field(default_factory=list)
    without_publisher: list[str] = field(default_factory=list)
    trust_differs: list[str] = field(default_factory=list)
    queries_as_text: int = 0
    queries_dropped: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "indexed": dict(sorted(self.indexed.items())),
            "unreadable": self.unreadable,
            "withoutQueries": self.without_queries,
            "withoutAccess": self.without_access,
            "withoutPublisher": self.without_publisher,
            "trustDiffers": self.trust_differs,
            "queriesAsText": self.queries_as_text,
            "queriesDropped": self.queries_dropped,
        }


@dataclass(frozen=True, slots=True)
class File:
    """Where a document was read from, and the sha256 of its bytes then; empty where it cannot be kept whole."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Collected:
    """Leaves in row order (by family, then URN), their sources by directory, the files of both, and the report.

    `files` has the path inside the leaf root of every leaf and of every access document.
    """

    leaves: Sequence[Leaf]
    sources: Sequence[Source]
    report: CollectReport
    files: Mapping[str, File] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Directory:
    """A source directory found under a root: its name, where it lies, and its path inside the root."""

    name: str
    path: Path
    inside: str


def collect(roots: Sequence[Path], told: Told = silent, known: KnownDocuments | None = None) -> Collected:
    """Read every leaf under the roots; each root is the parent of `sources/` or of `corpora/`.

    `known` is what the current release was told by files that may not have changed: they need not be parsed again.

    Nothing an author wrote can stop a build, except what would make a wrong index: no leaf at all, no known
    publisher at all, or one URN for two files. Those raise BuildError.
    """
    report = CollectReport()
    sources: dict[str, Source] = {}
    leaves: list[Leaf] = []
    files: dict[str, File] = {}
    for directory in _directories(roots):
        source = sources[directory.name] = _source(directory, report, files)
        for leaf in _leaves(directory, source, report, files, known):
            leaves.append(leaf)
            if len(leaves) % _TOLD_EVERY == 0:
                told(Progress("collect", len(leaves), 0))
    used = {leaf.source for leaf in leaves}
    kept = [source for name, source in sorted(sources.items()) if name in used]
    _check(roots, leaves, kept)
    used_files = {path: files[path] for path in (*(x.path for x in leaves), *(x.path for x in kept if x.path))}
    return Collected(sorted(leaves, key=lambda leaf: (leaf.family, leaf.urn)), kept, report, used_files)


def _directories(roots: Sequence[Path]) -> Iterator[_Directory]:
    found: dict[str, Path] = {}
    for root in roots:
        before = len(found)
        for directory in _of_root(root):
            if directory.name in found:
                raise BuildError(f"source directory {directory.name} lies in {found[directory.name]} and in {root}")
            found[directory.name] = root
            yield directory
        if len(found) == before:
            raise BuildError(f"{root}: no source directory; expected the parent of `sources/` or of `corpora/`")


def _of_root(root: Path) -> Iterator[_Directory]:
    sources = root / "sources"
    for path in sorted(sources.iterdir()) if sources.is_dir() else []:
        if path.is_dir() and not path.name.startswith("."):
            yield _Directory(path.name, path, f"sources/{path.name}")
    for inside, name in _CORPORA.items():
        if (root / inside).is_dir():
            yield _Directory(name, root / inside, inside)


def _source(directory: _Directory, report: CollectReport, files: dict[str, File]) -> Source:
    path = directory.path / ACCESS
    is_there = path.is_file() and not _leads_outside(path, directory)
    document = read_file(path) if is_there else Document({}, "")
    inside = f"{directory.inside}/{ACCESS}"
    files[inside] = File(path, document.digest)
    if not is_there:
        report.without_access.append(directory.name)
    if document.unreadable:
        report.unreadable[inside] = document.unreadable
    publisher = _publisher(document.front_matter)
    if not publisher:
        report.without_publisher.append(directory.name)
    elif not _aligned(publisher, document.front_matter):
        report.trust_differs.append(directory.name)
    authority = publisher or f"{_segment(directory.name).replace('_', '-').lower()}.invalid"
    return Source(
        directory=directory.name,
        family=family_of(directory.name),
        publisher=authority,
        urn=f"urn:air:{authority}:okf:{_segment(directory.name)}",
        path=inside if is_there else None,
        front_matter=document.front_matter,
        body=document.body,
    )


def _publisher(access: Mapping[str, Any]) -> str | None:
    """The first domain in `publisher`, else in `trust.identity`.

    A source without either gets `<directory>.invalid` from its caller: a name that can never belong to anybody,
    so that one careless access document does not cost the other sources their build.
    """
    for text in (access.get("publisher"), _identity(access)):
        if domain := _DOMAIN.search(clean(text).lower()):
            return domain[0]
    return None


def _identity(access: Mapping[str, Any]) -> object:
    trust = access.get("trust")
    return trust.get("identity") if isinstance(trust, Mapping) else None


def _aligned(publisher: str, access: Mapping[str, Any]) -> bool:
    """The trust identity, where there is one, belongs to the publisher: same domain, or one under the other."""
    trusted = _DOMAIN.search(clean(_identity(access)).lower())
    if not trusted:
        return True
    return any(f".{one}".endswith(f".{other}") for one, other in ((publisher, trusted[0]), (trusted[0], publisher)))


def _segment(text: str) -> str:
    """A URN segment: what is not allowed becomes `-`; never empty."""
    return _ILLEGAL.sub("-", text).strip("-") or "unknown"


def _leaves(
    directory: _Directory, source: Source, report: CollectReport, files: dict[str, File], known: KnownDocuments | None
) -> Iterator[Leaf]:
    for below, is_link in _below(directory.path):
        path, inside = directory.path / below, f"{directory.inside}/{below}"
        if path.name in _RESERVED:
            continue
        if is_link and _leads_outside(path, directory):
            report.unreadable[inside] = "a link to a file outside of its source directory: left out"
            continue
        document = read_file(path, partial(known.document, inside)) if known else read_file(path)
        leaf = _leaf(inside, path.stem, document, source, report)
        if leaf:
            files[inside] = File(path, document.digest)
            report.indexed[source.directory] += 1
            yield leaf


def _below(folder: Path) -> list[tuple[str, bool]]:
    """Every document below a folder, sorted by its parts, as a path relative to it, and whether it is a link.

    Of 118,703 files `rglob` and what has to be asked of each path took 14 s, and this 1.
    """
    found: list[tuple[str, bool]] = []
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        with os.scandir(folder / inside) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{inside}{entry.name}/")
                elif entry.name.endswith(".md") and entry.is_file():
                    found.append((f"{inside}{entry.name}", entry.is_symlink()))
    return sorted(found, key=lambda each: each[0].split("/"))


def _leads_outside(path: Path, directory: _Directory) -> bool:
    """Whether a file is a link to what no publisher of this source wrote: it would be published word for word."""
    return path.is_symlink() and not path.resolve().is_relative_to(directory.path.resolve())


def _leaf(inside: str, stem: str, document: Document, source: Source, report: CollectReport) -> Leaf | None:
    matter = document.front_matter
    queries = _queries(matter.get("representativeQueries"), report)
    if document.unreadable:
        report.unreadable[inside] = document.unreadable
        queries = (_words(stem),)
    elif not queries:
        report.without_queries.append(inside)
        return None
    return Leaf(
        path=inside,
        urn=f"{source.urn}.{_segment(stem)}",
        family=source.family,
        source=source.directory,
        publisher=source.publisher,
        code=clean(code_of(matter)) or None,
        title=clean(matter.get("title")) or document.heading or _words(stem),
        description=clean(matter.get("description")),
        queries=queries,
        tags=tuple(clean_list(matter.get("tags") or [])),
        scope=clean(source.front_matter.get("entityType")),
        front_matter=matter,
        body=document.body,
        unreadable=document.unreadable,
    )


def _words(stem: str) -> str:
    return " ".join(re.split(r"[-_\s]+", stem)).strip() or stem


def _queries(value: object, report: CollectReport) -> tuple[str, ...]:
    """The representative queries as distinct texts; what can be no text is dropped and counted."""
    if isinstance(value, str):
        report.queries_as_text += 1
    given = value if isinstance(value, list) else [value]
    report.queries_dropped += sum(1 for query in given if query is not None and not clean(query))
    return tuple(clean_list(given))


def _looked_at(paths: Sequence[str]) -> str:
    more = len(paths) - _MOST_NAMED
    return ", ".join(paths[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _check(roots: Sequence[Path], leaves: Sequence[Leaf], sources: Sequence[Source]) -> None:
    if not leaves:
        raise BuildError(f"no leaf with representativeQueries under {', '.join(map(str, roots))}")
    if all(source.publisher.endswith(".invalid") for source in sources):
        raise BuildError(
            "no access document names a publisher's domain; expected a line `publisher: <domain>` in"
            f" {_looked_at([source.path or f'{source.directory}/{ACCESS} (not there)' for source in sources])}"
        )
    seen: dict[str, str] = {}
    for leaf in leaves:
        if leaf.urn in seen:
            raise BuildError(f"{leaf.urn} names two files: {seen[leaf.urn]} and {leaf.path}")
        if not URN.match(leaf.urn):
            raise BuildError(f"{leaf.path}: {leaf.urn} is no URN of the form urn:air:<domain>:okf:<source>.<leaf>")
        seen[leaf.urn] = leaf.path
