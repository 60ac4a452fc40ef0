"""A site's answer with the models of this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from shared.contracts.ask import AskRequest
from shared.contracts.events import Event
from shared.sites.ask import ask
from shared.sites.panel import Panel
from shared.sites.site import Site

if TYPE_CHECKING:
    from shared.models.choice import Models


def answer(request: AskRequest, site: Site, models: Models) -> AsyncIterator[Event]:
    """The events of one answer; nothing starts before the first is taken.

    To be called from a thread that may wait 0.1 s, for the way to a model, and not from the event loop. Raises
    ModelUnavailable where the ranker that the settings name cannot be had.
    """
    return ask(request, site, site.settings, panel_of(models, request.ranking_model))


def panel_of(models: Models, ranking_model: str = "") -> Panel:
    """Everybody who takes part in an answer. Raises ModelUnavailable where the ranker cannot be had."""
    return Panel(
        ranker=models.ranker(ranking_model),
        writer=models.writer(),
        advisor=models.advisor(),
        describer=models.describer(),
        lite_writer=models.lite_writer(),
        fallback=models.fallback_ranker(),
    )
