"""W3C trace context: the caller's trace goes on here where it sends one, else a new one begins."""

from __future__ import annotations

import os
import re

from msgspec import Struct

_TRACEPARENT = re.compile(r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?", re.ASCII)  # fmt: skip  # noqa: E501
_SAMPLED = 1


class Trace(Struct, frozen=True):
    """One request inside a trace: 32 and 16 hexadecimal digits; `parent_id` is the caller's span, if it sent one."""

    trace_id: str
    span_id: str
    parent_id: str | None = None
    sampled: bool = False

    @property
    def header(self) -> str:
        """`traceparent` with our span, for the reply."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


def trace_of(traceparent: str | None) -> Trace:
    """The trace that a `traceparent` header continues; a new one where there is none or it is not valid."""
    span_id = os.urandom(8).hex()
    found = _TRACEPARENT.fullmatch(traceparent.strip()) if traceparent else None
    if found is None or not _is_valid(found):
        return Trace(os.urandom(16).hex(), span_id)
    return Trace(found["trace"], span_id, found["span"], bool(int(found["flags"], 16) & _SAMPLED))


def _is_valid(found: re.Match[str]) -> bool:
    """No version ff, no id of zeros, and nothing behind the flags in the version that is known."""
    if found["version"] == "ff" or (found["version"] == "00" and found["more"]):
        return False
    return bool(found["trace"].strip("0") and found["span"].strip("0"))
