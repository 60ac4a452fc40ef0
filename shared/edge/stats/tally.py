"""One day's numbers: of one instance, or added up over several."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import to_builtins

from shared.contracts.stats import DayTally, ModelTally, SiteTally
from shared.contracts.strict import Mismatch, read
from shared.edge.stats import spread
from shared.edge.stats.distinct import Distinct


class Tally:
    """Counters that add up. Not safe between threads by itself."""

    def __init__(self) -> None:
        self._counts = DayTally()
        self.callers = Distinct()

    def count(self, outcome: str, usage: Mapping[str, Any] | None, elapsed_s: float | None = None) -> None:
        """One search: `outcome` is `with_results`, `no_match` or `failed`; `usage` is its ledger's snapshot.

        How long it took counts where it was answered.
        """
        counts = self._counts
        counts.searches += 1
        setattr(counts, outcome, getattr(counts, outcome) + 1)
        if elapsed_s is not None and outcome != "failed":
            spread.note(counts.latency, elapsed_s)
        self._asked(usage)

    def count_ask(self, site: str, outcome: str, usage: Mapping[str, Any] | None, elapsed_s: float) -> None:
        """One question to a site: `outcome` is one of those that SiteTally counts."""
        counts = self._site(site)
        counts.asks += 1
        setattr(counts, outcome, getattr(counts, outcome) + 1)
        if outcome in ("with_results", "no_match"):
            spread.note(counts.latency, elapsed_s)
        self._asked(usage)

    def _asked(self, usage: Mapping[str, Any] | None) -> None:
        """The models that were asked for it."""
        for model, spent in ((usage or {}).get("by_model") or {}).items():
            self._spend(model, ModelTally(**spent))
        for event in (usage or {}).get("call_events") or ():
            spread.note(self._model(event["model"]).latency, event["elapsed_ms"] / 1_000)

    def add(self, other: Tally) -> None:
        """Count what the other one counted too."""
        _add(self._counts, other._counts, "searches", "with_results", "no_match", "failed")
        for site, counts in other._counts.sites.items():
            _add(self._site(site), counts, "asks", "with_results", "no_match", "failed", "left")
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
        """Model → calls, tokens, cost_usd and how long an attempt took, by name."""
        return {name: _shown(spent) for name, spent in sorted(self._counts.models.items())}

    def shown(self) -> dict[str, Any]:
        """As /stats.json says it."""
        counts, spent = self._counts, self._counts.models.values()
        return {
            "searches": counts.searches,
            "with_results": counts.with_results,
            "no_match": counts.no_match,
            "failed": counts.failed,
            "latency_seconds": spread.shown(counts.latency),
            "callers": self.callers.count,
            "calls": sum(each.calls for each in spent),
            "tokens": sum(each.tokens for each in spent),
            "cost_usd": round(sum(each.cost_usd for each in spent), 6),
            "sites": {name: _shown_site(counts) for name, counts in sorted(self._counts.sites.items())},
        }

    def as_bytes(self) -> bytes:
        """As an instance writes it."""
        self._counts.callers = self.callers.packed()
        return json.dumps(to_builtins(self._counts), separators=(",", ":"), sort_keys=True).encode()

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
        total = self._model(model)
        total.calls += spent.calls
        total.tokens += spent.tokens
        total.cost_usd = round(total.cost_usd + spent.cost_usd, 6)
        spread.merge(total.latency, spent.latency)

    def _site(self, name: str) -> SiteTally:
        return self._counts.sites.setdefault(name, SiteTally())

    def _model(self, name: str) -> ModelTally:
        return self._counts.models.setdefault(name, ModelTally())


def _add(to: DayTally | SiteTally, other: DayTally | SiteTally, *names: str) -> None:
    for name in names:
        setattr(to, name, getattr(to, name) + getattr(other, name))
    spread.merge(to.latency, other.latency)


def _shown_site(counts: SiteTally) -> dict[str, Any]:
    return {
        "asks": counts.asks,
        "with_results": counts.with_results,
        "no_match": counts.no_match,
        "failed": counts.failed,
        "left": counts.left,
        "latency_seconds": spread.shown(counts.latency),
    }


def _shown(spent: ModelTally) -> dict[str, Any]:
    return {
        "calls": spent.calls,
        "tokens": spent.tokens,
        "cost_usd": round(spent.cost_usd, 6),
        "latency_seconds": spread.shown(spent.latency),
    }
