"""From verdicts to the list that is shown: bands, duplicates, the threshold, the cut. No model has a say here."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from shared.contracts.ask import AskRequest
from shared.contracts.events import WireItem
from shared.contracts.items import Item
from shared.models.provider import ItemVerdict
from shared.sites.retrieve import Found
from shared.sites.values import year

SCORES = {"strong": 90, "relevant": 70, "exclude": 0}
UNRANKED = "retrieval"
_BANDS = {"strong": 0, "relevant": 1, "exclude": 2}
# A card that the ranker wrote nothing for shows this much of the item's own description.
OWN_CHARS = 280


@dataclass(frozen=True, slots=True)
class Card:
    """One item that may be shown: where it stood among the candidates, and what it is shown with."""

    place: int
    found: Found
    score: int
    relevance: str
    description: str

    @property
    def wire(self) -> WireItem:
        """The item as it stands on the wire."""
        item = self.found.item
        return {
            "@type": "Item",
            "url": item.url,
            "name": item.name,
            "site": item.site,
            "score": self.score,
            "relevance": self.relevance,
            "description": self.description,
            "vector_score": self.found.vector_score,
            "bm25_score": self.found.bm25_score,
            "retrieval_source": self.found.source,
            "schema_object": item.record,
        }


def in_order(verdicts: Iterable[ItemVerdict]) -> list[ItemVerdict]:
    """Strong before relevant; inside a band by the ranker's own measure where it has one, else as retrieved."""
    return sorted(verdicts, key=lambda verdict: (_BANDS[verdict.band], -verdict.fit, verdict.index))


def is_shown(card: Card, request: AskRequest) -> bool:
    """Whether a ranked card reaches the threshold. `min_score` filters; it never becomes a score."""
    return card.score >= request.min_score or (request.include_excluded and card.relevance == "exclude")


def selected(cards: Sequence[Card], request: AskRequest) -> list[Card]:
    """Ranked cards in their order, without duplicates and what is under the threshold, cut to what was asked for."""
    kept = [card for card in cards if is_shown(card, request)]
    return _page(kept if request.include_excluded else without_duplicates(kept), request)


def retrieved(found: Sequence[Found], request: AskRequest, describe: Sequence[str]) -> list[Card]:
    """Cards in retrieval order, for where nothing ranks. Their scores are of another scale, so no threshold holds."""
    cards = [
        Card(place, each, retrieval_score(each), UNRANKED, text)
        for place, (each, text) in enumerate(zip(found, describe, strict=True))
    ]
    return _page(without_duplicates(cards), request)


def without_duplicates(cards: Iterable[Card]) -> list[Card]:
    """The first card of each thing: of one site, one name, and one year or, where none is said, one address.

    Remakes share a title and homes a name; they are different things.
    """
    first: dict[Hashable, Card] = {}
    for card in cards:
        first.setdefault(identity(card.found.item), card)
    return list(first.values())


def identity(item: Item) -> Hashable:
    """What two records of the same thing have in common."""
    name = " ".join(item.name.lower().split())
    return item.site, name, year(item.record.get("datePublished")) or item.url or item.id


def retrieval_score(found: Found) -> int:
    """0-100 out of retrieval's own score: a mean cosine from -1 to 1, or five points for each of BM25's."""
    if found.vector_score is not None and math.isfinite(found.vector_score):
        return max(0, min(100, math.floor((found.vector_score / 3 + 1) * 50)))
    return max(0, min(100, int(5 * (found.bm25_score or 0))))


def _page(cards: list[Card], request: AskRequest) -> list[Card]:
    return cards[request.start_num : request.start_num + request.max_results]
