"""A chat model as advisor: how hard a question is, what it demands, what else to look for; and how that is read.

Nothing that it answers is believed further than a search goes: needs come from a closed list of types, terms and
names are strings to be looked up, and what a question excludes is taken out again here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, cast, get_args

from msgspec import Struct, field

from shared.contracts.titles import plain_title
from shared.errors import ModelUnavailable
from shared.models.ledger import Ledger
from shared.models.objects import MAX_ANSWER_CHARS, object_with, one_line
from shared.models.openrouter import Message, OpenRouterClient
from shared.models.provider import MAX_QUESTION_CHARS, Need, Polarity, Proposed, Tier, Triaged
from shared.models.quoting import quoted
from shared.models.scanner import ObjectScanner
from shared.settings import Settings

TRIAGE_STAGE = "triage"
EXPANSION_STAGE = "expansion"
# Room for thinking, too: both are called with little effort, and a blank answer is asked for again with more.
TRIAGE_TOKENS = 1_000
EXPANSION_TOKENS = 1_500

NEEDS = (
    "diet", "allergy", "religious", "medical", "time", "servings", "equipment", "ingredient", "cuisine", "budget",
    "other",
)  # fmt: skip
MAX_NEEDS = 20
MAX_NEED_CHARS = 100
MAX_PROPOSED = 10
MAX_TERM_CHARS = 80
MAX_NAME_CHARS = 150
MAX_AVOIDED = 50
# Members of a list that are looked at; the rest is counted. 10,000 strings would keep the event loop for 90 ms.
MAX_LISTED = 100

TRIAGE = """\
You read what somebody asks of a collection of {kind}, before it is searched.

In the message "request" is what was typed. You do not answer it: you say how hard it is, and what it demands.

"tier" is "simple" where the request names a thing, or a kind of thing, and any good match will do. It is "hard" where \
it demands more than that: a diet, an allergy, something to leave out, a limit of time or money, an occasion, several \
conditions at once, or a judgement. When in doubt it is "hard".

"constraints" lists what an answer must or must not have, each with "type", one of {types}; "value", the words of the \
request for it, a few of them; and "polarity", "require" or "avoid". "vegan" is a diet to require, "peanut allergy" is \
an allergy with "peanuts" to avoid, "no cilantro" an ingredient to avoid. List only what the request says. An empty \
list is fine.

Answer with JSON and nothing else: {{"tier":"hard","constraints":[{{"type":"diet","value":"vegan",\
"polarity":"require"}}]}}"""

EXPANSION = """\
You help to search a collection of {kind} for what a plain search of its words may miss.

In the message "wanted" is what somebody is looking for, "exclude" is what must not be found. You do not answer the \
request: you propose what else to search for.

"terms" are up to {most} short search terms, of one to four words each: other words for the same thing, or what such \
{kind} are called. "names" are up to {most} names of well-known {kind} that fit exactly, spelt as their title is; \
only those you are sure of. Leave out whatever "exclude" names and whatever breaks a condition of the request. Empty \
lists are fine.

Answer with JSON and nothing else: {{"terms":["..."],"names":["..."]}}"""


class ChatAdvisor:
    """Implements models.provider.Advisor: one call each, both with the settings' general model."""

    def __init__(self, client: OpenRouterClient, settings: Settings) -> None:
        self.model = settings.openrouter_model
        self._client = client
        self._effort = settings.writing_effort

    async def triage(self, query: str, kind: str, ledger: Ledger) -> Triaged:
        """How hard the question is, and at most 20 needs; `skipped` counts what else the model listed.

        Raises ModelUnavailable, also where its answer holds nothing that can be read; BudgetExhausted.
        """
        return read_triage(await self._ask(triage_messages(query, kind), TRIAGE_STAGE, TRIAGE_TOKENS, ledger))

    async def expand(self, query: str, kind: str, avoid: Sequence[str], ledger: Ledger) -> Proposed:
        """At most 10 terms and 10 names, none of which is what is to be avoided; `skipped` counts the unreadable.

        Raises ModelUnavailable, also where its answer holds neither list; BudgetExhausted.
        """
        prompt = expansion_messages(query, kind, avoid)
        return read_expansion(await self._ask(prompt, EXPANSION_STAGE, EXPANSION_TOKENS, ledger), avoid)

    async def _ask(self, prompt: Sequence[Message], stage: str, max_tokens: int, ledger: Ledger) -> str:
        return await self._client.chat(
            self.model, prompt, stage=stage, max_tokens=max_tokens, effort=self._effort, ledger=ledger
        )


def triage_messages(query: str, kind: str) -> list[Message]:
    """The prompt; the query is quoted."""
    return quoted(TRIAGE.format(kind=kind, types=", ".join(NEEDS)), {"request": query[:MAX_QUESTION_CHARS]})


def expansion_messages(query: str, kind: str, avoid: Sequence[str]) -> list[Message]:
    """The prompt; the query and what it excludes are quoted."""
    excluded = [text[:MAX_NAME_CHARS] for text in avoid[:MAX_AVOIDED]]
    asked = {"wanted": query[:MAX_QUESTION_CHARS], "exclude": excluded}
    return quoted(EXPANSION.format(kind=kind, most=MAX_PROPOSED), asked)


def read_triage(answer: str) -> Triaged:
    """The tier and the needs. Of an answer that was cut short the needs that came whole count, and the tier is hard.

    An unknown tier is hard. So is one with a diet, an allergy or the like, whatever the model calls it: only what is
    taken to be hard is looked at by the describer, who holds each result to it.
    """
    found = object_with(answer, "tier", "constraints")
    if found is None:
        return _triage_cut_short(answer)
    listed = found.get("constraints")
    members: Sequence[object] = listed if isinstance(listed, list) else []
    lost = int(listed is not None and not isinstance(listed, list))
    needs, skipped = _needs(members)
    return _triaged(_tier(found.get("tier")), needs, skipped + lost)


def _triage_cut_short(answer: str) -> Triaged:
    scanner = ObjectScanner()
    needs, skipped = _needs(list(scanner.feed(answer[:MAX_ANSWER_CHARS])))
    if not needs:
        raise ModelUnavailable("The triage's answer holds nothing that can be read")
    return _triaged("hard", needs, skipped + 1)


def _triaged(tier: Tier, needs: tuple[Need, ...], skipped: int) -> Triaged:
    read = Triaged(tier, needs, skipped)
    return Triaged("hard", needs, skipped) if read.restrictions else read


def _tier(value: object) -> Tier:
    return "simple" if isinstance(value, str) and value.strip().lower() == "simple" else "hard"


def _needs(members: Sequence[object]) -> tuple[tuple[Need, ...], int]:
    """At most 20 different needs, and how many members are none."""
    read = [_need(member) for member in members[:MAX_LISTED]]
    needs = {(need.type, need.value.casefold(), need.polarity): need for need in read if need is not None}
    kept = tuple(needs.values())[:MAX_NEEDS]
    return kept, read.count(None) + len(needs) - len(kept) + len(members[MAX_LISTED:])


def _need(member: object) -> Need | None:
    if not isinstance(member, dict):
        return None
    type_, polarity = _word(member.get("type")), _word(member.get("polarity"))
    value = _cut(member.get("value"))
    if type_ not in NEEDS or polarity not in get_args(Polarity) or not value:
        return None
    return Need(type_, value, cast("Polarity", polarity))


def _word(value: object) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


def _cut(value: object) -> str:
    """A need's words, whole ones up to the limit: an allergy that is told at length is one all the same."""
    text = one_line(value, MAX_ANSWER_CHARS)
    if len(text) <= MAX_NEED_CHARS:
        return text
    return text[: MAX_NEED_CHARS + 1].rpartition(" ")[0] or text[:MAX_NEED_CHARS]


def read_expansion(answer: str, avoid: Sequence[str] = ()) -> Proposed:
    """The terms and the names, cleaned, each once. Of an answer that was cut short the whole strings count.

    A term that has an avoided one in it goes, and so does a name that is one: neither is an error of the model's form.
    """
    found = object_with(answer, "terms", "names")
    lost = int(found is None)
    found = _cut_short(answer) if found is None else found
    if found is None:
        raise ModelUnavailable("The expansion's answer holds neither terms nor names")
    excluded = _Excluded.of(avoid)
    terms = _Strings(MAX_TERM_CHARS, excluded.in_term).read(found.get("terms"))
    names = _Strings(MAX_NAME_CHARS, excluded.is_name).read(found.get("names"))
    return Proposed(tuple(terms.kept), tuple(names.kept), terms.skipped + names.skipped + lost)


def _cut_short(answer: str) -> dict[str, Any] | None:
    """Both lists of an answer whose end is missing, as far as their strings are whole."""
    found = {key: _whole_strings(answer[:MAX_ANSWER_CHARS], key) for key in ("terms", "names")}
    return found if any(found.values()) else None


def _whole_strings(answer: str, key: str) -> list[str]:
    begun = re.search(rf'"{key}"\s*:\s*\[', answer)
    found: list[str] = []
    at = begun.end() if begun else len(answer)
    while len(found) < MAX_LISTED and (member := _STRING.match(answer, at)):
        text = object_with(f'{{"text":{member[1]}}}', "text")
        found += [text["text"]] if text else []
        at = member.end()
    return found


_STRING = re.compile(r'[\s,]*("(?:[^"\\]|\\.)*")(?=\s*[,\]])')


class _Strings(Struct):
    """Reads a list of strings: at most 10, each once, none that is too long or excluded."""

    most_chars: int
    is_excluded: Callable[[str], bool]
    kept: list[str] = field(default_factory=list)
    skipped: int = 0

    def read(self, listed: object) -> _Strings:
        members = listed if isinstance(listed, list) else [] if listed is None else [None]
        self.skipped += len(members[MAX_LISTED:])
        seen: set[str] = set()
        for member in members[:MAX_LISTED]:
            text = one_line(member, self.most_chars)
            if not plain_title(text) or (plain_title(text) not in seen and len(self.kept) >= MAX_PROPOSED):
                self.skipped += 1
            elif plain_title(text) not in seen and not self.is_excluded(text):
                self.kept.append(text)
            seen.add(plain_title(text))
        return self


class _Excluded(Struct, frozen=True):
    """What a question excludes, compared as words without accents, capitals, signs or a leading article."""

    plain: frozenset[str]

    @classmethod
    def of(cls, avoid: Sequence[str]) -> _Excluded:
        return cls(frozenset(filter(None, map(plain_title, avoid))))

    def in_term(self, text: str) -> bool:
        """Whether a term has any of it among its words: searching for it would bring what nobody wants."""
        words = f" {plain_title(text)} "
        return any(f" {avoided} " in words for avoided in self.plain)

    def is_name(self, text: str) -> bool:
        """Whether a name is one of those; "Vertigo Flowers" is another one than "Vertigo"."""
        return plain_title(text) in self.plain
