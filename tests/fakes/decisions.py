"""A decision model behind the fake gateway: it answers questions about a state, and does nothing else.

`decided(body)` scores each record by the share of the query's words that it has, 0 to 4. A request beyond
`MOST_TOKENS` is refused as too large, in the gateway's words. `answers(change)` is a fault that edits what it says.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

Json = dict[str, Any]

PATH = "/api/alpha/decisions"
JEV = "typesafe/jev-1.14"
PRICE = 0.042
MOST_TOKENS = 64_000
_LEVELS = 5


def is_decision_model(model: object) -> bool:
    """Whether a model answers decisions only; chat is refused for it."""
    return isinstance(model, str) and "/jev-" in model


def decided(body: Json) -> Json:
    """The answers to a request's questions. Raises KeyError, TypeError, ValueError where it is no such request."""
    state, questions = body["state"], body["questions"]
    if not questions or not all(_is_question(each) for each in questions.values()):
        raise ValueError("questions must be a map of questions with 2 to 10 criteria")
    wanted = words(str(state["query"]))
    by_id = {each["id"]: words(json.dumps(each)) for each in state["records"]}
    return {name: answer(_score(wanted, by_id[name])) for name in questions}


def answer(score: float) -> Json:
    """One answer: the score as the mean of two neighbouring levels, as probabilities rounded to two places."""
    low = min(math.floor(score), _LEVELS - 2)
    share = round(score - low, 2)
    chances = {str(level): 0.0 for level in range(_LEVELS)} | {str(low): round(1 - share, 2), str(low + 1): share}
    return {"type": "score", "score": score, "probabilities": chances, "legend": {}}


def tokens(body: Mapping[str, Any]) -> int:
    """What a request holds."""
    return len(json.dumps([body.get("state"), body.get("questions")])) // 4


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def scores(given: Sequence[Any]) -> Callable[[Any, Any], Any]:
    """A fault: the records get these scores, in their order in the request."""
    return answers(lambda found: {name: answer_of(score) for name, score in zip(found, given, strict=False)})


def answer_of(score: Any) -> Json:
    """An answer with this score, whatever it is."""
    return {"type": "score", "score": score}


def answers(change: Callable[[Json], Any]) -> Callable[[Any, Any], Any]:
    """A fault: what the model answers, changed; NaN is written as NaN."""

    def changed(_: Any, reply: Any) -> Any:
        parsed = json.loads(reply.body)
        parsed["answers"] = change(parsed["answers"])
        return replace(reply, body=json.dumps(parsed).encode())

    return changed


def _is_question(question: Any) -> bool:
    return question["type"] == "score" and bool(question["instructions"]) and 2 <= len(question["criteria"]) <= 10


def _score(wanted: set[str], found: set[str]) -> float:
    return round(4 * len(wanted & found) / max(len(wanted), 1), 3)
