"""What one instance counted on one day: the object `<day>/<instance>.json` below STATS_URL."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Struct, field

from shared.contracts.strict import Rule

# Beyond this JSON's numbers are not exact, and sums of them may be no JSON at all.
_MOST = 2**53
_BUCKET = re.compile(r"[0-9]|[1-9][0-9]|[12][0-9][0-9]", re.ASCII)


def _is_spread(counts: dict[str, int]) -> bool:
    return all(_BUCKET.fullmatch(bucket) and 0 <= times <= _MOST for bucket, times in counts.items())


Count = Annotated[int, Rule("0 to 2^53", lambda count: 0 <= count <= _MOST)]
Dollars = Annotated[float, Rule("0 to 2^53", lambda usd: 0 <= usd <= _MOST)]
Spread = Annotated[dict[str, int], Rule("counts by bucket, 0 to 300", _is_spread)]


class ModelTally(Struct, kw_only=True):
    """Billed calls of one model, and how long each attempt took (edge/stats/spread.py)."""

    calls: Count = 0
    tokens: Count = 0
    cost_usd: Dollars = 0.0
    latency: Spread = field(default_factory=dict)


class SiteTally(Struct, kw_only=True):
    """Questions to one site and what became of them; `left` are those whose reader went away before the end."""

    asks: Count = 0
    with_results: Count = 0
    no_match: Count = 0
    failed: Count = 0
    left: Count = 0
    latency: Spread = field(default_factory=dict)


class DayTally(Struct, kw_only=True):
    """Searches answered (`with_results`, `no_match`) or `failed` (5xx), how long the answered ones took, the same of
    each site, and the models that all of them asked.

    `callers` counts distinct client addresses and holds none of them: edge/stats/distinct.py.
    """

    version: Literal["1"] = "1"
    searches: Count = 0
    with_results: Count = 0
    no_match: Count = 0
    failed: Count = 0
    latency: Spread = field(default_factory=dict)
    sites: dict[str, SiteTally] = field(default_factory=dict)
    models: dict[str, ModelTally] = field(default_factory=dict)
    callers: str = ""
