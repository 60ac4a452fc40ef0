"""How long a site's answer takes beyond what its models take.

$ PYTHONPATH=tests .venv/bin/python -m fakes.clock
begin                     1.3 ms after the first event is asked for
candidate                 0.9 ms after its verdict's closing brace (median of 180; worst 6.4)
follow-up               ...
"""

from __future__ import annotations

import json
import statistics
import time

import anyio

from fakes import openrouter as faults
from fakes.openrouter import Latency, OpenRouter, Seen
from fakes.site import DIMENSION, Here, site_here
from shared.contracts.ask import AskRequest
from shared.contracts.events import Begin, Candidate, Event, Result

RUNS = 20
LETTERS = 8  # of a frame


def is_ranking(seen: Seen) -> bool:
    return seen.is_chat and '"rs":' in seen.body["messages"][-1]["content"]


def is_rewriting(seen: Seen) -> bool:
    return seen.is_chat and '"current_query":' in seen.body["messages"][-1]["content"]


def closings(fake: OpenRouter) -> dict[str, float]:
    """Item's name → when the frame with its verdict's closing brace left the gateway."""
    found = {}
    for seen in filter(is_ranking, fake.seen):
        records = faults.asked_in(seen.body["messages"])["rs"]
        text = faults.speak(seen.body["messages"])
        end = 0
        for verdict in json.loads(text)["results"]:
            end = text.index("}", end) + 1
            found[records[verdict["i"]]["r"]["name"]] = seen.sent[(end - 1) // LETTERS]
    return found


async def candidate_ms(here: Here) -> tuple[float, list[float]]:
    """Milliseconds to `begin`, and from each closing brace to its candidate."""
    came: dict[str, float] = {}
    began: list[float] = []
    assert here.fake is not None
    here.fake.seen.clear()

    def note(event: Event) -> None:
        if isinstance(event, Begin):
            began.append(time.monotonic())
        if isinstance(event, Candidate):
            came[event.item["name"]] = time.monotonic()

    here.on_event = note
    started = time.monotonic()
    await here.answer(AskRequest("space story", mode="list"))
    left = closings(here.fake)
    return (began[0] - started) * 1e3, [(came[name] - left[name]) * 1e3 for name in came]


async def seconds(here: Here, request: AskRequest) -> float:
    """Until the last result."""
    last = [0.0]

    def note(event: Event) -> None:
        if isinstance(event, Result):
            last[0] = time.monotonic()

    here.on_event = note
    started = time.monotonic()
    await here.answer(request)
    return last[0] - started


def main() -> None:
    """Measure, and print."""
    latency = Latency(embed_ms=80, chat_ms=200, token_ms=5)
    with OpenRouter(dimension=DIMENSION, latency=latency) as fake, site_here(fake) as here:
        anyio.run(candidate_ms, here)
        runs = [anyio.run(candidate_ms, here) for _ in range(RUNS)]
        begins, delays = [run[0] for run in runs], [ms for run in runs for ms in run[1]]
        print(f"begin      {statistics.median(begins):6.1f} ms after it is asked for (worst {max(begins):.1f})")
        print(
            f"candidate  {statistics.median(delays):6.1f} ms after its verdict's closing brace"
            f" (median of {len(delays)}; worst {max(delays):.1f})"
        )
        first = anyio.run(seconds, here, AskRequest("submarine", mode="list"))
        for rewrite_s in (0.1, 0.5, 1.0):
            fake.heal()
            fake.fail(faults.stall(rewrite_s), when=is_rewriting)
            given = AskRequest("submarine", mode="list", previous_queries=("space story",))
            took = anyio.run(seconds, here, given)
            print(f"follow-up  {took:6.2f} s, where its rewrite takes {rewrite_s} s and a first turn {first:.2f} s")
        fake.heal()
        fake.fail(
            lambda seen, reply: faults.stall(1.0)(
                seen, faults.content('{"standalone_query": "submarine"}')(seen, reply)
            ),
            when=is_rewriting,
        )
        took = anyio.run(seconds, here, given)
        print(f"follow-up  {took:6.2f} s, where its rewrite takes 1.0 s and changes nothing")


if __name__ == "__main__":
    main()
