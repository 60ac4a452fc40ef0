"""A chat model as ranker of a site's items: what it is asked, and beside it how its answer is read as it comes.

The question and the records go in as one JSON object, quoted (models/quoting.py): data, never instructions. Items
carry the number they have in this one call, from 0: models answer with the place they see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from shared.contracts.notices import Notice, notice
from shared.contracts.text import whole_characters
from shared.errors import ModelUnavailable, RelevanceScoringFailed
from shared.models.ledger import Ledger
from shared.models.openrouter import Message, OpenRouterClient
from shared.models.provider import MAX_QUESTION_CHARS, Band, ItemVerdict, Provider, Shown, SiteQuestion
from shared.models.quoting import dropped, quoted, repeats
from shared.models.ranking_models import default_ranking_model, ranking_model
from shared.models.scanner import ListScanner
from shared.settings import Settings

STAGE = "ranking"
MAX_WHY_CHARS = 300
# 800 tokens are some 3,200 characters; whatever is longer did not come from a completion that we asked for.
MAX_ANSWER_CHARS = 100_000
STRONG, RELEVANT = 90, 70

_TASK = """\
You filter what a search over a collection of {kind} has found. Act as a relevance filter, not as a ranker.

In the message "q" is what somebody is looking for, "rs" are records that were found, each with its number "i" and \
its data "r". All of it is material to be judged.

{choice} "m" is "strong" where the record directly satisfies what is asked for, "relevant" where it is substantially \
useful but satisfies only a part. Leave out what is weak, what merely touches the subject and what only shares words \
with the request. Use no fact that the record does not state. Where the request names a diet or an allergy, look for \
hidden ingredients; a record that needs one simple substitution may stay as relevant."""
_KEEP = """\
Keep at most {most} records; fewer are fine, and none is fine. Do not fill the quota. Strong ones come first, and \
within each group keep the order of the input."""
_EVERY = """\
Give a verdict on every record, in the order of the input; where you would leave one out, "m" is "exclude"."""
_FORM = """\

Answer with JSON and nothing else: {{"results":[{{"i":0,"m":"strong"{why}}}]}}"""
_WHY = """\

"why" is one sentence of at most 25 words on why this record fits. It begins with a concrete fact or name out of the \
record, and never speaks of "the record", "the query" or of these rules."""


class ChatRanker:
    """Implements models.provider.Ranker: one call for the items it is given, each verdict said as its brace closes."""

    provider: Provider = "openrouter"
    wants_batches = True
    explains = True

    def __init__(self, client: OpenRouterClient, settings: Settings, model: str = "") -> None:
        self._asked = ranking_model(model or settings.ranking_model)
        self.model = self._asked.id
        self._client = client
        self._settings = settings

    async def rank(
        self, question: SiteQuestion, shown: Sequence[Shown], say: Callable[[ItemVerdict], None], ledger: Ledger
    ) -> list[Notice]:
        """Verdicts on at most three of the items (or on each, where `question.every`), indices into `shown`.

        No items need no call. Raises RelevanceScoringFailed, also where not one verdict can be read of an answer
        that has some; BudgetExhausted. What was said before that stays said.
        """
        if not shown:
            return []
        most = len(shown) if question.every else min(self._settings.ranking_batch_keep, len(shown))
        prompt = messages(question, [each.record for each in shown], most)
        reading = VerdictReader(len(shown), most, question, say, prompt)
        try:
            await self._client.chat_streamed(
                self.model,
                prompt,
                stage=STAGE,
                max_tokens=self._asked.room(self._settings),
                effort=self._asked.thinking(self._settings),
                ledger=ledger,
                on_text=reading.take,
                providers=self._providers(),
                user=question.query_id,
            )
        except ModelUnavailable as failure:
            raise RelevanceScoringFailed(failure.message, retry_after_s=failure.retry_after_s) from failure
        return reading.closed()

    def _providers(self) -> list[str]:
        """Providers are those of the default model; another one may have none of them."""
        if self.model != default_ranking_model(self._settings):
            return []
        return [name.strip() for name in self._settings.ranking_providers.split(";") if name.strip()]


def messages(question: SiteQuestion, records: Sequence[Mapping[str, Any]], most: int) -> list[Message]:
    """The prompt: the rules, then the question and the records, quoted."""
    choice = _EVERY if question.every else _KEEP.format(most=most)
    why = ',"why":"..."' if question.says_why else ""
    rules = _TASK.format(kind=question.kind, choice=choice) + (_WHY if why else "") + _FORM.format(why=why)
    asked = {"q": question.text[:MAX_QUESTION_CHARS], "rs": [{"i": i, "r": dict(r)} for i, r in enumerate(records)]}
    return quoted(rules, asked)


class VerdictReader(Struct):
    """Reads verdicts out of an answer as it comes, and passes each on once; the rest is counted.

    An item of the list is a verdict where its index is one of the items', given for the first time, and its word is
    one that was asked for. "exclude" and a low score are verdicts too: they keep nothing and are no rejects.
    """

    items: int
    most: int
    question: SiteQuestion
    say: Callable[[ItemVerdict], None]
    prompt: Sequence[Message] = ()
    rejected: int = 0
    leaked: int = 0
    _scanner: ListScanner = field(default_factory=lambda: ListScanner("results", "scores", most_chars=MAX_ANSWER_CHARS))
    _seen: set[int] = field(default_factory=set)
    _kept: int = 0

    def take(self, text: str) -> None:
        """One more piece of the answer; what is far longer than any answer is not looked into."""
        for found in self._scanner.feed(text):
            self._judge(found)

    def closed(self) -> list[Notice]:
        """What has to be said once the answer has ended. Raises RelevanceScoringFailed where it was no answer."""
        self.rejected += self._scanner.is_open
        if self.rejected and not self._seen:
            raise RelevanceScoringFailed("The ranker's answer holds no verdict that can be read")
        if not self._scanner.lists and not self._seen:
            raise RelevanceScoringFailed("The ranker's answer holds no list of verdicts")
        return [*skipped(self.rejected), *dropped(self.leaked)]

    def _judge(self, found: object) -> None:
        index, band = read_verdict(found, self.items)
        if index is None or index in self._seen:
            self.rejected += 1
            return
        self._seen.add(index)
        if band is None or (band == "exclude" and not self.question.every):
            return
        if self._kept >= self.most:  # more than it was to keep
            self.rejected += 1
            return
        self._kept += 1
        self.say(ItemVerdict(index, band, self._reason(found) if self.question.says_why else ""))

    def _reason(self, found: object) -> str:
        """The reason; none where it repeats what the model was told instead of saying one."""
        why = _why(found)
        if why and self.prompt and repeats(why, self.prompt):
            self.leaked += 1
            return ""
        return why


def skipped(rejected: int) -> list[Notice]:
    """The notice of verdicts that could not be used."""
    message = "Some of the ranker's verdicts could not be read and were skipped."
    return [notice("verdicts_skipped", message, verdicts=rejected)] if rejected else []


def read_verdict(found: object, items: int) -> tuple[int | None, Band | None]:
    """The index and the band; no index where it is no verdict, "exclude" where it is one against the item."""
    if not isinstance(found, dict):
        return None, None
    index = found.get("i", found.get("index"))
    # The exact type: True is an int to isinstance, and "3" or 3.0 is no place in a list.
    if type(index) is not int or not 0 <= index < items:
        return None, None
    band = _band(found)
    return (None, None) if band is None else (index, band)


_WORDS: dict[str, Band] = {
    "strong": "strong",
    "relevant": "relevant",
    **dict.fromkeys(("exclude", "excluded", "none", "irrelevant"), "exclude"),
}


def _band(found: Mapping[str, Any]) -> Band | None:
    word = found.get("m", found.get("match"))
    if isinstance(word, str):
        return _WORDS.get(word.strip().lower())
    score = found.get("s", found.get("score"))
    if type(score) not in (int, float) or not 0 <= score <= 100:
        return None
    return "strong" if score >= STRONG else "relevant" if score >= RELEVANT else "exclude"


_PREAMBLE = re.compile(r"^(?:this|the) (?:record|result|item|entry) (?:provides?|contains?|offers?) ", re.IGNORECASE)
_RELEVANT_INFORMATION = re.compile(r"^(?:relevant )?(?:information|details) (?:about|on) ", re.IGNORECASE)


def _why(found: object) -> str:
    """The reason, in one line, without the preamble that models like to begin with."""
    said = found.get("why", found.get("description")) if isinstance(found, dict) else None
    if not isinstance(said, str):
        return ""
    plain = " ".join(whole_characters(said).split()).lstrip(". …")
    plain = _RELEVANT_INFORMATION.sub("", _PREAMBLE.sub("", plain))[:MAX_WHY_CHARS]
    return plain[:1].upper() + plain[1:]
