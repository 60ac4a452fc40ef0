"""What a page says of itself for machines: its JSON-LD blocks, its microdata, its address, in whatever encoding."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from build_jobs.items.address import joined
from build_jobs.items.read import Read, parsed
from shared.contracts.items import Json

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_SCRIPT = 'script[type^="application/ld+json"]'
_COMMENTED = re.compile(r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[)|(?:-->|//\s*\]\]>|\]\]>)\s*;?\s*$")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_ADDRESSES = (("link[rel=canonical]", "href"), ('meta[property="og:url"]', "content"))
_VALUES = {
    "meta": "content", "audio": "src", "embed": "src", "iframe": "src", "img": "src", "source": "src", "video": "src",
    "a": "href", "area": "href", "link": "href", "object": "data", "data": "value", "meter": "value",
    "time": "datetime",
}  # fmt: skip
_ADDRESS_ATTRIBUTES = frozenset({"src", "href", "data"})
_DEEPEST = 30


@dataclass(slots=True)
class Markup:
    """`records` are the page's top-level records, JSON-LD first; `problems` say what of it could not be read."""

    url: str
    records: list[Json] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def markup_of(content: bytes, url: str = "", charset: str = "") -> Markup:
    """Read a page. `url` and `charset` are what the crawl knows of it; the page's own canonical address wins.

    HTML is never too broken to be read; the problems are those of what it holds.
    """
    from selectolax.lexbor import LexborHTMLParser

    text, problems = decoded(content, charset)
    tree = LexborHTMLParser(text)
    found = Markup(_address(tree, url) or url, problems=problems)
    for number, node in enumerate(tree.css(_SCRIPT)):
        for read in _block(node.text(deep=True) or "", f"block {number + 1}"):
            if read.record is None:
                found.problems.append("a JSON-LD block that is none")
            else:
                found.records.append(read.record)
    found.records += microdata(tree, found.url)
    return found


def decoded(content: bytes, charset: str = "") -> tuple[str, list[str]]:
    """The page's text: by its byte order mark, what it was served as, what it says itself, else UTF-8 or cp1252.

    Bytes that are none in the encoding a page claims are read in the next one that fits, and said to be.
    """
    claimed = [name for name in (_bom(content), charset, _meta_charset(content)) if name and _is_known(name)]
    for name in dict.fromkeys((*claimed, "utf-8", "cp1252")):
        try:
            text = content.decode(name)
        except UnicodeDecodeError:
            continue
        wrong = bool(claimed) and codecs.lookup(name) != codecs.lookup(claimed[0])
        return text, [f"said to be {claimed[0]}, read as {name}"] if wrong else []
    return content.decode("utf-8", "replace"), ["in no encoding that fits: some letters are lost"]


def _bom(content: bytes) -> str:
    # utf-8-sig and utf-16 take the mark away; utf-8 would leave it in front of the first tag.
    found = next((name for mark, name in _BOMS if content.startswith(mark)), "")
    return "utf-8-sig" if found == "utf-8" else found


def _meta_charset(content: bytes) -> str:
    found = _META_CHARSET.search(content[:4096])
    name = found[1].decode("ascii") if found else ""
    # What a page calls latin1 is cp1252 to every browser.
    return "cp1252" if name.lower() in {"iso-8859-1", "latin1", "latin-1", "us-ascii"} else name


def _is_known(name: str) -> bool:
    try:
        return codecs.lookup(name)._is_text_encoding
    except LookupError:
        return False


def _address(tree: LexborHTMLParser, base: str) -> str:
    for selector, attribute in _ADDRESSES:
        node = tree.css_first(selector)
        value = (node.attributes.get(attribute) or "").strip() if node else ""
        if value:
            return joined(base, value)
    return ""


def _block(text: str, where: str) -> Iterator[Read]:
    """The records of one block; comment marks, trailing commas and bare line breaks are what pages get wrong."""
    reads = list(parsed(text, where)) if text.strip() else []
    if len(reads) == 1 and reads[0].problem:
        bare = _COMMENTED.sub("", _COMMENTED.sub("", text)).strip().rstrip(";")
        try:
            value = json.loads(_TRAILING_COMMA.sub(r"\1", bare), strict=False)
        except (ValueError, RecursionError):
            yield from reads
            return
        reads = list(parsed(json.dumps(value), where))
    yield from reads


def microdata(tree: LexborHTMLParser, base: str) -> list[Json]:
    """The page's top-level microdata items as records."""
    nodes = tree.css("[itemscope]")
    found = [_item(node, base, 0) for node in nodes if "itemprop" not in node.attributes or not _is_within_item(node)]
    return [record for record in found if record.get("@type")]


def _is_within_item(node: LexborNode) -> bool:
    parent = node.parent
    while parent is not None:
        if "itemscope" in parent.attributes:
            return True
        parent = parent.parent
    return False


def _item(node: LexborNode, base: str, depth: int) -> Json:
    kinds = (node.attributes.get("itemtype") or "").split()
    record: Json = {}
    if kinds:
        record["@type"] = kinds[0] if len(kinds) == 1 else kinds
    if node.attributes.get("itemid"):
        record["@id"] = node.attributes["itemid"]
    for name, value in _properties(node, base, depth):
        known = record.get(name)
        record[name] = value if known is None else [*known, value] if isinstance(known, list) else [known, value]
    return record


def _properties(node: LexborNode, base: str, depth: int) -> Iterator[tuple[str, object]]:
    """The properties of an item, in the order of the page, those of items within it left to them."""
    inside = [node.iter(include_text=False)]
    while inside:  # a loop and no recursion: broken pages nest thousands of elements
        child = next(inside[-1], None)
        if child is None:
            inside.pop()
            continue
        is_item = "itemscope" in child.attributes
        names = (child.attributes.get("itemprop") or "").split()
        if names and not (is_item and depth >= _DEEPEST):
            value = _item(child, base, depth + 1) if is_item else _value(child, base)
            yield from ((name, value) for name in names if value not in ("", {}))
        if not is_item:
            inside.append(child.iter(include_text=False))


def _value(node: LexborNode, base: str) -> str:
    attribute = _VALUES.get(node.tag or "")
    stated = node.attributes.get("content") or (node.attributes.get(attribute) if attribute else None)
    if stated is None:
        return " ".join((node.text(deep=True, separator=" ") or "").split())
    stated = stated.strip()
    return joined(base, stated) if attribute in _ADDRESS_ATTRIBUTES and "content" not in node.attributes else stated
