"""The wire to OpenRouter, or to any server that speaks it: embeddings, decisions, and chat in JSON mode.

One call is up to LLM_MAX_RETRIES + 1 attempts (a decision up to ASKHUB_DECISION_ATTEMPTS), each an event of the
ledger. Every wait ends with the caller's deadline: a wait that would outlast it is not begun. Nothing but
OPENROUTER_BASE_URL is ever contacted: no proxy and no credentials are taken from the environment, and no redirect
is followed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import anyio
import anyio.to_thread
import httpx
from msgspec import Struct

from shared.contracts.usage import Outcome
from shared.errors import ModelUnavailable
from shared.models.breaker import Breaker
from shared.models.ledger import Ledger
from shared.models.prices import price_usd
from shared.models.retry import LONGEST_WAIT_S, Pace, is_retried
from shared.models.spend import Spend
from shared.models.stream import Heard, StreamBroken, read_stream
from shared.settings import Settings
from shared.timed import MODEL, timed

TARGET = "openrouter"
# What one call can at the most have used; a report above is a fault of the gateway's, and would fill a day's budget.
_MOST_TOKENS = 10_000_000
_MOST_DOLLARS = 100.0
EMBEDDINGS = "/embeddings"
CHAT = "/chat/completions"
# Its address stands beside that of the others, whose last segment is a version: …/api/v1 → …/api/alpha/decisions.
DECISIONS = "/alpha/decisions"
# What the key may do: free, and small. Only a connection is wanted of it.
KEY = "/key"

MAX_REPLY_BYTES = 10_000_000
MAX_COMPLETION_TOKENS = 8_000
# A reply this large takes 2 ms to decode (measured: 4.5 ns a byte), so it leaves the loop; 8 vectors of 1,536 do not.
LARGE_REPLY_BYTES = 400_000
# Phase timeouts end this long after the caller's deadline: it is the deadline that ends the call, as a 504.
GRACE_S = 1.0

Json = dict[str, Any]
Message = Mapping[str, str]

log = logging.getLogger(__name__)


class Call(Struct, frozen=True):
    """What one call is for, as the ledger names it."""

    path: str
    model: str
    stage: str
    ledger: Ledger


class Attempts(Struct):
    """How many attempts of one call were made, whatever made another one necessary."""

    most: int
    made: int = 0

    @property
    def left(self) -> bool:
        """Whether one more is allowed."""
        return self.made < self.most


class AttemptFailed(Exception):
    """One attempt came to nothing. `retried` where it speaks of the moment, not of the request.

    `final` where a part of the answer has been passed on already: another attempt would say it twice.
    """

    def __init__(
        self,
        outcome: Outcome,
        said: str,
        retried: bool,
        *,
        headers: Mapping[str, str] | None = None,
        final: bool = False,
        too_large: bool = False,
    ) -> None:
        super().__init__(said)
        self.outcome = outcome
        self.said = said
        self.retried = retried
        self.headers = headers or {}
        self.final = final
        self.too_large = too_large


class RequestTooLarge(ModelUnavailable):
    """The gateway will not take as much in one request; less of it may do."""


class Patience(Struct, frozen=True):
    """How long one attempt may take, and how long the gateway may be silent in it."""

    attempt_s: float
    silence_s: float


class OpenRouterClient:
    """One a process; its connections belong to the event loop that makes the calls.

    Measured: 55 ms for this module's import, 30 ms for the TLS context; so it is made in the loader's thread.
    """

    def __init__(self, settings: Settings, pace: Pace | None = None) -> None:
        """Opens nothing. Raises ModelUnavailable without a key."""
        if not settings.openrouter_api_key:
            raise ModelUnavailable("The model gateway needs a key; set OPENROUTER_API_KEY")
        self._settings = settings
        self._pace = pace or Pace()
        self._base_url = settings.openrouter_base_url.rstrip("/")
        # One a kind of call: a chat model that fails must not stop the embeddings, nor embeddings hide that it fails.
        self._breakers = {path: self._breaker() for path in (EMBEDDINGS, CHAT, DECISIONS)}
        self._patience = Patience(settings.llm_timeout_s, settings.llm_read_timeout_s)
        self._tls = httpx.create_ssl_context(trust_env=False)
        self._pool: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.spend = Spend(settings.spend_limit_usd_per_day, self._pace.wall)

    async def embeddings(self, model: str, texts: Sequence[str], stage: str, ledger: Ledger) -> Json:
        """The gateway's reply, a JSON object not yet looked into. Raises ModelUnavailable, BudgetExhausted."""
        body = {"model": model, "input": list(texts), "encoding_format": "float"}
        call = Call(EMBEDDINGS, model, stage, ledger)
        return await self._answered(call, self._attempts(), lambda: self._exchange(EMBEDDINGS, body))

    async def chat(
        self, model: str, messages: Sequence[Message], *, stage: str, max_tokens: int, effort: str, ledger: Ledger
    ) -> str:
        """A completion in JSON mode at temperature 0, never blank.

        A reasoning model may think until nothing is left to write with: a blank completion is asked for again with
        `max_tokens` doubled, up to 8,000, within the same number of attempts. Raises ModelUnavailable, BudgetExhausted.
        """
        body = self._chat_body(model, messages, effort)
        call = Call(CHAT, model, stage, ledger)
        return await self._completed(call, body, max_tokens, lambda sent: self._exchange(CHAT, sent))

    async def chat_streamed(
        self,
        model: str,
        messages: Sequence[Message],
        *,
        stage: str,
        max_tokens: int,
        effort: str,
        ledger: Ledger,
        on_text: Callable[[str], None],
        providers: Sequence[str] = (),
        user: str = "",
    ) -> str:
        """Like `chat`, with `on_text` called, on the event loop, for each piece of the completion as it comes.

        `providers` are tried in this order; `user` names the request to the gateway. An attempt is made again only
        while no piece has come: after that a failure is final, and what came before it stays said.
        """
        order: Json = {"provider": {"order": list(providers)}} if providers else {}
        named: Json = {"user": user} if user else {}
        body = {**self._chat_body(model, messages, effort), **order, **named, "stream": True}
        call = Call(CHAT, model, stage, ledger)
        return await self._completed(call, body, max_tokens, lambda sent: self._stream(sent, on_text))

    async def decide(
        self, model: str, state: Json, questions: Mapping[str, Json], *, stage: str, ledger: Ledger
    ) -> Json:
        """The reply to questions about a state, a JSON object not yet looked into.

        Nothing comes before all of it does, so an attempt may be silent for as long as it may take. Raises
        RequestTooLarge where it is for the caller to ask for less at a time; ModelUnavailable, BudgetExhausted.
        """
        body: Json = {"model": model, "state": state, "questions": dict(questions)}
        longest_s = self._settings.decision_timeout_s
        patience = Patience(longest_s, longest_s)
        attempts = Attempts(self._settings.decision_attempts)
        call = Call(DECISIONS, model, stage, ledger)
        return await self._answered(call, attempts, lambda: self._exchange(DECISIONS, body, patience))

    async def warm(self) -> None:
        """Open a connection that the next call on this loop finds, for 30 s: that saves it the rounds of TCP and TLS.

        A HEAD, whose answer does not matter. Where the gateway cannot be reached the log says so, and nothing else
        is changed: the first call tries for itself.
        """
        try:
            await self._connections().head(self._base_url + KEY, timeout=self._settings.llm_connect_timeout_s)
        except httpx.RequestError as error:
            log.warning("the model gateway could not be reached at start: %s", type(error).__name__)

    def describe(self) -> Json:
        """For /health: what was spent today, and whether the gateway is left alone."""
        states = {path.strip("/"): breaker.state for path, breaker in self._breakers.items()}
        return {"spent_usd_today": round(self.spend.today_usd, 6), "circuit": states}

    async def aclose(self) -> None:
        """Close the connections; to be awaited on the loop that made the calls. A later call opens new ones."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.aclose()

    def close(self) -> None:
        """The same from any other thread. Where that loop has ended, there is nothing left to close."""
        if self._loop is not None and self._loop.is_running():
            asyncio.run_coroutine_threadsafe(self.aclose(), self._loop).result(5.0)

    def _breaker(self) -> Breaker:
        settings = self._settings
        return Breaker(settings.llm_breaker_failures, settings.llm_breaker_open_s, self._pace.monotonic)

    def _attempts(self) -> Attempts:
        return Attempts(self._settings.llm_max_retries + 1)

    def _chat_body(self, model: str, messages: Sequence[Message], effort: str) -> Json:
        order = [name.strip() for name in self._settings.llm_provider_order.split(",") if name.strip()]
        sort = self._settings.llm_provider_sort
        routing = {**({"order": order} if order else {}), **({"sort": sort} if sort else {})}
        return {
            "model": model,
            "messages": list(messages),
            "temperature": 0,
            "response_format": {"type": "json_object"},
            "usage": {"include": True},
            **({"reasoning": {"effort": effort}} if effort else {}),
            **({"provider": routing} if routing else {}),
        }

    async def _completed(
        self, call: Call, body: Json, max_tokens: int, exchange: Callable[[Json], Awaitable[Json]]
    ) -> str:
        """The first completion that is not blank, each time with twice the room."""
        attempts = self._attempts()
        while True:
            sent = {**body, "max_tokens": max_tokens}
            completion = _completion(await self._answered(call, attempts, lambda sent=sent: exchange(sent)))  # type: ignore[misc]
            if completion.strip():
                return completion
            if max_tokens >= MAX_COMPLETION_TOKENS or not attempts.left:
                raise ModelUnavailable("The model gateway sent an empty completion")
            max_tokens = min(2 * max_tokens, MAX_COMPLETION_TOKENS)

    async def _answered(self, call: Call, attempts: Attempts, exchange: Callable[[], Awaitable[Json]]) -> Json:
        """The first reply of up to as many attempts as are left."""
        with self._breakers[call.path].watch() as health:
            while True:
                self.spend.check()
                attempts.made += 1
                try:
                    reply = await self._attempt(call, exchange)
                except AttemptFailed as failure:
                    if failure.retried:
                        health.good = False
                    wait_s = self._wait_s(failure, attempts)
                else:
                    health.good = True
                    return reply
                await anyio.sleep(wait_s)

    def _wait_s(self, failure: AttemptFailed, attempts: Attempts) -> float:
        """How long to wait before the next attempt. Raises ModelUnavailable where there is to be none."""
        wait_s = self._pace.wait_s(attempts.made - 1, failure.headers)
        again = failure.retried and not failure.final and attempts.left
        if again and wait_s <= LONGEST_WAIT_S and wait_s < _left_s():
            return wait_s
        later = max(1, math.ceil(wait_s)) if failure.retried else None
        kind = RequestTooLarge if failure.too_large else ModelUnavailable
        raise kind(f"The model gateway {failure.said}", retry_after_s=later) from failure

    async def _attempt(self, call: Call, exchange: Callable[[], Awaitable[Json]]) -> Json:
        """One exchange, written into the ledger however it ends."""
        started = time.perf_counter()
        try:
            reply = await exchange()
        except AttemptFailed as failure:
            self._record(call, started, failure.outcome, {})
            raise
        except anyio.get_cancelled_exc_class():
            self._record(call, started, "cancelled", {})
            raise
        self._record(call, started, "success", reply)
        return reply

    async def _exchange(self, path: str, body: Json, patience: Patience | None = None) -> Json:
        """A JSON object with status 200, or AttemptFailed."""
        patience = patience or self._patience
        with self._attempted(patience):
            async with self._posted(path, body, patience) as response:
                return await _whole(response)
        raise AssertionError("what is attempted returns or raises")

    async def _stream(self, body: Json, on_text: Callable[[str], None]) -> Json:
        """The same for a streamed completion, put together as if it had come whole."""
        heard = Heard(on_text)
        with self._attempted(self._patience, heard):
            async with self._posted(CHAT, body, self._patience) as response:
                if response.status_code != httpx.codes.OK or not _is_stream(response):
                    return heard.whole(await _whole(response))
                return await read_stream(_pieces(response), heard)
        raise AssertionError("what is attempted returns or raises")

    @contextmanager
    def _attempted(self, patience: Patience, heard: Heard | None = None) -> Iterator[None]:
        """Within one attempt's time; whatever goes wrong on the way is an AttemptFailed."""
        try:
            with anyio.fail_after(patience.attempt_s), timed(MODEL):
                yield
        except AttemptFailed as failure:
            failure.final = heard is not None and heard.began
            raise
        except StreamBroken as error:
            refused = _refused(_status(error.code), {}) if error.code is not None else None
            said = refused.said if refused else error.said
            outcome: Outcome = refused.outcome if refused else "error"
            again = refused.retried if refused else True
            raise AttemptFailed(outcome, said, again, final=heard is not None and heard.began) from error
        except (TimeoutError, httpx.TimeoutException) as error:
            final = heard is not None and heard.began
            raise AttemptFailed("timeout", "did not answer in time", retried=True, final=final) from error
        except httpx.RequestError as error:
            final = heard is not None and heard.began
            raise AttemptFailed("error", "could not be reached, or broke off", retried=True, final=final) from error

    def _posted(self, path: str, body: Json, patience: Patience) -> AbstractAsyncContextManager[httpx.Response]:
        # "replace": a lone surrogate in a caller's text cannot be UTF-8, and "?" stands for it.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        base_url = beside(self._base_url) if path == DECISIONS else self._base_url
        url, timeout = base_url + path, self._phases(patience)
        return self._connections().stream("POST", url, content=content, timeout=timeout)

    def _phases(self, patience: Patience) -> httpx.Timeout:
        """The time for each phase, none of it beyond the caller's deadline."""
        most = _left_s() + GRACE_S
        connect, read = min(self._settings.llm_connect_timeout_s, most), min(patience.silence_s, most)
        return httpx.Timeout(connect=connect, pool=connect, read=read, write=read)

    def _connections(self) -> httpx.AsyncClient:
        """The pool of the running loop: after a fork, or on another loop, a new one."""
        loop = asyncio.get_running_loop()
        if self._pool is None or self._loop is not loop:
            self._loop = loop
            self._pool = httpx.AsyncClient(
                verify=self._tls,
                trust_env=False,
                follow_redirects=False,
                limits=httpx.Limits(max_connections=100, max_keepalive_connections=32, keepalive_expiry=30.0),
                headers=_headers(self._settings),
            )
        return self._pool

    def _record(self, call: Call, started: float, outcome: Outcome, reply: Json) -> None:
        usage = reply.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        prompt, completion = _count(_either(usage, PROMPT)), _count(_either(usage, COMPLETION))
        reported = _dollars(usage.get("cost"))
        cost = price_usd(call.model, prompt, completion) if reported is None else reported
        self.spend.add(cost)
        call.ledger.record(
            target=TARGET,
            model=_answering(reply, call),
            stage=call.stage,
            elapsed_ms=(time.perf_counter() - started) * 1e3,
            outcome=outcome,
            prompt_tokens=prompt,
            completion_tokens=completion,
            cost_usd=cost,
            cost_reported=reported is not None,
            reasoning_tokens=_detail(usage, "completion_tokens_details", "reasoning_tokens"),
            cached_tokens=_detail(usage, "prompt_tokens_details", "cached_tokens")
            or _detail(usage, "input_tokens_details", "cached_tokens"),
        )


def beside(base_url: str) -> str:
    """The address that a gateway's interfaces of other versions stand under: without the version at its end."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/").rpartition("/")[0]))


async def _pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body as it arrives, up to the largest that is read."""
    received = 0
    async for piece in response.aiter_bytes():
        received += len(piece)
        if received > MAX_REPLY_BYTES:
            raise AttemptFailed("error", f"sent more than {MAX_REPLY_BYTES:,} bytes", retried=False)
        yield piece


async def _whole(response: httpx.Response) -> Json:
    """A reply's JSON object; AttemptFailed for any other status, or for other bytes."""
    content = bytearray()
    async for piece in _pieces(response):
        content += piece
    raw = bytes(content)
    if response.status_code != httpx.codes.OK:
        raise _refused(response.status_code, response.headers, raw)
    reply = _decode(raw) if len(raw) < LARGE_REPLY_BYTES else await anyio.to_thread.run_sync(_decode, raw)
    if isinstance(reply.get("error"), dict):  # OpenRouter reports a provider's failure inside of a 200
        raise _refused(_status(reply["error"].get("code")), response.headers, raw)
    return reply


def _headers(settings: Settings) -> dict[str, str]:
    """What every call carries: the key, and who is asking where the settings say so."""
    named = {"X-OpenRouter-Title": settings.app_title, "HTTP-Referer": settings.app_url}
    return {
        "Authorization": f"Bearer {settings.openrouter_api_key}",
        "Content-Type": "application/json",
        **{name: value for name, value in named.items() if value},
    }


def _is_stream(response: httpx.Response) -> bool:
    return str(response.headers.get("content-type", "")).startswith("text/event-stream")


def _left_s() -> float:
    """Seconds until the deadline around the caller, or infinity."""
    return anyio.current_effective_deadline() - anyio.current_time()


_SAID = {
    401: "refused our key",
    402: "says that our credit is used up",
    403: "refused our key",
    429: "asks us to slow down",
}


def _refused(status: int, headers: Mapping[str, str], content: bytes = b"") -> AttemptFailed:
    outcome: Outcome = "rate_limited" if status == httpx.codes.TOO_MANY_REQUESTS else "error"
    said = _SAID.get(status, f"answered with status {status}" if status else "reported a failure")
    too_large = _is_too_large(status, content)
    return AttemptFailed(outcome, said, is_retried(status) or not status, headers=headers, too_large=too_large)


_TOO_LARGE = re.compile(rb"context|too (?:large|long|big|many (?:input )?tokens)|(?:token|input) limit", re.IGNORECASE)
_TOLD_BYTES = 2_000


def _is_too_large(status: int, content: bytes) -> bool:
    """Whether a refusal is one of the size: by its status, or because a 400 says so."""
    if status == httpx.codes.BAD_REQUEST:
        return bool(_TOO_LARGE.search(content[:_TOLD_BYTES]))
    return status == httpx.codes.REQUEST_ENTITY_TOO_LARGE


def _status(code: object) -> int:
    """An error's code where it is an HTTP status, else 0."""
    return code if type(code) is int and 100 <= code <= 599 else 0


def _decode(content: bytes) -> Json:
    """The reply as a JSON object. HTML, half a reply or other bytes are a fault on the way: another attempt may do."""
    try:
        reply = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise AttemptFailed("error", "sent something other than JSON", retried=True) from error
    if not isinstance(reply, dict):
        raise AttemptFailed("error", "sent something other than a JSON object", retried=True)
    return reply


def _completion(reply: Json) -> str:
    """The text of the first choice; a reply without one is a blank completion."""
    match reply.get("choices"):
        case [{"message": {"content": str(text)}}, *_]:
            return text
    return ""


PROMPT = ("prompt_tokens", "input_tokens")
COMPLETION = ("completion_tokens", "output_tokens")
_MODEL = re.compile(r"[\w~./:@-]{1,100}", re.ASCII)


def _either(usage: Json, names: tuple[str, str]) -> object:
    """Chat and decisions have different words for the same count."""
    return usage.get(names[0], usage.get(names[1]))


def _answering(reply: Json, call: Call) -> str:
    """Who answered: of a decision the model that it names, since an alias may have been asked; else whom we asked."""
    named = reply.get("model")
    is_name = call.path == DECISIONS and isinstance(named, str) and _MODEL.fullmatch(named)
    return str(named) if is_name else call.model


def _count(value: object) -> int:
    """A number of tokens as reported; 0 for what no call can have used."""
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else 0


def _detail(usage: Json, group: str, name: str) -> int:
    found = usage.get(group)
    return _count(found.get(name)) if isinstance(found, dict) else 0


def _dollars(value: object) -> float | None:
    """A cost as reported, or None: a bool, a text, NaN or what no call can have cost is no cost."""
    if type(value) not in (int, float) or not 0 <= value <= _MOST_DOLLARS:  # type: ignore[operator]
        return None
    return float(value)  # type: ignore[arg-type]
