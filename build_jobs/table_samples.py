"""Putting sample questions to a tables release that nobody serves yet, or to the one that it is to replace."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from build_jobs.progress import Told, silent
from build_jobs.samples import Asked, Heard, Suite, TableQuestion, put
from shared.bucket.base import Bucket
from shared.contracts.leaf import Leaf
from shared.contracts.release import Embedder as EmbedderSpec
from shared.contracts.status import Returned
from shared.models.choice import Models
from shared.models.ledger import Ledger
from shared.models.provider import Embedder
from shared.release.reader import Release
from shared.settings import ROWS, Settings
from shared.tables.catalogs import Mount, open_catalogs
from shared.tables.legs import open_legs
from shared.tables.request import parse_search
from shared.tables.search import search
from shared.tables.tables import Tables
from shared.version import VERSION

# A chat model takes two seconds a question and does not mind company; the embedded judge has every core already.
_AT_ONCE = 8
_BLOCK = 8_192


class BuildModels(Models):
    """The models of a process, with the embedder that a build has in hand: it is opened already, and paced."""

    def __init__(self, settings: Settings, embedder: Embedder) -> None:
        super().__init__(settings, may_lack_a_key=True)
        self._own = embedder
        self._spec = EmbedderSpec(provider=embedder.provider, model=embedder.model, dimension=embedder.dimension)

    def embedder(self, spec: EmbedderSpec) -> Embedder:
        """The embedder a release was built with."""
        return self._own if spec == self._spec else super().embedder(spec)

    def check_embedder(self, spec: EmbedderSpec) -> None:
        """Whether it can be had. Raises ModelUnavailable."""
        if spec != self._spec:
            super().check_embedder(spec)


@contextmanager
def opened(release: Release, bucket: Bucket, settings: Settings, models: Models) -> Iterator[Tables]:
    """One release alone, as it would be searched. Raises ReleaseError, ModelUnavailable."""
    with ExitStack() as stack:
        catalogs = open_catalogs([Mount(release.catalog, bucket)], [release], stack)
        legs = open_legs(settings, catalogs, models)
        stack.callback(legs.close)
        yield Tables(settings, catalogs, legs)


def leaves_of(tables: Tables) -> Iterator[Leaf]:
    """Every leaf of the opened release."""
    records = tables.catalogs[0].records
    for start in range(0, tables.rows, _BLOCK):
        yield from records.leaves(range(start, min(start + _BLOCK, tables.rows))).values()


async def ask_tables(
    tables: Tables, suites: Sequence[Suite[TableQuestion]], leaves: Iterable[Leaf], told: Told = silent
) -> Asked:
    """What the release answers. `leaves` are its own: they say which identifiers are right. Raises BuildError."""
    right = _Right(leaves)
    judge = tables.searched_with.judge

    async def ask(question: TableQuestion, ledger: Ledger) -> Heard:
        body = {"query": {"text": question.text}, "pageSize": 10, "order": "score"}
        reply = await search(parse_search(body), tables, ledger)
        results = [_returned(entry) for entry in reply["results"]]
        return Heard(right.of(question), results, not results, cost_usd=ledger.snapshot()["cost_usd"])

    at_once = _AT_ONCE if judge is not None and judge.provider == "openrouter" else 1
    known = (judge_of(tables), "ARD_", tables.settings)
    return await put(suites, ask, asked_as=lambda suite: asked_as(suite.digest, *known), at_once=at_once, told=told)


def judge_of(tables: Tables) -> str:
    """Who judges, as people read it."""
    judge = tables.searched_with.judge
    return f"{judge.model} ({judge.provider})" if judge and tables.settings.rerank else "none"


def asked_as(digest: str, judge: str, prefix: str, settings: Settings) -> str:
    """What scores can be compared under: the questions, the judge, the program and the settings that a search reads."""
    read = {
        row.name: getattr(settings, field)
        for field, row in ROWS.items()
        if row.name.startswith(prefix) and row.name != "ARD_CATALOGS"
    }
    said = json.dumps([digest, judge, VERSION, read], sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()


def _returned(entry: Mapping[str, Any]) -> Returned:
    return Returned(
        identifier=str(entry["identifier"]),
        title=str(entry.get("displayName", "")),
        score=int(entry.get("score", 0)),
    )


class _Right:
    """Which leaves the judgements name: by family and code, and by the stem of their file where that is meant."""

    def __init__(self, leaves: Iterable[Leaf]) -> None:
        self._by_code: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        self._by_stem: defaultdict[str, list[str]] = defaultdict(list)
        for leaf in leaves:
            if leaf.code:
                self._by_code[leaf.code].append((leaf.family, leaf.urn))
            self._by_stem[Path(leaf.path).stem].append(leaf.urn)

    def of(self, question: TableQuestion) -> list[str]:
        found: dict[str, None] = {}
        for target in question.targets:
            named = self._by_code.get(target.code, ())
            found.update({urn: None for family, urn in named if target.family in (None, family)})
            if question.stems:
                found.update(dict.fromkeys(self._by_stem.get(target.code, ())))
        return list(found)
