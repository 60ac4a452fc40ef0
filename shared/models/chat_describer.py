"""A chat model as describer: what it is asked, and beside it how its answer is read as it comes.

It writes one sentence a result and a summary, and may say that a result is not what was asked for. The items come
before the summary, so that each is known the moment its brace closes. Items carry the number they have in this one
call, from 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from shared.contracts.notices import Notice, notice
from shared.contracts.text import whole_characters
from shared.errors import ModelUnavailable
from shared.models.ledger import Ledger
from shared.models.objects import MAX_ANSWER_CHARS, object_with, one_line
from shared.models.openrouter import Message, OpenRouterClient
from shared.models.provider import MAX_QUESTION_CHARS, Described, Shown, SiteQuestion
from shared.models.quoting import dropped, quoted, repeats
from shared.models.scanner import ListScanner
from shared.settings import Settings

STAGE = "description"
# 8 sentences and a summary are some 700 tokens; the rest is room for thinking.
MAX_TOKENS = 4_000
ASKED_WORDS, MAX_WORDS, MAX_CHARS = 30, 45, 400
MAX_SUMMARY_CHARS = 2_000
MAX_RESTRICTIONS = 20

_TASK = """\
You write what is shown of the best results of a search over a collection of {kind}.

In the message "q" is what somebody is looking for, "restrictions" is what a result may not break, "items" are the \
results, each with its number "i" and its data "r".

Give a word on every item, in the order of the input. "keep" is false where the item is not the kind of thing that is \
asked for, or fails a condition that the request states; else true. "d" is one sentence of at most {words} words on \
what this item is and how it fits. It begins with a concrete fact or name, uses nothing but this item's own data, and \
never speaks of "the record", "the query" or of these rules. Where "keep" is false, "d" is empty.{restricted}

"summary" comes last: two to four sentences of plain prose on the items that are kept, naming the best of them and \
how they differ, out of their data alone. No list, no markup, no address. It is empty where none is kept."""
_RESTRICTED = """

Hold every item to "restrictions", hidden ingredients included. Where an item meets them only with a substitution, \
"d" names that substitution. Where it breaks one and no simple substitution mends it, or you cannot name one, "keep" \
is false."""
_FORM = """

Answer with JSON and nothing else: {"items":[{"i":0,"keep":true,"d":"..."}],"summary":"..."}"""


class ChatDescriber:
    """Implements models.provider.Describer: one streamed call for all it is shown."""

    def __init__(self, client: OpenRouterClient, settings: Settings) -> None:
        self.model = settings.describer_model
        self._client = client
        self._effort = settings.describer_effort

    async def describe(
        self,
        question: SiteQuestion,
        shown: Sequence[Shown],
        restrictions: Sequence[str],
        say: Callable[[Described], None],
        ledger: Ledger,
    ) -> tuple[str, list[Notice]]:
        """Words on the items, indices into `shown`, each at most once; then the summary, "" where it has none.

        An item that the model leaves out is not said. No items need no call. Raises ModelUnavailable, also where not
        one word can be read of an answer; BudgetExhausted. What was said before that stays said.
        """
        if not shown:
            return "", []
        prompt = messages(question, shown, restrictions)
        reading = DescriptionReader(len(shown), say, prompt)
        answer = await self._client.chat_streamed(
            self.model,
            prompt,
            stage=STAGE,
            max_tokens=MAX_TOKENS,
            effort=self._effort,
            ledger=ledger,
            on_text=reading.take,
            user=question.query_id,
        )
        notices, summary = reading.closed(), read_summary(answer)
        return ("", [*notices, *dropped(1)]) if repeats(summary, prompt) else (summary, notices)


def messages(question: SiteQuestion, shown: Sequence[Shown], restrictions: Sequence[str]) -> list[Message]:
    """The prompt: the rules, then the question, what may not be broken, and the records, quoted."""
    restricted = _RESTRICTED if restrictions else ""
    rules = _TASK.format(kind=question.kind, words=ASKED_WORDS, restricted=restricted) + _FORM
    asked = {
        "q": question.text[:MAX_QUESTION_CHARS],
        "restrictions": list(restrictions[:MAX_RESTRICTIONS]),
        "items": [{"i": place, "r": dict(each.record)} for place, each in enumerate(shown)],
    }
    return quoted(rules, asked)


class DescriptionReader(Struct):
    """Reads words on items out of an answer as it comes, and passes each on once; the rest is counted.

    A member of the list is a word where its index is one of the items', given for the first time, and "keep" is true
    or false, or there is only a "d", which keeps. Nothing else in it is looked at.
    """

    items: int
    say: Callable[[Described], None]
    prompt: Sequence[Message] = ()
    rejected: int = 0
    shortened: int = 0
    leaked: int = 0
    _scanner: ListScanner = field(default_factory=lambda: ListScanner("items", most_chars=MAX_ANSWER_CHARS))
    _seen: set[int] = field(default_factory=set)

    def take(self, text: str) -> None:
        """One more piece of the answer; what is far longer than any answer is not looked into."""
        for found in self._scanner.feed(text):
            self._described(found)

    def closed(self) -> list[Notice]:
        """What has to be said once the answer has ended. Raises ModelUnavailable where it was no answer."""
        self.rejected += self._scanner.is_open
        if not self._seen and (self.rejected or not self._scanner.lists):
            raise ModelUnavailable("The describer's answer holds no description that can be read")
        return [*_skipped(self.rejected), *_shortened(self.shortened), *dropped(self.leaked)]

    def _described(self, found: object) -> None:
        index, keep = read_word(found, self.items)
        if index is None or index in self._seen:
            self.rejected += 1
            return
        self._seen.add(index)
        text = one_line(found.get("d"), MAX_ANSWER_CHARS) if isinstance(found, dict) and keep else ""
        if self.prompt and repeats(text, self.prompt):
            self.leaked += 1
            text = ""
        short = within_words(text)
        self.shortened += short != text
        self.say(Described(index, keep, short))


def read_word(found: object, items: int) -> tuple[int | None, bool]:
    """The index, and whether the item stays; no index where it is no word on one of the items."""
    if not isinstance(found, dict) or not ("keep" in found or "d" in found):
        return None, True
    index, keep = found.get("i"), found.get("keep", True)
    # The exact types: True is an int to isinstance, and "false" or 0 is no clear word against an item.
    if type(index) is not int or not 0 <= index < items or type(keep) is not bool:
        return None, True
    return index, keep


_SENTENCE_END = re.compile(r"[.!?][\"')\]\u201d\u2019]*(?= )")


def within_words(text: str) -> str:
    """At most 45 words and 400 characters: the whole sentences among them, or where the first is longer its beginning
    and an ellipsis.

    The model is asked for 30 words; a few more are no harm, and a paragraph does not fit a card.
    """
    words = text.split(" ")
    if len(words) <= MAX_WORDS and len(text) <= MAX_CHARS:
        return text
    cut = " ".join(words[:MAX_WORDS]) + " "
    if len(cut) > MAX_CHARS:
        cut = cut[:MAX_CHARS].rpartition(" ")[0] or cut[:MAX_CHARS]
    ends = [each.end() for each in _SENTENCE_END.finditer(cut + " ")]
    return cut[: ends[-1]] if ends else cut.rstrip(" ,;:-") + "…"


# Within a string no quotation mark stands bare, so what follows a bracket and a comma here is the object's own key.
_SUMMARY = re.compile(r'\]\s*,\s*"summary"\s*:\s*("(?:[^"\\]|\\.)*")')


def read_summary(answer: str) -> str:
    """The summary in one line; "" where there is none that came whole, or it is far longer than what was asked for."""
    found = object_with(answer, "items")
    if found is not None:
        return one_line(found.get("summary"), MAX_SUMMARY_CHARS)
    said = _SUMMARY.search(answer[:MAX_ANSWER_CHARS])
    return one_line(_string(said[1]), MAX_SUMMARY_CHARS) if said else ""


def _string(spelt: str) -> str:
    try:
        return whole_characters(str(json.loads(spelt)))
    except ValueError:
        return ""


def _skipped(rejected: int) -> list[Notice]:
    message = "Some of the describer's words could not be read and were skipped."
    return [notice("verdicts_skipped", message, verdicts=rejected)] if rejected else []


def _shortened(shortened: int) -> list[Notice]:
    message = "Some descriptions were longer than a card has room for and were cut."
    return [notice("descriptions_shortened", message, descriptions=shortened)] if shortened else []
