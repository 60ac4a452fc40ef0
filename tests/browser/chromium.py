"""A real browser, told what to do by the page it opens: no driver, no protocol but HTTP."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--mute-audio",
)  # fmt: skip
PATIENCE_S = 60.0


def chromium() -> str:
    """Where the browser is; the test is skipped where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium")
    return found


class Stage:
    """A web server with one page, and what the page posts to `/done` of it."""

    def __init__(self) -> None:
        self.page = b""
        self.done: Queue[Any] = Queue()
        stage = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if self.path == "/" else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(stage.page if self.path == "/" else b"")

            def do_POST(self) -> None:
                stage.done.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def run(self, script: str) -> Any:
        """What the script's last `done(value)` call says, in a browser of its own. Errors of the page are raised."""
        self.page = f"<!doctype html><title>stage</title><script type=module>{PRELUDE}{script}</script>".encode()
        with opened(chromium(), self.origin):
            said = self.done.get(timeout=PATIENCE_S)
        assert "error" not in said, said
        return said["value"]


PRELUDE = """
const post = (said) => fetch("/done", {method: "POST", body: JSON.stringify(said)});
const done = (value) => post({value});
addEventListener("error", (event) => post({error: event.message}));
addEventListener("unhandledrejection", (event) => post({error: String(event.reason)}));
"""


@contextmanager
def staged() -> Iterator[Stage]:
    stage = Stage()
    try:
        yield stage
    finally:
        stage.close()


@contextmanager
def opened(path: str, url: str) -> Iterator[None]:
    """The browser at an address, with a profile of its own; it and its children are ended."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [path, *QUIET, f"--user-data-dir={profile}", url]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
