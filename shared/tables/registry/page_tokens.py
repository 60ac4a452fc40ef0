"""Page tokens: where the next page begins, of which question, in which releases.

A token is opaque to its holder. It is honoured for the same question to the same releases only: any other one is
refused, because a page of something else, or page one again, would be taken for the next page.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence

from shared.errors import RequestError


def question_of(*parts: object) -> str:
    """What a token is bound to: a digest of everything that settles the list, the releases included."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def token_of(question: str, offset: int) -> str:
    """The token of the page that begins behind `offset` others."""
    return base64.urlsafe_b64encode(f"{question}.{offset}".encode()).decode().rstrip("=")


def offset_of(token: str | None, question: str, total: int) -> int:
    """Where a page begins; 0 without a token. Raises RequestError for a token of anything else."""
    if token is None:
        return 0
    bound, _, digits = _plain(token).partition(".")
    offset = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 0
    if bound != question or not 0 < offset < total or token_of(question, offset) != token:
        raise RequestError("pageToken is not of this question and release: begin again without one")
    return offset


def next_token(question: str, offset: int, page: Sequence[object], total: int) -> str | None:
    """The token of what follows a page; None behind the last one."""
    end = offset + len(page)
    return token_of(question, end) if page and end < total else None


def _plain(token: str) -> str:
    try:
        return base64.b64decode(f"{token}{'=' * (-len(token) % 4)}", altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        return ""
