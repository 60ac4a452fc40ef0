"""One day's numbers: of one instance, or added up over several."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shared.contracts.stats import DayTally, ModelTally
from shared.contracts.strict import Mismatch, read
from shared.edge.stats.distinct import Distinct


class Tally:
    """Counters that add up. Not safe between threads by itself."""

    def __init__(self) -> None:
        self._counts = DayTally()
        self.callers = Distinct()

    def count(self, outcome: str, usage: Mapping[str, Any] | None) -> None:
        """One search: `outcome` is `with_results`, `no_match` or `failed`; `usage` is its ledger's snapshot."""
        counts = self._counts
        counts.searches += 1
        setattr(counts, outcome, getattr(counts, outcome) + 1)
        for model, spent in ((usage or {}).get("by_model") or {}).items():
            self._spend(model, ModelTally(**spent))

    def add(self, other: Tally) -> None:
        """Count what the other one counted too."""
        for name in ("searches", "with_results", "no_match", "failed"):
            setattr(self._counts, name, getattr(self._counts, name) + getattr(other._counts, name))
        for model, spent in other._counts.models.items():
            self._spend(model, spent)
        self.callers.merge(other.callers)

    def copy(self) -> Tally:
        """The same numbers, on their own."""
        again = Tally()
        again.add(self)
        return again

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """Model → calls, tokens and cost_usd, by name."""
        return {name: _shown(spent) for name, spent in sorted(self._counts.models.items())}

    def shown(self) -> dict[str, Any]:
        """As /stats.json says it."""
        counts, spent = self._counts, self._counts.models.values()
        return {
            "searches": counts.searches,
            "with_results": counts.with_results,
            "no_match": counts.no_match,
            "failed": counts.failed,
            "callers": self.callers.count,
            "calls": sum(each.calls for each in spent),
            "tokens": sum(each.tokens for each in spent),
            "cost_usd": round(sum(each.cost_usd for each in spent), 6),
        }

    def as_bytes(self) -> bytes:
        """As an instance writes it."""
        self._counts.callers = self.callers.packed()
        return json.dumps(asdict(self._counts), separators=(",", ":"), sort_keys=True).encode()

    @classmethod
    def of(cls, data: bytes) -> Tally:
        """From `as_bytes`. Raises ValueError where it is something else."""
        try:
            counts = read(DayTally, json.loads(data))
        except (RecursionError, Mismatch) as error:
            raise ValueError(str(error)) from error
        found = cls()
        found._counts, found.callers = counts, Distinct.unpacked(counts.callers)
        return found

    def _spend(self, model: str, spent: ModelTally) -> None:
        total = self._counts.models.setdefault(model, ModelTally())
        total.calls += spent.calls
        total.tokens += spent.tokens
        total.cost_usd = round(total.cost_usd + spent.cost_usd, 6)


def _shown(spent: ModelTally) -> dict[str, Any]:
    return {"calls": spent.calls, "tokens": spent.tokens, "cost_usd": round(spent.cost_usd, 6)}
