"""One rate over all tasks of a build, and a gateway that asks to be left alone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from bag_embedder import BagEmbedder

from build_jobs.rate import Paced, Shard
from shared.errors import EmbeddingFailed
from shared.models.ledger import Ledger


@dataclass
class Clock:
    """Time that passes only by waiting."""

    at: float = 0.0
    waited: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.waited.append(round(seconds, 6))
        self.at += seconds


class Watched(BagEmbedder):
    """Writes down when it was asked; each call takes as many attempts as `attempts` says."""

    def __init__(self, clock: Clock, attempts: int = 1, failures: int = 0, retry_after_s: int | None = None) -> None:
        super().__init__()
        self.at: list[float] = []
        self._clock, self._attempts, self._failures, self._retry_after_s = clock, attempts, failures, retry_after_s

    async def embed(self, texts: Any, kind: Any, ledger: Ledger) -> Any:
        self.at.append(self._clock.at)
        for _ in range(self._attempts - 1):
            ledger.record(target="test", model="m", stage="embed", elapsed_ms=1, outcome="error")
        if len(self.at) <= self._failures:
            raise EmbeddingFailed("slow down", retry_after_s=self._retry_after_s)
        return await super().embed(texts, kind, ledger)


def asked(paced: Paced, calls: int) -> None:
    async def run() -> None:
        ledger = Ledger()
        for _ in range(calls):
            await paced.embed(["rain"], "document", ledger)

    asyncio.run(run())


@pytest.mark.parametrize("of", [1, 2, 5])
def test_all_tasks_together_ask_as_often_as_is_set_and_never_at_one_moment(of: int) -> None:
    at: list[float] = []
    for index in range(of):
        clock = Clock()
        embedder = Watched(clock)
        asked(Paced(embedder, 60.0, Shard(index, of), now=clock.now, sleep=clock.sleep), 4)
        at += embedder.at
    assert sorted(at) == [float(second) for second in range(4 * of)]


def test_attempts_that_were_made_again_take_turns_as_well() -> None:
    clock = Clock()
    embedder = Watched(clock, attempts=3)
    asked(Paced(embedder, 60.0, Shard(), now=clock.now, sleep=clock.sleep), 3)
    assert embedder.at == [0.0, 3.0, 6.0]


def test_calls_side_by_side_are_not_counted_twice() -> None:
    clock = Clock()
    embedder = Watched(clock)
    paced = Paced(embedder, 60.0, Shard(), now=clock.now, sleep=clock.sleep)

    async def run() -> None:
        ledger = Ledger()
        await asyncio.gather(*(paced.embed(["rain"], "document", ledger) for _ in range(4)))
        await paced.embed(["rain"], "document", ledger)

    asyncio.run(run())
    assert max(embedder.at) - min(embedder.at) <= 6.0


def test_without_a_rate_nothing_waits() -> None:
    clock = Clock()
    asked(Paced(Watched(clock), 0.0, Shard(3, 4), now=clock.now, sleep=clock.sleep), 3)
    assert clock.waited == []


def test_a_retry_after_that_no_request_could_wait_for_is_obeyed_by_a_build() -> None:
    clock = Clock()
    embedder = Watched(clock, failures=2, retry_after_s=300)
    asked(Paced(embedder, 0.0, Shard(), now=clock.now, sleep=clock.sleep), 1)
    assert clock.waited == [300.0, 300.0]


@pytest.mark.parametrize("retry_after_s", [None, 5, 86_400])
def test_a_failure_that_waiting_does_not_mend_ends_the_build(retry_after_s: int | None) -> None:
    """5 s were waited for by the client already, as often as is set; tomorrow is another run's."""
    clock = Clock()
    with pytest.raises(EmbeddingFailed):
        asked(
            Paced(Watched(clock, failures=9, retry_after_s=retry_after_s), 0.0, Shard(), now=clock.now,
                  sleep=clock.sleep), 1,
        )  # fmt: skip
    assert clock.waited == []


@pytest.mark.parametrize(("rows", "of"), [(10, 3), (2, 4), (118_703, 10), (0, 2)])
def test_the_parts_of_all_tasks_are_all_rows_once_and_nearly_equal(rows: int, of: int) -> None:
    parts = [Shard(index, of).part(rows) for index in range(of)]
    assert [row for part in parts for row in part] == list(range(rows))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
