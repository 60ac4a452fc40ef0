"""What a handler returns to have its answer sent while it comes about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from shared.contracts.events import Event
    from shared.edge.sse import Renderer


class Stream(Struct, frozen=True):
    """What a handler returns: `events` makes the pipeline and runs nothing yet.

    The handler must have read all it needs of the request. `query` and `query_id` go into the envelope; `as_json`
    sends all of it as one JSON object; `deadline_s` is the pipeline's own. `renderer` tells it in another way
    than ours.
    """

    events: Callable[[], AsyncIterator[Event]]
    query: str = ""
    query_id: str = ""
    as_json: bool = False
    deadline_s: float = 280.0
    renderer: Renderer | None = None
