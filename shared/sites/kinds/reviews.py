"""Reviews: what was picked, what it costs, and when somebody last looked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from shared.contracts.items import Json, Value
from shared.sites.kinds.card import card, rating
from shared.sites.kinds.kind import Kind
from shared.sites.kinds.movie_words import spellings
from shared.sites.kinds.wording import Loose, Measure, Named, Superlative, Wording
from shared.sites.values import at, each, number, spelled, text, texts, words, year

_PROJECTION = "@type name headline alternativeHeadline description dateModified hasPart offers price about"
_WHOLE_DATE = len("2026-03-04")
_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")


def columns(record: Json) -> Mapping[str, Value]:
    """The day it was last changed and its year, the picks with their prices, the topics, the author, the rating.

    `day` is the date as a number to sort by, 20260304; nothing where only the year is said.
    """
    changed = text(record.get("dateModified")) or text(record.get("datePublished"))
    found = _DATE.match(changed)
    prices = list(_prices(record))
    return {
        "date": found[0] if found else None,
        "day": int(found[0].replace("-", "")) if found and len(found[0]) == _WHOLE_DATE else None,
        "year": year(changed),
        "picks": tuple(picks(record)),
        "price_min": min(prices, default=None),
        "price_max": max(prices, default=None),
        "topics": words(record.get("about")) + words(record.get("keywords")),
        "author": text(record.get("author")) or None,
        "rating": number(at(record, "reviewRating", "ratingValue")) or rating(record)[0],
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


_NOUNS = "review reviews article articles guide guides roundup roundups story stories post posts piece pieces".split()


WORDING = Wording(
    nouns=frozenset(_NOUNS),
    filler=frozenset("read written published posted updated buying".split()),
    measures=(
        Measure(
            field="year", family="year", bare="=", nouns=tuple(_NOUNS),
            before=(
                "from", "in", "published in", "written in", "updated in", "posted in", "published", "updated",
                "written", "last updated in", "reviewed in", "tested in",
            ),
        ),
        Measure(field="price_max", most="price_min", family="money", unit="USD", less=("cheaper than",), bare="~"),
        Measure(
            field="rating", family="score", bare=">=", nouns=("stars", "star"),
            before=("rated", "rating", "rating of", "a rating of", "with a rating of"),
        ),
    ),
    names=(
        Named(fields=("author",), after=("by", "written by", "author", "from"), keys=spellings),
        Named(fields=("author",), keys=spellings),  # a full name stands for its articles: "Ann Smith on knives"
    ),
    orders=(
        Superlative(words=("newest", "latest", "most recent", "most recently updated"), field="day", descending=True),
        Superlative(words=("oldest", "earliest"), field="day"),
        Superlative(words=("cheapest", "least expensive", "lowest priced"), field="price_min", anything=True),
        Superlative(words=("most expensive", "priciest"), field="price_max", descending=True, anything=True),
        Superlative(words=("highest rated", "best rated", "top rated"), field="rating", descending=True, anything=True),
    ),
    loose=(
        Loose(words=("recent", "new"), field="year", op=">=", quantile=0.75),
        Loose(
            words=("cheap", "inexpensive", "affordable", "budget"),
            field="price_min", op="<=", unit="USD", quantile=0.25, anything=True,
        ),
    ),
)  # fmt: skip

KIND = Kind(
    name="reviews",
    label="Reviews",
    types=("Article", "NewsArticle", "Review"),
    projection=frozenset(_PROJECTION.split()),
    says_why=False,
    columns=columns,
    card_text=card_text,
    wording=WORDING,
)
