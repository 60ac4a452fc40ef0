"""Reading a request's body within its limit, and JSON without surprises."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import SHUT_RD, socket
from typing import IO, Any

from shared.errors import PayloadTooLarge, RequestError

CHUNK_BYTES = 65_536

# A client that is still sending reads no reply: draining this much lets an honest mistake see its 413.
DRAIN_BYTES = 1_048_576

# How many pauses a whole body may take: a line of 1 KB/s brings the largest in that.
_PAUSES = 6


def read_body(stream: IO[bytes], declared_bytes: int | None, limit_bytes: int) -> bytes:
    """The body, whole. Raises PayloadTooLarge by Content-Length or, chunked, by the bytes that came."""
    if declared_bytes is not None and declared_bytes > limit_bytes:
        _drain(stream, DRAIN_BYTES)
        raise _too_large(limit_bytes)
    body = b"".join(_chunks(stream, limit_bytes + 1))
    if len(body) > limit_bytes:
        _drain(stream, DRAIN_BYTES)
        raise _too_large(limit_bytes)
    return body


@contextmanager
def patience(connection: socket | None, pause_s: float) -> Iterator[None]:
    """Wait no longer than this for the next piece of a body, and six times as long for all of it.

    Without the first a client that sends half a body and then nothing holds a thread for as long as it likes;
    without the second, one that sends a byte now and then does. Where the server shows us its socket.
    """
    if connection is None:
        yield
        return
    before = connection.gettimeout()
    connection.settimeout(min(pause_s, threading.TIMEOUT_MAX))
    late = _after(min(_PAUSES * pause_s, threading.TIMEOUT_MAX), connection)
    try:
        yield
    finally:
        late.cancel()
        connection.settimeout(before)


def _after(seconds: float, connection: socket) -> threading.Timer:
    """Stop reading then: a read under way ends as if the client had sent no more, and the reply can still be sent."""
    late = threading.Timer(seconds, _stop_reading, [connection])
    late.daemon = True
    with suppress(RuntimeError):  # no thread to be had now: the pauses are still bounded
        late.start()
    return late


def _stop_reading(connection: socket) -> None:
    with suppress(OSError):  # the client left in the same moment
        connection.shutdown(SHUT_RD)


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object in a body. Raises RequestError with one line for everything else.

    Stricter than `json.loads`: UTF-8 only, no duplicate keys, no NaN or Infinity in any spelling, no lone
    surrogates. What comes back can be hashed, compared and sent out again as it came.
    """
    if not body.strip():
        raise RequestError("The body is empty: send a JSON object")
    value = decode_json(body)
    if not isinstance(value, dict):
        raise RequestError(f"The body must be a JSON object, not {_json_name(value)}")
    return value


def decode_json(body: bytes) -> Any:
    """Any JSON value, as strict as `parse_object`. Raises RequestError."""
    try:
        text = body.decode("utf-8")
        value = json.loads(
            text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant, parse_float=_finite
        )
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(f"The body is not UTF-8 (byte {error.start})") from error
    except UnicodeEncodeError as error:
        raise RequestError("The body has a lone surrogate in a string") from error
    except RecursionError as error:
        raise RequestError("The body is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise RequestError(f"The body is not JSON: {error.msg} at character {error.pos}") from error
    except ValueError as error:
        # int() names its own digit limit; our hooks below raise RequestError, which is no ValueError.
        raise RequestError("The body holds a number that is too long") from error
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RequestError("The body gives the same key twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise RequestError(f"The body holds {name}, which is not JSON")


def _finite(raw: str) -> float:
    value = float(raw)
    if not math.isfinite(value):
        raise RequestError("The body holds a number that is too large")
    return value


def _json_name(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names[type(value)]


def _too_large(limit_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The body is over {limit_bytes} bytes")


def _drain(stream: IO[bytes], most_bytes: int) -> None:
    with suppress(RequestError):  # what could not be read is not wanted either
        for _ in _chunks(stream, most_bytes):
            pass


def _chunks(stream: IO[bytes], most_bytes: int) -> Iterator[bytes]:
    left = most_bytes
    while left > 0:
        try:
            chunk = stream.read(min(CHUNK_BYTES, left))
        except TimeoutError as error:
            raise RequestError("The body did not arrive in time") from error
        except Exception as error:
            raise RequestError("The body could not be read") from error
        if not chunk:
            return
        left -= len(chunk)
        yield chunk
