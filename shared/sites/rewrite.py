"""A follow-up made into a question of its own, and the guard that a rewrite has to pass before it is searched."""

from __future__ import annotations

import re
from collections.abc import Sequence

import anyio
from msgspec import Struct

from shared.contracts.ask import AskRequest
from shared.contracts.notices import Notice, notice
from shared.contracts.text import normal
from shared.errors import Unavailable
from shared.models.ledger import Ledger
from shared.models.provider import Writer
from shared.timed import timed

MOST_CHARS = 400
# Words that a rewrite may have beyond those of the query and the longest query before it: "recipes for", "similar to".
MOST_WORDS_MORE = 15


class Rewrite(Struct, frozen=True):
    """What is to be searched, and the notice where that is the query as typed for want of a better one."""

    text: str
    notices: tuple[Notice, ...] = ()


async def rewrite(request: AskRequest, writer: Writer | None, timeout_s: float, ledger: Ledger) -> Rewrite:
    """The standalone form of a follow-up. It never fails: the query as typed is always an answer."""
    if writer is None:
        return kept_as_typed(request, "no_model")
    said = None
    try:
        with anyio.move_on_after(timeout_s), timed("rewrite"):
            said = await writer.rewrite(request.query, request.previous_queries, request.previous_results, ledger)
    except Unavailable as failure:
        return kept_as_typed(request, failure.code)
    if said is None:
        return kept_as_typed(request, "timeout")
    text = normal(said).strip("\"'“”").strip()
    wrong = fault_of(text, request.query, [*request.previous_queries, *request.previous_results])
    return kept_as_typed(request, wrong) if wrong else Rewrite(text)


def kept_as_typed(request: AskRequest, reason: str) -> Rewrite:
    """The query unchanged, and why."""
    message = "The question could not be read together with those before it; it was searched as typed."
    return Rewrite(request.query, (notice("rewrite_failed", message, reason=reason),))


def fault_of(text: str, query: str, context: Sequence[str]) -> str:
    """Why a rewrite is no query that somebody could have typed in this session; empty where it is one."""
    if not text:
        return "blank"
    if _same(text, query):
        return ""
    if _too_long(text, query, context):
        return "too_long"
    if _MARKUP.search(text) or len(_SENTENCE_END.findall(text)) > 1 or _is_reply(text, [query, *context]):
        return "not_a_query"
    if not set(_NUMBER.findall(query)) <= set(_NUMBER.findall(text)):
        return "lost_a_number"
    return "" if _is_related(text, [query, *context]) else "unrelated"


# Lists, JSON and markup: a query has none of them.
_MARKUP = re.compile(r"^[\[{<#*•-]|```|https?://|\s(?:\d+[.)]|[-*•])\s|^\d+[.)]\s|\":")
# "Mr. & Mrs. Smith" is one sentence.
_SENTENCE_END = re.compile(r"\w{4}[.!](?:\s|$)|[。！]")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"\w+")
# How an answer begins, which no search query does.
_REPLY = re.compile(
    r"^(?:here(?:'s|’s| is| are)|sure|certainly|of course|okay|ok|yes|no|sorry|unfortunately|i(?:'m|’m| am| can|'d|’d)"
    r"|as an?|based on|you (?:can|could|should|might)|try|there (?:is|are)|the answer|these are|this is"
    r"|some (?:good|great))\b",
    re.IGNORECASE,
)
_FILLER = frozenset(
    "a an the of for on in to with that this and or but is are was be it its by at as from about not no without only"
    " just all any some more most less other another like similar find show me give which what who how recipes recipe"
    " movies movie films film reviews review trails trail hikes hike homes home houses house".split()
)


def _same(text: str, query: str) -> bool:
    return text.casefold() == normal(query).casefold()


def _too_long(text: str, query: str, context: Sequence[str]) -> bool:
    longest = max((len(_words(each)) for each in context), default=0)
    room = len(_words(query)) + longest + MOST_WORDS_MORE
    return len(_words(text)) > room or len(text) > max(MOST_CHARS, 2 * len(query))


def _is_reply(text: str, said: Sequence[str]) -> bool:
    """Whether it begins as an answer does, and nobody began so before it ("no-bake cheesecake")."""
    opening = _REPLY.match(text)
    return opening is not None and not any(each.casefold().startswith(opening[0].casefold()) for each in said)


def _is_related(text: str, said: Sequence[str]) -> bool:
    """Whether at least half of its telling words were said before. A script without spaces is not looked into."""
    telling = [word for word in _words(text) if word not in _FILLER]
    if not telling or not text.isascii():
        return True
    known = {_stem(word) for each in said for word in _words(each)}
    return 2 * sum(_stem(word) in known for word in telling) >= len(telling)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _stem(word: str) -> str:
    return word[:4]
