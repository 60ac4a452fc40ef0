"""A search's reply as text that people read: the tables by name, the sentence where there are none, the notices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def as_text(reply: Mapping[str, Any]) -> str:
    """The lines of a reply, each ended. Says everything the envelope says in sentences; entries are cut to a card."""
    blocks = [_entry(rank, entry) for rank, entry in enumerate(reply["results"], start=1)]
    if "eligibility" in reply:
        blocks.append(_no_match(reply["eligibility"]))
    notes = [f"Note: {notice['message']}" for notice in reply["notices"]]
    return "\n\n".join([*blocks, *(["\n".join(notes)] if notes else [])]) + "\n"


def _entry(rank: int, entry: Mapping[str, Any]) -> str:
    lines = [f"{rank}. {entry['displayName']} (score {entry['score']})", *_details(entry)]
    return "\n   ".join(" ".join(line.split()) for line in lines)


def _details(entry: Mapping[str, Any]) -> Iterator[str]:
    if description := entry.get("description"):
        yield str(description)
    yield str(entry["identifier"])


def _no_match(eligibility: Mapping[str, Any]) -> str:
    best = eligibility["topScore"]
    if best is None:
        return "No published table matches this question: nothing was left to look at."
    return (
        f"No published table matches this question: the best score is {best}, and {eligibility['threshold']} is needed."
    )
