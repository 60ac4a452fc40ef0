"""Items out of files of records: one each, with an id and the name of its collection; the rest is reported."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from build_jobs.items.read import Read, read_records
from build_jobs.progress import Progress, Told, silent
from build_jobs.text import unwritable_removed
from shared.contracts.items import Item, Json
from shared.errors import BuildError
from shared.sites.kinds import Kind
from shared.sites.values import mended, text

_TYPE = re.compile(r"^(?:https?://(?:www\.)?schema\.org/|schema:)", re.IGNORECASE)
_SLUG = re.compile(r"[^\w]+")


@dataclass(slots=True)
class Report:
    """What was read, and what was dropped: reason → where it stood. `noted` is kept, but worth a look."""

    read: int = 0
    kept: int = 0
    dropped: dict[str, list[str]] = field(default_factory=dict)
    noted: dict[str, list[str]] = field(default_factory=dict)

    def drop(self, where: str, reason: str) -> None:
        self.dropped.setdefault(reason, []).append(where)

    def note(self, where: str, reason: str) -> None:
        self.noted.setdefault(reason, []).append(where)

    def as_json(self) -> dict[str, Any]:
        return {"read": self.read, "kept": self.kept, "dropped": self.dropped, "noted": self.noted}


@dataclass(frozen=True, slots=True)
class Loaded:
    """Items by rising id, no two alike, how many of each site there are, and the report."""

    items: Sequence[Item]
    sites: Mapping[str, int]
    report: Report


def load_items(files: Sequence[Path], kind: Kind, site: str, told: Told = silent) -> Loaded:
    """The items of some files. `site` is the collection of those that name none themselves.

    The first record wins where two have one id. Two things at one address are two items, told apart by their names.
    Raises BuildError where a file cannot be read, or there is no item at all.
    """
    report, items = Report(), dict[str, Item]()
    for read in _read(files, report):
        item = _item(read, kind, site, report)
        if item is None or (item := _placed(item, items, read.where, report)) is None:
            continue
        items[item.id] = item
        told(Progress("collect", len(items), 0))
    report.kept = len(items)
    if not items:
        raise BuildError(f"no {kind.name} in {', '.join(map(str, files))}: {_why(report)}")
    ordered = [items[each] for each in sorted(items)]
    return Loaded(ordered, dict(sorted(Counter(item.site for item in ordered).items())), report)


def _why(report: Report) -> str:
    reasons = [f"{len(places):,} {reason}" for reason, places in report.dropped.items()]
    return "; ".join(reasons) or "the files are empty"


def _read(files: Sequence[Path], report: Report) -> Iterator[Read]:
    for path in files:
        for read in read_records(path):
            report.read += 1
            yield read


def _item(read: Read, kind: Kind, site: str, report: Report) -> Item | None:
    """The record as an item; None, with the reason in the report, for what is none of this kind."""
    if read.record is None:
        report.drop(read.where, read.problem)
        return None
    wrapper, record = unwrapped(tidied(read.record))
    types = types_of(record)
    if types and not set(types) & set(kind.types):
        report.drop(read.where, f"of type {', '.join(types)}, not one of {kind.name}")
        return None
    url = _first(wrapper.get("url"), record.get("url"), record.get("@id"))
    name = text(wrapper.get("name")) or text(record.get("name")) or text(record.get("headline"))
    if not name:
        report.drop(read.where, "without a name")
        return None
    own = _first(wrapper.get("site"), record.get("sourceCollection")) or site
    known_as = _first(wrapper.get("id")) or url or f"urn:{own}:{read.where}"
    address = url if url.startswith(("http://", "https://")) else ""
    return Item(id=known_as, url=address, name=name, site=own, record=record)


def _placed(item: Item, items: Mapping[str, Item], where: str, report: Report) -> Item | None:
    """The item under an id of its own; None where it is there already."""
    first = items.get(item.id)
    if first is None:
        return item
    if first.name == item.name or item.id != item.url:
        report.drop(where, "an id that another item has")
        return None
    told_apart = f"{item.id}#{_SLUG.sub('-', item.name.lower()).strip('-')}"
    if told_apart in items:
        report.drop(where, "an id that another item has")
        return None
    report.note(where, "an address that another item has, told apart by its name")
    return Item(id=told_apart, url=item.url, name=item.name, site=item.site, record=item.record)


def _first(*values: object) -> str:
    """The first that is a text or a number."""
    for value in values:
        if isinstance(value, str | int) and not isinstance(value, bool) and (said := str(value).strip()):
            return said
    return ""


def unwrapped(record: Json) -> tuple[Json, Json]:
    """What a crawler wrote around a record, and the record; nothing around it where it stands alone."""
    inner = record.get("schema_object")
    if isinstance(inner, list):
        inner = next((one for one in inner if isinstance(one, dict)), None)
    return (record, inner) if isinstance(inner, dict) else ({}, record)


def types_of(record: Json) -> list[str]:
    """The record's schema.org types, without the vocabulary's address; empty where it names none."""
    value = record.get("@type")
    found = value if isinstance(value, list) else [value]
    return [_TYPE.sub("", one.strip()) for one in found if isinstance(one, str) and one.strip()]


def tidied(value: Any) -> Any:
    """A JSON value whose texts can be shown and stored: references such as `&amp;apos;` read, nothing unwritable."""
    if isinstance(value, str):
        return unwritable_removed(mended(value))
    if isinstance(value, list):
        return [tidied(member) for member in value]
    if isinstance(value, dict):
        return {unwritable_removed(name): tidied(member) for name, member in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value  # JSON's 1e999 is read as infinity
