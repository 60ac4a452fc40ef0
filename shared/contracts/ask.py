"""A question to a site, after validation."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

Mode = Literal["list", "summarize", "generate"]
Retrieval = Literal["vector", "bm25", "compare"]

MODES: tuple[Mode, ...] = get_args(Mode)
RETRIEVALS: tuple[Retrieval, ...] = get_args(Retrieval)


class AskRequest(Struct, frozen=True):
    """What is asked, of which part of the site, and how the answer is wanted.

    `query` may be empty: the stream then says so. `site` is empty for every item, else a kind or a collection.
    `previous_queries` are the last five, oldest first; `previous_results` are names. `standalone_query` is a rewrite
    that the caller made; empty leaves it to us. Counts of None mean the server's own. `query_id` is the caller's,
    to be echoed, or one that the edge made; empty where no stream is sent.
    """

    query: str
    site: str = ""
    mode: Mode = "summarize"
    previous_queries: tuple[str, ...] = ()
    previous_results: tuple[str, ...] = ()
    standalone_query: str = ""
    max_results: int = 10
    start_num: int = 0
    min_score: int = 70
    retrieval: Retrieval = "compare"
    ranking_model: str = ""
    retrieval_count: int | None = None
    ranking_count: int | None = None
    include_excluded: bool = False
    streaming: bool = True
    query_id: str = ""
