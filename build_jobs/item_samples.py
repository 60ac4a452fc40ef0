"""Putting sample questions to a release of items that nobody serves yet, or to the one that it is to replace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from anyio import to_thread
from msgspec import structs

from build_jobs.predicates import Asked as Predicate
from build_jobs.predicates import read_suite
from build_jobs.progress import Told, silent
from build_jobs.samples import Asked, Heard, Question, Suite, digest_of, put, read_yaml, suite_name, yaml_list
from build_jobs.table_samples import BuildModels, asked_as
from shared.bucket.base import open_bucket
from shared.contracts.events import Event
from shared.contracts.items import Item, Json
from shared.contracts.release import Manifest
from shared.contracts.status import Returned
from shared.errors import BuildError
from shared.models.ledger import Ledger
from shared.release import writer
from shared.settings import Settings
from shared.sites.answer import answer
from shared.sites.kinds import Kind
from shared.sites.request import parse_ask
from shared.sites.site import Site, open_site


@dataclass(frozen=True, slots=True)
class ItemQuestion(Question):
    """The right items and those that must not be shown, by id or by the last part of their address; or a condition."""

    answers: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    predicate: Predicate | None = None


def read_item_suites(paths: Sequence[Path], kind: Kind) -> list[Suite[ItemQuestion]]:
    """A suite a file. Raises BuildError for a file that is none, or of another kind."""
    return [_suite(path, kind) for path in paths]


def _suite(path: Path, kind: Kind) -> Suite[ItemQuestion]:
    questions = _conditions(path, kind) if isinstance(read_yaml(path), dict) else _named(path)
    return Suite(suite_name(path), questions, digest_of(path))


def _conditions(path: Path, kind: Kind) -> list[ItemQuestion]:
    suite = read_suite(path)
    if suite.kind != kind.name:
        raise BuildError(f"{path}: its questions are for {suite.kind}, not for {kind.name}")
    return [
        ItemQuestion(str(number), each.text, nothing=each.none, predicate=each)
        for number, each in enumerate(suite.questions, 1)
    ]


def _named(path: Path) -> list[ItemQuestion]:
    found = []
    for number, one in enumerate(yaml_list(path), 1):
        if not isinstance(one, dict) or not isinstance(one.get("question"), str):
            raise BuildError(f"{path}: question {number}: expected `question` and `answers`")
        answers, never = _texts(one.get("answers")), _texts(one.get("never"))
        question = ItemQuestion(str(number), one["question"], nothing=not answers, answers=answers, never=never)
        found.append(question)
    return found


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def served(folder: Path, manifest: Manifest, files: Mapping[str, Path], settings: Settings, kind: Kind) -> Settings:
    """Settings under which this release alone is the kind's site: it is put into a bucket below `folder`."""
    url = folder.resolve().as_uri()
    bucket = open_bucket(url)
    alone = structs.replace(manifest, catalog=kind.name)
    writer.switch(bucket, kind.name, writer.write(bucket, alone, files))
    return structs.replace(settings, bucket_url=url, store="memory")


async def ask_items(
    settings: Settings, kind: Kind, models: BuildModels, suites: Sequence[Suite[ItemQuestion]], told: Told = silent
) -> tuple[Asked, str]:
    """What the site that these settings serve answers, and who ranked. Raises BuildError, ReleaseError."""
    site = await to_thread.run_sync(open_site, settings, kind, models)
    with closing(site):
        right = _Right(site)
        ranker = models.ranker()
        ranked_by = f"{ranker.model} ({ranker.provider})" if ranker else "none"

        async def ask(question: ItemQuestion, _: Ledger) -> Heard:
            body = {"query": question.text, "mode": "list", "max_results": 10}
            events = await to_thread.run_sync(answer, parse_ask(body), site, models)
            shown, cost_usd = _shown([event async for event in events])
            return right.heard(question, shown, cost_usd)

        def compared(suite: Suite[ItemQuestion]) -> str:
            return asked_as(suite.digest, ranked_by, "ASKHUB_", settings)

        return await put(suites, ask, asked_as=compared, told=told), ranked_by


def _shown(events: Sequence[Event]) -> tuple[list[Json], float]:
    """The results of a stream and what it cost. Raises BuildError for a stream that ended in an error."""
    said: list[tuple[str, Any]] = [(event.message_type, event.content) for event in events]
    for kind, content in said:
        if kind == "error":
            raise BuildError(str(content))
    results = [dict(item) for kind, content in said if kind == "result" for item in content]
    spent: Json = next((content for kind, content in said if kind == "usage"), {})
    return results, float(spent.get("cost_usd", 0.0))


class _Right:
    """Which items of a site are right: those that are named, or those whose records meet a condition."""

    def __init__(self, site: Site) -> None:
        self._items: list[Item] = []
        for start in range(0, site.count, 500):
            self._items += site.items(range(start, min(start + 500, site.count)))
        self._by_name: dict[str, str] = {}
        for item in self._items:
            self._by_name.setdefault(_last_part(item.url or item.id), item.id)
            self._by_name[item.id] = item.id
        self._by_url = {item.url: item.id for item in self._items if item.url}

    def heard(self, question: ItemQuestion, shown: Sequence[Json], cost_usd: float) -> Heard:
        results = [
            Returned(identifier=self._id(item), title=str(item["name"]), score=round(float(item.get("score") or 0)))
            for item in shown
        ]
        never = {self._by_name.get(name) for name in question.never}
        if question.predicate is None:
            expected = [self._by_name[name] for name in question.answers if name in self._by_name]
            is_silent = not shown
        else:
            expected = [item.id for item in self._items if question.predicate.answers(item.record)]
            is_silent = not any(item.get("constraints_met") is True for item in shown)
        return Heard(expected, results, is_silent, any(each.identifier in never for each in results), cost_usd)

    def _id(self, item: Json) -> str:
        """The id of a result: the wire has its address, or where it has none, its id."""
        url = str(item.get("url") or "")
        return self._by_url.get(url, self._by_name.get(url, url or str(item["name"])))


def _last_part(address: str) -> str:
    return unquote(address.rstrip("/").rsplit("/", 1)[-1])
