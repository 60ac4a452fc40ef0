"""Whether the client is still there, seen by looking at its socket instead of waiting for a write to fail.

A write to a connection that the other side closed succeeds once more, and a thread that waits for a model writes
nothing for seconds: looking every 0.2 s notices in 0.1 s what writing noticed in 1.5 s.
"""

from __future__ import annotations

import select
import socket

LOOK_S = 0.2

# Only Linux tells this apart from data that waits to be read; elsewhere a closed connection reads as empty.
_CLOSED_BY_PEER = getattr(select, "POLLRDHUP", 0)
_GONE = _CLOSED_BY_PEER | select.POLLHUP | select.POLLERR | select.POLLNVAL


def has_left(connection: socket.socket | None) -> bool:
    """True where the client closed its side. Takes nothing from the socket and never waits.

    A server that shows no socket (None) never says so: then only a failed write does. A client that closed only its
    sending side counts as gone, too: none that reads streams does that.
    """
    if connection is None:
        return False
    if connection.fileno() < 0:
        return True
    look = select.poll()
    look.register(connection, select.POLLIN | _CLOSED_BY_PEER)
    ready = look.poll(0)
    if not ready:
        return False
    if ready[0][1] & _GONE:
        return True
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True
