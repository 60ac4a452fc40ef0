"""What items' tokens do for real texts, beside the plain runs of ASCII letters and digits that they grew from."""

from __future__ import annotations

import json
import lzma
import math
import os
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from shared.index.item_lexical import ITEM_WEIGHTS, STOP_WORDS, item_tokens
from shared.index.lexical import Lexical, idf, write_lexical
from shared.index.scan import top
from shared.sites.fields import fields_of

DATA = os.environ.get("ASKBUCKET_TEST_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="ASKBUCKET_TEST_DATA names no folder of judged questions and items")

Split = Callable[[str], list[str]]


def plain_tokens(text: str) -> list[str]:
    """Runs of ASCII letters and digits: every other letter splits a word and is lost."""
    return re.findall("[a-z0-9]+", text.lower())


SPLITS: dict[str, Split] = {"plain": plain_tokens, "ours": item_tokens}


def lines(name: str) -> Iterator[Any]:
    with lzma.open(Path(DATA or "") / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


class Searched:
    """Documents indexed by one way to split a text."""

    def __init__(self, folder: Path, documents: Sequence[Sequence[str]], split: Split) -> None:
        folder.mkdir()
        self._split = split
        self._index = Lexical(write_lexical(folder, documents, split), len(documents))

    def best(self, text: str, count: int = 10) -> list[int]:
        every = self._split(text)
        kept = Counter([token for token in every if token not in STOP_WORDS] or every)
        scores = self._index.scores(ITEM_WEIGHTS, {token: n * idf(token, [self._index]) for token, n in kept.items()})
        return [row for row in top(scores, count).tolist() if scores[row] > 0]


def both(folder: Path, documents: Sequence[Sequence[str]]) -> dict[str, Searched]:
    return {name: Searched(folder / name, documents, split) for name, split in SPLITS.items()}


def without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not "\u0300" <= c <= "\u036f")


def ndcg(found: Sequence[str], right: set[str]) -> float:
    gain = sum(1 / math.log2(place + 2) for place, name in enumerate(found) if name in right)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(len(right), 10)))


def test_judged_questions_in_plain_english_are_answered_as_well_as_before(tmp_path):
    corpus = list(lines("judged-scifact-corpus"))
    right: dict[str, set[str]] = {}
    with lzma.open(Path(DATA or "") / "judged-scifact-qrels.tsv.xz", "rt", encoding="utf-8") as file:
        for question, document, grade in (line.split() for line in list(file)[1:]):
            if int(grade):
                right.setdefault(question, set()).add(document)
    ids = [str(each["_id"]) for each in corpus]
    searched = both(tmp_path, [(each["title"], each["text"], "") for each in corpus])
    asked = {str(each["_id"]): each["text"] for each in lines("judged-scifact-queries") if str(each["_id"]) in right}
    mean = {
        name: sum(ndcg([ids[row] for row in engine.best(text)], right[q]) for q, text in asked.items()) / len(asked)
        for name, engine in searched.items()
    }
    print(mean)
    assert mean["ours"] >= mean["plain"] - 0.002


@pytest.fixture(scope="module")
def names(tmp_path_factory) -> tuple[list[str], dict[str, Searched]]:
    """Names of items and the items, searched both ways: recipes, trails, and films of which one in eight."""
    records = [*lines("items-recipes"), *lines("items-trails")]
    records += [each for row, each in enumerate(lines("items-movies")) if row % 8 == 0 or not each["name"].isascii()]
    documents = [fields_of(record) for record in records]
    return [document[0] for document in documents], both(tmp_path_factory.mktemp("names"), documents)


def share_found(names: Sequence[str], asked: Sequence[int], engine: Searched, spell: Callable[[str], str]) -> float:
    """How often an item of that name is among the first ten."""
    hits = sum(any(names[row] == names[at] for row in engine.best(spell(names[at]))) for at in asked)
    return hits / len(asked)


@pytest.mark.parametrize(
    "spell", [str, without_accents, str.upper], ids=["as-written", "without-accents", "upper-case"]
)
def test_names_with_letters_beyond_ascii_are_found_however_they_are_typed(names, spell):
    texts, searched = names
    asked = [row for row, text in enumerate(texts) if not text.isascii()]
    shares = {name: share_found(texts, asked, engine, spell) for name, engine in searched.items()}
    print(len(asked), shares)
    assert shares["ours"] >= max(shares["plain"], 0.97)


def test_names_in_ascii_are_found_as_often_as_before(names):
    texts, searched = names
    asked = random.Random(0).sample([row for row, text in enumerate(texts) if text.isascii()], 400)
    shares = {name: share_found(texts, asked, engine, str) for name, engine in searched.items()}
    print(shares)
    assert shares["ours"] >= shares["plain"]
