"""A real Redis as a plain process, which a test may stop, kill and start again."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from wire import free_port


class Redis:
    """A redis-server on a port of the loopback; it keeps nothing on disk."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and return once it answers."""
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                if connection.recv(7).startswith(b"+PONG"):
                    return
            time.sleep(0.01)
        raise AssertionError("redis-server did not start")

    def send(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        assert self._process
        self._process.send_signal(number)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It takes connections and answers nothing."""
        self.send(signal.SIGSTOP)
        try:
            yield
        finally:
            self.send(signal.SIGCONT)

    def stop(self) -> None:
        """Tell it to stop and wait until it has."""
        if self._process is not None:
            self.send(signal.SIGTERM)
            self._process.wait(20)
            self._process = None


@contextmanager
def redis_server() -> Iterator[Redis]:
    """A running one; the test is skipped where none is installed."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    redis = Redis()
    redis.start()
    try:
        yield redis
    finally:
        redis.stop()
