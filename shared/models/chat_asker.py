"""A chat model that says how people would ask for a table; used when leaves are made, never while serving.

What a publisher wrote goes in quoted, so nothing in a description is an instruction. A measure that the model leaves
out, or of which it writes nothing that can be read, simply has no questions of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.errors import ModelUnavailable
from shared.models.judging import Asked
from shared.models.ledger import Ledger
from shared.models.objects import object_with, one_line
from shared.models.openrouter import Message, OpenRouterClient
from shared.models.quoting import quoted, repeats
from shared.settings import Settings

STAGE = "questions"
VERSION = 1
"""Raised with the prompt: questions that an older one wrote are then asked for anew."""

# 20 measures with 5 questions each are some 2,000 tokens; the rest is room for thinking.
MAX_TOKENS = 6_000
MAX_QUESTIONS = 5
MAX_QUESTION_CHARS = 200
_MAX_TITLE_CHARS = 400
_MAX_DESCRIPTION_CHARS = 1_200

TASK = f"""\
You write the questions by which people would look for published tables of data.

In the message "measures" are tables, each with its number "i", its "title", a "definition", which may be empty, and \
what it "describes".

For each table give up to {MAX_QUESTIONS} short questions or search phrases that this very table answers, in the \
words of somebody who does not know its title: everyday words, other names of the same quantity, one of them a whole \
question. Ask for what the definition says is measured, not for what it leaves out. Name no year, and no place, \
person or company unless the title does.

Answer with JSON and nothing else: {{"questions":[{{"i":0,"q":["...","..."]}}]}}"""


class ChatAsker:
    """Implements models.provider.Asker: one call for some measures."""

    def __init__(self, client: OpenRouterClient, settings: Settings) -> None:
        self.model = settings.openrouter_model
        self.version = VERSION
        self._client = client
        self._effort = settings.writing_effort

    async def ask(self, measures: Sequence[Asked], ledger: Ledger) -> Mapping[int, tuple[str, ...]]:
        """At most five questions a measure, by its index; a measure without any is left out.

        Raises ModelUnavailable, also where its answer holds nothing that can be read; BudgetExhausted.
        """
        prompt = messages(measures)
        answer = await self._client.chat(
            self.model, prompt, stage=STAGE, max_tokens=MAX_TOKENS, effort=self._effort, ledger=ledger
        )
        return read_questions(answer, len(measures), prompt)


def messages(measures: Sequence[Asked]) -> list[Message]:
    """The prompt: the rules, then the measures, quoted."""
    shown = [
        {
            "i": place,
            "title": each.title[:_MAX_TITLE_CHARS],
            "definition": each.description[:_MAX_DESCRIPTION_CHARS],
            "describes": each.scope[:_MAX_TITLE_CHARS],
        }
        for place, each in enumerate(measures)
    ]
    return quoted(TASK, {"measures": shown})


def read_questions(answer: str, measures: int, prompt: Sequence[Message] = ()) -> dict[int, tuple[str, ...]]:
    """The questions by index. Raises ModelUnavailable where the answer has no list of them.

    A question that is no text, too long, there before, or that repeats the rules is left out; so is a measure that
    was never asked for.
    """
    found = object_with(answer, "questions")
    listed = found.get("questions") if found else None
    if not isinstance(listed, list):
        raise ModelUnavailable("The answer holds no questions that can be read")
    read: dict[int, tuple[str, ...]] = {}
    for each in listed:
        index = each.get("i") if isinstance(each, dict) else None
        if type(index) is int and 0 <= index < measures and index not in read:
            questions = _questions(each.get("q"), prompt)
            if questions:
                read[index] = questions
    return read


def _questions(listed: object, prompt: Sequence[Message]) -> tuple[str, ...]:
    kept: dict[str, str] = {}
    for each in listed if isinstance(listed, list) else []:
        text = one_line(each, MAX_QUESTION_CHARS)
        if text and not (prompt and repeats(text, prompt)):
            kept.setdefault(text.casefold(), text)
    return tuple(kept.values())[:MAX_QUESTIONS]
