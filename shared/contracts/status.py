"""The status ledger: what sample questions got from a release before it was published, and what its gate said.

It is the file of role `status` (docs/data-format.md gives its bytes), so it never changes: who wants to know what a
release was worth reads it there. Times and prices are in the manifest, which differs from build to build anyway.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from msgspec import Struct, field, to_builtins

from shared.contracts.strict import Mismatch, Rule, read
from shared.errors import ReleaseIncompatible

STATUS_ROLE = "status"
STATUS_VERSION = 1
# Questions that are told one by one, those that went wrong before the others; the scores are of all.
MOST_QUESTIONS = 250

Outcome = Literal["passed", "failed", "skipped"]
Count = Annotated[int, Rule("0 or more", lambda count: count >= 0)]
Version = Annotated[int, Rule(f"{STATUS_VERSION}", lambda version: version == STATUS_VERSION)]
Answered = Literal["right", "partly", "missed", "no_match_right", "no_match_wrong"]


class Check(Struct, frozen=True, kw_only=True):
    """One check of the gate and what it said."""

    name: str
    verdict: Outcome
    message: str


class Returned(Struct, frozen=True, kw_only=True):
    """One result of a sample question. `score` is 0-100."""

    identifier: str
    title: str
    score: int
    right: bool = False


class Sampled(Struct, frozen=True, kw_only=True):
    """A sample question: the right answers, what came back, and the rank of the first right one, from 1.

    Nothing is expected of a question that has no answer. `partly` means that a right answer came, but not first.
    """

    suite: str
    id: str
    text: str
    expected: list[str]
    results: list[Returned]
    verdict: Answered
    rank: int | None = None


class Scores(Struct, frozen=True, kw_only=True):
    """Of one suite: shares from 0 to 1, None where no question of it counts there.

    `asked` is the digest of the questions with their right answers: only equal ones can be compared.
    """

    questions: Count
    recall_at_1: float | None
    recall_at_10: float | None
    mrr: float | None
    no_match_right: float | None
    asked: str


class Status(Struct, frozen=True, kw_only=True):
    """The whole ledger. `sources` has of each source directory (of items: each site) how many rows have what."""

    version: Version
    judge: str
    forced: bool
    checks: list[Check]
    sources: dict[str, dict[str, int]]
    scores: dict[str, Scores] = field(default_factory=dict)
    questions: list[Sampled] = field(default_factory=list)


def encode(status: Status) -> bytes:
    """The bytes of the file: one JSON object, keys sorted, no blanks."""
    return json.dumps(to_builtins(status), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def parse(data: bytes) -> Status:
    """The ledger that these bytes hold. Raises ReleaseIncompatible."""
    try:
        document: Any = json.loads(data)
        return read(Status, document)
    except (ValueError, Mismatch) as error:
        raise ReleaseIncompatible(f"status: expected a status ledger, found something else ({error})") from error
