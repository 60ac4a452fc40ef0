"""BM25F over mapped postings: the keyword leg.

Term frequencies and field lengths are stored, weights and idf are settled at query time, so that one file
serves any weighting and idf can be summed over several catalogs. The postings are compressed sparse rows
in plain `.npy` files; the vocabulary is one sorted byte string, searched by bisection, never parsed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shared.errors import ReleaseIncompatible
from shared.index.scan import Float32, open_array

LEXICAL_ROLES = (
    "lexical.terms",
    "lexical.term_ends",
    "lexical.posting_ends",
    "lexical.rows",
    "lexical.frequencies",
    "lexical.lengths",
)

_CHUNK = re.compile(r"\S+")
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_EDGES = ".,;:!?()[]{}<>\"'`“”‘’…*|"
_LONGEST_TOKEN = 64

# Words that every question holds and no table is about. Applied to questions only: a document keeps all of its
# words, so a question made of nothing else can still be looked up.
STOP_WORDS = frozenset(
    """a about all am an and any are as at be been by can could did do does for from get give had has have how i in
    into is it its list many me much my of on or our per show tell than that the their them there these they this
    those to us was we were what when where which who whose why will with would you your""".split()
)


@dataclass(frozen=True, slots=True)
class Weights:
    """BM25F's knobs: one weight a field, in the order the fields were indexed; k1 and b as usual."""

    fields: tuple[float, ...]
    k1: float = 1.2
    b: float = 0.75


def tokens(text: str) -> list[str]:
    """Lower-case words without accents and plural endings; a code also gives one token for the whole of it.

    >>> tokens("Households in DP03_0062E")
    ['household', 'in', 'dp03_0062e', 'dp03', '0062e']
    """
    found: list[str] = []
    for chunk in _CHUNK.findall(_plain(text)):
        bare = chunk.strip(_EDGES)
        words = [word for part in _WORD.findall(bare) for word in _parts(part)]
        if len(words) > 1:
            found.append(bare.lower()[:_LONGEST_TOKEN])
        found.extend(_singular(word.lower())[:_LONGEST_TOKEN] for word in words)
    return found


def query_tokens(text: str) -> list[str]:
    """The distinct tokens of a question without stop words, in order; all of them if nothing else is left."""
    distinct = list(dict.fromkeys(tokens(text)))
    return [token for token in distinct if token not in STOP_WORDS] or distinct


def write_lexical(directory: Path, documents: Iterable[Sequence[str]]) -> dict[str, Path]:
    """Index documents, each the texts of its fields in a fixed order. Returns role → file."""
    postings: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
    lengths: list[list[int]] = []
    for row, fields in enumerate(documents):
        counts = [Counter(tokens(field)) for field in fields]
        lengths.append([min(sum(count.values()), 65_535) for count in counts])
        for token in set().union(*counts):
            frequencies = tuple(min(count[token], 255) for count in counts)
            postings.setdefault(token, []).append((row, frequencies))
    return _write(directory, postings, lengths)


def _write(
    directory: Path, postings: Mapping[str, list[tuple[int, tuple[int, ...]]]], lengths: list[list[int]]
) -> dict[str, Path]:
    terms = sorted(postings, key=lambda term: term.encode())
    encoded = [term.encode() for term in terms]
    ordered = [posting for term in terms for posting in postings[term]]
    fields = len(lengths[0]) if lengths else 0
    arrays = {
        "lexical.terms": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "lexical.term_ends": np.cumsum([len(term) for term in encoded], dtype="<i8"),
        "lexical.posting_ends": np.cumsum([len(postings[term]) for term in terms], dtype="<i8"),
        "lexical.rows": np.array([row for row, _ in ordered], dtype="<i4"),
        "lexical.frequencies": np.array([f for _, f in ordered], dtype=np.uint8).reshape(-1, fields),
        "lexical.lengths": np.array(lengths, dtype="<u2").reshape(-1, fields),
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

    def document_frequency(self, token: str) -> int:
        """How many rows hold the token."""
        postings = self._postings(token)
        return 0 if postings is None else postings.stop - postings.start

    def scores(self, weights: Weights, idf: Mapping[str, float]) -> Float32:
        """BM25F of every row against a question whose tokens carry these idfs; `(rows,)`, 0 where none matched."""
        out = np.zeros(self.rows, dtype=np.float32)
        for token, value in idf.items():
            postings = self._postings(token)
            if postings is not None:
                rows = self._rows[postings]
                weight = self._saturated(rows, self._frequencies[postings], weights)
                out[rows] += np.float32(value) * weight
        return out

    def _saturated(
        self, rows: npt.NDArray[np.int32], frequencies: npt.NDArray[np.generic], weights: Weights
    ) -> Float32:
        """One saturation over the weighted fields, each normalised by its own length: BM25F's tf."""
        total = np.zeros(len(rows), dtype=np.float32)
        for field, weight in enumerate(weights.fields):
            relative = self._lengths[rows, field] / self._average_lengths[field]
            found = frequencies[:, field].astype(np.float32)
            total += found * np.float32(weight) / (1 - weights.b + weights.b * relative)
        saturated: Float32 = (total * np.float32(weights.k1 + 1)) / (total + np.float32(weights.k1))
        return saturated

    @cached_property
    def _average_lengths(self) -> Float32:
        averages: Float32 = np.maximum(self._lengths.mean(axis=0, dtype=np.float64), 1.0).astype(np.float32)
        return averages

    def _postings(self, token: str) -> slice | None:
        term = self._find(token.encode())
        if term is None:
            return None
        start = int(self._posting_ends[term - 1]) if term else 0
        return slice(start, int(self._posting_ends[term]))

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
        start = int(self._term_ends[number - 1]) if number else 0
        return self._terms[start : int(self._term_ends[number])].tobytes()


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
