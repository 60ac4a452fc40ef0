"""What a site's answer is made of: typed events, in the order in which a caller reads them.

    begin ─▶ [rewritten] ─▶ [triage] ─▶ [restrictions]
          ─▶ candidate* ─▶ result* ─▶ [answer] ─▶ said* ─▶ [failed] ─▶ usage ─▶ complete ─▶ end

`message_type` is the word on the wire and `content` what stands beside it; the edge adds the envelope around them.
The last three always come, whatever happened before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct, field

from shared.contracts.notices import Notice

# An item as a card reads it: @type, url, name, site, score, relevance, description, vector_score, bm25_score,
# retrieval_source, schema_object.
WireItem: TypeAlias = dict[str, Any]


class Begin(Struct, frozen=True):
    """The search has begun; nothing is known yet."""

    message_type: ClassVar[str] = "begin-nlweb-response"

    @property
    def content(self) -> None:
        return None


class Rewritten(Struct, frozen=True):
    """What is searched instead of what was typed."""

    text: str
    message_type: ClassVar[str] = "decontextualized_query"

    @property
    def content(self) -> str:
        return self.text


class Triage(Struct, frozen=True):
    """How hard the question is taken to be, and what a model read that it demands."""

    tier: str
    needs: Sequence[Mapping[str, str]] = ()
    message_type: ClassVar[str] = "triage"

    @property
    def content(self) -> dict[str, Any]:
        return {"tier": self.tier, "constraints": [dict(need) for need in self.needs]}


class Restrictions(Struct, frozen=True):
    """What results are held to: diets in words, conditions over fields, an order; and the model that ranks."""

    diets: Sequence[str]
    ranking_model: str
    constraints: Sequence[Mapping[str, Any]] = ()
    order: Mapping[str, Any] | None = None
    message_type: ClassVar[str] = "restrictions"

    @property
    def content(self) -> dict[str, Any]:
        held = {"restrictions": list(self.diets), "ranking_model": self.ranking_model}
        return {**held, "constraints": [dict(each) for each in self.constraints], "order": self.order}


class Candidate(Struct, frozen=True):
    """An item that the ranker has just kept; a later `Result` may leave it out or move it."""

    item: WireItem
    message_type: ClassVar[str] = "candidate"

    @property
    def content(self) -> list[WireItem]:
        return [self.item]


class Result(Struct, frozen=True):
    """One item of the final list, in its order. Each was a `Candidate` before."""

    item: WireItem
    message_type: ClassVar[str] = "result"

    @property
    def content(self) -> list[WireItem]:
        return [self.item]


class Answer(Struct, frozen=True):
    """A summary or an answer in prose, and the items it speaks of: all results, in full."""

    answer: str
    items: Sequence[WireItem]
    message_type: ClassVar[str] = "nlws"

    @property
    def content(self) -> dict[str, Any]:
        return {"answer": self.answer, "items": list(self.items)}


class Said(Struct, frozen=True):
    """A sentence for people about how the answer came to be; `notice` is the same for programs."""

    text: str
    notice: Notice | None = None
    message_type: ClassVar[str] = "intermediate_message"

    @property
    def content(self) -> str:
        return self.text


class Failed(Struct, frozen=True):
    """Why there is no answer, or only a part of one. At most one a stream."""

    text: str
    code: str = "internal_error"
    message_type: ClassVar[str] = "error"

    @property
    def content(self) -> str:
        return self.text


class Used(Struct, frozen=True):
    """What was spent, by model, and every notice; beside that each call, for who counts and not for the wire."""

    usage: Mapping[str, Any] = field(default_factory=dict)
    calls: Sequence[Mapping[str, Any]] = ()
    message_type: ClassVar[str] = "usage"

    @property
    def content(self) -> dict[str, Any]:
        return dict(self.usage)


class Complete(Struct, frozen=True):
    """Nothing more will come that matters; an EventSource closes here."""

    message_type: ClassVar[str] = "complete"

    @property
    def content(self) -> None:
        return None


class End(Struct, frozen=True):
    """The last event."""

    message_type: ClassVar[str] = "end-nlweb-response"

    @property
    def content(self) -> None:
        return None


Event: TypeAlias = (
    Begin | Rewritten | Triage | Restrictions | Candidate | Result | Answer | Said | Failed | Used | Complete | End
)
