"""`askbucket convert`: crawled pages become items, one main entity a page; what was dropped is said, and why."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from build_jobs.items.address import address_key, joined
from build_jobs.items.crawl import Page, Record, crawled
from build_jobs.items.load import Report, types_of, unwrapped
from build_jobs.items.markup import markup_of
from build_jobs.items.prune import pruned
from build_jobs.progress import Progress, Told, silent
from shared.contracts.items import Json
from shared.errors import BuildError
from shared.sites.kinds import Kind
from shared.sites.values import each, text

_DEEPEST = 8


def convert(kind: Kind, source: Path, target: Path, told: Told = silent) -> Report:
    """Write the items of a crawl as JSON Lines, in the crawl's order; the file appears whole or not at all.

    The first page wins where two have one address. Raises BuildError where there is nothing to read or nothing of
    this kind in it.
    """
    report, seen = Report(), dict[str, str]()
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with part.open("w", encoding="utf-8") as file:
            for item in _items(kind, source, seen, report):
                file.write(json.dumps(item, ensure_ascii=False) + "\n")
                report.kept += 1
                told(Progress("convert", report.kept, 0))
        if not report.kept:
            raise BuildError(f"{source}: no {kind.name} found; {_reasons(report)}")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return report


def _reasons(report: Report) -> str:
    return (
        "; ".join(f"{len(places):,} {reason}" for reason, places in report.dropped.items()) or "there is no page in it"
    )


def _items(kind: Kind, source: Path, seen: dict[str, str], report: Report) -> Iterator[Json]:
    for found in crawled(source, report):
        item = _of_page(found, kind, report) if isinstance(found, Page) else _of_record(found, kind, report)
        if item is None:
            continue
        url = item.get("url", "")
        key = address_key(url) if isinstance(found, Page) and url else url
        if key and key in seen:
            report.drop(f"{found.where}, as {seen[key]}", "an address that was there before")
            continue
        seen[key] = found.where
        yield item


def _of_page(page: Page, kind: Kind, report: Report) -> Json | None:
    markup = markup_of(page.content, page.url, page.charset)
    for problem in markup.problems:
        report.note(page.where, problem)
    main = _main(markup.records, kind, markup.url, page.where, report)
    if main is None:
        return None
    item = _item(main, markup.url, page.where, report)
    if item and kind.name == "reviews" and (parts := _parts(item, main, markup.records)):
        item["hasPart"] = parts
    return item


def _of_record(found: Record, kind: Kind, report: Report) -> Json | None:
    wrapper, record = unwrapped(found.record)
    url = text_address(wrapper.get("url")) or text_address(record.get("url"))
    main = _main([record], kind, url, found.where, report)
    return None if main is None else _item(main, url, found.where, report)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A record that may be what a page is about: how telling its type is, and whether it names the page's address."""

    record: Json
    type_place: int
    is_named: bool

    @property
    def order(self) -> tuple[bool, int, int]:
        return (not self.is_named, self.type_place, -len(json.dumps(self.record, default=str)))


def _main(records: Sequence[Json], kind: Kind, url: str, where: str, report: Report) -> Json | None:
    """What the page is about: the record that names its address, else of the most telling type, else the fullest."""
    found = [one for record in records for one in _candidates(record, kind, url, 0)]
    if not found:
        others = dict.fromkeys(name for record in records for name in types_of(record))
        report.drop(where, f"nothing of its kind, but {', '.join(others)}" if others else "no structured data")
        return None
    best = min(found, key=lambda candidate: candidate.order)
    if any(_name(one.record) != _name(best.record) for one in found):
        report.note(f"{where}: {len(found)}", "several entities of its kind: the main one was kept")
    return best.record


def _candidates(record: Json, kind: Kind, url: str, depth: int) -> Iterator[_Candidate]:
    """A record of the kind, else what it says the page is about."""
    places = [kind.types.index(name) for name in types_of(record) if name in kind.types]
    if places:
        yield _Candidate(record, min(places), bool(url) and _names(record, url))
        return
    for name in ("mainEntity", "mainEntityOfPage", "about", "itemReviewed"):
        for one in each(record.get(name)) if depth < _DEEPEST else ():
            if isinstance(one, dict):
                yield from _candidates(one, kind, url, depth + 1)


def _names(record: Json, url: str) -> bool:
    """Whether a record says it lies at this address."""
    said = [record.get("url"), record.get("@id"), record.get("mainEntityOfPage")]
    said += [one.get("@id") for one in said if isinstance(one, dict)]
    return any(isinstance(one, str) and address_key(joined(url, one)) == address_key(url) for one in said)


def _name(record: Json) -> str:
    return text(record.get("name")) or text(record.get("headline"))


def _item(record: Json, url: str, where: str, report: Report) -> Json | None:
    """The record as an item; None, with the reason in the report, for one without a name."""
    kept = pruned(record)
    name = _name(kept)
    if not name:
        report.drop(where, "without a name")
        return None
    kept.setdefault("name", name)
    own = text_address(kept.get("url"))
    address = joined(url, own) if own and url else own or url
    kept.pop("url", None)
    if address.startswith(("http://", "https://")):
        kept["url"] = address
    else:
        report.note(where, "without an address")
    return kept


def text_address(value: object) -> str:
    """The first address a value says, as it is: `text` would take it for no words."""
    for one in each(value):
        said = one.get("@id") or one.get("url") if isinstance(one, dict) else one
        if isinstance(said, str) and said.strip():
            return said.strip()
    return ""


def _parts(kept: Json, record: Json, beside: Sequence[Json]) -> list[Json]:
    """A review's picks: its own parts, and the products and lists that stand beside it on the page, by name."""
    parts = [one for one in each(kept.get("hasPart")) if isinstance(one, dict) and _name(one)]
    for other in (one for one in beside if one is not record):
        parts += _products(other, 0)
    by_name: dict[str, Json] = {}
    for part in parts:
        known = by_name.setdefault(_name(part).lower(), part)
        for name, value in part.items():
            known.setdefault(name, value)  # a list names a product, the product itself has its price
    return list(by_name.values())


def _products(record: Json, depth: int) -> list[Json]:
    types = types_of(record)
    if "Product" in types and _name(record):
        return [_product(record)]
    if "ItemList" in types and depth < _DEEPEST:
        inner = [_listed(one) for one in each(record.get("itemListElement"))]
        return [part for one in inner if _name(one) for part in (_products(one, depth + 1) or [_product(one)])]
    return []


def _listed(element: object) -> Json:
    """What an element of a list stands for: its item, where it has one, which may be a name alone."""
    item = element.get("item", element) if isinstance(element, dict) else element
    return {**element, **item} if isinstance(item, dict) and isinstance(element, dict) else {"name": text(item)}


def _product(record: Json) -> Json:
    """A pick: its name, its offers and what is said of it, no more."""
    kept = pruned(record)
    told: Json = {name: kept[name] for name in ("offers", "description") if name in kept}
    return {"@type": "Product", "name": _name(record), **told}
