"""The models that take part in one answer, each in its role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from shared.models.provider import Advisor, Describer, Ranker, Writer


class Panel(Struct, frozen=True):
    """Who takes part. A role that nobody has is left out of the pipeline, and said where the answer lacks by it.

    `fallback` ranks where a ranker that explains nothing fails or keeps nothing; `lite_writer` sums up what a simple
    question found.
    """

    ranker: Ranker | None = None
    writer: Writer | None = None
    advisor: Advisor | None = None
    describer: Describer | None = None
    lite_writer: Writer | None = None
    fallback: Ranker | None = None
