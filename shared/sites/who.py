"""Which sites there are, and whether one has something to a question: by words alone, no model is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shared.index.item_lexical import item_query_tokens
from shared.sites.site import Site

Json = dict[str, Any]

# A site that is named in the question ("a recipe for …") comes before any that merely has its words.
NAMED, UNNAMED = 50, 80
# A word that fewer of the items have than this counts as one that none has.
RAREST = 1e-5


def described(site: Site, base_url: str) -> Json:
    """The site for people and programs: `site` is what a request calls it, `url` where it is asked."""
    return {
        "@type": "WebSite",
        "@id": f"{base_url}ask",
        "site": site.kind.name,
        "collection": site.collection,
        "name": site.label,
        "description": f"{site.count:,} items of {site.label} ({site.kind.name})",
        "url": f"{base_url}ask",
        "items": site.count,
    }


def sites_reply(site: Site, base_url: str) -> Json:
    """The sites that are asked here: one."""
    return {"message-type": "sites", "sites": [site.kind.name], "details": [described(site, base_url)]}


def who_reply(query: str, site: Site, base_url: str) -> Json:
    """The site with a `score` of 1 to 100 where it may answer a question, else nothing."""
    score = fit(query, site)
    found = [{**described(site, base_url), "score": score}] if score else []
    return {"message-type": "who", "query": query, "results": found}


def fit(query: str, site: Site) -> int:
    """0-100: how usual the question's words are in the site's items, and whether the site is named.

    Whether one item has them all tells sites apart less well: any long text has most words. Of 16 questions over five
    sites of 791 to 28,923 items BM25's best item finds the right site for 9, this for 14.
    """
    words = item_query_tokens(query)
    names = names_of(site)
    told = [word for word in words if word not in names]
    share = _usual(told, site)
    if len(told) < len(words):
        return round(NAMED + (100 - NAMED) * (share if told else 1.0))
    return round(UNNAMED * share)


def _usual(words: Sequence[str], site: Site) -> float:
    """0-1: the mean over words of the share of items that have one, on a logarithmic scale from RAREST to all."""
    if not words or not site.count:
        return 0.0
    shares = [max(RAREST, site.lexical.document_frequency(word) / site.count) for word in words]
    return 1 - sum(map(math.log, shares)) / (len(shares) * math.log(RAREST))


def names_of(site: Site) -> frozenset[str]:
    """The words that a site goes by: its kind, one and many, its types, its collection."""
    kind = site.kind
    names = {kind.name, kind.name.removesuffix("s"), site.collection, site.label, *kind.types}
    return frozenset(name.casefold() for name in names)
