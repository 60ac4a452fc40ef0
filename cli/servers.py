"""The web server under `askbucket serve`: gunicorn's threaded worker, as functions-framework runs it."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import struct
import threading
from collections.abc import Callable

from cli.gateway import Gateway
from shared.errors import AskbucketError, SettingsError, Stopping, Unavailable

THREADS = 32
BACKLOG = 2048
# What gunicorn does of itself under functions-framework too, which gives no say in it.
MOST_HEADERS = 100
MOST_HEADER_BYTES = 8_190
START_TIMEOUT_S = 600.0
_LAST_PORT = 65_535
# A connection has these of its listener. Without them a client that sends half a header, or reads no reply, keeps
# its thread for as long as it likes; 32 of those and nobody else is answered.
_PATIENCE = struct.pack("ll", 10, 0)


def serve(
    gateway: Gateway,
    host: str,
    port: int,
    announce: Callable[[str], None],
    explain: Callable[[AskbucketError], str],
) -> None:
    """Serve until SIGTERM or Ctrl-C. Port 0 picks a free one.

    `announce` is called with the base URL as soon as every function can answer. Raises SettingsError for an
    address that cannot be had, Unavailable with what `explain` says of a function's refusal to start.
    """
    listener = listen(host, port)
    url = url_of(listener)
    # The worker is another process: a refusal comes back through this pipe, then the worker stops the master.
    refused_out, refused_in = os.pipe()

    def load_in_worker(_worker: object) -> None:
        os.close(refused_out)
        _log_as_we_do()
        gateway.load()
        threading.Thread(target=watch_start, daemon=True).start()

    def watch_start() -> None:
        try:
            gateway.wait(START_TIMEOUT_S)
        except Stopping:
            return
        except AskbucketError as error:
            os.write(refused_in, explain(error).encode())
            os.kill(os.getppid(), signal.SIGTERM)
        else:
            announce(url)

    _run(gateway, listener, load_in_worker)
    os.close(refused_in)
    with os.fdopen(refused_out, encoding="utf-8") as pipe:
        refusal = pipe.read()
    if refusal:
        raise Unavailable(refusal)


def _log_as_we_do() -> None:
    """What the web server says of a broken connection goes through our handlers: its own write paths of the machine."""
    server = logging.getLogger("gunicorn.error")
    server.handlers.clear()
    server.propagate = True


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises SettingsError where the address is taken or is none."""
    if not 0 <= port <= _LAST_PORT:
        raise SettingsError(f"--port {port}: expected 0 to {_LAST_PORT}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=BACKLOG)
        for direction in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            made.setsockopt(socket.SOL_SOCKET, direction, _PATIENCE)
        return made
    except (OSError, UnicodeError) as error:  # a UnicodeError where the host could be no name
        raise SettingsError(_no_address(host, port, error)) from error


def _no_address(host: str, port: int, error: OSError | UnicodeError) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken: give another one, `--port N` or `make demo PORT=N`"
    reason = error.strerror if isinstance(error, OSError) else None
    return f"--host {host} --port {port}: {reason or error}"


def url_of(listener: socket.socket) -> str:
    """Where a browser on this machine finds it."""
    host, port = listener.getsockname()[:2]
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def _run(gateway: Gateway, listener: socket.socket, load_in_worker: Callable[[object], None]) -> None:
    """Run gunicorn's master and its one worker. Returns in the master when it was told to stop."""
    from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

    class Application(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            options = {
                "bind": f"fd://{listener.detach()}",  # gunicorn makes a socket of its own from it and closes this one
                "worker_class": "gthread",
                "threads": THREADS,
                "loglevel": "error",
                # Ours says 414 in JSON. Headers are the server's: beyond these it answers 431 and closes.
                "limit_request_line": 0,
                "limit_request_fields": MOST_HEADERS,
                "limit_request_field_size": MOST_HEADER_BYTES,
                # A client's own SCRIPT_NAME or PATH_INFO header is no word of a front end, from loopback neither.
                "forwarder_headers": "",
                "control_socket_disable": True,
                "post_worker_init": load_in_worker,
            }
            for name, value in options.items():
                self.cfg.set(name, value)

        def load(self) -> Gateway:
            return gateway

    master = os.getpid()
    try:
        Application().run()
    except SystemExit as stopped:
        # gunicorn ends by exiting, in the worker as well as here.
        if os.getpid() != master or stopped.code:
            raise
