"""An item of a collection as it travels from a crawl to a release, and back out of records.db to an answer."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

Json = dict[str, Any]
"""A schema.org record, as read: nothing in it is trusted to have the shape its vocabulary asks for."""

Value = str | int | float | bool | tuple[str, ...] | None
"""A typed column of an item. None: the record does not say. A tuple holds distinct words, in the record's order."""


class Item(Struct, frozen=True):
    """One thing that can be found.

    `site` is the name of the collection it belongs to (`nytimes`), never its kind (`recipes`). `url` may be empty
    or the same for two items; `id` is neither. `record` is the whole schema.org record, JSON-ready.
    """

    id: str
    url: str
    name: str
    site: str
    record: Json
