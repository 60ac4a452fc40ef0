"""A model gateway that speaks OpenRouter's wire over a real socket, and fails as it is told to.

    with OpenRouter() as fake:
        fake.fail(status(429, {"Retry-After": "2"}), on=3)     # the third model call
        ...                                                    # OPENROUTER_BASE_URL = fake.url
        assert [seen.path for seen in fake.seen] == [...]

It answers POST /embeddings, /chat/completions (also streamed) and /api/alpha/decisions, GET /key and /models.
Embeddings are hashed bags of words, so texts that share words lie close; the judge scores each card by the words it
shares with the request, and the rankers of a site's items keep those that share most. All depend on the text alone.
As a program, `python -m tests.fakes.openrouter --port 0` prints `ready <url>`.
"""

from __future__ import annotations

import argparse
import base64
import functools
import hashlib
import json
import random
import re
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from . import decisions

Json = dict[str, Any]
KEY = "sk-or-test-5f1e"

DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}
# Dollars per million tokens, in and out, of what the fake offers.
PRICES = {
    "openai/gpt-oss-20b": (0.04, 0.15),
    "openai/gpt-oss-120b": (0.09, 0.45),
    "openai/text-embedding-3-small": (0.02, 0.0),
    "openai/text-embedding-3-large": (0.13, 0.0),
    decisions.JEV: (decisions.PRICE, 0.0),
}


# What was asked, and what is answered


@dataclass
class Seen:
    """One request. `number` counts the model calls from 1 in the order they came, and is 0 for the others."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Json
    connection: int
    abandoned: bool = False
    # When each frame of a streamed completion left, by time.monotonic.
    sent: list[float] = field(default_factory=list)

    @property
    def is_chat(self) -> bool:
        return self.path == "/chat/completions"

    @property
    def is_decision(self) -> bool:
        return self.path == decisions.PATH


@dataclass(frozen=True)
class Reply:
    """What goes over the wire: `stall_s` before the first byte, then up to `cut_at` bytes of the body, then `then`."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    stall_s: float = 0.0
    cut_at: int | None = None
    then: str = "end"  # or "reset", or "stall"
    # What becomes of the frames where the completion is streamed.
    frames: Callable[[list[str]], list[str]] | None = None


Fault = Callable[[Seen, Reply], Reply]


def status(code: int, headers: Mapping[str, str] | None = None) -> Fault:
    """An error with OpenRouter's body, and headers such as Retry-After."""
    body = json.dumps({"error": {"code": code, "message": "told to fail"}}).encode()
    return lambda _, reply: replace(reply, status=code, headers=dict(headers or {}), body=body)


def too_large(code: int = 400) -> Fault:
    """A refusal of a request for its size: a 400 that says so, or a 413."""
    said = "This request has too many tokens for the model's context" if code == 400 else "Payload refused"
    content = json.dumps({"error": {"code": code, "message": said}}).encode()
    return lambda _, reply: replace(reply, status=code, body=content)


def error_in_a_200(code: int) -> Fault:
    """A provider's failure that arrives with status 200, as OpenRouter reports it."""
    return body(json.dumps({"error": {"code": code, "message": "the provider failed"}}).encode())


def refuse() -> Fault:
    """The connection ends before a byte of the reply."""
    return lambda _, reply: replace(reply, cut_at=-1, then="reset")


def reset() -> Fault:
    """The connection is reset in the middle of the body."""
    return lambda _, reply: replace(reply, cut_at=len(reply.body) // 2, then="reset")


def stall(seconds: float = 60.0) -> Fault:
    """Nothing comes for a while."""
    return lambda _, reply: replace(reply, stall_s=seconds)


def stall_midway() -> Fault:
    """Half of the body comes, then nothing more."""
    return lambda _, reply: replace(reply, cut_at=len(reply.body) // 2, then="stall")


def body(content: bytes) -> Fault:
    """Status 200 with these bytes."""
    return lambda _, reply: replace(reply, body=content)


def html() -> Fault:
    """A proxy's error page, with status 200."""
    return body(b"<html><body><h1>502 Bad Gateway</h1></body></html>")


def half() -> Fault:
    """JSON that ends in the middle, though the connection ends well."""
    return lambda _, reply: replace(reply, body=reply.body[: len(reply.body) // 2])


def not_utf8() -> Fault:
    return body(b'{"choices": [{"message": {"content": "\xff\xfe\x80"}}]}')


def wrong_schema() -> Fault:
    return body(b'{"result": "fine", "choices": "none", "data": {"0": []}, "model": 3}')


def large(size: int = 10_500_000) -> Fault:
    """A reply far larger than any that was asked for."""
    return lambda _, reply: replace(reply, body=b'{"padding": "' + b"x" * size + b'"}')


def content(text: str, finish_reason: str = "stop") -> Fault:
    """The model writes this instead of its ranking."""

    def rewritten(_: Seen, reply: Reply) -> Reply:
        completion = json.loads(reply.body or b"{}")
        if "choices" not in completion:  # no completion: nothing that a model wrote
            return reply
        completion["choices"][0]["message"]["content"] = text
        completion["choices"][0]["finish_reason"] = finish_reason
        return replace(reply, body=json.dumps(completion).encode())

    return rewritten


def framed(change: Callable[[list[str]], list[str]]) -> Fault:
    """The frames of a streamed completion, changed; a whole completion is left as it is."""
    return lambda _, reply: replace(reply, frames=change)


def no_end() -> Fault:
    """A stream that ends well for the socket, and lacks its last third."""
    return framed(lambda frames: frames[: len(frames) * 2 // 3])


def bad_frame() -> Fault:
    """Half a stream, then a frame that is no JSON."""
    return framed(lambda frames: [*frames[: len(frames) // 2], 'data: {"choices": [\n\n', *frames[len(frames) // 2 :]])


def error_midway(code: int = 502) -> Fault:
    """Half a stream, then the provider's failure as a frame."""
    said = "data: " + json.dumps({"error": {"code": code, "message": "the provider failed"}}) + "\n\n"
    return framed(lambda frames: [*frames[: len(frames) // 2], said])


def empty() -> Fault:
    """A reasoning model that thought until nothing was left to write with."""
    return content("", finish_reason="length")


def ranked(items: Sequence[Any]) -> Fault:
    """A ranking of these items, whatever they are; NaN is written as NaN."""
    return content(json.dumps({"ranked": list(items)}))


def vectors(change: Callable[[list[float]], Any]) -> Fault:
    """Every vector of the reply, changed."""

    def changed(_: Seen, reply: Reply) -> Reply:
        parsed = json.loads(reply.body)
        for item in parsed["data"]:
            item["embedding"] = change(item["embedding"])
        return replace(reply, body=json.dumps(parsed).encode())

    return changed


def wrong_dimension() -> Fault:
    return vectors(lambda vector: vector[:-1])


def zeros() -> Fault:
    return vectors(lambda vector: [0.0] * len(vector))


def nan() -> Fault:
    return vectors(lambda vector: [float("nan"), *vector[1:]])


def edited(change: Callable[[Json], None]) -> Fault:
    """The reply's JSON, edited in place."""

    def changed(_: Seen, reply: Reply) -> Reply:
        parsed = json.loads(reply.body)
        change(parsed)
        return replace(reply, body=json.dumps(parsed).encode())

    return changed


def other_model(name: str = "openai/text-embedding-ada-002") -> Fault:
    return edited(lambda reply: reply.update(model=name))


# Faults by name, for plans that are drawn from a seed or given on the command line.
FAULTS: dict[str, Callable[[], Fault]] = {
    "408": lambda: status(408),
    "429": lambda: status(429, {"Retry-After": "1"}),
    "500": lambda: status(500),
    "502": lambda: status(502),
    "503": lambda: status(503),
    "529": lambda: status(529),
    "refuse": refuse,
    "reset": reset,
    "stall": stall,
    "stall_midway": stall_midway,
    "html": html,
    "half": half,
    "not_utf8": not_utf8,
    "wrong_schema": wrong_schema,
    "error_in_a_200": lambda: error_in_a_200(502),
    "empty": empty,
    "no_end": no_end,
    "bad_frame": bad_frame,
    "error_midway": error_midway,
}


@dataclass
class Rule:
    """A fault and the model calls that meet it, at most `times` of them."""

    fault: Fault
    when: Callable[[Seen], bool]
    times: float = float("inf")


def drawn(seed: int, rate: float, names: Sequence[str]) -> Rule:
    """A plan: each call fails with this probability by one of these faults, the same for the same seed."""

    def dice(seen: Seen) -> random.Random:
        return random.Random(f"{seed}:{seen.number}")

    def fault(seen: Seen, reply: Reply) -> Reply:
        chance = dice(seen)
        chance.random()
        return FAULTS[chance.choice(list(names))]()(seen, reply)

    return Rule(fault, lambda seen: dice(seen).random() < rate)


# The models


@functools.lru_cache(maxsize=200_000)
def _direction(token: str, dimension: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A few places and signs that stand for a token, drawn from its digest."""
    digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
    places = np.frombuffer(digest[:32], dtype=">u4").astype(np.int64) % dimension
    return places, np.where(np.frombuffer(digest[:8], dtype=np.uint8) & 1, 1.0, -1.0)


def words(text: str) -> list[str]:
    """Lower-case words, a plural's s taken off."""
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in re.findall(r"\w+", text.lower())]


def embed(text: str, dimension: int = 1536) -> list[float]:
    """A unit vector of the text's words; one of the whole text where it has none."""
    vector = np.zeros(dimension)
    for token in words(text) or [f"\0{text}"]:
        places, signs = _direction(token, dimension)
        np.add.at(vector, places, signs)
    norm = np.linalg.norm(vector) or 1.0
    return [round(float(value), 7) for value in vector / norm]


_REQUEST = re.compile(r"^=== (\w+) request ===\n(.*?)^=== \1 ", re.MULTILINE | re.DOTALL)


def judge(messages: Sequence[Mapping[str, str]]) -> str:
    """The ranking of a prompt's cards by the share of the request's words that a card has, in the form asked for."""
    prompt = messages[-1]["content"]
    request = _REQUEST.search(prompt)
    if request is None:
        return "{}"
    asked = set(words(request[2]))
    parts = re.split(
        rf"^=== {request[1]} card (\d+) ===$", prompt.rsplit(f"=== {request[1]} end", 1)[0], flags=re.MULTILINE
    )
    scores = [
        (round(100 * len(asked & set(words(card))) / max(len(asked), 1)), -int(number))
        for number, card in zip(parts[1::2], parts[2::2], strict=True)
    ]
    most = re.search(r"Return the (\d+)", messages[0]["content"])
    best = sorted(scores, reverse=True)[: int(most[1]) if most else None]
    return json.dumps({"ranked": [{"i": -number, "score": score} for score, number in best]})


_QUOTED = re.compile(r"^=== (\w+) ===\n(.*)\n=== \1 ===$", re.DOTALL)


def asked_in(messages: Sequence[Mapping[str, str]]) -> Json:
    """The object that a prompt quotes between the lines with its own word; {} where it quotes none."""
    quoted = _QUOTED.search(messages[-1]["content"])
    if quoted is None or f'"=== {quoted[1]} ==="' not in messages[0]["content"]:
        return {}
    try:
        asked = json.loads(quoted[2])
    except ValueError:
        return {}
    return asked if isinstance(asked, dict) else {}


def speak(messages: Sequence[Mapping[str, str]]) -> str:
    """The completion of any prompt of ours: a site's questions come as one JSON object, a table's between marks."""
    asked = asked_in(messages)
    if not asked:
        return judge(messages)
    if "request" in asked:
        return triaged(asked)
    if "wanted" in asked:
        return expanded(asked)
    if "measures" in asked:
        return questioned(asked)
    if "items" in asked:
        return described(asked)
    if "rs" in asked:
        return shortlist(asked, str(messages[0]["content"]))
    if "current_query" in asked:
        return json.dumps({"standalone_query": standalone(asked)})
    if "evidence" in asked:
        names = ", ".join(str(each["name"]) for each in asked["evidence"][:3])
        key = "answer" if '"answer"' in messages[0]["content"] else "summary"
        return json.dumps({key: f"{names} answer {asked['query']!r}."})
    return "{}"


def shortlist(asked: Mapping[str, Any], rules: str) -> str:
    """The records that share most words with the question: strong where they have all of them."""
    wanted = set(words(str(asked["q"])))
    shared = [(len(wanted & set(words(json.dumps(each["r"])))), -each["i"]) for each in asked["rs"]]
    most = re.search(r"at most (\d+) records", rules)
    best = sorted((pair for pair in shared if pair[0]), reverse=True)[: int(most[1]) if most else None]
    kept = [{"i": -place, "m": "strong" if count == len(wanted) else "relevant"} for count, place in best]
    if '"why"' in rules:
        kept = [{**each, "why": "Shares words with it."} for each in kept]
    return json.dumps({"results": kept})


_NEEDS = {"vegan": "diet", "vegetarian": "diet", "gluten": "allergy", "kosher": "religious", "cheap": "budget"}


def triaged(asked: Mapping[str, Any]) -> str:
    """Hard where the request has one of a few words, each of which is a need, or more than five words."""
    found = [word for word in words(asked["request"]) if word in _NEEDS]
    needs = [
        {"type": _NEEDS[word], "value": word, "polarity": "avoid" if word == "gluten" else "require"} for word in found
    ]
    hard = bool(found) or len(words(asked["request"])) > 5
    return json.dumps({"tier": "hard" if hard else "simple", "constraints": needs})


def expanded(asked: Mapping[str, Any]) -> str:
    """Each word as a term, the whole as a name."""
    return json.dumps({"terms": words(asked["wanted"])[:10], "names": [asked["wanted"]]})


def described(asked: Mapping[str, Any]) -> str:
    """A sentence with each item's name; with restrictions, one that names a substitution. Drops what has no name."""
    names = [str(each["r"].get("name", "")) for each in asked["items"]]
    swap = f" Swap what is not {asked['restrictions'][0]}." if asked["restrictions"] else ""
    items = [{"i": i, "keep": bool(name), "d": f"{name} fits.{swap}" if name else ""} for i, name in enumerate(names)]
    kept = ", ".join(filter(None, names[:3]))
    return json.dumps({"items": items, "summary": f"{kept} fit best." if kept else ""})


def questioned(asked: Mapping[str, Any]) -> str:
    """Two questions of each measure, made of its title."""
    titles = [str(each["title"]) for each in asked["measures"]]
    questions = [{"i": i, "q": [f"How much {title}?", f"look up {title}"]} for i, title in enumerate(titles)]
    return json.dumps({"questions": questions})


def standalone(asked: Mapping[str, Any]) -> str:
    """The last query with the one before it."""
    return " ".join([*asked["previous_queries"][-1:], asked["current_query"]])


@dataclass(frozen=True)
class Latency:
    """Milliseconds until a reply begins: the median, and the spread of a log-normal around it (0: no spread)."""

    embed_ms: float = 0.0
    chat_ms: float = 0.0
    token_ms: float = 0.0
    sigma: float = 0.0

    def of(self, seen: Seen, seed: int) -> float:
        """Seconds for this call, the same for the same seed."""
        median_s = (self.embed_ms if seen.path == "/embeddings" else self.chat_ms) / 1000
        chance = random.Random(f"{seed}:latency:{seen.number}")
        return median_s * chance.lognormvariate(0, self.sigma) if self.sigma else median_s


# The server


class OpenRouter:
    """The gateway. `seen` lists every request; `answer` writes the completions (default: `speak`)."""

    def __init__(
        self,
        *,
        port: int = 0,
        dimension: int | None = None,
        latency: Latency | None = None,
        seed: int = 0,
        key: str | None = None,
        reports_cost: bool = True,
        answer: Callable[[Sequence[Mapping[str, str]]], str] = speak,
    ) -> None:
        self.seen: list[Seen] = []
        self.rules: list[Rule] = []
        self.latency = latency or Latency()
        self.seed, self.key, self.dimension, self.answer = seed, key, dimension, answer
        self.reports_cost = reports_cost
        self.most_decision_tokens = decisions.MOST_TOKENS
        self.spent_usd = 0.0
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._calls = 0
        self._server = _Server(("127.0.0.1", port), self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/api/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="openrouter", daemon=True)

    def __enter__(self) -> OpenRouter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every stall and every connection, and wait for the threads."""
        self.stopping.set()
        self._server.shutdown()
        self._server.end_connections()
        self._server.server_close()
        self._thread.join()

    def fail(
        self,
        fault: Fault,
        *,
        on: int | Sequence[int] | None = None,
        when: Callable[[Seen], bool] | None = None,
        times: float = float("inf"),
    ) -> None:
        """Let model calls fail: those with these numbers (from 1), those the predicate picks, or all."""
        numbers = {on} if isinstance(on, int) else None if on is None else set(on)
        picked = when or (lambda seen: numbers is None or seen.number in numbers)
        self.rules.append(Rule(fault, picked, times))

    def heal(self) -> None:
        """From now on nothing fails."""
        self.rules.clear()

    @property
    def open_connections(self) -> int:
        """Connections that neither side has ended."""
        return self._server.open_connections

    @property
    def calls(self) -> list[Seen]:
        """The model calls, in the order they came."""
        return [seen for seen in self.seen if seen.number]

    @property
    def chats(self) -> list[Seen]:
        return [seen for seen in self.calls if seen.is_chat]

    def note(self, method: str, path: str, headers: Mapping[str, str], payload: Json, connection: int) -> Seen:
        with self._lock:
            number = 0
            if method == "POST":
                self._calls += 1
                number = self._calls
            seen = Seen(number, method, path, headers, payload, connection)
            self.seen.append(seen)
            return seen

    def reply(self, seen: Seen) -> Reply:
        """The right reply, then whatever the first rule that fits makes of it."""
        reply = self._right(seen)
        if not seen.number:
            return reply
        reply = replace(reply, stall_s=self.latency.of(seen, self.seed))
        with self._lock:
            rule = next((rule for rule in self.rules if rule.times > 0 and rule.when(seen)), None)
            if rule is not None:
                rule.times -= 1
        return reply if rule is None else rule.fault(seen, reply)

    def _right(self, seen: Seen) -> Reply:
        if not self._may(seen):
            return status(401)(seen, Reply())
        routes: dict[tuple[str, str], Callable[[Seen], Json]] = {
            ("POST", "/embeddings"): self._embeddings,
            ("POST", "/chat/completions"): self._completion,
            ("POST", decisions.PATH): self._decision,
            ("GET", "/key"): lambda _: {"data": {"label": "test", "usage": self.spent_usd, "limit": None}},
            ("GET", "/models"): lambda _: {"data": [_model(name, *price) for name, price in PRICES.items()]},
        }
        route = routes.get((seen.method, seen.path))
        if route is None:
            return status(404)(seen, Reply())
        if seen.is_decision and decisions.tokens(seen.body) > self.most_decision_tokens:
            return too_large()(seen, Reply())
        try:
            return Reply(body=json.dumps(route(seen)).encode())
        except (KeyError, TypeError, AttributeError, ValueError):
            return status(400)(seen, Reply())

    def _may(self, seen: Seen) -> bool:
        scheme, _, key = seen.headers.get("authorization", "").partition(" ")
        return scheme == "Bearer" and bool(key) and key == (self.key or key)

    def _embeddings(self, seen: Seen) -> Json:
        texts, model = seen.body["input"], seen.body["model"]
        texts = [texts] if isinstance(texts, str) else texts
        dimension = seen.body.get("dimensions") or self.dimension or DIMENSIONS.get(model.rsplit("/")[-1], 1536)
        found: list[Any] = [embed(text, dimension) for text in texts]
        if seen.body.get("encoding_format") == "base64":
            found = [base64.b64encode(np.array(vector, dtype="<f4").tobytes()).decode() for vector in found]
        items = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(found)]
        usage = self._usage(model, sum(_tokens(text) for text in texts), 0)
        return {"object": "list", "model": model, "data": items, "usage": usage, "id": f"emb-{seen.number}"}

    def _completion(self, seen: Seen) -> Json:
        messages, model = seen.body["messages"], seen.body["model"]
        if decisions.is_decision_model(model):
            raise ValueError("no model that chats")
        text = self.answer(messages)
        usage = self._usage(model, sum(_tokens(message["content"]) for message in messages), _tokens(text))
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text, "refusal": None},
        }
        return {"id": f"gen-{seen.number}", "object": "chat.completion", "model": model, "provider": "Fake",
                "choices": [choice], "usage": usage}  # fmt: skip

    def _decision(self, seen: Seen) -> Json:
        """Counted under other names than a completion is."""
        used = self._usage(decisions.JEV, decisions.tokens(seen.body), 0)
        cost = {"cost": used["cost"]} if "cost" in used else {}
        usage = {"input_tokens": used["prompt_tokens"], "output_tokens": 0, **cost}
        return {"model": decisions.JEV, "answers": decisions.decided(seen.body), "usage": usage}

    def _usage(self, model: str, prompt: int, completion: int) -> Json:
        per_prompt, per_completion = PRICES.get(model, (0.0, 0.0))
        cost = (prompt * per_prompt + completion * per_completion) / 1e6
        with self._lock:
            self.spent_usd += cost
        usage: Json = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        return {**usage, "cost": cost} if self.reports_cost else usage


def _tokens(text: str) -> int:
    return max(1, len(text) // 4)


def _model(name: str, per_prompt: float, per_completion: float) -> Json:
    prices = {"prompt": f"{per_prompt / 1e6:.10f}", "completion": f"{per_completion / 1e6:.10f}"}
    return {"id": name, "name": name, "pricing": prices}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], fake: OpenRouter) -> None:
        self.fake = fake
        self.accepted = 0
        self._open: set[socket.socket] = set()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.accepted += 1
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        if request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER):
            request.close()  # a shutdown first would end the connection in order
        else:
            super().shutdown_request(request)

    @property
    def open_connections(self) -> int:
        return len(self._open)

    def end_connections(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is none of our errors; anything else is."""
        import sys

        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.number = self.server.accepted
        # Headers and body are two writes: without this the second waits 40 ms for the client's acknowledgement.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self) -> None:
        self._answer({})

    def do_HEAD(self) -> None:
        """Whoever opens a connection before it has anything to ask."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.fake.note("HEAD", self.path.partition("?")[0].removeprefix("/api/v1"), headers, {}, self.number)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            payload = json.loads(raw)
        except ValueError:
            payload = {}
        self._answer(payload if isinstance(payload, dict) else {})

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: `seen` has it all."""

    def _answer(self, payload: Json) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.partition("?")[0].removeprefix("/api/v1")
        seen = self.server.fake.note(self.command, path, headers, payload, self.number)
        reply = self.server.fake.reply(seen)
        if not self._wait(reply.stall_s, seen):
            return
        frames = _frames(reply) if payload.get("stream") and reply.status == 200 and seen.is_chat else []
        if frames and reply.cut_at != -1:
            self._stream(frames, reply, seen)
        else:
            self._send(reply, seen)

    def _wait(self, seconds: float, seen: Seen) -> bool:
        """Stand still; False where the client left or the fake closes meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.server.fake.stopping.is_set() or self._gone():
                seen.abandoned = True
                self.close_connection = True
                return False
            time.sleep(min(left, 0.01))
        return True

    def _gone(self) -> bool:
        """Whether the client closed: its socket is readable and has nothing to read."""
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def _send(self, reply: Reply, seen: Seen) -> None:
        if reply.cut_at == -1:
            self._break_off()
            return
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body[: reply.cut_at])
        self.wfile.flush()
        if reply.then == "stall":
            self._wait(60.0, seen)
        if reply.then in ("reset", "stall"):
            self._break_off()

    def _break_off(self) -> None:
        """Reset the connection, so that the client reads an error and not an end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def _stream(self, frames: list[str], reply: Reply, seen: Seen) -> None:
        """The completion as server-sent events, a few letters each, as OpenRouter sends them.

        A body that is cut is a stream that is cut at the same share of it.
        """
        cut = len(frames) if reply.cut_at is None else len(frames) // 2
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._chunk(": OPENROUTER PROCESSING\n\n")
        for frame in frames[:cut]:
            if not self._wait(self.server.fake.latency.token_ms / 1000, seen):
                return
            try:
                self._chunk(frame)
            except OSError:
                seen.abandoned = True
                raise
            seen.sent.append(time.monotonic())
        if reply.then == "stall":
            self._wait(60.0, seen)
        if reply.then in ("reset", "stall"):
            self._break_off()
        else:
            self._chunk("")

    def _chunk(self, text: str) -> None:
        raw = text.encode()
        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        self.wfile.flush()


def _frames(reply: Reply) -> list[str]:
    """The completion's frames; none where the body is no completion, and then goes out as it is."""
    try:
        events = list(_events(json.loads(reply.body)))
    except (ValueError, KeyError, TypeError, IndexError):
        return []
    frames = [*(f"data: {json.dumps(event)}\n\n" for event in events), "data: [DONE]\n\n"]
    return reply.frames(frames) if reply.frames else frames


def _events(completion: Json) -> Iterator[Json]:
    frame = {"id": completion["id"], "object": "chat.completion.chunk", "model": completion["model"]}
    choice = completion["choices"][0]
    text = choice["message"]["content"]
    for start in range(0, len(text), 8):
        yield {**frame, "choices": [{"index": 0, "delta": {"content": text[start : start + 8]}, "finish_reason": None}]}
    yield {**frame, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": choice["finish_reason"]}]}
    yield {**frame, "choices": [], "usage": completion["usage"]}


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description="A model gateway for tests and load: OpenRouter's wire, no model.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--dimension", type=int, help="of every embedding; default: that of the model asked for")
    parser.add_argument("--embed-ms", type=float, default=0.0, help="median until an embedding reply begins")
    parser.add_argument("--chat-ms", type=float, default=0.0, help="median until a completion begins")
    parser.add_argument("--token-ms", type=float, default=0.0, help="between the events of a stream")
    parser.add_argument("--sigma", type=float, default=0.0, help="spread of the log-normal around both medians")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fault-rate", type=float, default=0.0, help="share of the model calls that fail")
    parser.add_argument("--faults", default="429,500,503,reset", help=f"of {', '.join(FAULTS)}")
    given = parser.parse_args()
    latency = Latency(given.embed_ms, given.chat_ms, given.token_ms, given.sigma)
    with OpenRouter(port=given.port, dimension=given.dimension, latency=latency, seed=given.seed) as fake:
        if given.fault_rate:
            fake.rules.append(drawn(given.seed, given.fault_rate, given.faults.split(",")))
        print("ready", fake.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
