"""The embedded writer: puts a follow-up and a summary together from words that are there, and writes none of its own.

*Rewrite.* A follow-up such as "now only vegan ones" has a part that is new ("vegan") and leaves the rest unsaid. The
rest is the topic: the last earlier query that stood by itself. The two are put side by side, which is what a search
over words and vectors needs. A query that stands by itself, because it names a thing of its own, is left as typed.

*Compose.* The names of the results, and what the results say of themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from shared.models.features import content_words
from shared.models.ledger import Ledger
from shared.models.provider import Evidence, Provider, unsaid
from shared.models.sentences import sentences, trimmed

MODEL = "askbucket/embedded-writer"

# How a follow-up begins; or one comparison and nothing else.
_OPENING = re.compile(
    r"^(?:and|but|ok(?:ay)?|so|now|then|also|or|actually|what about|how about|only|just|even|rather|instead|more|less"
    r"|same|not|no|none|any|without|with|under|over|below|above|between|within|near|in|from|for|by|at least|at most"
    r"|up to)\b"
    r"|^(?:cheap|short|long|hard|new|old|fast|light|clos|near|quiet|small|larg|quick)e?r$"
    r"|^(?:eas|health|spic|heav|funn|scar)ier$|^bigger$|^better$",
    re.IGNORECASE,
)
# What stands for something said before.
_POINTING = re.compile(
    r"\b(?:ones|those|these|them|they|which one|that one|other one|any others?|(?:does|is|has|can|did) it"
    r"|the (?:first|second|third|last|other|rest|same)(?: one)?$)\b",
    re.IGNORECASE,
)
# What a follow-up is put in, and says nothing of what is wanted.
_FRAME = re.compile(
    r"^(?:(?:and|but|ok(?:ay)?|so|now|then|also|or|please|actually|just|only|show(?: me)?|give me|i (?:want|need)"
    r"|what about|how about|can you|could you|are there|is there|do you have|any)\b[\s,]*)+"
    r"|\b(?:of |the )?(?:ones|those|these|them)\b|\b(?:instead|please|too|as well|again|more)$|[?!.,;:\s]+$",
    re.IGNORECASE,
)
# A longer query than this speaks for itself unless it points back.
_SHORT = 4
_MOST_CHARS = 300
_NAMED = 4
_QUOTED = 3


class EmbeddedWriter:
    """Implements models.provider.Writer: deterministic, at no cost, and it never fails."""

    provider: Provider = "embedded"
    model = MODEL

    async def rewrite(self, query: str, previous: Sequence[str], results: Sequence[str], ledger: Ledger) -> str:  # noqa: ARG002
        """The query with the topic of the turns before it; as typed where it stands by itself.

        "" where there is no topic to carry over.
        """
        ledger.record(target="embedded", model=MODEL, stage="pre_retrieval", elapsed_ms=0)
        if not leans(query):
            return query
        topic = next((earlier for earlier in reversed(previous) if not leans(earlier)), "")
        return joined(topic, query) if topic else ""

    async def compose(self, mode: str, query: str, evidence: Sequence[Evidence], ledger: Ledger) -> str:  # noqa: ARG002
        """The results' names, then the first sentence of each of the first three that has one; "" for none."""
        ledger.record(target="embedded", model=MODEL, stage="generation", elapsed_ms=0)
        names = list(dict.fromkeys(_names(evidence)))[:_NAMED]
        if not names:
            return ""
        said = (first for each in evidence if (first := _first_sentence(each.description)))
        quoted = list(dict.fromkeys(said))[:_QUOTED]
        return " ".join([*unsaid(evidence), f"{_opening(mode, len(evidence))} {_listed(names)}.", *quoted])


def leans(query: str) -> bool:
    """Whether a query leaves unsaid what it is about: it points back, or is a few words that only add to it."""
    bare = query.strip().rstrip("?!. ")
    if _POINTING.search(bare):
        return len(content_words(bare)) <= 2 * _SHORT
    return bool(_OPENING.search(bare)) and len(content_words(bare)) <= _SHORT


def joined(topic: str, query: str) -> str:
    """The topic and what the follow-up adds to it; words that the topic has already are not said twice.

    >>> joined("quick pasta dinners", "now only vegan ones")
    'quick pasta dinners, vegan'
    """
    added = " ".join(_FRAME.sub(" ", query.strip().rstrip("?!. ")).split()).strip(" ,")
    topic = topic.strip().rstrip("?!.,;: ")
    if not set(content_words(added)) - set(content_words(topic)):
        return topic[:_MOST_CHARS]
    return f"{topic}, {added}"[:_MOST_CHARS]


def _opening(mode: str, found: int) -> str:
    if mode == "generate":
        return "What fits the question best:"
    return "One result:" if found == 1 else "Among the results are"


def _names(evidence: Sequence[Evidence]) -> list[str]:
    """Their names; those that share one have the year beside it, where their record tells it."""
    count = Counter(each.name for each in evidence)
    years = [str(each.record.get("datePublished") or "")[:4] for each in evidence]
    named = ((each.name, year) for each, year in zip(evidence, years, strict=True) if each.name)
    return [f"{name} ({year})" if year and count[name] > 1 else name for name, year in named]


def _first_sentence(text: str) -> str:
    first = next(iter(sentences(text)), "")
    if not first:
        return ""
    said = trimmed(first)
    return said if said[-1] in ".!?…" else f"{said}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
