"""`askbucket load-cosmos --compare`: whether questions find the same candidates in Cosmos DB as in memory.

The questions are made of the release's own records. On a live account it says what the service's index misses, and
what a question takes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from build_jobs.evaluate_items import records_of
from build_jobs.item_questions import described, predicates
from build_jobs.progress import Meter, Told, silent
from shared.contracts.notices import Notice
from shared.errors import BuildError
from shared.models.choice import Models
from shared.models.ledger import Ledger
from shared.sites.aim import aimed
from shared.sites.kinds import KINDS
from shared.sites.retrieve import Found, Plan, retrieve
from shared.sites.site import Site, open_site
from shared.work import work

if TYPE_CHECKING:
    from shared.settings import Settings

# Of a question's candidates, scores further apart than float32 rounds are another order.
ROUNDING = 1e-5


@dataclass(slots=True)
class Compared:
    """One question: what each store found beyond the words, and what Cosmos DB took for it."""

    question: str
    missing: list[str]
    more: list[str]
    in_order: bool
    furthest: float
    units: float
    requests: int
    memory_ms: float
    cosmos_ms: float
    notices: list[str] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        """The same items in the same order, but for scores that rounding alone tells apart."""
        return not (self.missing or self.more) and self.in_order


@dataclass(slots=True)
class Comparison:
    """All questions of one site."""

    catalog: str
    release: str
    items: int
    compared: list[Compared] = field(default_factory=list)

    @property
    def same(self) -> int:
        """How many questions find the same candidates."""
        return sum(each.is_same for each in self.compared)

    def as_json(self) -> dict[str, Any]:
        return {
            "catalog": self.catalog,
            "release": self.release,
            "items": self.items,
            "questions": len(self.compared),
            "same": self.same,
            "furthest": max((each.furthest for each in self.compared), default=0.0),
            "requestUnits": _quantiles([each.units for each in self.compared]),
            "requests": _quantiles([each.requests for each in self.compared]),
            "memoryMs": _quantiles([each.memory_ms for each in self.compared]),
            "cosmosMs": _quantiles([each.cosmos_ms for each in self.compared]),
            "different": [
                {"question": each.question, "missing": each.missing, "more": each.more, "notices": each.notices}
                for each in self.compared
                if not each.is_same
            ],
        }


async def compare_stores(settings: Settings, kind: str, questions: int, told: Told = silent) -> Comparison:
    """Put so many questions to both stores of a site's current release. Raises ReleaseError, StoreError, BuildError."""
    with ExitStack() as opened:
        models = opened.enter_context(closing(Models(settings, may_lack_a_key=True)))
        memory, cosmos = await work(lambda: _both(settings, kind, models, opened))
        asked = await work(lambda: questions_of(memory, questions))
        found = Comparison(kind, memory.release.id, memory.count)
        meter = Meter("questions", len(asked), told)
        try:
            for question in asked:
                found.compared.append(await _compared(question, memory, cosmos))
                meter.advance(1, units=sum(each.units for each in found.compared))
        finally:
            if cosmos.stores is not None:
                await cosmos.stores.aclose()
        return found


def questions_of(site: Site, most: int) -> list[str]:
    """Three of five by what records say in their columns, the others by a sentence of one record's prose."""
    records = list(records_of(site))
    asked = predicates(site.kind.name, records, most * 3 // 5)
    return [each.text for each in (*asked, *described(records, most - len(asked)))]


def _both(settings: Settings, kind: str, models: Models, opened: ExitStack) -> tuple[Site, Site]:
    sites = []
    for store in ("memory", "cosmos"):
        site = open_site(replace(settings, store=store), KINDS[kind], models)
        opened.callback(site.close)
        if site.embedder is None:
            raise BuildError(f"{kind}: no question can be compared, since {site.lacks}")
        sites.append(site)
    return sites[0], sites[1]


async def _compared(question: str, memory: Site, cosmos: Site) -> Compared:
    aim = await work(lambda: aimed(question, memory))
    ledger = Ledger()
    began = time.perf_counter()
    expected, _ = await retrieve(aim, memory, Plan(), Ledger())
    between = time.perf_counter()
    found, notices = await retrieve(aim, cosmos, Plan(), ledger)
    ended = time.perf_counter()
    searches = ledger.searches()
    return compared(
        question,
        expected,
        found,
        units=sum(each.units for each in searches),
        requests=sum(each.requests for each in searches),
        memory_ms=(between - began) * 1e3,
        cosmos_ms=(ended - between) * 1e3,
        notices=notices,
    )


def compared(
    question: str,
    expected: Sequence[Found],
    found: Sequence[Found],
    *,
    units: float,
    requests: int,
    memory_ms: float,
    cosmos_ms: float,
    notices: Sequence[Notice] = (),
) -> Compared:
    """How candidates from Cosmos DB stand to those from memory."""
    scores = {each.row: _score(each) for each in expected}
    names = {each.row: each.item.name for each in (*expected, *found)}
    rows = [each.row for each in found]
    both = [each for each in found if each.row in scores]
    return Compared(
        question=question,
        missing=[names[row] for row in scores if row not in rows],
        more=[names[row] for row in rows if row not in scores],
        in_order=_is_in_order(scores, rows),
        furthest=max((abs(_score(each) - scores[each.row]) for each in both), default=0.0),
        units=units,
        requests=requests,
        memory_ms=memory_ms,
        cosmos_ms=cosmos_ms,
        notices=[each["code"] for each in notices],
    )


def _is_in_order(scores: Mapping[int, float], rows: Sequence[int]) -> bool:
    """Whether each place has the row that memory has there, or one whose score in memory is the same but for
    rounding."""
    places = zip(scores, rows, strict=False)
    return all(abs(scores[row] - scores.get(other, np.inf)) <= ROUNDING for row, other in places if row != other)


def _score(found: Found) -> float:
    return found.vector_score if found.vector_score is not None else found.bm25_score or 0.0


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    median, most, worst = np.quantile(values, (0.5, 0.9, 1.0)).tolist()
    return {"median": round(median, 2), "p90": round(most, 2), "most": round(worst, 2)}
