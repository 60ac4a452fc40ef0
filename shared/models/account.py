"""What the model gateway says of itself: the key's own spend, and the models it offers. No model is called.

Apart from shared/models/openrouter.py, whose calls belong to an event loop: these few are made by functions and
commands that run none. Like there, no proxy is taken from the environment and no redirect is followed.
"""

from __future__ import annotations

import http.client
import json
import math
import time
from typing import Any
from urllib.parse import urlsplit

from shared.errors import ModelUnavailable
from shared.settings import Settings

TIMEOUT_S = 5.0
_MOST_BYTES = 10_000_000


class KeyRefused(ModelUnavailable):
    """The gateway answers, and does not take the key."""


def key_spend_usd(settings: Settings, timeout_s: float = TIMEOUT_S) -> float:
    """Dollars that the key has spent over all its life, by the gateway's own books. Raises ModelUnavailable."""
    data = _get(settings, "/key", timeout_s).get("data")
    usage = data.get("usage") if isinstance(data, dict) else None
    if isinstance(usage, bool) or not isinstance(usage, int | float) or not math.isfinite(usage):
        raise ModelUnavailable("The model gateway did not say what the key has spent")
    return float(usage)


def model_ids(settings: Settings, timeout_s: float = TIMEOUT_S) -> frozenset[str]:
    """The ids of the models that the gateway offers. Raises ModelUnavailable."""
    data = _get(settings, "/models", timeout_s).get("data")
    if not isinstance(data, list):
        raise ModelUnavailable("The model gateway sent no list of models")
    return frozenset(str(each["id"]) for each in data if isinstance(each, dict) and "id" in each)


def _get(settings: Settings, path: str, timeout_s: float) -> dict[str, Any]:
    try:
        status, content = _answer(settings, path, time.monotonic() + timeout_s)
    except TimeoutError as error:
        raise ModelUnavailable("The model gateway did not answer in time") from error
    except (OSError, ValueError, http.client.HTTPException) as error:  # a ValueError where the address is none
        raise ModelUnavailable("The model gateway could not be reached, or broke off") from error
    if status in (401, 403):
        raise KeyRefused(f"The model gateway refuses the key (HTTP {status}); set another OPENROUTER_API_KEY")
    if status != http.client.OK:
        raise ModelUnavailable(f"The model gateway answered {path} with HTTP {status}")
    return _object(content)


def _answer(settings: Settings, path: str, deadline: float) -> tuple[int, bytes]:
    """The status and body, whole by the deadline whatever the pace."""
    url = urlsplit(settings.openrouter_base_url.rstrip("/") + path)
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.netloc, timeout=_left_s(deadline))
    try:
        connection.request("GET", url.path, headers={"Authorization": f"Bearer {settings.openrouter_api_key}"})
        response = connection.getresponse()
        content = bytearray()
        while len(content) <= _MOST_BYTES and (piece := response.read1(65_536)):
            content += piece
            if connection.sock is not None:
                connection.sock.settimeout(_left_s(deadline))
        return response.status, bytes(content)
    finally:
        connection.close()


def _left_s(deadline: float) -> float:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _object(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelUnavailable("The model gateway sent no JSON") from error
    if not isinstance(value, dict):
        raise ModelUnavailable("The model gateway sent no JSON object")
    return value
