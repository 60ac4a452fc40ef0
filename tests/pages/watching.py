"""What a test's pages say, break or ask of others while it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Request

_HERE = {"127.0.0.1", "localhost", "[::1]"}


@dataclass
class Watch:
    """What went wrong in the pages of a test, and which of it the test expects."""

    faults: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=lambda: set(_HERE))

    def expect(self, pattern: str) -> None:
        """Console errors that match this regular expression are wanted, such as a 503's `status of 503`."""
        self.expected.append(pattern)

    def on(self, context: BrowserContext) -> None:
        """Watch every page of a context."""
        context.on("console", self._said)
        context.on("weberror", lambda error: self.faults.append(f"uncaught: {error.error}"))
        context.on("request", self._asked)

    def unexpected(self) -> list[str]:
        return [fault for fault in self.faults if not any(re.search(pattern, fault) for pattern in self.expected)]

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def _asked(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme in ("http", "https", "ws", "wss") and url.hostname not in self.hosts:
            self.faults.append(f"request to another host: {request.url[:200]}")
