"""Two clients of other people's making, as the protocol's pages and clients have them: of 0.54, and an EventSource."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from wire import Service

Json = dict[str, Any]


@dataclass
class Client54:
    """Version 0.54: reads lines that begin with `data: ` and nothing else, one result of each @id, best score first."""

    service: Service
    path: str = "/ask"
    messages: list[Json] = field(default_factory=list)
    meta: Json = field(default_factory=dict)
    kept: dict[str, Json] = field(default_factory=dict)
    summary: str = ""
    texts: list[str] = field(default_factory=list)
    error: Json | None = None

    def ask(self, text: str, query: Json | None = None, **parts: Json) -> Client54:
        """One question; its results join those of the questions before it."""
        prefer = {"streaming": True, "response_format": "conv_search", "mode": "list", **parts.get("prefer", {})}
        meta = {"api_version": "0.54", **parts.get("meta", {})}
        body = {"query": {"text": text, **(query or {})}, **parts, "prefer": prefer, "meta": meta}
        answer = self.service.post(self.path, body)
        assert answer.status == 200, answer.content
        assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        for line in answer.content.decode("utf-8").split("\n"):
            if line.startswith("data: "):
                self._take(json.loads(line[6:]))
        return self

    def _take(self, message: Json) -> None:
        self.messages.append(message)
        self.meta = message.get("_meta", self.meta)
        self.error = message.get("error", self.error)
        self.texts += [part["Text"] for part in message.get("content", ()) if part["Type"] == "text"]
        for each in [*message.get("results", ()), *message.get("structuredData", ())]:
            if each["@type"] == "Summary":
                self.summary += each["text"]
            else:
                self.kept.setdefault(each["@id"], each)

    @property
    def results(self) -> list[Json]:
        return sorted(self.kept.values(), key=lambda each: -each["score"])

    @property
    def names(self) -> list[str]:
        return [each["name"] for each in self.results]

    @property
    def codes(self) -> list[str]:
        return [each.get("code", "") for each in self.meta["notices"]]


@dataclass
class EventSource:
    """As first published: `onmessage` alone, only messages with the id that was sent, closed by `complete`."""

    service: Service
    path: str = "/ask"
    drawn: list[Json] = field(default_factory=list)
    answer: str = ""
    said: list[str] = field(default_factory=list)
    closed: bool = False

    def ask(self, query: str, query_id: str = "q-1") -> EventSource:
        values = {"query": query, "prev": "[]", "generate_mode": "summarize", "query_id": query_id}
        with closing(http.client.HTTPConnection(*self.service.address, timeout=30)) as connection:
            connection.request("GET", f"{self.path}?{urlencode(values)}", headers={"Accept": "text/event-stream"})
            with connection.getresponse() as reply:
                assert reply.status == 200
                assert reply.headers["Content-Type"].startswith("text/event-stream")
                self._read(reply, query_id)
        return self

    def _read(self, lines: Iterable[bytes], query_id: str) -> None:
        """By the rules of the format: only frames without a name of their own reach `onmessage`."""
        event, data = "message", list[str]()
        for raw in lines:
            line = raw.decode("utf-8").rstrip("\n")
            if not line and data:
                if event == "message":
                    self._onmessage(json.loads("\n".join(data)), query_id)
                event, data = "message", []
            name, _, value = line.partition(":")
            if name == "data":
                data.append(value.removeprefix(" "))
            elif name == "event":
                event = value.strip()
            if self.closed:
                return

    def _onmessage(self, message: Json, query_id: str) -> None:
        if message["query_id"] != query_id:
            return
        match message["message_type"]:
            case "result":
                self.drawn += message["results"]
            case "nlws":  # wipes what was drawn
                self.answer, self.drawn = message["answer"], list(message["items"])
            case "intermediate_message" | "error":
                self.said.append(message["message"])
            case "complete":
                self.closed = True
