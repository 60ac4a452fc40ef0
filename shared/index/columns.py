"""The typed columns of a site as arrays, one value a row: what decides which items a question may find at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from shared.index.items import Items

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]
Verdicts = npt.NDArray[np.int8]

YES, NO, UNSAID = 1, 0, -1

_T = TypeVar("_T")


class Columns:
    """Columns of a release, each read when first asked for and kept: 231 kB for 28,923 numbers. Safe between threads.

    What is asked of a column of another type, or of none, is answered as if no record said anything.
    """

    def __init__(self, records: Items, rows: int) -> None:
        self._records = records
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], object] = {}
        self.rows = rows

    def numbers(self, field: str) -> Numbers:
        """`(rows,)`, NaN where the record does not say; true is 1."""
        return self._once("numbers", field, lambda: _numbers(self._values(field)))

    def texts(self, field: str) -> list[str | None]:
        """The text of each row, `yes` or `no` of a switch; None where the record does not say."""
        return self._once("texts", field, lambda: _texts(self._values(field), self._types.get(field) == "BOOLEAN"))

    def has_words(self, field: str) -> bool:
        """Whether a row can have several words in it."""
        return self._types.get(field) == "WORDS INTEGER"

    def told(self, field: str) -> Mask:
        """Which rows say anything in this column."""
        return self._once("told", field, lambda: self._told(field))

    def vocabulary(self, field: str) -> tuple[str, ...]:
        """The distinct words or texts of a column, sorted."""
        return self._once("vocabulary", field, lambda: self._vocabulary(field))

    def rows_with(self, field: str, words: Iterable[str]) -> Mask:
        """Which rows have any of these words, or one of them as their text. Not kept."""
        found = np.zeros(self.rows, np.bool_)
        wanted = frozenset(words)
        if not self.has_words(field):
            found[[row for row, text in enumerate(self.texts(field)) if text in wanted]] = True
        else:
            found[self._records.rows_with(field, sorted(wanted))] = True
        return found

    def quantile(self, field: str, share: float) -> float | None:
        """The value below which this share of those rows lies that have one; None where none has."""
        return self._once(f"quantile {share}", field, lambda: _quantile(self.numbers(field), share))

    def kept(self, what: str, field: str, make: Callable[[], _T]) -> _T:
        """Something made of a column once, under a name of the caller's."""
        return self._once(f"kept {what}", field, make)

    @property
    def _types(self) -> Mapping[str, str]:
        return self._once("types", "", self._records.columns)

    def _once(self, what: str, field: str, make: Callable[[], _T]) -> _T:
        """Made outside the lock, for making one may need another; two threads may both make it, and one is kept."""
        with self._lock:
            found = self._kept.get((what, field))
        if found is None:
            made = make()
            with self._lock:
                found = self._kept.setdefault((what, field), made)
        return found  # type: ignore[return-value]

    def _values(self, field: str) -> list[object]:
        if field not in self._types:
            return [None] * self.rows
        return self._records.column(field)

    def _told(self, field: str) -> Mask:
        values = self._values(field)
        if self.has_words(field):
            return np.array([bool(each) for each in values], np.bool_)
        return np.array([each is not None for each in values], np.bool_)

    def _vocabulary(self, field: str) -> tuple[str, ...]:
        if self.has_words(field):
            return tuple(self._records.words_of(field))
        return tuple(sorted({text for text in self.texts(field) if text is not None}))


def _texts(values: list[object], is_switch: bool) -> list[str | None]:
    if is_switch:
        return [None if each is None else "yes" if each else "no" for each in values]
    return [each if isinstance(each, str) else None for each in values]


def _numbers(values: list[object]) -> Numbers:
    return np.array([each if isinstance(each, int | float) else np.nan for each in values], np.float64)


def _quantile(values: Numbers, share: float) -> float | None:
    said = values[~np.isnan(values)]
    return float(np.quantile(said, share)) if len(said) else None


def denied(verdicts: Verdicts) -> Verdicts:
    """True where it was false and false where it was true; what is not said stays so."""
    return np.where(verdicts == UNSAID, UNSAID, YES - verdicts).astype(np.int8)
