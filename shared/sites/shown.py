"""From a finished path to what is shown: the results as ranked, or as a describer words them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from shared.contracts.notices import Notice
from shared.models.provider import SiteQuestion
from shared.sites.bands import Card
from shared.sites.describe import Line, describe, undescribed
from shared.sites.path import Path
from shared.sites.said import code_of, noted
from shared.sites.settled import settled, started


class Shown(Struct, frozen=True):
    """The results in the order in which they were sent, and the describer's summary of them, empty where none."""

    cards: Sequence[Card]
    summary: str = ""
    notices: tuple[Notice, ...] = ()


async def shown(path: Path, show: Callable[[Card], None]) -> Shown:
    """Send the results. It never fails: without their describer they are shown as ranked, without a text."""
    describer = path.means.panel.describer
    if describer is None or not path.is_described or not path.cards or path.failure is not None:
        for card in path.cards:
            show(card)
        return Shown(path.cards)
    line, means, kind = Line(path.cards, show, path.aim.query), path.means, path.means.site.kind
    question = SiteQuestion(path.aim.query, kind.name, query_id=means.request.query_id)
    task = started(
        lambda: describe(describer, question, path.restrictions, line, kind=kind, ledger=means.ledger), means.deadline
    )
    error = await settled(task)
    if error is not None:
        noted(error, "describe")
    summary, notices = ("", undescribed(code_of(error))) if error is not None else task.result()
    said = line.close()
    # Where it found that none fits, its summary says so, and nothing of what is shown.
    return Shown(line.shown, "" if line.restored else summary, (*notices, *said))
