"""What the embedded judge looks at: eleven numbers a candidate, from retrieval and from the words of its card.

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

Shares are weighted by rarity among the candidates shown: what every one of them says tells none apart. Words are
the keyword leg's, without endings. Each lexical number is the best over the phrasings.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shared.index.lexical import STOP_WORDS, tokens
from shared.models.provider import Candidate, Card, Question

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
)
Features = tuple[float, ...]

_ENDINGS = ("ations", "ation", "ings", "ing", "ed", "ly", "er", "al", "e")
_LEAST_STEM = 4


def content_words(text: str) -> list[str]:
    """The words that carry a question, in order, without endings; empty for "the of and to" and for "!!!"."""
    return [_stem(token) for token in tokens(text) if token not in STOP_WORDS and any(map(str.isalnum, token))]


def measure(question: Question, candidates: Sequence[Candidate]) -> list[Features]:
    """The features of each candidate, in the order of FEATURES; the candidates are measured against one another."""
    cards = [_Words.of(candidate.card) for candidate in candidates]
    rarity = _Rarity(cards)
    asked = [_Asked(words, rarity) for words in map(content_words, question.phrasings) if words]
    lexical = [_best([_lexical(each, card, rarity) for each in asked]) for card in cards]
    best_keyword = max((candidate.bm25 for candidate in candidates), default=0.0) or 1.0
    reached = max((each[0] for each in lexical), default=0.0)
    cosines = _below_best(question, candidates)
    return [
        (*cosine, reached * candidate.bm25 / best_keyword, *words, math.log1p(len(card.title)))
        for cosine, candidate, words, card in zip(cosines, candidates, lexical, cards, strict=True)
    ]


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


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a card: its title, each sentence (the title and the questions) with its pairs, and all of it."""

    title: frozenset[str]
    sentences: tuple[frozenset[str], ...]
    pairs: tuple[frozenset[tuple[str, str]], ...]
    every: frozenset[str]
    document: frozenset[str]

    @classmethod
    def of(cls, card: Card) -> _Words:
        # The title ends in its source's name, which no question about a measure is about.
        lines = [content_words(text) for text in (card.title.rpartition(" — ")[0] or card.title, *card.queries)]
        sentences = tuple(frozenset(line) for line in lines)
        every = frozenset().union(*sentences)
        return cls(
            title=sentences[0],
            sentences=sentences,
            pairs=tuple(frozenset(pairwise(line)) for line in lines),
            every=every,
            document=every.union(content_words(card.description)),
        )


class _Rarity:
    """How much a word tells, by how few of the cards shown hold it."""

    def __init__(self, cards: Sequence[_Words]) -> None:
        found = Counter(word for card in cards for word in card.every)
        self._weights = {word: _idf(len(cards), count) for word, count in found.items()}
        self._unseen = _idf(len(cards), 0)

    def of(self, words: Collection[str]) -> float:
        weights: Mapping[str, float] = self._weights
        return sum(weights.get(word, self._unseen) for word in words)


class _Asked:
    """One phrasing: its words, its pairs, and what its words weigh together."""

    def __init__(self, words: Sequence[str], rarity: _Rarity) -> None:
        self.words = frozenset(words)
        self.pairs = frozenset(pairwise(words))
        self.weight = rarity.of(self.words)


def _lexical(asked: _Asked, card: _Words, rarity: _Rarity) -> Features:
    """coverage, document_coverage, title_coverage, phrase, phrase_recall, bigrams of one phrasing."""
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
    return 2 * both / (asked.weight + rarity.of(sentence)), both / asked.weight


def _best(measured: Sequence[Features]) -> Features:
    return tuple(map(max, zip(*measured, strict=True))) if measured else (0.0,) * 6


def _idf(cards: int, found: int) -> float:
    # The tenth keeps a word that every card holds from weighing nothing: a question may be made of such words.
    return 0.1 + math.log1p((cards - found + 0.5) / (found + 0.5))


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word.removesuffix(ending)
    return word
