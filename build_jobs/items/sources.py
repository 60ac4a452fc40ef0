"""sources.yaml: what each collection is called, where its crawl and its items lie, and how often it is crawled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from shared.errors import BuildError
from shared.sites.kinds import KINDS, Kind

NAME = "sources.yaml"
_FIELDS = frozenset({"kind", "site", "label", "crawl", "items", "cadence"})
# What people call the collections that clients know by these names; any other is called by its own.
_LABELS = {
    "nytimes": "NYT Cooking",
    "imdb": "IMDb",
    "wirecutter": "Wirecutter",
    "alltrails": "AllTrails",
    "zillow": "Zillow",
}


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection: its kind, the name its items carry as `site`, what people call it, and where it is had from.

    `crawl` and `items` are paths, None where the file names none; `cadence` is how often it is crawled, for whoever
    does: nothing here runs by itself.
    """

    kind: str
    site: str
    label: str
    crawl: Path | None = None
    items: Path | None = None
    cadence: str = ""


def read_sources(path: Path) -> list[Collection]:
    """The collections of a sources.yaml; paths in it count from its folder. Raises BuildError naming what is wrong."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise BuildError(f"{path}: no YAML could be read: {error}") from error
    listed = document.get("collections") if isinstance(document, Mapping) else None
    if not isinstance(listed, list):
        raise BuildError(f"{path}: expected a list under `collections`, found {type(listed).__name__}")
    collections = [_collection(entry, path, number) for number, entry in enumerate(listed)]
    _all_different(path, [each.site for each in collections])
    return collections


def label_of(site: str) -> str:
    """What people call a collection of this name, where nobody says otherwise."""
    return _LABELS.get(site, site)


def _collection(entry: object, path: Path, number: int) -> Collection:
    where = f"{path}: collections.{number}"
    if not isinstance(entry, Mapping):
        raise BuildError(f"{where}: expected an object, found {type(entry).__name__}")
    if unknown := sorted(str(name) for name in entry if name not in _FIELDS):
        raise BuildError(f"{where}: no such field: {', '.join(unknown)}; there are {', '.join(sorted(_FIELDS))}")
    kind, site = _text(entry, "kind", where), _text(entry, "site", where)
    if kind not in KINDS:
        raise BuildError(f"{where}.kind: expected one of {', '.join(KINDS)}, found {kind!r}")
    if not site:
        raise BuildError(f"{where}.site: expected the collection's name, found none")
    return Collection(
        kind=kind,
        site=site,
        label=_text(entry, "label", where) or label_of(site),
        crawl=_path(entry, "crawl", where, path),
        items=_path(entry, "items", where, path),
        cadence=_text(entry, "cadence", where),
    )


def _text(entry: Mapping[Any, Any], name: str, where: str) -> str:
    value = entry.get(name, "")
    if not isinstance(value, str):
        raise BuildError(f"{where}.{name}: expected a text, found {value!r}")
    return value.strip()


def _path(entry: Mapping[Any, Any], name: str, where: str, path: Path) -> Path | None:
    said = _text(entry, name, where)
    return path.parent / said if said else None


def _all_different(path: Path, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BuildError(f"{path}: two collections have the site name {name!r}")


def sources_beside(files: Sequence[Path], given: Path | None) -> list[Collection]:
    """The collections of the sources.yaml that is given, else of one that lies beside the first file, else none."""
    if given is not None:
        return read_sources(given)
    beside = files[0].parent / NAME if files else None
    return read_sources(beside) if beside and beside.is_file() else []


def collection_of(kind: Kind, files: Sequence[Path], collections: Sequence[Collection]) -> Collection | None:
    """The collection that these files are of: the one that names the first, else the only one of the kind."""
    own = [each for each in collections if each.kind == kind.name]
    named = [each for each in own if files and _same(files[0], (each.items, each.crawl))]
    found = named or (own if len(own) == 1 else [])
    return found[0] if found else None


def _same(file: Path, paths: Sequence[Path | None]) -> bool:
    return any(path is not None and path.resolve() == file.resolve() for path in paths)
