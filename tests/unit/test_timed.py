"""Stage timings: recorded across threads and tasks, counted once where they overlap, absent where nobody asked."""

from __future__ import annotations

import anyio
import pytest
from anyio import to_thread
from hypothesis import given
from hypothesis import strategies as st

from shared.timed import Timings, recording, timed


def test_a_stage_is_written_down_where_somebody_records_and_nowhere_else():
    with timed("before"):
        pass
    with recording() as timings, timed("scan"):
        pass
    with timed("after"):
        pass
    assert list(timings.ms()) == ["scan"]
    assert timings.ms()["scan"] >= 0


def test_a_stage_that_raises_counts_too():
    with recording() as timings, pytest.raises(LookupError), timed("scan"):
        raise LookupError
    assert "scan" in timings.ms()


def test_tasks_and_worker_threads_write_into_the_request_they_belong_to():
    def in_thread(stage: str) -> None:
        with timed(stage):
            pass

    async def request(name: str, seen: dict[str, list[str]]) -> None:
        with recording() as timings:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(to_thread.run_sync, in_thread, f"{name}-task")
            await to_thread.run_sync(in_thread, f"{name}-thread")
        seen[name] = list(timings.ms())

    async def both() -> dict[str, list[str]]:
        seen: dict[str, list[str]] = {}
        async with anyio.create_task_group() as tasks:
            for name in ("a", "b"):
                tasks.start_soon(request, name, seen)
        return seen

    assert anyio.run(both) == {name: [f"{name}-task", f"{name}-thread"] for name in ("a", "b")}


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12))
def test_what_runs_side_by_side_counts_once(spans):
    timings = Timings()
    for began, length in spans:
        timings.add("model", float(began), float(began + length))
    seconds = {second for began, length in spans for second in range(began, began + length)}
    assert timings.ms().get("model", 0.0) == pytest.approx(len(seconds) * 1e3)
