"""What is asked about tables: how well candidates answer, and how people would look for one.

Apart from provider.py, since a site that starts makes none of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from shared.models.ledger import Ledger
from shared.models.provider import Provider

# Parts of the world, as cards and questions name them beside "oecd", "europe" and countries' names in lower case.
US = "us"
# Somewhere outside the US, in a country that nobody could tell.
ABROAD = "abroad"


class Card(Struct, frozen=True):
    """What a judge is shown of one candidate: data, never instructions.

    `coverage` is the part of the world that the table is limited to, empty where it is not; `code` is the identifier
    that its publisher gave it, empty where it has none. A judge that reads is not shown these two.
    """

    title: str
    description: str
    queries: tuple[str, ...]
    scope: str
    geography: str
    coverage: str = ""
    code: str = ""


class Candidate(Struct, frozen=True):
    """One table document in the pool, with what retrieval measured of it.

    `cosines` are one a phrasing, in the phrasings' order, -1 to 1; `cosine` is their maximum.
    `bm25` is the keyword score, 0 where no word matched. `embed_rank` counts from 0.
    """

    row: int
    family: str
    cosines: tuple[float, ...]
    cosine: float
    embed_rank: int
    bm25: float
    found_by: tuple[str, ...]
    card: Card


class Question(Struct, frozen=True):
    """What is asked: the text a judge reads, the phrasings that were embedded, and which of them are place-stripped.

    `places` are the parts of the world that hold a place it names, as `Card.coverage` names them.
    """

    text: str
    phrasings: tuple[str, ...]
    stripped: tuple[bool, ...]
    places: frozenset[str] = frozenset()


class Verdict(Struct, frozen=True):
    """A judge's word on one candidate: its index in what was shown, and 0-100."""

    index: int
    score: float


class Judgement(Struct, frozen=True):
    """Verdicts in the judge's order, and how many of its words could not be used."""

    verdicts: tuple[Verdict, ...]
    skipped: int = 0


class Judge(Protocol):
    """Says how well each candidate answers."""

    @property
    def provider(self) -> Provider:
        """Who judges."""

    @property
    def model(self) -> str:
        """The model's id."""

    @property
    def wants_groups(self) -> bool:
        """True for a chat model: one call a source family, with anchors. False: all candidates at once."""

    async def judge(self, question: Question, candidates: Sequence[Candidate], k: int, ledger: Ledger) -> Judgement:
        """Verdicts on the candidates. Raises RelevanceScoringFailed."""


class Asked(Struct, frozen=True):
    """A table that questions are wanted for: what it is called, what it is, and whom or what it describes."""

    title: str
    description: str
    scope: str


class Asker(Protocol):
    """Says how people would look for a table."""

    @property
    def model(self) -> str:
        """The model's id."""

    @property
    def version(self) -> int:
        """Of what it is told: with another version it would write other questions."""

    async def ask(self, measures: Sequence[Asked], ledger: Ledger) -> Mapping[int, tuple[str, ...]]:
        """Questions of each measure, by its index; one without any is left out.

        Raises ModelUnavailable, BudgetExhausted.
        """
