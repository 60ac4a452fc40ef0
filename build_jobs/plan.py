"""What a build would do, before it does it: who embeds what, how many tokens that is, and what it will cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from build_jobs.rate import Shard
from shared.contracts.release import Embedder as EmbedderSpec
from shared.models.prices import price_usd

# English in the tokenizers of today's embedding models; the bill is by the provider's own count.
_CHARS_A_TOKEN = 4.0


@dataclass(frozen=True, slots=True)
class Priced:
    """Texts that are to be embedded: tokens and dollars are estimates, `least_s` is what the set rate takes."""

    texts: int
    calls: int
    tokens: int
    cost_usd: float
    least_s: float

    @classmethod
    def of(cls, texts: Collection[str], embedder: EmbedderSpec, batch: int, calls_a_minute: float) -> Priced:
        """The price of embedding these texts, `batch` a call."""
        tokens = math.ceil(sum(map(len, texts)) / _CHARS_A_TOKEN)
        calls = math.ceil(len(texts) / batch)
        is_paid = embedder.provider == "openrouter"
        cost_usd = price_usd(embedder.model, tokens, 0) if is_paid else 0.0
        least_s = 60.0 * calls / calls_a_minute if is_paid and calls_a_minute else 0.0
        return cls(len(texts), calls, tokens, round(cost_usd, 4), round(least_s, 1))


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One task's range of rows: its first and last identifier, and how many texts it would embed."""

    task: int
    rows: int
    first: str
    last: str
    texts: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a dry run says. `gate` is what it would be refused for as it stands, empty where nothing is known."""

    price: Priced
    tasks: Sequence[PlannedTask] = field(default_factory=tuple)
    questions: int = 0
    gate: Sequence[str] = field(default_factory=tuple)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "texts": self.price.texts,
            "calls": self.price.calls,
            "tokens": self.price.tokens,
            "costUsd": self.price.cost_usd,
            "leastSeconds": self.price.least_s,
            "questions": self.questions,
            "tasks": [asdict(task) for task in self.tasks],
            "gate": list(self.gate),
        }


def tasks_of(
    identifiers: Sequence[str], signatures: Sequence[str], missing: Collection[str], of: int
) -> list[PlannedTask]:
    """The tasks of a build of these rows, whose texts with a `missing` signature have to be embedded."""
    owned = owners(signatures)
    return [_task(Shard(index, of), identifiers, owned, missing) for index in range(of)]


def owners(signatures: Sequence[str]) -> Mapping[str, int]:
    """Signature → the row that embeds it: the first of those that say the same."""
    found: dict[str, int] = {}
    for row, name in enumerate(signatures):
        found.setdefault(name, row)
    return found


def _task(shard: Shard, identifiers: Sequence[str], owned: Mapping[str, int], missing: Collection[str]) -> PlannedTask:
    rows = shard.part(len(identifiers))
    texts = sum(1 for name, row in owned.items() if row in rows and name in missing)
    ends = (identifiers[rows[0]], identifiers[rows[-1]]) if rows else ("", "")
    return PlannedTask(shard.index, len(rows), *ends, texts)
