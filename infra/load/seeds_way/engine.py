"""One search the plain way: a float32 product over all rows, full sorts, dictionaries, and blocking calls to models.

It follows the same rules as shared/tables and asks models in the same words, so that both find the same tables and
differ in how they keep and scan them. It knows no filters, no notices and no retries: less than ours does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt

from infra.load.seeds_way.export import MANIFEST, META, POSTINGS, VECTORS
from shared.index.lexical import query_tokens
from shared.models.chat_judge import card_lines, messages, read_verdicts
from shared.models.judging import Card, Question
from shared.settings import Settings
from shared.tables.request import parse_search
from shared.tables.search import keyword_texts, phrase

Json = dict[str, Any]
Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]

_MAX_CHARS = 8_000
_TIMEOUT_S = 120.0
_MOST_CALLS = 100


@dataclass(frozen=True, slots=True)
class Found:
    """What both legs say of every row, and the rows in embedding order."""

    cosines: Float32
    best: Float32
    order: Int64
    keywords: Float32


class Engine:
    """The whole index in memory. Made once, before the server forks."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._settings = settings
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        self._model: str = manifest["model"]
        self._families: Mapping[str, tuple[int, int]] = manifest["families"]
        self._vectors: Float32 = np.load(folder / VECTORS).astype(np.float32)
        self._meta: list[Json] = json.loads((folder / META).read_text(encoding="utf-8"))
        self._postings = _postings(folder / POSTINGS)
        # Neither opens a connection nor starts a thread before it is used, which is in the worker.
        key = settings.openrouter_api_key
        self._client = httpx.Client(trust_env=False, timeout=_TIMEOUT_S, headers={"Authorization": f"Bearer {key}"})
        self._threads = ThreadPoolExecutor(_MOST_CALLS, thread_name_prefix="judge")

    def search(self, body: Json) -> Json:
        """The reply to one search."""
        request = parse_search(body)
        question, _ = phrase(request, _MAX_CHARS)
        found = self._found(question)
        scored = self._judged(question, found, request.page)
        return {"results": [self._shown(row, score, found) for row, score in self._merged(scored, request.page)]}

    def _found(self, question: Question) -> Found:
        queries = self._embedded(question.phrasings)
        cosines = self._vectors @ queries.T
        best: Float32 = cosines.max(axis=1)
        return Found(cosines, best, np.argsort(-best, kind="stable"), self._keywords(question))

    def _embedded(self, texts: Sequence[str]) -> Float32:
        reply = self._post("/embeddings", {"model": self._model, "input": list(texts)})
        vectors = np.array([item["embedding"] for item in reply["data"]], dtype=np.float32)
        normalised: Float32 = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normalised

    def _keywords(self, question: Question) -> Float32:
        """BM25 of every row, the best of the texts; nothing where ARD_LEXICAL_POOL is 0."""
        lines = [np.zeros(len(self._meta), dtype=np.float32)]
        for text in keyword_texts(question) if self._settings.lexical_pool else ():
            line = np.zeros(len(self._meta), dtype=np.float32)
            for token in query_tokens(text):
                if token in self._postings:
                    rows, weights = self._postings[token]
                    line[rows] += np.float32(np.log1p((len(line) - len(rows) + 0.5) / (len(rows) + 0.5))) * weights
            lines.append(line)
        best: Float32 = np.max(lines, axis=0)
        return best

    def _pool(self, found: Found) -> tuple[list[int], int]:
        """The walk's head, each phrasing's and family's best, the best keyword matches; and how large the head is."""
        settings, cap = self._settings, self._settings.prefilter_examined_max
        walk = found.order[: settings.prefilter_max].tolist()
        near = int(np.count_nonzero(found.best[walk] >= found.best[walk[0]] - settings.prefilter_band))
        head = walk[: min(max(settings.prefilter_slice, near), cap)]
        own = {row for line in found.cosines.T for row in _top(line, settings.per_phrasing)}
        phrasing = self._best_first(own, found)
        over = len(head) + len(set(phrasing) - set(head)) - cap
        for row in [row for row in reversed(head) if row not in own][: max(over, 0)]:
            head.remove(row)
        keyword = [row for row in _top(found.keywords, settings.lexical_pool) if found.keywords[row] > 0]
        every = [self._family_best(start, end, found) for start, end in self._families.values()]
        source = self._best_first({row for rows in every for row in rows}, found)
        return list(dict.fromkeys([*head, *phrasing, *keyword, *source])), len(head)

    def _family_best(self, start: int, end: int, found: Found) -> list[int]:
        return [row + start for row in _top(found.best[start:end], self._settings.per_source_pool)]

    @staticmethod
    def _best_first(rows: set[int], found: Found) -> list[int]:
        return sorted(rows, key=lambda row: (-found.best[row], row))

    def _judged(self, question: Question, found: Found, page: int) -> list[tuple[int, float]]:
        """Rows with 50 or more: family by family, then, where there is none, deeper windows."""
        settings = self._settings
        pool, seen = self._pool(found)
        families: dict[str, list[int]] = {}
        for row in pool:
            families.setdefault(self._meta[row]["family"], []).append(row)
        groups = list(families.values())[: settings.result_sources]
        anchors = groups[0][: settings.source_anchors]
        shown = [(group, [] if place == 0 else anchors) for place, group in enumerate(groups)]
        calls = [self._threads.submit(self._verdicts, question, *each, page) for each in shown]
        scored = [pair for call in calls for pair in call.result()]
        last = pool[:seen]
        while not self._eligible(scored) and seen < settings.prefilter_examined_max:
            if last and float(np.std(found.best[last] * 100)) >= settings.prefilter_narrow_std:
                break
            end = min(seen + settings.prefilter_slice, settings.prefilter_examined_max)
            last = [row for row in found.order[seen:end].tolist() if row not in pool]
            seen += settings.prefilter_slice
            if last:
                scored += self._verdicts(question, last, [], page)
        return sorted(self._eligible(scored), key=lambda pair: (-pair[1], -found.best[pair[0]]))

    def _eligible(self, scored: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
        return [pair for pair in scored if round(pair[1]) >= self._settings.min_rerank_score]

    def _verdicts(
        self, question: Question, rows: Sequence[int], anchors: Sequence[int], page: int
    ) -> list[tuple[int, float]]:
        shown = [*anchors, *rows]
        cards, k = [self._card(row) for row in shown], min(page + len(anchors), len(shown))
        body = {
            "model": self._settings.rerank_model or self._settings.openrouter_model,
            "messages": messages(question.text, cards, k),
            "temperature": 0,
            "response_format": {"type": "json_object"},
        }
        said = self._post("/chat/completions", body)["choices"][0]["message"]["content"]
        verdicts = read_verdicts(said, len(cards), k).verdicts
        return [(shown[each.index], each.score) for each in verdicts if each.index >= len(anchors)]

    def _card(self, row: int) -> str:
        meta = self._meta[row]
        shown = Card(meta["title"], "", tuple(meta["queries"]), meta["scope"], meta["geography"])
        return card_lines(shown, with_description=False)

    def _merged(self, scored: Sequence[tuple[int, float]], page: int) -> list[tuple[int, float]]:
        """The best of each family first, then by score."""
        leaders: dict[str, tuple[int, float]] = {}
        for row, score in scored:
            leaders.setdefault(self._meta[row]["family"], (row, score))
        led = list(leaders.values())[: self._settings.result_sources]
        return [*led, *(pair for pair in scored if pair not in led)][:page]

    def _shown(self, row: int, score: float, found: Found) -> Json:
        return {**self._meta[row]["entry"], "score": round(score), "embedScore": round(float(found.best[row]) * 100, 1)}

    def _post(self, path: str, body: Json) -> Json:
        reply = self._client.post(self._settings.openrouter_base_url + path, json=body)
        reply.raise_for_status()
        value: Json = reply.json()
        return value


def _top(values: Float32, k: int) -> list[int]:
    """Positions of the k best, best first and equal ones in order."""
    if k <= 0 or not len(values):
        return []
    least = np.partition(values, -min(k, len(values)))[-min(k, len(values))]
    found = np.flatnonzero(values >= least)
    best: list[int] = found[np.argsort(-values[found], kind="stable")][:k].tolist()
    return best


def _postings(path: Path) -> dict[str, tuple[npt.NDArray[np.int32], Float32]]:
    with np.load(path) as read:
        terms, rows, weights = read["terms"].tobytes(), read["rows"], read["weights"]
        term_ends, ends = read["term_ends"].tolist(), read["ends"].tolist()
    names = [terms[start:end].decode() for start, end in zip([0, *term_ends], term_ends, strict=False)]
    spans = zip([0, *ends], ends, strict=False)
    return {name: (rows[start:end], weights[start:end]) for name, (start, end) in zip(names, spans, strict=True)}
