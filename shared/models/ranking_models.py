"""The chat models that a caller may choose to rank a site's items with."""

from __future__ import annotations

from dataclasses import dataclass

from shared.settings import Settings


@dataclass(frozen=True, slots=True)
class RankingModel:
    """A model's id, as the gateway knows it, and what people call it."""

    id: str
    label: str


RANKING_MODELS: tuple[RankingModel, ...] = (
    RankingModel("openai/gpt-oss-20b", "GPT-OSS 20B"),
    RankingModel("openai/gpt-oss-120b", "GPT-OSS 120B"),
    RankingModel("google/gemma-4-26b-a4b-it", "Gemma 4 26B"),
    RankingModel("google/gemma-4-31b-it", "Gemma 4 31B"),
    RankingModel("google/gemini-2.5-flash-lite", "Gemini 2.5 Flash Lite"),
    RankingModel("google/gemini-3.1-flash-lite", "Gemini 3.1 Flash Lite"),
    RankingModel("google/gemini-3.5-flash-lite", "Gemini 3.5 Flash Lite"),
    RankingModel("google/gemini-3.8-flash", "Gemini 3.8 Flash"),
    RankingModel("google/gemini-3.7-flash", "Gemini 3.7 Flash"),
    RankingModel("microsoft/phi-4", "Phi-4"),
    RankingModel("anthropic/claude-opus-5", "Claude Opus 5"),
    RankingModel("anthropic/claude-sonnet-5", "Claude Sonnet 5"),
    RankingModel("openai/gpt-5.6-sol", "GPT-5.6 Sol"),
    RankingModel("openai/gpt-5.6-terra", "GPT-5.6 Terra"),
    RankingModel("openai/gpt-5.6-luna", "GPT-5.6 Luna"),
    RankingModel("openai/gpt-5-mini", "GPT-5 mini"),
    RankingModel("openai/gpt-5-nano", "GPT-5 nano"),
)


def ranking_models(settings: Settings) -> tuple[RankingModel, ...]:
    """Those that a request may name: the list, and the settings' own where it is none of them."""
    own = settings.ranking_model
    if any(model.id == own for model in RANKING_MODELS):
        return RANKING_MODELS
    return (RankingModel(own, own.rpartition("/")[2]), *RANKING_MODELS)


def default_ranking_model(settings: Settings) -> str:
    """The id of the model that ranks where a request names none."""
    return settings.ranking_model
