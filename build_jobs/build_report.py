"""What a build of tables did, for programs; the command line has words of its own for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import to_builtins

from build_jobs.collect import CollectReport
from build_jobs.gate import Gate
from build_jobs.plan import Plan
from build_jobs.rate import Shard
from build_jobs.samples import Asked
from shared.contracts.release import Embedder as EmbedderSpec
from shared.contracts.release import NullBank

Status = Literal["published", "unchanged", "planned", "waiting"]


@dataclass(slots=True)
class BuildReport:
    """What a build did, or with `dry_run` would do. `release` is the one that is current afterwards.

    `waiting` is the status of a task that has done its part while others have not; `waiting_for` are their numbers.
    """

    status: Status
    catalog: str
    release: str | None
    embedder: EmbedderSpec
    inputs_digest: str
    rows: int
    shard: Shard = field(default_factory=Shard)
    waiting_for: list[int] = field(default_factory=list)
    reused: int = 0
    resumed: int = 0
    embedded: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    stage_seconds: dict[str, float] = field(default_factory=dict)
    null_bank: NullBank | None = None
    plan: Plan | None = None
    gate: Gate | None = None
    asked: Asked = field(default_factory=Asked)
    sample_cosine: float = 1.0
    collected: CollectReport = field(default_factory=CollectReport)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "catalog": self.catalog,
            "release": self.release,
            "embedder": to_builtins(self.embedder),
            "inputsDigest": self.inputs_digest,
            "rows": self.rows,
            "task": {"index": self.shard.index, "of": self.shard.of, "waitingFor": self.waiting_for},
            "vectors": {"reused": self.reused, "resumed": self.resumed, "embedded": self.embedded},
            "costUsd": self.cost_usd,
            "seconds": round(self.seconds, 2),
            "stageSeconds": {name: round(seconds, 2) for name, seconds in self.stage_seconds.items()},
            "nullBank": to_builtins(self.null_bank) if self.null_bank else None,
            "plan": self.plan.as_json() if self.plan else None,
            "gate": [to_builtins(check) for check in self.gate.checks] if self.gate else [],
            "scores": {name: to_builtins(scores) for name, scores in self.asked.scores.items()},
            "notes": self.notes,
            **self.collected.as_json(),
        }
