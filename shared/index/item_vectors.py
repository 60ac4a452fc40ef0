"""How the vectors of a site's items are searched, wherever they lie: what is asked, what comes back, what it cost."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from shared.index.columns import Mask
    from shared.index.scan import Float32

Store = Literal["memory", "cosmos"]
Ranked = list[tuple[int, float]]


class Compared(Struct, frozen=True):
    """A number of a typed column compared with another one."""

    column: str
    op: Literal["<=", "<", ">=", ">", "="]
    value: float


class Has(Struct, frozen=True):
    """A word among those of a column, its text, or `yes` or `no` of a switch."""

    column: str
    word: str


class Unsaid(Struct, frozen=True):
    """That none of some columns says anything."""

    columns: tuple[str, ...]


Term = tuple[Compared | Has | Unsaid, ...]
"""Conditions of which one has to hold. They may hold of more rows than they were made for, never of fewer:
`Sought.among` is what counts."""


class Sought(Struct, frozen=True):
    """What is looked for: the items nearest to a vector, `(dimension,)` of unit length.

    `without` are rows that are known already. `among`, one a row, says which rows may be found; every one without it.
    `terms` hold for each of these, so that a store which has the columns can look at fewer rows.
    """

    vector: Float32
    limit: int
    without: frozenset[int] = frozenset()
    among: Mask | None = None
    terms: tuple[Term, ...] = ()


class Nearest(Struct, frozen=True):
    """`(row, score)`, best first, ties by row; `is_whole` is false where a nearer item may have been missed."""

    ranked: Ranked
    is_whole: bool = True


class Charge(Struct):
    """What a search cost the store's account, added up as its answers come, also where it fails in the end."""

    units: float = 0.0
    requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, units: float) -> None:
        """One more request, and what it took."""
        with self._lock:
            self.units += units
            self.requests += 1


class ItemVectors(Protocol):
    """The vectors of one release: those of the name, the description and the body of each item."""

    @property
    def store(self) -> Store:
        """Where they lie."""

    @property
    def unusable(self) -> int:
        """Items with a vector that is neither of unit length nor zero: found by their other fields only."""

    async def nearest(self, sought: Sought, charge: Charge) -> Nearest:
        """The best rows by the weighted sum of their fields' cosines; a field that says nothing adds nothing.

        Raises StoreError or Unavailable where they cannot be searched now.
        """

    def describe(self) -> dict[str, Any]:
        """What /health says of them, from memory."""

    def close(self) -> None:
        """Give back threads and connections of its own; from a thread that is not the event loop's."""
