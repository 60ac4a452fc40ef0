"""What the embedded judge looks at: numbers of a candidate, from retrieval and from the words of its card.

    cosine             best cosine over all phrasings, below the best of those shown (0 for the best)
    cosine_asked       the same over the phrasings as asked: a place that is part of the measure counts here
    cosine_stripped    the same over the place-stripped twins
    keyword            BM25 as a share of the best shown, times the best coverage shown: without that factor the best
                       match of one idle word ("average") would count as much as a whole question found
    coverage           share of the question's words that the title and questions hold
    document_coverage  the same with the description
    title_coverage     the same for the title alone
    phrase             overlap (Dice) with the title or question that fits best: words found in one sentence
                       say more than the same words scattered over a card
    phrase_recall      share of the question's words in that sentence
    bigrams            share of the question's neighbouring word pairs that one sentence holds
    title_length       logarithm of the title's words: of two that fit, the plainer one is meant
    missing            kinds of derived measure (share, growth, per head, index, average) that the question asks for
                       and the title is not
    split              1 where the title is one part of the split that is asked for, and of no other: "by sex" is
                       answered by the numbers of women and of men, whose titles have no word of the question
    elsewhere          1 where the question names a place that the table cannot reach, or none at all while the table
                       is limited to one country other than the US

Shares are weighted by rarity among the candidates shown: what every one of them says tells none apart. Words are
the keyword leg's, without endings and without the words that every table could be called by ("data", "total").
Each lexical number is the best over the phrasings.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from itertools import pairwise

from msgspec import Struct

from shared.index.lexical import STOP_WORDS, stem, words
from shared.models.judging import ABROAD, US, Candidate, Card, Question

FEATURES = (
    "cosine",
    "cosine_asked",
    "cosine_stripped",
    "keyword",
    "coverage",
    "document_coverage",
    "title_coverage",
    "phrase",
    "phrase_recall",
    "bigrams",
    "title_length",
    "missing",
    "split",
    "elsewhere",
)
Features = tuple[float, ...]

# Words that any table could be called by, singular as `words` gives them; a question of these alone asks for none.
GENERIC_WORDS = frozenset(
    "data dataset database datum statistic stat table number figure information info total overall".split()
)

# Kinds of derived measure, by the words that tell them.
_KINDS = re.compile(
    r"(?P<share>%|\b(?:percent\w*|proportion\w*|shares?|ratios?|rates?|fractions?|prevalence)\b)"
    r"|(?P<growth>\b(?:growth|grow\w*|grew|chang\w+|increas\w+|decreas\w+|declin\w+|rise|rose|fell|incremental)\b)"
    r"|(?P<each>\bper (?!cent\b)\w+|\bper-capita\b|\bfor each\b)"
    r"|(?P<index>\b(?:index|indices|scores?)\b)"
    r"|(?P<average>\b(?:average|avg|mean|median|typical\w*)\b)",
    re.IGNORECASE,
)
# The splits that a question asks for by name, and the words by which a title is a part of one.
_SPLITS = {"sex": "sex", "gender": "sex", "age": "age", "ages": "age", "race": "race", "ethnicity": "race"}
_BY = re.compile(r"\bby (\w+)(?:(?: and|,) (\w+))?", re.IGNORECASE)
_PARTS = re.compile(
    r"(?P<sex>\b(?:fe)?males?\b|\b(?:wo)?men\b|\bboys\b|\bgirls\b)"
    r"|(?P<age>\bage[sd]? \d|\d years\b)"
    r"|(?P<race>\b(?:white|black|asian|hispanic|latino|native hawaiian|american indian|two or more races)\b)",
    re.IGNORECASE,
)
# What a question may be about that names no place.
_USUAL = frozenset({US, "oecd", "europe"})
_GROUPS = _USUAL | {ABROAD}
# From here on, and further up, lie the scripts whose single letters are words.
_IDEOGRAPHS = "\u3400"
_LETTERS = re.compile(r"\W+")


def content_words(text: str) -> list[str]:
    """The words that carry a question, in order, without endings.

    Empty for "the of and to", for "!!!" and for "table of numbers".
    """
    return _Reader().words(text)


def is_worded(text: str) -> bool:
    """Whether a chunk of the text has a content word of two letters or more, or of a script whose letters are words.

    Not "x" and not "a b c"; but "R&D", whose letters stand together, and "水".
    """
    reader = _Reader()
    return any(len("".join(found)) > 1 or "".join(found) >= _IDEOGRAPHS for found in map(reader.words, text.split()))


def measure(question: Question, candidates: Sequence[Candidate]) -> list[Features]:
    """The features of each candidate, in the order of FEATURES; the candidates are measured against one another."""
    reader = _Reader()
    cards = [_Words.of(candidate.card, reader) for candidate in candidates]
    rarity = _Rarity(cards)
    asked = [_Asked(words, rarity) for words in map(reader.words, question.phrasings) if words]
    lexical = [_best([_lexical(each, card, rarity) for each in asked]) for card in cards]
    best_keyword = max((candidate.bm25 for candidate in candidates), default=0.0) or 1.0
    reached = max((each[0] for each in lexical), default=0.0)
    cosines = _below_best(question, candidates)
    kinds, splits = _kinds(" ".join(question.phrasings)), _splits_asked(question.phrasings)
    return [
        (
            *cosine,
            reached * candidate.bm25 / best_keyword,
            *words,
            math.log1p(len(card.title)),
            *_of_title(own_title(candidate.card), kinds, splits),
            _elsewhere(question.places, candidate.card),
        )
        for cosine, candidate, words, card in zip(cosines, candidates, lexical, cards, strict=True)
    ]


def titles_of(question: Question) -> set[str]:
    """The question's texts as asked, in the form in which `is_titled` compares them.

    Not the twins without a place: a table of another place may carry their title.
    """
    asked = (text for text, stripped in zip(question.phrasings, question.stripped, strict=True) if not stripped)
    return {_plain(text) for text in (question.text, *asked)}


def is_titled(asked: Collection[str], card: Card) -> bool:
    """Whether one of the texts is the card's title word for word, with or without its source's name."""
    return _plain(card.title) in asked or _plain(own_title(card)) in asked


def own_title(card: Card) -> str:
    """The title without its source's name, which no question about a measure is about."""
    return card.title.rpartition(" — ")[0] or card.title


def _plain(text: str) -> str:
    return _LETTERS.sub(" ", text).strip().casefold()


def _below_best(question: Question, candidates: Sequence[Candidate]) -> list[tuple[float, ...]]:
    """Each candidate's cosine, overall, as asked and stripped, minus the best of all candidates in that column."""
    asked = [place for place, stripped in enumerate(question.stripped) if not stripped]
    twins = [place for place, stripped in enumerate(question.stripped) if stripped] or asked
    columns = []
    for places in (range(len(question.phrasings)), asked, twins):
        column = [max(candidate.cosines[place] for place in places) for candidate in candidates]
        best = max(column, default=0.0)
        columns.append([cosine - best for cosine in column])
    return list(zip(*columns, strict=True))


def _kinds(text: str) -> frozenset[str]:
    return frozenset(found.lastgroup or "" for found in _KINDS.finditer(text))


def _of_title(title: str, kinds: frozenset[str], splits: frozenset[str]) -> tuple[float, float]:
    """missing and split. Most questions ask for neither, and then no title is searched."""
    missing = len(kinds - _kinds(title)) if kinds else 0
    parts = _parts(title) if splits else frozenset()
    return float(missing), float(bool(parts) and parts <= splits)


def _splits_asked(texts: Sequence[str]) -> frozenset[str]:
    named = (word.lower() for text in texts for found in _BY.finditer(text) for word in found.groups() if word)
    return frozenset(_SPLITS[word] for word in named if word in _SPLITS)


def _parts(title: str) -> frozenset[str]:
    return frozenset(found.lastgroup or "" for found in _PARTS.finditer(title))


def _elsewhere(places: frozenset[str], card: Card) -> float:
    coverage = card.coverage
    if not coverage or coverage in places or (not places and coverage in _USUAL):
        return 0.0
    if ABROAD in places and coverage != US:
        return 0.0
    # The US Treasury publishes the exchange rate of Chile's peso.
    title = f" {_plain(card.title)} "
    return 0.0 if any(f" {place} " in title for place in places - _GROUPS) else 1.0


class _Reader:
    """Reads the texts of one question: the cards shown share most of their words, so each is taken apart once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def words(self, text: str) -> list[str]:
        found: list[str] = []
        known = self._known
        for chunk in text.split():
            words = known.get(chunk)
            if words is None:
                words = known[chunk] = _words(chunk)
            found += words
        return found


def _words(chunk: str) -> tuple[str, ...]:
    return tuple(
        stem(word)
        for word in words(chunk)
        if word not in STOP_WORDS and word not in GENERIC_WORDS and any(map(str.isalnum, word))
    )


class _Words(Struct, frozen=True):
    """The words of a card: its title, each sentence (the title and the questions) with its pairs, and all of it."""

    title: frozenset[str]
    sentences: tuple[frozenset[str], ...]
    pairs: tuple[frozenset[tuple[str, str]], ...]
    every: frozenset[str]
    document: frozenset[str]

    @classmethod
    def of(cls, card: Card, reader: _Reader) -> _Words:
        lines = [reader.words(text) for text in (own_title(card), *card.queries)]
        sentences = tuple(frozenset(line) for line in lines)
        every = frozenset().union(*sentences)
        return cls(
            title=sentences[0],
            sentences=sentences,
            pairs=tuple(frozenset(pairwise(line)) for line in lines),
            every=every,
            document=every.union(reader.words(card.description)),
        )


class _Rarity:
    """How much a word tells, by how few of the cards shown hold it."""

    def __init__(self, cards: Sequence[_Words]) -> None:
        found = Counter(word for card in cards for word in card.every)
        self._weights: defaultdict[str, float] = defaultdict(partial(_idf, len(cards), 0))
        self._weights.update((word, _idf(len(cards), count)) for word, count in found.items())
        self._sums: dict[frozenset[str], float] = {}

    def of(self, words: Collection[str]) -> float:
        return math.fsum(map(self._weights.__getitem__, words))

    def of_sentence(self, words: frozenset[str]) -> float:
        """The same, added up once however many phrasings are held against the sentence."""
        known = self._sums.get(words)
        if known is None:
            known = self._sums[words] = self.of(words)
        return known


class _Asked:
    """One phrasing: its words, its pairs, and what its words weigh together."""

    def __init__(self, words: Sequence[str], rarity: _Rarity) -> None:
        self.words = frozenset(words)
        self.pairs = frozenset(pairwise(words))
        self.weight = rarity.of(self.words)


def _lexical(asked: _Asked, card: _Words, rarity: _Rarity) -> Features:
    """What one phrasing and a card share, in the order of FEATURES from coverage on."""
    phrase, recall = max((_overlap(asked, sentence, rarity) for sentence in card.sentences), default=(0.0, 0.0))
    pairs = max((len(asked.pairs & pairs) for pairs in card.pairs), default=0)
    return (
        rarity.of(asked.words & card.every) / asked.weight,
        rarity.of(asked.words & card.document) / asked.weight,
        rarity.of(asked.words & card.title) / asked.weight,
        phrase,
        recall,
        pairs / len(asked.pairs) if asked.pairs else 0.0,
    )


def _overlap(asked: _Asked, sentence: frozenset[str], rarity: _Rarity) -> tuple[float, float]:
    shared = asked.words & sentence
    if not shared:
        return 0.0, 0.0
    both = rarity.of(shared)
    return 2 * both / (asked.weight + rarity.of_sentence(sentence)), both / asked.weight


def _best(measured: Sequence[Features]) -> Features:
    return tuple(map(max, zip(*measured, strict=True))) if measured else (0.0,) * 6


def _idf(cards: int, found: int) -> float:
    # The tenth keeps a word that every card holds from weighing nothing: a question may be made of such words.
    return 0.1 + math.log1p((cards - found + 0.5) / (found + 0.5))
