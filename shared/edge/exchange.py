"""One request from its first line to its log line: what is known of it by then, and what observers are told."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from shared.edge.trace import Trace
from shared.errors import AskbucketError


class Answered(Struct, frozen=True):
    """A request to one of the function's own routes (not /health), after its reply was made.

    `route` is the pattern. `outcome` is `answered`, `no_match`, `refused` (the caller's mistake or a limit), `failed`
    (5xx, or a stream with an error in it) or `left` (a stream whose reader went away before its end). `client` is the
    address by TRUST_PROXY. `usage` is the ledger's snapshot where models were asked.
    """

    route: str
    method: str
    status: int
    outcome: str
    elapsed_s: float
    client: str
    usage: Mapping[str, Any] | None
    notices: Sequence[Mapping[str, Any]]


# Called in the request's thread after every answer of a counted route: fast, and it never raises.
Observer = Callable[[Answered], None]


class Exchange(Struct):
    """What is known of a request so far. Only its own thread writes to it."""

    method: str
    request_id: str
    trace: Trace
    client: str
    began: float = field(default_factory=time.perf_counter)
    route: str = "-"
    counted: bool = False
    streamed: bool = False
    status: int = 0
    code: str | None = None
    outcome: str = "answered"
    release: str | None = None
    asked: str | None = None
    usage: Mapping[str, Any] | None = None
    notices: Sequence[Mapping[str, Any]] = ()
    stages: Callable[[], Mapping[str, float]] = dict
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the request came."""
        return time.perf_counter() - self.began

    def answered(self, status: int, body: object) -> None:
        """Note a handler's reply, and what its JSON says of itself."""
        self.status, self.outcome = status, _outcome(status)
        if isinstance(body, Mapping):
            self.outcome = "no_match" if "eligibility" in body else self.outcome
            self.usage, self.notices = spent(body.get("usage")), body.get("notices", ())

    def streamed_out(self, outcome: str, usage: Mapping[str, Any] | None) -> None:
        """Note what became of a stream, and what it `spent`."""
        self.outcome = outcome
        if usage:
            self.usage, self.notices = usage, usage.get("notices", ())

    def failed(self, error: AskbucketError) -> None:
        """Note an error that is on its way to the caller."""
        self.code, self.usage = error.code, error.usage or self.usage
        self.outcome = _outcome(error.status)

    def said(self) -> Answered:
        """What observers are told."""
        return Answered(
            self.route, self.method, self.status, self.outcome, self.elapsed_s, self.client, self.usage, self.notices
        )


def _outcome(status: int) -> str:
    return "answered" if status < 400 else "refused" if status < 500 else "failed"


def spent(usage: Mapping[str, Any] | None, calls: Sequence[Mapping[str, Any]] = ()) -> Mapping[str, Any] | None:
    """A ledger's snapshot as tables name its sums; sites name them otherwise, and their `calls` come beside."""
    if not usage or "llm_calls" in usage:
        return usage
    named = {"llm_calls": "calls", "total_tokens": "total_tokens", "cost_usd": "cost"}
    by_model = {
        each["model"]: {"calls": each["calls"], "tokens": each["total_tokens"], "cost_usd": each["cost"]}
        for each in usage.get("models", ())
    }
    sums = {name: usage[theirs] for name, theirs in named.items() if theirs in usage}
    return {**sums, "by_model": by_model, "call_events": list(calls), "notices": usage.get("notices", ())}
