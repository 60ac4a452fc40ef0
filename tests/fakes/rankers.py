"""Rankers of a site's items whose worth is known: one that is never wrong, and one that does not look.

They stand behind the fake gateway, and answer ranking calls only; what else is asked for is answered as it always is.
As a program, for runs by hand over a release of these items:

    $ PYTHONPATH=tests .venv/bin/python -m fakes.rankers perfect --predicates FILE… --items FILE…
    ready http://127.0.0.1:40123/api/v1
"""

from __future__ import annotations

import argparse
import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from build_jobs.predicates import Asked, Suite, read_suite
from fakes.openrouter import KEY, OpenRouter, asked_in, speak

Speak = Callable[[Sequence[Mapping[str, str]]], str]
Record = dict[str, Any]
Sight = tuple[str, str]

# Of a record's description; projections cut it somewhere behind.
_WORDS = 12


def careless(messages: Sequence[Mapping[str, str]]) -> str:
    """Keeps the first records of each call, as many as it may, whatever they are."""
    asked = asked_in(messages)
    return shortlist(range(len(asked["rs"])), messages) if "rs" in asked else speak(messages)


def perfect(suites: Iterable[Suite], records: Iterable[Record]) -> Speak:
    """Keeps the records that are right answers by the predicates of the question, and no others.

    A record is known again by its name and the beginning of its description: a call shows no more than a part of it.
    """
    questions: dict[str, Asked] = {asked.text: asked for suite in suites for asked in suite.questions}
    known: defaultdict[Sight, list[Record]] = defaultdict(list)
    for record in records:
        known[sight(record)].append(record)

    def rank(messages: Sequence[Mapping[str, str]]) -> str:
        asked = asked_in(messages)
        if "rs" not in asked:
            return speak(messages)
        question = questions[asked["q"]]
        right = [each["i"] for each in asked["rs"] if any(map(question.answers, known[sight(each["r"])]))]
        return shortlist(right, messages)

    return rank


def sight(record: Record) -> Sight:
    """What a record is known by, in a call as in the collection."""
    name, description = (re.findall(r"\w+", json.dumps(record.get(key) or "")) for key in ("name", "description"))
    return " ".join(name), " ".join(description[:_WORDS])


def shortlist(places: Iterable[int], messages: Sequence[Mapping[str, str]]) -> str:
    """These records, as many as the call allows, without a reason of their own."""
    most = re.search(r"at most (\d+) records", str(messages[0]["content"]))
    kept = list(places)[: int(most[1]) if most else None]
    return json.dumps({"results": [{"i": place, "m": "relevant", "why": ""} for place in kept]})


def main() -> None:
    """Answer until it is ended."""
    parser = argparse.ArgumentParser(description="A gateway whose ranker is never wrong, or does not look.")
    parser.add_argument("ranker", choices=("perfect", "careless"))
    parser.add_argument("--predicates", nargs="+", type=Path, default=[])
    parser.add_argument("--items", nargs="+", type=Path, default=[])
    given = parser.parse_args()
    # By newline alone: a record may hold a line separator of Unicode's.
    records = [
        json.loads(line) for path in given.items for line in path.read_text(encoding="utf-8").split("\n") if line
    ]
    speaks = careless if given.ranker == "careless" else perfect(map(read_suite, given.predicates), records)
    with OpenRouter(answer=speaks, key=KEY) as gateway:
        print(f"ready {gateway.url}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
