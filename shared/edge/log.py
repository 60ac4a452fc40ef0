"""What a function writes to its log: JSON lines, one a request, without a secret, an address or a question in them."""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from collections.abc import Iterable
from typing import Any, TextIO

from shared.edge.client import masked
from shared.edge.exchange import Exchange
from shared.edge.redact import Redactor

LOG = logging.getLogger(__name__)


def request_line(exchange: Exchange) -> None:
    """One line a request."""
    usage = exchange.usage or {}
    fields = {
        "route": exchange.route,
        "method": exchange.method,
        "status": exchange.status,
        "code": exchange.code,
        "outcome": exchange.outcome if exchange.streamed else None,
        "ms": round(exchange.elapsed_s * 1000, 1),
        "request_id": exchange.request_id,
        "trace_id": exchange.trace.trace_id,
        "span_id": exchange.trace.span_id,
        "client": masked(exchange.client),
        "release": exchange.release,
        "stages": {stage: round(ms, 1) for stage, ms in exchange.stages().items()},
        "model_calls": usage.get("llm_calls"),
        "tokens": usage.get("total_tokens"),
        "usd": usage.get("cost_usd"),
        "notices": [notice.get("code") for notice in exchange.notices],
        "query": exchange.asked,
    }
    LOG.info(
        "request", extra={"fields": {name: value for name, value in fields.items() if value not in (None, [], {})}}
    )


def crash(error: BaseException, request_id: str) -> None:
    """An error nobody foresaw: its type and where it rose.

    Neither its message nor the source lines, which may quote what the caller asked or a key.
    """
    LOG.error("crash", extra={"fields": {**_where(error), "request_id": request_id}})


def server_timing(exchange: Exchange) -> str:
    """The stages and the whole of a request so far, as the header `Server-Timing` has them."""
    shown = {**exchange.stages(), "total": exchange.elapsed_s * 1000}
    return ", ".join(f"{stage};dur={ms:.1f}" for stage, ms in shown.items())


class JsonLines(logging.Formatter):
    """Records as JSON lines with the names Cloud Logging reads, cleaned of what must not be in a log.

    Of an exception its type and where it rose are written, never its message.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        self._redactor = Redactor(secrets)

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line = {"severity": record.levelname, "message": record.getMessage(), **getattr(record, "fields", {})}
        if record.exc_info and record.exc_info[1] is not None:
            line |= _where(record.exc_info[1])
        return json.dumps(self._redactor.fields(line))


def to_stderr(level: int = logging.INFO, secrets: Iterable[str] = ()) -> None:
    """Send the log to standard error as JSON lines: of everything in shared/, and of libraries what is a warning.

    `secrets` are struck out of every line. A thread that dies of an exception says so in the same words as a
    request. Again, it changes the level and the secrets only.
    """
    ours, others = logging.getLogger("shared"), logging.getLogger()
    ours.setLevel(level)
    formatter = JsonLines(secrets)
    for logger in (ours, others):
        if not any(isinstance(handler, _Stderr) for handler in logger.handlers):
            logger.addHandler(_Stderr())
        for handler in logger.handlers:
            if isinstance(handler, _Stderr):
                handler.setFormatter(formatter)
    ours.propagate = False
    threading.excepthook = _thread_died


def _where(error: BaseException) -> dict[str, Any]:
    frames = [f"{frame.f_globals.get('__name__')}:{line}" for frame, line in traceback.walk_tb(error.__traceback__)]
    return {"type": type(error).__name__, "at": frames}


class _Stderr(logging.StreamHandler[TextIO]):
    """The one handler we add to a logger. It writes to what is standard error now: an earlier one may be closed."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def _thread_died(died: threading.ExceptHookArgs) -> None:
    if died.exc_value is not None and not isinstance(died.exc_value, SystemExit):
        LOG.error("thread died", extra={"fields": _where(died.exc_value)})
