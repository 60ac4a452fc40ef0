"""The embedded ranker of a site's items: a cross-encoder reads the question beside each, one by one.

Two steps, whose numbers are fitted by build_jobs/fit_item_ranker.py and lie in item_ranker.json:

1. *Bands.* The logit orders the items, by itself: how near their vectors are only made the order worse (the report in
   item_ranker.json says by how much). From one logit on an item is strong, and that is said as soon as it is read.
   Below, an item is relevant where it is not much worse than the best, and better than what the items of off-topic
   questions reach; that is said when all are read. Whatever the threads do, the same items get the same verdicts.
2. *Why.* The sentence of the record that the cross-encoder finds to answer best, word for word; none where the record
   has none. Nothing is ever written.

An item that the question names, word for word, is strong. A question without a word of two letters or more, as
`features.is_worded` counts them, finds no other: beside "q" 59 of 60 films passed
for relevant.
"""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from shared.contracts.notices import Notice, notice
from shared.errors import RelevanceScoringFailed
from shared.models.features import content_words, is_worded
from shared.models.ledger import Ledger
from shared.models.provider import Band, ItemVerdict, Provider, Shown, SiteQuestion
from shared.models.sentences import nearest, telling, trimmed
from shared.models.weights import MINILM_CROSS

if TYPE_CHECKING:
    import anyio

    from shared.models.cross_encoder import CrossEncoder

STAGE = "ranking"
SAID = "Ranked by an embedded model, no chat model read the items; each reason is a sentence of its item."

# The prose of a record, the most telling property first; a sentence of one of these can be a reason.
_PROSE = ("description", "alternativeHeadline", "abstract", "text", "reviewBody", "articleBody")
_NESTED = ("hasPart", "review", "itemReviewed", "about")
_QUESTION_CHARS = 500
# Sentences of an item that are read for its reason: the first three by shared words hold it, and cost 4 ms each.
_READ_FOR_WHY = 3
# What another sentence must be better by than the first, which says what the thing is: the least that left "It begins
# with ten minutes of weeds and water" to no film that was only asked for by its name.
_FIRST_BY = 2.0
# Beyond what any logit gives: what the question names leads.
_NAMED = 100.0
_LETTERS = re.compile(r"[\W_]+")


class Fitted(Struct, frozen=True):
    """What the fit found: logits from which an item is `strong`, and `least` for any; and how far below the best."""

    strong: float
    least: float
    span: float

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Fitted:
        """From item_ranker.json's content."""
        return cls(**data["bands"])

    def band(self, logit: float, best: float) -> Band:
        """What is said of an item, where `best` is the highest logit of all that were read."""
        if logit >= self.strong:
            return "strong"
        return "relevant" if logit >= max(self.least, best - self.span) else "exclude"


@cache
def fitted() -> Fitted:
    """The numbers that ship with this version."""
    return Fitted.of(json.loads(resources.files(__package__).joinpath("item_ranker.json").read_text(encoding="utf-8")))


class EmbeddedItemRanker:
    """Implements models.provider.Ranker, without a call and without cost.

    `open_encoder` is asked once a request, on a thread, and may have to open the model first.
    """

    provider: Provider = "embedded"
    model = MINILM_CROSS.model
    wants_batches = False
    explains = True

    def __init__(self, open_encoder: Callable[[], CrossEncoder], weights: Fitted | None = None) -> None:
        self._open = open_encoder
        self._weights = weights or fitted()
        self._limiter: anyio.CapacityLimiter | None = None

    async def rank(
        self, question: SiteQuestion, shown: Sequence[Shown], say: Callable[[ItemVerdict], None], ledger: Ledger
    ) -> list[Notice]:
        """A verdict on each item worth showing, the most promising read first.

        Raises ModelUnavailable before the first verdict, RelevanceScoringFailed where an item could not be read.
        """
        from anyio import create_task_group, to_thread

        order = to_read(question.text, shown)
        if not order:
            return [notice("embedded_models", SAID, model=self.model)]
        started = time.perf_counter()
        reading = _Reading(question, shown, await to_thread.run_sync(self._open), iter(order))
        async with create_task_group() as group:
            for _ in range(min(reading.encoder.threads, len(order))):
                group.start_soon(self._read_on, reading, say)
        if reading.failure is None:
            await to_thread.run_sync(self._settle, reading, limiter=self._limiter)
            for verdict in reading.settled:
                say(verdict)
        ledger.record(
            target="embedded",
            model=self.model,
            stage=STAGE,
            elapsed_ms=(time.perf_counter() - started) * 1e3,
            prompt_tokens=reading.tokens,
        )
        if reading.failure is not None:
            raise reading.failure
        return [notice("embedded_models", SAID, model=self.model)]

    async def _read_on(self, reading: _Reading, say: Callable[[ItemVerdict], None]) -> None:
        from anyio import CapacityLimiter, to_thread

        self._limiter = self._limiter or CapacityLimiter(reading.encoder.threads)
        for index in reading.waiting:
            try:
                verdict = await to_thread.run_sync(partial(self._verdict, reading, index), limiter=self._limiter)
            except RelevanceScoringFailed as failure:
                # Kept, not raised in the task: a task group would wrap it in a group of exceptions.
                reading.failure = failure
                return
            if verdict is not None:
                say(verdict)

    def _verdict(self, reading: _Reading, index: int) -> ItemVerdict | None:
        """Read one item; its verdict, where the others cannot change it."""
        each = reading.shown[index]
        logit = reading.logits[index] = reading.logit(text_of(each))
        if is_named(question_key(reading.question.text), each):
            return ItemVerdict(index, "strong", reading.why(each), logit + _NAMED)
        if self._weights.band(logit, logit) == "strong":
            return ItemVerdict(index, "strong", reading.why(each), logit)
        reading.open[index] = logit
        return None

    def _settle(self, reading: _Reading) -> None:
        """The verdicts that had to wait for the best item, best first."""
        best = max(reading.logits.values())
        for index, logit in sorted(reading.open.items(), key=lambda one: (-one[1], one[0])):
            band = self._weights.band(logit, best)
            if band != "exclude":
                reading.settled.append(ItemVerdict(index, band, reading.why(reading.shown[index]), logit))
            elif reading.question.every:
                reading.settled.append(ItemVerdict(index, band, "", logit))


class _Reading(Struct):
    """One question on its way through the items: what waits to be read, and what reading cost so far."""

    question: SiteQuestion
    shown: Sequence[Shown]
    encoder: CrossEncoder
    waiting: Iterator[int]
    tokens: int = 0
    failure: RelevanceScoringFailed | None = None
    # By index: of every item read, and of those whose verdict waits for the best.
    logits: dict[int, float] = field(default_factory=dict)
    open: dict[int, float] = field(default_factory=dict)
    settled: list[ItemVerdict] = field(default_factory=list)

    def logit(self, text: str) -> float:
        read = self.encoder.read(self.question.text[:_QUESTION_CHARS], text)
        self.tokens += read.tokens
        return read.logit

    def why(self, each: Shown) -> str:
        """The sentence of the record that answers best, or nothing."""
        told = telling(list(_prose(each.record)))
        if len(told) < 2:
            return trimmed(told[0]) if told else ""
        asked = frozenset(content_words(self.question.text))
        others = [one for one in nearest(told, asked, _READ_FOR_WHY) if one != told[0]]
        best = max([told[0], *others], key=lambda one: self.logit(one) + _FIRST_BY * (one == told[0]))
        return trimmed(best)


def to_read(text: str, shown: Sequence[Shown]) -> list[int]:
    """Which items to read for a question, and in which order: all of them, or those named where it has no word."""
    order = by_promise(shown)
    if is_worded(text):
        return order
    key = question_key(text)
    return [index for index in order if is_named(key, shown[index])]


def by_promise(shown: Sequence[Shown]) -> list[int]:
    """In which order to read the items: the best of either way of finding them first."""
    places = [len(shown)] * len(shown)
    for scores in ([each.vector_score for each in shown], [each.bm25_score for each in shown]):
        found = sorted((-score, index) for index, score in enumerate(scores) if score)
        for place, (_, index) in enumerate(found):
            places[index] = min(places[index], place)
    return sorted(range(len(shown)), key=lambda index: (places[index], index))


def text_of(shown: Shown) -> str:
    """What the cross-encoder reads of an item: its card, else its name and description."""
    return shown.card or "\n".join([shown.item.name, *_strings(shown.record.get("description"))])


def question_key(text: str) -> str:
    """The form in which a question and a name are compared: letters and digits, without case and accents."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return _LETTERS.sub(" ", plain).strip().casefold()


def is_named(key: str, shown: Shown) -> bool:
    """Whether a question, as `question_key` gives it, is the item's name or one of its other names, word for word."""
    names = (shown.item.name, *_strings(shown.item.record.get("alternateName")))
    return bool(key) and any(question_key(name) == key for name in names)


def _prose(record: Mapping[str, Any]) -> Iterator[str]:
    for name in _PROSE:
        yield from _strings(record.get(name))
    for name in _NESTED:
        value = record.get(name)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Mapping):
                yield from (text for prose in _PROSE for text in _strings(part.get(prose)))


def _strings(value: object) -> list[str]:
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str) and each]
