"""The models that a caller may choose to rank a site's items with, and how each of them is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from shared.settings import Settings

ModelKind = Literal["chat", "decision"]

# What a model needs that thinks at length before it writes: of 800 tokens nothing may be left for the verdicts.
_THINKS = 1_200


class RankingModel(Struct, frozen=True):
    """A model's id, as the gateway knows it, what people call it, and which interface answers for it.

    `max_tokens` and `effort` are its own where the settings' would not do; an empty effort leaves it to the model.
    """

    id: str
    label: str
    kind: ModelKind = "chat"
    max_tokens: int | None = None
    effort: str | None = None

    def room(self, settings: Settings) -> int:
        """Tokens for the verdicts of one call, what it thinks included."""
        return settings.ranking_max_tokens if self.max_tokens is None else self.max_tokens

    def thinking(self, settings: Settings) -> str:
        """How hard it is to think; empty leaves it to the model."""
        return settings.ranking_effort if self.effort is None else self.effort


RANKING_MODELS: tuple[RankingModel, ...] = (
    RankingModel("typesafe/jev-1.14", "Jev 1.14", "decision"),
    RankingModel("openai/gpt-oss-20b", "GPT-OSS 20B"),
    RankingModel("openai/gpt-oss-120b", "GPT-OSS 120B", max_tokens=_THINKS),
    # These answer without thinking unless an effort is named, and are quick for that.
    RankingModel("google/gemma-4-26b-a4b-it", "Gemma 4 26B", effort=""),
    RankingModel("google/gemma-4-31b-it", "Gemma 4 31B", effort=""),
    RankingModel("google/gemini-2.5-flash-lite", "Gemini 2.5 Flash Lite", effort=""),
    RankingModel("google/gemini-3.1-flash-lite", "Gemini 3.1 Flash Lite", effort=""),
    RankingModel("google/gemini-3.5-flash-lite", "Gemini 3.5 Flash Lite", effort=""),
    RankingModel("google/gemini-3.8-flash", "Gemini 3.8 Flash", max_tokens=_THINKS),
    RankingModel("google/gemini-3.7-flash", "Gemini 3.7 Flash", max_tokens=_THINKS),
    RankingModel("microsoft/phi-4", "Phi-4", effort=""),
    RankingModel("anthropic/claude-opus-5", "Claude Opus 5", max_tokens=_THINKS),
    RankingModel("anthropic/claude-sonnet-5", "Claude Sonnet 5", max_tokens=_THINKS),
    RankingModel("openai/gpt-5.6-sol", "GPT-5.6 Sol", max_tokens=_THINKS),
    RankingModel("openai/gpt-5.6-terra", "GPT-5.6 Terra", max_tokens=_THINKS),
    RankingModel("openai/gpt-5.6-luna", "GPT-5.6 Luna", max_tokens=_THINKS),
    RankingModel("openai/gpt-5-mini", "GPT-5 mini", max_tokens=_THINKS),
    RankingModel("openai/gpt-5-nano", "GPT-5 nano", max_tokens=_THINKS),
)
# Older versions of the decision model, and the name that the gateway moves on from one to the next.
_JEV = "typesafe/jev-1.14"
_ALIASES = dict.fromkeys(
    (
        "~typesafe/jev-latest",
        "typesafe/jev-latest",
        "typesafe/jev",
        "typesafe/jev-1",
        *(f"typesafe/jev-1.{n}" for n in range(14)),
    ),
    _JEV,
)
_BARE_ALIASES = {alias.rpartition("/")[2]: model for alias, model in _ALIASES.items()}


def full_id(name: str, ids: Iterable[str] = ()) -> str:
    """The whole id of a model that is named by it in any case, without its vendor, or by an older name.

    `ids` are further ones that may be meant, before those of the list. A name that nobody knows comes back as it is.
    """
    asked = name.strip().casefold()
    for known in (*ids, *(model.id for model in RANKING_MODELS)):
        if asked in (known.casefold(), known.casefold().rpartition("/")[2]):
            return known
    return _ALIASES.get(asked) or _BARE_ALIASES.get(asked) or name.strip()


def ranking_model(name: str) -> RankingModel:
    """How the model of this name is asked; one that is not on the list is a chat model like the settings' own."""
    known = full_id(name)
    return next((model for model in RANKING_MODELS if model.id == known), _own(known))


def ranking_models(settings: Settings) -> tuple[RankingModel, ...]:
    """Those that a request may name: the list, and the settings' own where it is none of them."""
    own = ranking_model(settings.ranking_model)
    return RANKING_MODELS if own in RANKING_MODELS else (own, *RANKING_MODELS)


def default_ranking_model(settings: Settings) -> str:
    """The id of the model that ranks where a request names none."""
    return full_id(settings.ranking_model)


def _own(model: str) -> RankingModel:
    return RankingModel(model, model.rpartition("/")[2])
