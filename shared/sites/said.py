"""What has to be said of an answer: notices, each once, and a failure in words that give nothing away."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Sequence

from shared.contracts.events import Failed
from shared.contracts.notices import Notice
from shared.errors import AskbucketError
from shared.sites.settled import foreseen

LOG = logging.getLogger(__name__)

BROKEN = "The search failed; it can be tried again."
# What is added up where several calls say the same.
_COUNTED = ("verdicts", "candidates", "items", "statements")


def merged(notices: Sequence[Notice]) -> list[Notice]:
    """Each notice once: what several calls counted is added up, what they said alike is said once."""
    by_text: dict[tuple[str, str, str], Notice] = {}
    for each in notices:
        key = (each["code"], each["message"], str(each.get("reason", "")))
        known = by_text.get(key)
        by_text[key] = dict(each) if known is None else {**known, **_sums(known, each)}
    return list(by_text.values())


def _sums(one: Notice, other: Notice) -> dict[str, int]:
    return {
        name: one[name] + value
        for name, value in other.items()
        if type(value) is int and type(one.get(name)) is int and name in _COUNTED
    }


def failure_of(error: BaseException) -> Failed:
    """What a caller is told of a failure: our own words for what we foresaw, else that it failed."""
    known = foreseen(error)
    return Failed(known.message, known.code) if known else Failed(BROKEN, AskbucketError.code)


def code_of(error: BaseException | None) -> str:
    """The code that a notice gives as its reason."""
    known = foreseen(error)
    return known.code if known else AskbucketError.code


def noted(error: BaseException, step: str) -> None:
    """Write what nobody foresaw to the log: its type and where it rose, nothing that it may quote."""
    if foreseen(error) is not None:
        return
    leaf = _leaf(error)
    where = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in traceback.extract_tb(leaf.__traceback__)
    ]
    LOG.error("crash", extra={"fields": {"step": step, "type": type(leaf).__name__, "where": where[-5:]}})


def _leaf(error: BaseException) -> BaseException:
    return _leaf(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
