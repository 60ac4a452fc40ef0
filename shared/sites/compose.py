"""Prose over the results: a summary or an answer, and what stands in for one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from shared.contracts.ask import AskRequest
from shared.contracts.notices import Notice, notice
from shared.errors import Unavailable
from shared.models.ledger import Ledger
from shared.models.provider import Evidence, Writer, unsaid
from shared.sites.bands import Card
from shared.sites.grounding import checked
from shared.sites.rank import own_words
from shared.timed import timed
from shared.work import work

NAMED = 4
QUOTED = 3
EVIDENCE_CHARS = 600


class Composed(Struct, frozen=True):
    """The prose, empty where there is none, and what has to be said about it."""

    text: str
    notices: tuple[Notice, ...] = ()


async def compose(
    request: AskRequest, query: str, cards: Sequence[Card], writer: Writer | None, ledger: Ledger
) -> Composed:
    """A summary or an answer out of the cards. It never fails: the results are complete without it."""
    if writer is None:
        return unavailable("no language model is configured", "no_model")
    evidence = [evidence_of(card) for card in cards]
    try:
        with timed("compose"):
            text = await writer.compose(request.mode, query, evidence, ledger)
    except Unavailable as failure:
        return unavailable(failure.message, failure.code)
    return await work(lambda: supported(text, query, cards))


def supported(text: str, query: str, cards: Sequence[Card]) -> Composed:
    """A model's summary or answer, without sentences that the items shown do not support; out of names where none is
    left."""
    evidence = [evidence_of(card) for card in cards]
    held = checked(text, [part for each in evidence for part in (each.record, each.url, each.description)], query)
    if held.text:
        return Composed(held.text, tuple(held.notices))
    message = "The model's answer could not be read; this one was put together from the results."
    return Composed(from_names(evidence), (notice("answer_from_names", message), *held.notices))


def unavailable(why: str, reason: str) -> Composed:
    """No prose, and why."""
    return Composed("", (notice("answer_failed", f"Answer generation unavailable: {why}.", reason=reason),))


def evidence_of(card: Card) -> Evidence:
    """A card as the writer sees it: what is shown on it, and where that is little, what the item says of itself."""
    item = card.found.item
    own = own_words(card.found, EVIDENCE_CHARS)
    description = card.description if card.description == own or not own else f"{card.description} {own}".strip()
    standing = card.found.standing
    is_open = standing is not None and standing.is_open
    return Evidence(item.name, item.url, description, item.record, is_open)


def from_names(evidence: Sequence[Evidence]) -> str:
    """The first four names in a sentence, then the first three descriptions."""
    names = [each.name for each in evidence if each.name][:NAMED]
    said = [closed(each.description) for each in evidence if each.description][:QUOTED]
    found = [f"The best matches are {listed(names)}."] if len(names) > 1 else [f"The best match is {listed(names)}."]
    return " ".join([*unsaid(evidence), *found, *said])


def listed(names: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def closed(text: str) -> str:
    """A text that ends with a full stop, or with what it ends with."""
    plain = text.strip()
    return plain if plain.endswith((".", "!", "?", "…")) else f"{plain}."
