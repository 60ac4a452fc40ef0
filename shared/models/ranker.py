"""The embedded judge: no chat model reads anything, scores come from what retrieval and the cards' words say.

Three steps, whose numbers are fitted by build_jobs/fit_ranker.py and lie in ranker.json:

1. *Order.* A weighted sum of the features of shared/models/features.py; each candidate's is counted below the best.
2. *Gate.* Is anything here about the question at all? The best cosine in units of the catalog's own null bank
   (how close everyday questions come to it). The line lies where 1 in 20 off-topic questions would pass. How many
   of the question's words were found told no more once this was known (AUC .9985 and .9989).
3. *Score.* The gate as a probability is the best candidate's score; the others fall from it in proportion to how
   far below they are ordered, and reach 50 where a right answer is no longer found. Under 50 means "not this".

A question without a content word, or of single letters only, scores 0 throughout. A candidate that the question
names, by its code or by its title word for word, leads, and needs no gate: it is what was asked for, however near
anything lies.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources

from anyio import to_thread
from msgspec import Struct

from shared.contracts.release import NullBank
from shared.models.features import FEATURES, Features, content_words, is_titled, is_worded, measure, titles_of
from shared.models.judging import Candidate, Judgement, Question, Verdict
from shared.models.ledger import Ledger
from shared.models.provider import Provider

MODEL = "askbucket/embedded-ranker"
STAGE = "rerank"

# What an unmeasured catalog is taken for: the null bank of 23,450 tables.
_USUAL_BANK = NullBank(queries=0, median=0.543, mad=0.028)
_LEAST_SPREAD = 0.02
_LINE = 50.0

# A published code: one chunk with a digit, an underscore, a hump or two dots. Its words say nothing of a card.
_CODE = re.compile(r"(?=\S{4,}$)(?:\S*\d\S*[A-Za-z_]|\S*[A-Za-z_]\S*\d|\S+_\S|\S+[a-z][A-Z]|\S+[./|]\S+[./|]\S)\S*")
_CODE_SCORE = 90.0
_LONGEST_CODE = 120
_EDGES = ".,;:!?()[]{}<>\"'`“”‘’"
# What is named scores at least this, and anything else at most what a code's neighbours do.
_NAMED_SCORE = 99.0


class Fitted(Struct, frozen=True):
    """What the fit found.

    `gate_line` is the nearness from which a question counts as answered, `gate_slope` what each unit beyond it adds
    to the log-odds; `span` is the order value below the best at which a candidate scores 50.
    """

    order: Features
    gate_slope: float
    gate_line: float
    span: float

    @classmethod
    def of(cls, data: Mapping[str, Mapping[str, float]]) -> Fitted:
        """From ranker.json's content."""
        order, gate = data["order"], data["gate"]
        weights = tuple(order[name] for name in FEATURES)
        return cls(weights, gate["slope"], gate["line"], data["score"]["span"])


@cache
def fitted() -> Fitted:
    """The weights that ship with this version."""
    return Fitted.of(json.loads(resources.files(__package__).joinpath("ranker.json").read_text(encoding="utf-8")))


class EmbeddedJudge:
    """Implements models.provider.Judge: scores every candidate at once, without a model call and without cost."""

    provider: Provider = "embedded"
    model = MODEL
    wants_groups = False

    def __init__(self, null_bank: NullBank | None, weights: Fitted | None = None) -> None:
        self._bank = null_bank or _USUAL_BANK
        self._weights = weights

    async def judge(self, question: Question, candidates: Sequence[Candidate], k: int, ledger: Ledger) -> Judgement:  # noqa: ARG002
        """A verdict on each candidate, best first; never fails. `k` is not needed: all are scored alike."""
        started = time.perf_counter()
        weights = self._weights or fitted()
        # Some 7 ms for 120 cards, too long for an event loop that other searches share.
        scores = await to_thread.run_sync(lambda: scores_of(question, candidates, self._bank, weights))
        order = sorted(range(len(scores)), key=lambda index: -scores[index])
        elapsed_ms = (time.perf_counter() - started) * 1e3
        ledger.record(target="embedded", model=MODEL, stage=STAGE, elapsed_ms=elapsed_ms)
        return Judgement(tuple(Verdict(index, scores[index]) for index in order))


def scores_of(question: Question, candidates: Sequence[Candidate], bank: NullBank, weights: Fitted) -> list[float]:
    """0-100 for each candidate, in their order."""
    if not candidates or not any(map(content_words, question.phrasings)):
        return [0.0] * len(candidates)
    named = names_of(question, candidates)
    # The embedder puts a lone letter near some table or other, and the gate knows of nothing but nearness.
    if not any(map(is_worded, question.phrasings)):
        return _led([0.0] * len(candidates), named)
    if is_code(question) and any(candidate.bm25 for candidate in candidates):
        return _led(_by_keyword(candidates), named)
    values = [order_value(features, weights) for features in measure(question, candidates)]
    gate = weights.gate_slope * (nearness(candidates, bank) - weights.gate_line)
    return _led([score(gate, value - max(values), weights.span) for value in values], named)


def names_of(question: Question, candidates: Sequence[Candidate]) -> list[bool]:
    """Which candidates the question names: by the code their publisher gave them, or by their whole title."""
    titles = titles_of(question)
    whole = question.text.strip(_EDGES)
    lowered = {chunk.strip(_EDGES).lower() for chunk in question.text.split()}
    coded = {each.card.code: _says(each.card.code, whole, lowered) for each in candidates}
    return [coded[each.card.code] or is_titled(titles, each.card) for each in candidates]


def _says(code: str, whole: str, lowered: Collection[str]) -> bool:
    """Whether a question gives this code: in any case where it has the shape of one, or as all that it says.

    A code that is a plain word ("Assets") is only that in most sentences.
    """
    if not code:
        return False
    return code == whole or (code.lower() in lowered and _CODE.fullmatch(code) is not None)


def _led(scores: list[float], named: Sequence[bool]) -> list[float]:
    """The scores with what is named in front, in the order it has among itself."""
    if not any(named):
        return scores
    return [
        _NAMED_SCORE + value / 100 if is_named else min(value, _CODE_SCORE)
        for value, is_named in zip(scores, named, strict=True)
    ]


def order_value(features: Features, weights: Fitted) -> float:
    """How well a candidate fits, comparable within one question only."""
    return sum(feature * weight for feature, weight in zip(features, weights.order, strict=True))


def nearness(candidates: Sequence[Candidate], bank: NullBank) -> float:
    """The best cosine above the null bank's median, in units of the bank's spread."""
    nearest = max(candidate.cosine for candidate in candidates)
    return (nearest - bank.median) / max(1.4826 * bank.mad, _LEAST_SPREAD)


def score(gate: float, below: float, span: float) -> float:
    """0-100 from the question's gate and the candidate's order value below the best (0 or less).

    Falls with `below`, and crosses 50 at the span whatever the gate, if the gate is passed at all.
    """
    best = 100 / (1 + math.exp(-gate))
    if best <= _LINE:
        return best * math.exp(below / span)
    return max(best + (best - _LINE) * below / span, 0.0)


def is_code(question: Question) -> bool:
    """Whether the whole question is one published code, such as DP03_0062E or NY.GDP.MKTP.CD."""
    if len(question.phrasings) != 1 or len(question.phrasings[0]) > _LONGEST_CODE:
        return False
    return _CODE.fullmatch(question.phrasings[0]) is not None


def _by_keyword(candidates: Sequence[Candidate]) -> list[float]:
    """A code is looked up, not understood: the share of the best keyword score."""
    best = max(candidate.bm25 for candidate in candidates)
    return [_CODE_SCORE * candidate.bm25 / best for candidate in candidates]
