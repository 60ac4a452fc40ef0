"""Which models serve: the embedder a manifest names, the judge the settings choose."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Literal, cast

from shared.contracts.release import Embedder as EmbedderSpec
from shared.contracts.release import NullBank
from shared.errors import ModelUnavailable, SettingsError
from shared.models.gateway import Gateway
from shared.models.provider import Embedder, Judge
from shared.models.weights import BGE_SMALL, INSTALL, installed
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.models.embedded import EmbeddedEmbedder

Provider = Literal["openrouter", "embedded", "none"]


def judge_provider(settings: Settings) -> Provider:
    """Who judges: whom LLM_PROVIDER names, else openrouter where its key is set, else embedded where it is installed.

    Raises SettingsError where the settings alone show that the one they name cannot be had.
    """
    if settings.llm_provider == "openrouter" and not settings.openrouter_api_key:
        raise SettingsError("LLM_PROVIDER=openrouter, but OPENROUTER_API_KEY is not set")
    if settings.llm_provider:
        return cast("Provider", settings.llm_provider)
    if settings.openrouter_api_key:
        return "openrouter"
    return "embedded" if installed() else "none"


def open_embedder(
    spec: EmbedderSpec, settings: Settings, gateway: Gateway, early: Future[EmbeddedEmbedder] | None = None
) -> Embedder:
    """The embedder a release was built with; never another one. Raises ModelUnavailable, saying what is missing.

    `early` is the embedded one, if it is already on its way.
    """
    if spec.provider == "openrouter":
        return gateway.embedder(spec.model, spec.dimension)
    from shared.models.embedded import DIMENSION, EmbeddedEmbedder

    if (spec.model, spec.dimension) != (BGE_SMALL.model, DIMENSION):
        raise ModelUnavailable(
            f"the release was embedded with {spec.model} ({spec.dimension} dimensions);"
            f" the embedded model is {BGE_SMALL.model} ({DIMENSION})"
        )
    return early.result() if early else EmbeddedEmbedder(settings.model_threads)


def likely_embedder(settings: Settings) -> Future[EmbeddedEmbedder] | None:
    """The embedded model on its way before any manifest was read, where the settings make it likely, else None.

    On a cold start it is what takes longest, so everything else can be imported and opened beside it.
    """
    if judge_provider(settings) != "embedded":
        return None
    from shared.models.embedded import opening

    return opening(settings.model_threads)


def open_judge(settings: Settings, null_bank: NullBank | None, gateway: Gateway) -> Judge | None:
    """The judge; None means results in embedding order.

    Raises ModelUnavailable where the embedded judge is asked for by name without its weights.
    """
    provider = judge_provider(settings)
    if provider == "openrouter":
        return gateway.judge()
    if provider == "none":
        return None
    if not installed():
        raise ModelUnavailable(f"LLM_PROVIDER=embedded, but the weights are not installed; run `{INSTALL}`")
    from shared.models.ranker import EmbeddedJudge

    return EmbeddedJudge(null_bank)


def combine_null_banks(banks: Sequence[NullBank]) -> NullBank:
    """The bank of several catalogs searched as one: the one whose everyday queries come closest.

    The best cosine over all catalogs is the maximum over them, so the largest median is the nearest known value.
    """
    return max(banks, key=lambda bank: bank.median)
