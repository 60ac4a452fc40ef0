"""The grammar of a site's answer, as a state machine over its events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from shared.contracts.events import Answer, Candidate, Event, Failed, Restrictions, Result, Said, Used

ORDER = (
    "begin-nlweb-response",
    "decontextualized_query",
    "triage",
    "restrictions",
    "candidate",
    "result",
    "nlws",
    "intermediate_message",
    "error",
    "usage",
    "complete",
    "end-nlweb-response",
)
REPEATED = {"candidate", "result", "intermediate_message"}
ALWAYS = {"begin-nlweb-response", "usage", "complete", "end-nlweb-response"}

# From each state the events that may follow: a later one, or the same where it may be repeated.
FOLLOW = {
    state: {event for place, event in enumerate(ORDER) if place > at or (place == at and state in REPEATED)}
    for at, state in enumerate(ORDER)
}


def faults_of(events: Sequence[Event], min_score: int = 70) -> list[str]:
    """What is wrong with an answer's events; nothing where the machine accepts them and they agree with each other."""
    types = [event.message_type for event in events]
    wrong = [f"{before} → {after}" for before, after in pairwise(types) if after not in FOLLOW[before]]
    wrong += [f"{name}: {types.count(name)} times" for name in ALWAYS if types.count(name) != 1]
    if types[:1] != [ORDER[0]] or types[-1:] != [ORDER[-1]]:
        wrong.append("does not begin with begin and end with end")
    return wrong + _disagreements(events, min_score)


def _disagreements(events: Sequence[Event], min_score: int) -> list[str]:
    results = [event.item for event in events if isinstance(event, Result)]
    candidates = {_key(event.item) for event in events if isinstance(event, Candidate)}
    held = {each["id"] for event in events if isinstance(event, Restrictions) for each in event.constraints}
    wrong = [f"{item['url']} was no candidate" for item in results if _key(item) not in candidates]
    wrong += [
        f"{item['url']} is under {min_score}"
        for item in results
        if item["relevance"] != "retrieval" and item["score"] < min_score
    ]
    for item in results:
        if ("constraints_met" in item) != bool(held) or not set(item.get("unknown", ())) <= held:
            wrong.append(f"{item['url']} is held to other constraints than were announced")
        if item.get("unknown") and item["constraints_met"] is True:
            wrong.append(f"{item['url']} meets what its record does not say")
    if len({item["url"] for item in results}) < len(results):
        wrong.append("a result twice")
    for event in events:
        if isinstance(event, Answer) and (list(event.items) != results or not event.answer.strip()):
            wrong.append("the answer speaks of other items than the results")
        if isinstance(event, Used):
            said = [each.notice["code"] for each in events if isinstance(each, Said) and each.notice]
            if said != [each["code"] for each in event.usage["notices"]]:
                wrong.append("usage has other notices than were said")
        json.dumps(event.content)
    if not results and not any(isinstance(event, Failed | Said) for event in events):
        wrong.append("nothing found, and nothing said about it")
    return wrong


def _key(item: dict[str, Any]) -> tuple[str, str]:
    return item["url"], item["relevance"]
