"""NLWeb's version 0.54 out of our events: the one place that knows how its replies look.

    {_meta} ─▶ {results: [item]}* ─▶ [{results: [Summary]}] ─▶ {_meta with notices, restrictions and usage}

`_meta` comes first, once it is known what is searched, and once more at the end, whole, with what was only known then.
A client that reads nothing but `results` misses nothing it looks for. In the format `chatgpt_app` each message has
`content` and `structuredData` in the place of `results`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from shared.contracts.events import WireItem
from shared.edge.sse import HEARTBEAT, Event, encoded
from shared.errors import AskbucketError

VERSION = "0.54"
SUMMARY = "Summary"
_PLAIN = "Item"
# How retrieval found an item is of no use to these clients.
_LEFT_OUT = frozenset({"@type", "schema_object", "vector_score", "bm25_score", "retrieval_source"})
# What a client acts upon is ours to say: a record that carries such a key is not heeded.
_OURS = frozenset({"score", "relevance", "constraints_met", "unknown", "grounding", "actions"})

Message = dict[str, Any]


class Frames54:
    """The replies to one question. `notices` are what is to be said of the question itself."""

    def __init__(
        self,
        response_format: str,
        *,
        query_id: str = "",
        session: Mapping[str, Any] | None = None,
        notices: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._meta: Message = {"response_type": "Answer", "response_format": response_format, "version": VERSION}
        self._meta |= {"query_id": query_id} if query_id else {}
        self._meta |= {"session_context": dict(session)} if session is not None else {}
        self._as_app = response_format == "chatgpt_app"
        self._notices = [dict(each) for each in notices]
        self._ids: set[str] = set()
        self._lowest: float = 100
        self._begun = False

    def frame(self, event: Event) -> bytes:
        """An event as bytes: lines that begin with `data: `, a comment, or nothing."""
        if event.message_type == "begin-nlweb-response":
            return HEARTBEAT  # the reply's head goes out at once
        return b"".join(b"data: " + encoded(message) + b"\n\n" for message in self._messages(event))

    def whole(self, events: Iterable[Event]) -> Message:
        """All of it as the one JSON object of `streaming: false`: the last `_meta`, every result."""
        lists = ("content", "structuredData") if self._as_app else ("results",)
        found: Message = {"_meta": self._meta, **{name: [] for name in lists}}
        for event in events:
            for message in self._messages(event):
                for name, value in message.items():
                    found[name] = [*found[name], *value] if name in lists else value
        return found

    def failure(self, error: AskbucketError) -> Message:
        """The reply to a question that was refused."""
        return {"_meta": {**self._meta, "response_type": "Failure"}, "error": _error(error.code, error.message)}

    def _messages(self, event: Event) -> list[Message]:
        said = self._said(event)
        if not said or self._begun:
            self._begun = self._begun or bool(said)
            return said
        self._begun = True
        return said if "_meta" in said[0] else [{"_meta": dict(self._meta)}, *said]

    def _said(self, event: Event) -> list[Message]:
        """What an event comes to, not counting the first `_meta`."""
        match event.message_type:
            case "decontextualized_query":
                self._meta["decontextualized_query"] = event.content
                return [{"_meta": dict(self._meta)}]
            case "restrictions":
                self._meta["restrictions"] = event.content
            case "result":
                return [self._shown(item) for item in cast("list[WireItem]", event.content)]
            case "nlws":
                return self._summary(cast("Mapping[str, Any]", event.content)["answer"])
            case "intermediate_message":
                self._note(getattr(event, "notice", None) or {"message": event.content})
            case "error":
                return self._failed(getattr(event, "code", AskbucketError.code), str(event.content))
            case "usage":
                self._use(cast("Mapping[str, Any]", event.content))
            case "complete":
                return [self._closing()]
        return []

    def _shown(self, item: WireItem) -> Message:
        made = self._item(item)
        if not self._as_app:
            return {"results": [made]}
        text = ": ".join(str(made[name]) for name in ("name", "description") if made.get(name))
        return {"content": [{"Type": "text", "Text": text}], "structuredData": [made]}

    def _summary(self, text: str) -> list[Message]:
        if not text:
            return []
        if self._as_app:
            return [{"content": [{"Type": "text", "Text": text}], "structuredData": []}]
        return [{"results": [{"@type": SUMMARY, "text": text}]}]

    def _item(self, item: WireItem) -> Message:
        """The record's own properties, and over them what the search says of it."""
        record = item.get("schema_object")
        record = {} if not isinstance(record, Mapping) else {k: v for k, v in record.items() if k not in _OURS}
        ours = {name: value for name, value in item.items() if name not in _LEFT_OUT}
        if not ours.get("description"):  # nothing was written of it: its own words stand
            ours.pop("description", None)
        if "score" in ours:
            ours["score"] = self._in_order(ours["score"])
        url = str(item.get("url") or "")
        grounding = {"grounding": {"source_urls": [url]}} if url else {}
        return {**record, **ours, "@type": _type_of(record), "@id": self._id(item, url), **grounding}

    def _in_order(self, score: float) -> float:
        """A score that is no higher than any before it: these clients sort by it, and our order is the list's."""
        self._lowest = min(self._lowest, score)
        return self._lowest

    def _id(self, item: WireItem, url: str) -> str:
        """One that no other result of this reply has: these clients keep one result of each id."""
        named = url or f"urn:askbucket:{quote(str(item.get('site', '')))}:{quote(str(item.get('name', '')))}"
        made, count = named, 1
        while made in self._ids:
            count += 1
            made = f"{named}#{count}"
        self._ids.add(made)
        return made

    def _failed(self, code: str, message: str) -> list[Message]:
        """A failure; where results were sent already they stay an answer, and what is missing is a notice."""
        if self._ids:
            self._note(_error(code, message))
            return []
        self._meta["response_type"] = "Failure"
        return [{"_meta": dict(self._meta), "error": _error(code, message)}]

    def _use(self, usage: Mapping[str, Any]) -> None:
        self._meta["usage"] = {name: value for name, value in usage.items() if name != "notices"}
        for each in usage.get("notices", ()):
            self._note(each)

    def _note(self, notice: Mapping[str, Any]) -> None:
        if dict(notice) not in self._notices:
            self._notices.append(dict(notice))

    def _closing(self) -> Message:
        self._meta["notices"] = self._notices
        return {"_meta": dict(self._meta)}


def _type_of(record: Mapping[str, Any]) -> Any:
    """The record's own type. One that calls itself a summary would be shown as ours."""
    own = record.get("@type") or _PLAIN
    return _PLAIN if SUMMARY in (own if isinstance(own, list) else [own]) else own


def _error(code: str, message: str) -> Message:
    return {"code": code, "message": message}
