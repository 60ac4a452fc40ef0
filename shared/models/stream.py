"""A streamed completion: server-sent events in, text out as it comes, and the whole as if it had come at once."""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from msgspec import Struct, field

Json = dict[str, Any]

DONE = "[DONE]"
# One event carries a few letters, or the whole of a small completion.
MAX_LINE_CHARS = 1_000_000


class StreamBroken(Exception):
    """The stream is not one, or reports a failure: `code` is the status that it names, None where it names none."""

    def __init__(self, said: str, code: object = None) -> None:
        super().__init__(said)
        self.said = said
        self.code = code


class Heard(Struct):
    """What came of a completion so far; `on_text` is told of every piece."""

    on_text: Callable[[str], None]
    pieces: list[str] = field(default_factory=list)
    usage: Json = field(default_factory=dict)
    ended: bool = False

    @property
    def began(self) -> bool:
        """Whether anything was passed on."""
        return bool(self.pieces)

    def take(self, text: str) -> None:
        """One more piece."""
        if text:
            self.pieces.append(text)
            self.on_text(text)

    def whole(self, reply: Json) -> Json:
        """A reply that came in one piece after all."""
        match reply.get("choices"):
            case [{"message": {"content": str(text)}}, *_]:
                self.take(text)
        return reply

    def reply(self) -> Json:
        """The completion as it would have come without streaming."""
        return {"choices": [{"message": {"content": "".join(self.pieces)}}], "usage": self.usage}


async def read_stream(body: AsyncIterator[bytes], heard: Heard) -> Json:
    """Read events to the end of the stream. Raises StreamBroken where they stop before the completion does."""
    lines = Lines()
    async for piece in body:
        for line in lines.feed(piece):
            _take(line, heard)
    if not heard.ended:
        raise StreamBroken("broke off")
    return heard.reply()


class Lines:
    """Whole lines out of bytes that are cut anywhere, also within a letter. Raises StreamBroken for other bytes."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest = ""

    def feed(self, piece: bytes) -> Iterator[str]:
        """The lines that this piece completes."""
        try:
            text = self._rest + self._decoder.decode(piece)
        except UnicodeDecodeError as error:
            raise StreamBroken("sent something other than text") from error
        # Not splitlines(): U+2028 is a letter of the completion here.
        *whole, self._rest = text.split("\n")
        if len(self._rest) > MAX_LINE_CHARS:
            raise StreamBroken("sent a line without an end")
        yield from (line.rstrip("\r") for line in whole)


def _take(line: str, heard: Heard) -> None:
    """One line of the stream; comments and other fields say nothing."""
    if not line.startswith("data:"):
        return
    data = line[len("data:") :].strip()
    if data == DONE:
        heard.ended = True
    elif data:
        _event(_object(data), heard)


def _object(data: str) -> Json:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StreamBroken("sent something other than JSON") from error
    if not isinstance(event, dict):
        raise StreamBroken("sent something other than a JSON object")
    return event


def _event(event: Json, heard: Heard) -> None:
    if isinstance(event.get("error"), dict):
        raise StreamBroken("reported a failure", code=event["error"].get("code", 0))
    if isinstance(event.get("usage"), dict):
        heard.usage = event["usage"]
    match event.get("choices"):
        case [{"delta": {"content": str(text)}} as choice, *_]:
            heard.take(text)
            heard.ended = heard.ended or bool(choice.get("finish_reason"))
        case [{"finish_reason": str()}, *_]:
            heard.ended = True
