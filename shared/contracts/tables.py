"""What a table search takes. How a body becomes one, and every way to be wrong, is in tables/request.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct

MAX_TEXTS = 4
MAX_SOURCES = 50
MAX_PAGE_SIZE = 100
MAX_ASK_CHARS = 400

# The IRIs that the OKF vocabulary is published under; the one of the settings may be another.
OKF_NAMESPACES = (
    "https://github.com/GoogleCloudPlatform/knowledge-catalog/okf/ns#",
    "https://openknowledgeformat.org/ns#",
)
SOURCE_DIRECTORY = f"{OKF_NAMESPACES[1]}sourceDirectory"
FILTER_KEYS = ("publisher", "type", "tags", SOURCE_DIRECTORY)

Order = Literal["source", "score"]
ORDERS: tuple[Order, ...] = get_args(Order)


class SearchQuery(Struct, frozen=True, kw_only=True):
    """The question: `text` for the judge, `texts` for the embedder, and what may be searched.

    `filter` holds the keys of FILTER_KEYS with their values, `okf:sourceDirectory` by its IRI however it was spelled;
    and any other key as it was sent, with none.
    """

    text: str
    texts: tuple[str, ...] = ()
    filter: Mapping[str, tuple[str, ...]] | None = None

    @property
    def phrasings(self) -> tuple[str, ...]:
        """What is embedded: the texts, or the text where none are given."""
        return self.texts or (self.text,)


class SearchRequest(Struct, frozen=True, kw_only=True):
    """POST /search. `page_size` is as asked; empty tuples mean no restriction."""

    query: SearchQuery
    page_size: int = 10
    rerank: bool = True
    order: Order = "source"
    sources: tuple[str, ...] = ()
    exclude_sources: tuple[str, ...] = ()
    catalogs: tuple[str, ...] = ()

    @property
    def page(self) -> int:
        """Results asked for, clamped to what a page may hold."""
        return min(max(self.page_size, 1), MAX_PAGE_SIZE)
