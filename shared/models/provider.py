"""What is asked of a model, whoever answers.

The embedder is named by a release's manifest and never chosen otherwise; who judges, ranks, writes, advises and
describes comes from LLM_PROVIDER. All are asynchronous, so that a deadline or a caller who has left can cancel them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from shared.contracts.notices import Notice
from shared.models.ledger import Ledger

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from shared.contracts.items import Item


Provider = Literal["embedded", "openrouter"]
TextKind = Literal["query", "document"]

# What a model that reads, and a search by words, is shown of a question; what is longer is cut, and said to be.
MAX_QUESTION_CHARS = 8_000


class Embedder(Protocol):
    """Turns texts into unit vectors.

    The kind matters: some models were trained with an instruction before a query and none before a document.
    """

    @property
    def provider(self) -> Provider:
        """Who runs the model, as a manifest names it."""

    @property
    def model(self) -> str:
        """The model's id, as a manifest names it."""

    @property
    def dimension(self) -> int:
        """Length of each vector."""

    @property
    def max_chars(self) -> int:
        """Characters of a text it can take; what is longer has to be cut, and said to be."""

    async def embed(self, texts: Sequence[str], kind: TextKind, ledger: Ledger) -> npt.NDArray[np.float32]:
        """`(len(texts), dimension)` float32, L2-normalised, in order. Raises EmbeddingFailed."""


Band = Literal["strong", "relevant", "exclude"]
Source = Literal["bm25", "vector", "columns"]


class SiteQuestion(Struct, frozen=True):
    """What is asked of a site: the standalone text, and what kind of thing its items are.

    `says_why` asks for a sentence with each verdict; `every` for a verdict on every item, "exclude" among them.
    `query_id` tells the gateway which calls belong together.
    """

    text: str
    kind: str
    says_why: bool = True
    every: bool = False
    query_id: str = ""


class Shown(Struct, frozen=True):
    """One retrieved item, as a ranker is shown it: `record` is the projection of it, data and never instructions.

    `vector_score` is a sum of three cosines, None where vectors did not find it; so with `bm25_score`. `card` is the
    item in a few lines of plain words, for a ranker that reads one text and needs no batches; else empty.
    """

    item: Item
    record: Mapping[str, Any]
    vector_score: float | None
    bm25_score: float | None
    source: Source
    card: str = ""


class ItemVerdict(Struct, frozen=True):
    """A ranker's word on one item: its index in what was shown, a band, and one sentence or nothing.

    `fit` orders the items of one band, best first; a ranker that only tells bands leaves it 0, and then the order of
    retrieval holds.
    """

    index: int
    band: Band
    why: str = ""
    fit: float = 0.0


class Evidence(Struct, frozen=True):
    """One result, as a writer is shown it. `is_open`: its record leaves out something that the question demands."""

    name: str
    url: str
    description: str
    record: Mapping[str, Any]
    is_open: bool = False


def unsaid(evidence: Sequence[Evidence]) -> list[str]:
    """What prose over these results has to begin with where of none of them it is known that it is an answer."""
    all_open = bool(evidence) and all(each.is_open for each in evidence)
    return ["No record here says whether it meets all that was asked."] if all_open else []


Tier = Literal["simple", "hard"]
Polarity = Literal["require", "avoid"]


class Need(Struct, frozen=True):
    """One thing a question demands, as a model read it: `type` is one of chat_advisor.NEEDS, `value` its words."""

    type: str
    value: str
    polarity: Polarity


class Triaged(Struct, frozen=True):
    """How hard a question is, and what it demands; `skipped` counts what a model listed that could not be used."""

    tier: Tier
    needs: tuple[Need, ...] = ()
    skipped: int = 0

    @property
    def restrictions(self) -> tuple[str, ...]:
        """What may not be broken: diets, allergies, religious and medical rules, in the asker's words."""
        strict = ("diet", "allergy", "religious", "medical")
        return tuple(dict.fromkeys(need.value for need in self.needs if need.type in strict))


class Proposed(Struct, frozen=True):
    """What else to look for: search terms, and names of well-known items. Nothing but a search follows from it.

    `skipped` counts what a model listed that could not be used.
    """

    terms: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    skipped: int = 0


class Described(Struct, frozen=True):
    """A describer's word on one result: its index in what was shown, whether it stays, and its sentence or nothing."""

    index: int
    keep: bool
    text: str


class Advisor(Protocol):
    """Reads a question before and beside the search."""

    @property
    def model(self) -> str:
        """The model's id."""

    async def triage(self, query: str, kind: str, ledger: Ledger) -> Triaged:
        """How hard it is, and what it demands. Raises ModelUnavailable, BudgetExhausted."""

    async def expand(self, query: str, kind: str, avoid: Sequence[str], ledger: Ledger) -> Proposed:
        """What else to look for; `avoid` are what the question excludes. Raises ModelUnavailable, BudgetExhausted."""


class Describer(Protocol):
    """Writes what is shown of results, and may say that one is not what was asked for."""

    @property
    def model(self) -> str:
        """The model's id."""

    async def describe(
        self,
        question: SiteQuestion,
        shown: Sequence[Shown],
        restrictions: Sequence[str],
        say: Callable[[Described], None],
        ledger: Ledger,
    ) -> tuple[str, list[Notice]]:
        """Call `say` with each item's word the moment it is known, at most one an item; returns the summary.

        The summary is empty where none can be read. What is said of the words that could not be used comes with it.
        Raises ModelUnavailable, BudgetExhausted; what was said before counts all the same.
        """


class Ranker(Protocol):
    """Says which items are worth showing."""

    @property
    def provider(self) -> Provider:
        """Who ranks."""

    @property
    def model(self) -> str:
        """The model's id."""

    @property
    def wants_batches(self) -> bool:
        """True for a chat model: a few items a call, calls side by side. False: all items at once."""

    @property
    def explains(self) -> bool:
        """Whether it has a sentence to say on an item. False: `why` is always empty, and nothing is written."""

    async def rank(
        self, question: SiteQuestion, shown: Sequence[Shown], say: Callable[[ItemVerdict], None], ledger: Ledger
    ) -> list[Notice]:
        """Call `say`, on the event loop, with each verdict the moment it is known; at most one an item.

        Returns what has to be said about it. Raises RelevanceScoringFailed, BudgetExhausted; what was said before
        counts all the same.
        """


class Writer(Protocol):
    """Puts a question, and an answer, into words."""

    @property
    def provider(self) -> Provider:
        """Who writes."""

    @property
    def model(self) -> str:
        """The model's id."""

    async def rewrite(self, query: str, previous: Sequence[str], results: Sequence[str], ledger: Ledger) -> str:
        """The query as it would be asked without a conversation around it; "" where that cannot be told.

        `previous` are the earlier queries, oldest first; `results` are names last shown. Raises ModelUnavailable,
        BudgetExhausted.
        """

    async def compose(self, mode: str, query: str, evidence: Sequence[Evidence], ledger: Ledger) -> str:
        """Prose over the results: mode "summarize" or "generate". "" where nothing readable came of it.

        Raises ModelUnavailable, BudgetExhausted.
        """
