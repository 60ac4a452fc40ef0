"""What a process keeps of the model gateway while releases come and go: connections, breaker, spend, caches."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shared.errors import ModelUnavailable, SettingsError
from shared.models.caches import Cache
from shared.models.ranking_models import ranking_model
from shared.models.retry import Pace
from shared.settings import Settings, without_userinfo

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from anyio.from_thread import BlockingPortal

    from shared.models.cached_ranker import CachedRanker, Verdicts
    from shared.models.chat_advisor import ChatAdvisor
    from shared.models.chat_asker import ChatAsker
    from shared.models.chat_describer import ChatDescriber
    from shared.models.chat_judge import ChatJudge
    from shared.models.chat_writer import ChatWriter
    from shared.models.judging import Judgement
    from shared.models.openrouter import OpenRouterClient
    from shared.models.openrouter_embedder import OpenRouterEmbedder


class Gateway:
    """The way to OpenRouter's models. Made by `create(settings)`: it opens and imports nothing until it is used.

    Raises SettingsError where OPENROUTER_BASE_URL is no address, or the model to fall back on is none that chats.
    """

    def __init__(self, settings: Settings, pace: Pace | None = None) -> None:
        _check_address(settings.openrouter_base_url)
        _check_fallback(settings.decision_fallback_model)
        self._settings = settings
        self._pace = pace
        self._lock = threading.Lock()
        self._client: OpenRouterClient | None = None
        self._warmed = False
        self._vectors: Cache[npt.NDArray[np.float32]] = Cache(
            settings.embed_cache_entries, settings.embed_cache_bytes, lambda vector: vector.nbytes
        )
        self._verdicts: Cache[Judgement] = Cache(
            settings.verdict_cache_entries, settings.verdict_cache_bytes, _judgement_bytes
        )
        self._rankings: Cache[Verdicts] = Cache(
            settings.verdict_cache_entries, settings.verdict_cache_bytes, _verdicts_bytes
        )

    def check_key(self) -> None:
        """Raises ModelUnavailable without a key. Opens and imports nothing: that is 40 ms of a start without one."""
        if not self._settings.openrouter_api_key:
            raise ModelUnavailable("The model gateway needs a key; set OPENROUTER_API_KEY")

    def embedder(self, model: str, dimension: int) -> OpenRouterEmbedder:
        """The embedder that a manifest names. Raises ModelUnavailable without a key."""
        from shared.models.openrouter_embedder import OpenRouterEmbedder

        return OpenRouterEmbedder(self.client(), model, dimension, self._vectors)

    def judge(self) -> ChatJudge:
        """The judge that the settings name. Raises ModelUnavailable without a key."""
        from shared.models.chat_judge import ChatJudge

        return ChatJudge(self.client(), self._settings, self._verdicts)

    def ranker(self, model: str = "") -> CachedRanker:
        """The ranker of items, by the settings' model or by this one. Raises ModelUnavailable without a key."""
        from shared.models.cached_ranker import CachedRanker

        chosen = ranking_model(model or self._settings.ranking_model)
        if chosen.kind == "decision":
            from shared.models.decision_ranker import DecisionRanker

            return CachedRanker(DecisionRanker(self.client(), self._settings, chosen.id), self._rankings)
        from shared.models.chat_ranker import ChatRanker

        return CachedRanker(ChatRanker(self.client(), self._settings, chosen.id), self._rankings)

    def fallback_ranker(self) -> CachedRanker | None:
        """Who ranks where a decision model cannot; None where the settings want none. Raises ModelUnavailable."""
        model = self._settings.decision_fallback_model
        return self.ranker(model) if model else None

    def writer(self, *, lite: bool = False) -> ChatWriter:
        """The writer that the settings name, or the light one. Raises ModelUnavailable without a key."""
        from shared.models.chat_writer import ChatWriter

        return ChatWriter(self.client(), self._settings, lite)

    def advisor(self) -> ChatAdvisor:
        """Who reads a question before it is searched. Raises ModelUnavailable without a key."""
        from shared.models.chat_advisor import ChatAdvisor

        return ChatAdvisor(self.client(), self._settings)

    def describer(self) -> ChatDescriber:
        """Who writes what is shown of results. Raises ModelUnavailable without a key."""
        from shared.models.chat_describer import ChatDescriber

        return ChatDescriber(self.client(), self._settings)

    def asker(self) -> ChatAsker:
        """Who says how people would look for a table. Raises ModelUnavailable without a key."""
        from shared.models.chat_asker import ChatAsker

        return ChatAsker(self.client(), self._settings)

    def client(self) -> OpenRouterClient:
        """The one client. To be called from a thread that may take 0.1 s, not from the event loop."""
        from shared.models.openrouter import OpenRouterClient

        with self._lock:
            if self._client is None:
                self._client = OpenRouterClient(self._settings, self._pace)
            return self._client

    def warm(self, portal: BlockingPortal) -> None:
        """Open a connection on the portal's loop, beside whatever the caller does next; once, and not without a key.

        In a thread of its own, since the client takes 0.1 s to be made. Nobody waits for it, nothing fails by it.
        """
        with self._lock:
            if self._warmed or not self._settings.openrouter_api_key:
                return
            self._warmed = True
        threading.Thread(target=self._warm, args=(portal,), name="warm", daemon=True).start()

    def _warm(self, portal: BlockingPortal) -> None:
        client = self.client()
        with suppress(RuntimeError):  # the loop was ended meanwhile, and with it what would have called
            portal.start_task_soon(client.warm)

    def describe(self) -> dict[str, Any]:
        """For /health, from memory."""
        known = self._client.describe() if self._client is not None else {}
        return {
            **known,
            "query_vectors": self._vectors.describe(),
            "verdicts": self._verdicts.describe(),
            "rankings": self._rankings.describe(),
        }

    def close(self) -> None:
        """Close the connections; from any thread but the event loop's, before that loop ends."""
        if self._client is not None:
            self._client.close()


def _judgement_bytes(judgement: Judgement) -> int:
    """What a judgement takes in memory: a verdict is 48 bytes, its float and its place in the tuple 32."""
    return 100 + 80 * len(judgement.verdicts)


def _verdicts_bytes(verdicts: Verdicts) -> int:
    """A verdict with its float and its place in the tuple, and its reason, a letter in two bytes at most."""
    return sum(130 + 2 * len(verdict.why) for verdict in verdicts)


def _check_fallback(model: str) -> None:
    """Refuse at start a model that would fail in the same way as what it stands in for."""
    if model and ranking_model(model).kind != "chat":
        raise SettingsError(f"ASKHUB_DECISION_FALLBACK_MODEL={model!r}: must be a chat model, or empty for none")


def _check_address(url: str) -> None:
    """Refuse at start what no request could be sent to."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError:
        fits = False
    if not fits or parts.query or parts.fragment or parts.username is not None:
        raise SettingsError(f"OPENROUTER_BASE_URL={without_userinfo(url)!r}: must be an http or https address")
