"""BM25F over mapped postings: the keyword leg, of tables and of sites.

Term frequencies and field lengths are stored, weights, formula and idf are settled at query time, so that one
format serves any weighting and idf can be summed over several catalogs. The postings are compressed sparse rows
in plain `.npy` files; the vocabulary is one sorted byte string, searched by bisection, never parsed. What a text's
tokens are is the caller's: `tokens` here are those of table documents, shared/index/item_lexical.py has the items'.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from shared.contracts.release import LEXICAL_ROLES
from shared.errors import ReleaseIncompatible
from shared.index.scan import Float32, open_array

_CHUNK = re.compile(r"\S+")
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_ENDINGS = ("ations", "ation", "ings", "ing", "ed", "ly", "er", "al", "e")
_LEAST_STEM = 4
_EDGES = ".,;:!?()[]{}<>\"'`“”‘’…*|"
_LONGEST_TOKEN = 64

# Words that every question holds and no table is about. Applied to questions only: a document keeps all of its
# words, so a question made of nothing else can still be looked up.
STOP_WORDS = frozenset(
    """a about all am an and any are as at be been by can could did do does for from get give had has have how i in
    into is it its list many me much my of on or our per show tell than that the their them there these they this
    those to us was we were what when where which who whose why will with would you your""".split()
)


class Weights(Struct, frozen=True):
    """BM25F's knobs: one weight a field, in the order the fields were indexed; k1 as usual, b for all or one a field.

    The textbook is of two minds about the rest. `scaled` multiplies by k1 + 1, so that a token counts up to that often
    its idf and not just once. `filled_only` takes a field's average length over the rows where it is not empty, and
    not over all, where a field of less than one token on average counts as one long.
    """

    fields: tuple[float, ...]
    k1: float = 1.2
    b: float | tuple[float, ...] = 0.75
    scaled: bool = True
    filled_only: bool = False


def words(text: str) -> list[str]:
    """Lower-case words without accents and plural endings; a code also gives one word for the whole of it.

    >>> words("Households in DP03_0062E")
    ['household', 'in', 'dp03_0062e', 'dp03', '0062e']
    """
    found: list[str] = []
    for chunk in _CHUNK.findall(_plain(text)):
        bare = chunk.strip(_EDGES)
        parts = [word for part in _WORD.findall(bare) for word in _parts(part)]
        if len(parts) > 1:
            found.append(bare.lower()[:_LONGEST_TOKEN])
        found.extend(_singular(word.lower())[:_LONGEST_TOKEN] for word in parts)
    return found


# Whoever indexes reads few words often: the long names of 182,009 leaves have 2 million, few of them different. Words
# are cut by now, so what callers make it keep is bounded in bytes as well.
@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word without the ending that its part of speech gives it; anything but letters as it is.

    >>> stem("employed"), stem("employer"), stem("dp03_0062e")
    ('employ', 'employ', 'dp03_0062e')
    """
    if word.isalpha():
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
                return word.removesuffix(ending)
    return word


def tokens(text: str) -> list[str]:
    """What a text is indexed by: its words' stems, in order.

    On a quarter of okf-heldout the right answer is among the first 120 by keyword for 98.1 % of the questions with
    stems, for 97.6 % with words as they stand.
    """
    return list(map(stem, words(text)))


def query_tokens(text: str) -> list[str]:
    """The distinct tokens of a question without stop words, in order; all of them if nothing else is left."""
    every = words(text)
    return list(dict.fromkeys(stem(word) for word in [w for w in every if w not in STOP_WORDS] or every))


def write_lexical(
    directory: Path,
    documents: Iterable[Sequence[str]],
    split: Callable[[str], Iterable[str]] = tokens,
    *,
    by_word: bool = False,
) -> dict[str, Path]:
    """Index documents, each the texts of its fields in a fixed order, by what `split` makes of a text.

    With `by_word` what it makes of a word does not hang on those beside it, as with `tokens`, and is worked out once a
    word. Returns role → file.
    """
    vocabulary: dict[str, int] = {}

    def numbered(text: str) -> list[int]:
        return [vocabulary.setdefault(token, len(vocabulary)) for token in split(text)]

    # 182,009 leaves have 11 million words, 260,000 of them different.
    once = cache(numbered)
    read = (lambda text: list(chain.from_iterable(map(once, text.split())))) if by_word else numbered
    # Numbers instead of objects: 118,703 documents have 15 million tokens, and a tuple for each posting took 20 s.
    numbers, lengths, fields = array("i"), array("i"), 0
    for texts in documents:
        fields = len(texts)
        for text in texts:
            found = read(text)
            numbers.extend(found)
            lengths.append(len(found))
    return _write(directory, list(vocabulary), _numbers(numbers), _numbers(lengths), fields)


def _numbers(values: array[int]) -> npt.NDArray[np.int64]:
    return np.frombuffer(values, dtype=np.intc).astype(np.int64) if values else np.zeros(0, np.int64)


def _write(
    directory: Path,
    vocabulary: Sequence[str],
    numbers: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    fields: int,
) -> dict[str, Path]:
    """`numbers` are the tokens of all fields of all documents, in order; `lengths` how many of them each field has."""
    encoded = sorted((term.encode(), number) for number, term in enumerate(vocabulary))
    place = np.zeros(len(vocabulary), dtype=np.int64)
    place[[number for _, number in encoded]] = np.arange(len(vocabulary))
    slots = max(len(lengths), 1)
    # A token's term, then its document, then its field: sorted, equals stand side by side and are counted.
    keys, counts = np.unique(place[numbers] * slots + np.repeat(np.arange(len(lengths)), lengths), return_counts=True)
    postings, first = np.unique(keys // max(fields, 1), return_index=True)
    frequencies = np.zeros((len(postings), fields), dtype=np.uint8)
    each = np.repeat(np.arange(len(postings)), np.diff([*first, len(keys)]))
    frequencies[each, keys % max(fields, 1)] = np.minimum(counts, 255)
    rows = slots // max(fields, 1)
    arrays = {
        "lexical.terms": np.frombuffer(b"".join(term for term, _ in encoded), dtype=np.uint8),
        "lexical.term_ends": np.cumsum([len(term) for term, _ in encoded], dtype="<i8"),
        "lexical.posting_ends": np.cumsum(np.bincount(postings // max(rows, 1), minlength=len(encoded)), dtype="<i8"),
        "lexical.rows": (postings % max(rows, 1)).astype("<i4"),
        "lexical.frequencies": frequencies,
        "lexical.lengths": np.minimum(lengths, 65_535).astype("<u2").reshape(-1, fields),
    }
    paths = {role: directory / f"{role}.npy" for role in LEXICAL_ROLES}
    for role, path in paths.items():
        with path.open("wb") as file:
            np.lib.format.write_array(file, arrays[role], allow_pickle=False)
    return paths


class Lexical:
    """The postings of one catalog, mapped. Raises ReleaseIncompatible where they cannot be walked safely."""

    def __init__(self, paths: Mapping[str, Path], rows: int) -> None:
        self._terms = open_array(paths["lexical.terms"], "lexical.terms", dtype="|u1", ndim=1)
        self._term_ends = open_array(paths["lexical.term_ends"], "lexical.term_ends", dtype="<i8", ndim=1)
        self._posting_ends = open_array(paths["lexical.posting_ends"], "lexical.posting_ends", dtype="<i8", ndim=1)
        self._rows: npt.NDArray[np.int32] = open_array(paths["lexical.rows"], "lexical.rows", dtype="<i4", ndim=1)
        self._frequencies: npt.NDArray[np.uint8] = open_array(
            paths["lexical.frequencies"], "lexical.frequencies", dtype="|u1", ndim=2
        )
        self._lengths: npt.NDArray[np.uint16] = open_array(
            paths["lexical.lengths"], "lexical.lengths", dtype="<u2", ndim=2
        )
        self.rows = rows
        self._kept_weights: tuple[Weights, Float32] | None = None
        self._check()

    def _check(self) -> None:
        """Every pointer stays inside its file, so that no later lookup can leave it."""
        _ends_fit("lexical.term_ends", self._term_ends, len(self._terms))
        _ends_fit("lexical.posting_ends", self._posting_ends, len(self._rows))
        _equal("lexical.posting_ends", "terms", len(self._term_ends), len(self._posting_ends))
        _equal("lexical.frequencies", "postings", len(self._rows), len(self._frequencies))
        _equal("lexical.lengths", "rows", self.rows, len(self._lengths))
        _equal("lexical.frequencies", "fields", self._lengths.shape[1], self._frequencies.shape[1])
        if len(self._rows) and (self._rows.min() < 0 or self._rows.max() >= self.rows):
            raise ReleaseIncompatible(f"lexical.rows: expected rows 0 to {self.rows - 1}, found one outside")

    @property
    def fields(self) -> int:
        """How many fields each row has: as many weights are wanted."""
        return int(self._lengths.shape[1])

    def document_frequency(self, token: str) -> int:
        """How many rows hold the token."""
        postings = self._postings(token)
        return 0 if postings is None else postings.stop - postings.start

    def rows_of(self, token: str) -> npt.NDArray[np.int32]:
        """The rows that hold the token, rising."""
        postings = self._postings(token)
        return self._rows[postings if postings is not None else slice(0, 0)]

    def scores(self, weights: Weights, idf: Mapping[str, float]) -> Float32:
        """BM25F of every row against a question whose tokens carry these idfs; `(rows,)`, 0 where none matched."""
        return self.best_scores(weights, [idf])

    def best_scores(self, weights: Weights, questions: Sequence[Mapping[str, float]]) -> Float32:
        """The best of each row over several questions; `(rows,)`. A token that they share is weighed once."""
        out = np.zeros((len(questions), self.rows), dtype=np.float32)
        for token in dict.fromkeys(token for question in questions for token in question):
            postings = self._postings(token)
            if postings is not None:
                rows = self._rows[postings]
                weight = self._saturated(rows, self._frequencies[postings], weights)
                for line, question in zip(out, questions, strict=True):
                    if token in question:
                        # No row stands twice in a token's postings; this is twice as fast as `line[rows] +=`.
                        np.add.at(line, rows, np.float32(question[token]) * weight)
        best: Float32 = out.max(axis=0) if len(out) else np.zeros(self.rows, dtype=np.float32)
        return best

    def _saturated(self, rows: npt.NDArray[np.int32], frequencies: npt.NDArray[np.uint8], weights: Weights) -> Float32:
        """One saturation over the weighted fields, each normalised by its own length: BM25F's tf."""
        found = np.take(self._field_weights(weights), rows, axis=0)
        found *= frequencies
        total: Float32 = found[:, 0].copy()
        for field in range(1, found.shape[1]):  # by column: a sum along four numbers each is four times as slow
            total += found[:, field]
        saturated: Float32 = total / (total + np.float32(weights.k1))
        return saturated * np.float32(weights.k1 + 1) if weights.scaled else saturated

    def _field_weights(self, weights: Weights) -> Float32:
        """What one occurrence counts, `(rows, fields)`: the field's weight over its length's share of the average.

        Kept for the last weights asked for, 16 bytes a row: a word found in half of 118,703 rows then takes 0.2 ms
        where it took 0.5 ms.
        """
        kept = self._kept_weights
        if kept is None or kept[0] != weights:
            relative = self._lengths / self._average_lengths(weights.filled_only)
            b = np.asarray(weights.b, np.float32)
            # With b = 1 an empty field would be divided by nothing, and what it lacks would be no number.
            share = np.maximum(1 - b + b * relative, np.float32(1e-6))
            each = np.asarray(weights.fields, np.float32) / share
            kept = self._kept_weights = (weights, each.astype(np.float32))
        return kept[1]

    def _average_lengths(self, filled_only: bool) -> Float32:
        totals = self._lengths.sum(axis=0, dtype=np.float64)
        counted = np.count_nonzero(self._lengths, axis=0) if filled_only else self.rows
        averages: Float32 = np.maximum(totals / np.maximum(counted, 1), 1.0).astype(np.float32)
        return averages

    def _postings(self, token: str) -> slice | None:
        term = self._find(token.encode())
        if term is None:
            return None
        start = self._posting_ends.item(term - 1) if term else 0
        return slice(start, self._posting_ends.item(term))

    def _find(self, term: bytes) -> int | None:
        """The term's number, by bisection over the sorted vocabulary."""
        low, high = 0, len(self._term_ends)
        while low < high:
            middle = (low + high) // 2
            if self._term(middle) < term:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self._term_ends) and self._term(low) == term else None

    def _term(self, number: int) -> bytes:
        start = self._term_ends.item(number - 1) if number else 0
        return self._terms_read[start : self._term_ends.item(number)].tobytes()

    @cached_property
    def _terms_read(self) -> memoryview:
        """The vocabulary without numpy's 1 us a slice, of which a bisection takes seventeen."""
        return self._terms.data


def idf(token: str, catalogs: Sequence[Lexical]) -> float:
    """The token's inverse document frequency over all catalogs together, never negative."""
    found = sum(catalog.document_frequency(token) for catalog in catalogs)
    rows = sum(catalog.rows for catalog in catalogs)
    return float(np.log1p((rows - found + 0.5) / (found + 0.5)))


def _plain(text: str) -> str:
    """Text without accents and other marks, compatibility forms unfolded."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _parts(word: str) -> list[str]:
    """CamelCase words apart (NetIncomeLoss → Net, Income, Loss); anything else as it is."""
    if word.isalpha() and word.isascii() and not (word.islower() or word.isupper() or word.istitle()):
        return _CAMEL.findall(word)
    return [word]


def _singular(word: str) -> str:
    """An English plural without its ending; words of three letters or fewer, and -ss, -us, -is, as they are."""
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]


def _ends_fit(name: str, ends: npt.NDArray[np.generic], size: int) -> None:
    values = np.asarray(ends, dtype=np.int64)
    if len(values) and (values[0] < 0 or (np.diff(values) < 0).any()):
        raise ReleaseIncompatible(f"{name}: expected ends that never fall, found one that does")
    _equal(name, "last end", size, int(values[-1]) if len(values) else 0)


def _equal(name: str, what: str, expected: int, found: int) -> None:
    if expected != found:
        raise ReleaseIncompatible(f"{name}: expected {expected} {what}, found {found}")
