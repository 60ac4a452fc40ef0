"""What a function writes to its log: one JSON line a request, and crashes without the caller's words in them."""

from __future__ import annotations

import json
import logging
import traceback
from typing import Any

LOG = logging.getLogger(__name__)


def request_line(route: str, method: str, status: int, elapsed_ms: float, request_id: str) -> None:
    """One line a request. The query is never in it."""
    line = {"route": route, "method": method, "status": status, "ms": round(elapsed_ms, 1), "request_id": request_id}
    LOG.info("request", extra={"fields": line})


def crash(error: BaseException, request_id: str) -> None:
    """An error nobody foresaw: its type and where it rose.

    Neither its message nor the source lines, which may quote what the caller asked or a key.
    """
    frames = [f"{frame.f_globals.get('__name__')}:{line}" for frame, line in traceback.walk_tb(error.__traceback__)]
    LOG.error("crash", extra={"fields": {"type": type(error).__name__, "at": frames, "request_id": request_id}})


class JsonLines(logging.Formatter):
    """Records as JSON lines with the names Cloud Logging reads."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = getattr(record, "fields", {})
        return json.dumps({"severity": record.levelname, "message": record.getMessage(), **fields})


def to_stderr(level: int = logging.INFO) -> None:
    """Send the log of everything in shared/ to standard error as JSON lines. Again, it changes the level only."""
    ours = logging.getLogger("shared")
    ours.setLevel(level)
    if not ours.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines())
        ours.addHandler(handler)
        ours.propagate = False
