"""What is shown of results where the ranker writes nothing: a describer's words, each result sent as soon as it may."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from shared.contracts.notices import Notice, notice
from shared.errors import Unavailable
from shared.models.ledger import Ledger
from shared.models.provider import Described, Describer, SiteQuestion
from shared.models.quoting import dropped
from shared.sites.bands import Card
from shared.sites.grounding import Checked
from shared.sites.kinds import Kind
from shared.sites.rank import grounded, shown_of
from shared.timed import timed
from shared.work import work

# Only these are described, and where there is a describer only these are ever shown.
MOST_DESCRIBED = 8


class Line(Struct):
    """Results in their final order: each is shown once its own word and those of all before it are known."""

    cards: Sequence[Card]
    show: Callable[[Card], None]
    question: str = ""
    shown: list[Card] = field(default_factory=list)
    dropped: int = 0
    unsupported: int = 0
    restored: bool = False
    _words: dict[int, Described] = field(default_factory=dict)
    _next: int = 0

    def hear(self, word: Described) -> None:
        """A result's word; the first counts, and one about no result none."""
        self._words.setdefault(word.index, word)
        while self._next in self._words and self._next < len(self.cards):
            self._pass()

    def close(self) -> list[Notice]:
        """Show what is left: what no word was said of stays, without a text. Where all were dropped all are shown."""
        while self._next < len(self.cards):
            self._pass()
        if not self.dropped:
            return dropped(self.unsupported)
        if not self.shown:
            self.restored = True
            for card in self.cards:
                self._show(card, "")
            message = "Every result was said not to fit what was asked for; the best of them are shown all the same."
            return [notice("results_restored", message, items=self.dropped), *dropped(self.unsupported)]
        message = "Some results were left out, because what they say of themselves does not fit what was asked for."
        return [notice("results_dropped", message, items=self.dropped), *dropped(self.unsupported)]

    def _pass(self) -> None:
        word, card = self._words.get(self._next), self.cards[self._next]
        self._next += 1
        if word is not None and not word.keep:
            self.dropped += 1
            return
        said = grounded(word.text, card.found, self.question) if word else Checked("")
        self.unsupported += said.dropped
        self._show(card, said.text)

    def _show(self, card: Card, text: str) -> None:
        self.shown.append(replace(card, description=text))
        self.show(self.shown[-1])


async def describe(
    describer: Describer,
    question: SiteQuestion,
    restrictions: Sequence[str],
    line: Line,
    *,
    kind: Kind,
    ledger: Ledger,
) -> tuple[str, list[Notice]]:
    """The summary, empty where there is none, and what has to be said. The line hears each word as it comes.

    A describer that fails costs the texts it had not written yet, and a notice says so.
    """
    shown = await work(lambda: [shown_of(card.found, kind) for card in line.cards])
    try:
        with timed("describe"):
            return await describer.describe(question, shown, restrictions, line.hear, ledger)
    except Unavailable as failure:
        return "", undescribed(failure.code)


def undescribed(reason: str) -> list[Notice]:
    """That results are shown as they were ranked, and why."""
    message = "The results could not be described; they are shown as they were ranked."
    return [notice("describer_failed", message, reason=reason)]
