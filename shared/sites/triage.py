"""How hard a question is and what it demands, as a model reads it before anything is shown."""

from __future__ import annotations

import anyio

from shared.contracts.notices import Notice, notice
from shared.errors import Unavailable
from shared.models.ledger import Ledger
from shared.models.provider import Advisor, Triaged
from shared.timed import timed


async def triage(
    query: str, kind: str, advisor: Advisor, timeout_s: float, ledger: Ledger
) -> tuple[Triaged, list[Notice]]:
    """What the model read. It never fails: a question that could not be triaged is a hard one, and a notice says so."""
    read = None
    try:
        with anyio.move_on_after(timeout_s), timed("triage"):
            read = await advisor.triage(query, kind, ledger)
    except Unavailable as failure:
        return taken_as_hard(failure.code)
    return (read, skipped(read.skipped)) if read is not None else taken_as_hard("timeout")


def taken_as_hard(reason: str) -> tuple[Triaged, list[Notice]]:
    """The tier that leaves nothing out, and why."""
    message = "What the question demands could not be read by a model; it is taken as a hard one."
    return Triaged("hard"), [notice("triage_failed", message, reason=reason)]


def skipped(needs: int) -> list[Notice]:
    """The notice of demands that could not be used."""
    message = "Some of what a model read that the question demands could not be used."
    return [notice("verdicts_skipped", message, verdicts=needs)] if needs else []
