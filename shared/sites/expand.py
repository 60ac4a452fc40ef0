"""What else may answer: a model proposes names and terms, and only what the collection holds becomes a candidate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, zip_longest

import anyio
from msgspec import Struct

from shared.contracts.notices import Notice, notice
from shared.contracts.titles import plain_title
from shared.errors import Unavailable
from shared.index.item_vectors import Ranked
from shared.models.ledger import Ledger
from shared.models.provider import Advisor, Need, Proposed
from shared.sites.aim import Aim
from shared.sites.retrieve import Found, by_words, found_in
from shared.sites.site import Site
from shared.sites.titles import is_denied
from shared.timed import timed

# Of each name this many are looked at: what it names is among them, or not here.
NAME_DEPTH = 5
TERM_DEPTH = 20
MOST_BY_TERMS = 10


class Proposal(Struct, frozen=True):
    """What the model proposed, nothing where it failed, and what has to be said."""

    proposed: Proposed
    notices: tuple[Notice, ...] = ()


async def propose(
    aim: Aim, kind: str, needs: Sequence[Need], advisor: Advisor, *, timeout_s: float, ledger: Ledger
) -> Proposal:
    """Terms and names for a question. It never fails: without them the search stands as it is, and a notice says so."""
    proposed = None
    try:
        with anyio.move_on_after(timeout_s), timed("expand"):
            proposed = await advisor.expand(aim.query, kind, denied(aim, needs), ledger)
    except Unavailable as failure:
        return Proposal(Proposed(), unexpanded(failure.code))
    if proposed is None:
        return Proposal(Proposed(), unexpanded("timeout"))
    message = "Some of what a model proposed to look for could not be used."
    said = (notice("verdicts_skipped", message, verdicts=proposed.skipped),) if proposed.skipped else ()
    return Proposal(proposed, said)


def unexpanded(reason: str) -> tuple[Notice, ...]:
    """That there was no proposal, and why."""
    message = "The search was not widened by what a model would propose; what was found directly is shown."
    return (notice("expansion_failed", message, reason=reason),)


def denied(aim: Aim, needs: Sequence[Need]) -> list[str]:
    """What the question says it does not want, by its constraints and as a model read it."""
    lacks = [str(each.value) for each in aim.reading.constraints if each.op == "lacks"]
    return list(dict.fromkeys([*lacks, *(need.value for need in needs if need.polarity == "avoid")]))


def widened(proposed: Proposed, aim: Aim, needs: Sequence[Need], site: Site, seen: Collection[int]) -> list[Found]:
    """The candidates that a proposal adds to those seen: items of exactly these names, then up to 10 by the terms.

    They meet the hard constraints or leave them open, as every candidate does, and none bears a name that the question
    excludes. For a thread.
    """
    avoided = {plain_title(each) for each in denied(aim, needs)}
    named = _fresh(_by_names(proposed.names, aim, site), seen, avoided, aim)
    known = {*seen, *(each.row for each in named)}
    termed = _fresh(_by_terms(proposed.terms, aim, site), known, avoided, aim)
    return named + termed[:MOST_BY_TERMS]


def _by_names(names: Iterable[str], aim: Aim, site: Site) -> list[Found]:
    """The items that bear one of these names, to the letter but for what `plain_title` passes over."""
    return [
        each
        for name in names
        for each in found_in(site, aim, by_words(name, site, aim, NAME_DEPTH), "bm25")
        if plain_title(each.item.name) == plain_title(name) != ""
    ]


def _by_terms(terms: Iterable[str], aim: Aim, site: Site) -> list[Found]:
    """The best of each term in turn, so that none crowds out the others."""
    lists = [by_words(term, site, aim, TERM_DEPTH) for term in terms]
    in_turn: Ranked = [each for each in chain.from_iterable(zip_longest(*lists)) if each is not None]
    return found_in(site, aim, list({row: (row, score) for row, score in reversed(in_turn)}.values())[::-1], "bm25")


def _fresh(found: Iterable[Found], seen: Collection[int], avoided: Collection[str], aim: Aim) -> list[Found]:
    """Each once, without those seen before and those whose name is excluded."""
    first = {each.row: each for each in _wanted(found, avoided, aim)}
    return [each for row, each in first.items() if row not in seen]


def _wanted(found: Iterable[Found], avoided: Collection[str], aim: Aim) -> Iterator[Found]:
    for each in found:
        title = plain_title(each.item.name)
        if title not in avoided and not is_denied(title, aim.query):
            yield each
