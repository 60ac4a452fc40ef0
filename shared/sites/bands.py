"""From verdicts to the list that is shown: bands, duplicates, the threshold, the cut. No model has a say here."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence

from msgspec import Struct

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


class Card(Struct, frozen=True):
    """One item that may be shown: where it stood among the candidates, and what it is shown with."""

    place: int
    found: Found
    score: int
    relevance: str
    description: str

    @property
    def wire(self) -> WireItem:
        """The item as it stands on the wire; `constraints_met` and `unknown` only where the question has constraints.

        Of a plain question's items nothing is said, so they keep the keys they always had.
        """
        item, standing = self.found.item, self.found.standing
        held: WireItem = {}
        if standing is not None and standing.is_told:
            held = {"constraints_met": standing.met, "unknown": list(standing.unknown)}
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
            **held,
        }


def in_order(verdicts: Iterable[ItemVerdict], found: Sequence[Found] = (), softly: bool = False) -> list[ItemVerdict]:
    """Strong before relevant; inside a band by the ranker's own measure where it has one, else as retrieved.

    Before any band comes what the columns say: what meets all hard constraints, then the order that was asked for.
    `softly` holds against items of one band what soft constraint they miss, for a ranker that read none of them.
    """

    def place(verdict: ItemVerdict) -> tuple[float, ...]:
        standing = found[verdict.index].standing if found else None
        leads = standing.leads if standing else (0, 0)
        misses = standing.misses if standing and softly else 0
        return (*leads, _BANDS[verdict.band], misses, -verdict.fit, verdict.index)

    return sorted(verdicts, key=place)


def is_shown(card: Card, request: AskRequest) -> bool:
    """Whether a ranked card reaches the threshold. `min_score` filters; it never becomes a score."""
    return card.score >= request.min_score or (request.include_excluded and card.relevance == "exclude")


def selected(cards: Sequence[Card], request: AskRequest, most: int | None = None) -> list[Card]:
    """Ranked cards in their order, without duplicates and what is under the threshold, cut to what was asked for.

    `most` of them can be shown at all, whatever page is asked for.
    """
    kept = [card for card in cards if is_shown(card, request)]
    return _page((kept if request.include_excluded else without_duplicates(kept))[:most], request)


def retrieved(found: Sequence[Found], request: AskRequest, describe: Sequence[str]) -> list[Card]:
    """Cards in retrieval order, for where nothing ranks. Their scores are of another scale, so no threshold holds."""
    cards = [
        Card(place, each, retrieval_score(each), UNRANKED, text)
        for place, (each, text) in enumerate(zip(found, describe, strict=True))
    ]
    return _page(without_duplicates(sorted(cards, key=_leads)), request)


def _leads(card: Card) -> tuple[int, int]:
    return card.found.standing.leads if card.found.standing else (0, 0)


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
