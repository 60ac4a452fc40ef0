"""Reviews: what was picked, what it costs, and when somebody last looked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from shared.contracts.items import Json, Value
from shared.sites.kinds.card import card
from shared.sites.kinds.kind import Kind
from shared.sites.values import at, each, number, spelled, text, texts, words, year

_PROJECTION = "@type name headline alternativeHeadline description dateModified hasPart offers price about"
_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")


def columns(record: Json) -> Mapping[str, Value]:
    """The day it was last changed and its year, the picks with their prices, the topics, the author."""
    changed = text(record.get("dateModified")) or text(record.get("datePublished"))
    found = _DATE.match(changed)
    prices = list(_prices(record))
    return {
        "date": found[0] if found else None,
        "year": year(changed),
        "picks": tuple(picks(record)),
        "price_min": min(prices, default=None),
        "price_max": max(prices, default=None),
        "topics": words(record.get("about")) + words(record.get("keywords")),
        "author": text(record.get("author")) or None,
    }


def picks(record: Json) -> list[str]:
    """The names of what the review recommends, in its order."""
    return texts(record.get("hasPart"))


def _prices(record: Json) -> Iterator[float]:
    """The first price of each pick, and of the review itself."""
    for one in (record, *each(record.get("hasPart"))):
        offered = number(at(one, "offers", "price")) if isinstance(one, dict) else None
        if offered is not None:
            yield offered


def card_text(record: Json) -> str:
    """The review, when it was last looked at, what it picks and for how much, and how it begins."""
    known = columns(record)
    least, most = known["price_min"], known["price_max"]
    priced = isinstance(least, float) and isinstance(most, float)
    span = f"{spelled(least)} to {spelled(most)}" if priced and least != most else spelled(least) if priced else ""  # type: ignore[arg-type]
    return card(
        record,
        f"updated {known['date']}" if known["date"] else "",
        f"price {span}" if span else "",
        picks=picks(record),
        sections=texts(record.get("articleSection")),
    )


REVIEWS = Kind(
    name="reviews",
    label="Reviews",
    types=("Article", "NewsArticle", "Review"),
    projection=frozenset(_PROJECTION.split()),
    says_why=False,
    columns=columns,
    card_text=card_text,
)
