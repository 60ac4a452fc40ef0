"""What is kept of a crawled record: what is said of the thing itself, in texts that can be read."""

from __future__ import annotations

import re
from typing import Any

from build_jobs.items.load import tidied, types_of
from shared.contracts.items import Json
from shared.sites.values import clipped, each

MOST_REVIEWS = 3
MOST_CHARS = 1_500
_DEEPEST = 30

_PICTURES = frozenset({
    "image", "images", "thumbnail", "thumbnailUrl", "photo", "photos", "logo", "primaryImageOfPage", "video", "videos",
    "trailer", "associatedMedia", "screenshot", "audio",
})  # fmt: skip
_BOILERPLATE = frozenset({
    "publisher", "sourceOrganization", "copyrightHolder", "copyrightNotice", "copyrightYear", "isPartOf",
    "mainEntityOfPage", "mainEntity", "potentialAction", "breadcrumb", "speakable", "isAccessibleForFree",
    "interactionStatistic", "subjectOf", "publishingPrinciples", "@context", "@graph",
})  # fmt: skip
# UTF-8 that was read as cp1252 before the page was written: "CrÃ¨me brÃ»lÃ©e", "donâ€™t".
_TWICE_ENCODED = re.compile("[ÃÂ][\u0080-\u00bf\u0152-\u0178\u2013-\u2122]|â€|ðŸ")


def pruned(record: Json) -> Json:
    """The record without pictures but one, publisher's boilerplate and what is empty; 3 reviews, 1,500 characters.

    Types lose the vocabulary's address; texts that were encoded or escaped twice are read as they were meant.
    """
    kept = _object(tidied(record), 0)
    picture = image_of(record)
    if picture:
        kept["image"] = picture
    return {"@context": "https://schema.org", **kept}


def _object(record: Json, depth: int) -> Json:
    kept: Json = {}
    for name, value in record.items():
        if name in _PICTURES or name in _BOILERPLATE:
            continue
        left = _types(record) if name == "@type" else _left(value, depth)
        if name == "review" and isinstance(left, list):
            left = left[:MOST_REVIEWS]
        if left not in (None, "", [], {}):
            kept[name] = left
    return kept


def _types(record: Json) -> str | list[str]:
    types = types_of(record)
    return types[0] if len(types) == 1 else types


def _left(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clipped(reencoded(value).strip(), MOST_CHARS)
    if isinstance(value, list):
        members = (_left(member, depth + 1) for member in value) if depth < _DEEPEST else ()
        return [member for member in members if member not in (None, "", [], {})]
    if isinstance(value, dict):
        return _object(value, depth + 1) if depth < _DEEPEST and not _is_page_part(value) else None
    return value


def _is_page_part(value: Json) -> bool:
    """Whether an object is a piece of the page (which part of it costs money), not of the thing."""
    return "WebPageElement" in types_of(value) or "cssSelector" in value


def reencoded(text: str) -> str:
    """The text, read as UTF-8 where it was UTF-8 read as cp1252; as it is where that makes no sense."""
    for _ in range(2):
        if not _TWICE_ENCODED.search(text):
            break
        try:
            text = _bytes_of(text).decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            break
    return text


def _bytes_of(text: str) -> bytes:
    """cp1252, with the five bytes it leaves undefined as they come through: `Ã` and U+0081 are Á."""
    return b"".join(bytes([ord(one)]) if 0x80 <= ord(one) < 0xA0 else one.encode("cp1252") for one in text)


def image_of(record: Json) -> str:
    """The address of one picture for the card; empty where there is none."""
    for name in ("image", "images", "photo", "thumbnailUrl", "primaryImageOfPage"):
        for one in each(record.get(name)):
            for value in (
                (one, *(one.get(key) for key in ("contentUrl", "url", "@id"))) if isinstance(one, dict) else (one,)
            ):
                if isinstance(value, str) and value.strip().startswith(("http://", "https://")):
                    return value.strip()
    return ""
