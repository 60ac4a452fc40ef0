"""`askbucket build items`: a collection becomes a release, in one pass that can be read from top to bottom."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from anyio import to_thread
from msgspec import to_builtins

from build_jobs.embed import Checkpoints, Float16, Known, check_texts
from build_jobs.gate import Counts, Gate, Limits
from build_jobs.item_index import write_item_index
from build_jobs.item_samples import ItemQuestion, ask_items, served
from build_jobs.items.embed import BATCH, MAX_CHARS, Texts, embed_items, texts_of
from build_jobs.items.load import Loaded, Report, load_items
from build_jobs.items.sources import Collection, label_of
from build_jobs.items.verify import verify_items
from build_jobs.load_cosmos import LoadReport, load_cosmos
from build_jobs.plan import Plan, Priced
from build_jobs.progress import Progress, Told, silent
from build_jobs.publish import publish
from build_jobs.rate import Paced, Shard
from build_jobs.samples import Asked, Suite
from build_jobs.standing import Before, Current, compare, compare_sources, current, figures, still_current, write_status
from build_jobs.table_samples import BuildModels
from build_jobs.verify import SAMPLE, sample_rows
from build_jobs.workplace import Clock, program, staging, workplace
from shared.bucket.base import open_bucket
from shared.contracts.items import Item
from shared.contracts.release import FORMAT_VERSION, Family, Manifest, NullBank
from shared.contracts.release import Embedder as EmbedderSpec
from shared.errors import AskbucketError, BuildError, StoreError
from shared.index.items import FIELDS, VECTOR_ROLES, Items
from shared.index.scan import Vectors
from shared.models.ledger import Ledger
from shared.models.provider import Embedder
from shared.release import manifest as manifests
from shared.release import reader
from shared.settings import Settings, without_userinfo
from shared.sites.fields import fields_of
from shared.sites.kinds import Kind
from shared.sites.store_choice import store_of

ITEMS_INDEX_VERSION = 4
"""Raised whenever the same items would give other files: a rebuild is then not skipped."""

# As for tables: two float16 roundings of one vector differ by less than 1e-5.
_LEAST_SAMPLE_COSINE = 0.98

Status = Literal["published", "unchanged", "planned"]


@dataclass(slots=True)
class ItemsReport:
    """What a build did, or with `dry_run` would do. `release` is the one that is current afterwards.

    `vectors` counts texts, not items: three an item, less what is empty or said twice.
    """

    status: Status
    kind: str
    catalog: str
    collection: str
    label: str
    release: str | None
    embedder: EmbedderSpec
    inputs_digest: str
    rows: int
    sites: Mapping[str, int]
    loaded: Report
    reused: int = 0
    resumed: int = 0
    embedded: int = 0
    empty: Mapping[str, int] = field(default_factory=dict)
    cost_usd: float = 0.0
    seconds: float = 0.0
    stage_seconds: dict[str, float] = field(default_factory=dict)
    null_bank: NullBank | None = None
    plan: Plan | None = None
    gate: Gate | None = None
    asked: Asked = field(default_factory=Asked)
    sample_cosine: float = 1.0
    cosmos: LoadReport | None = None
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "kind": self.kind,
            "catalog": self.catalog,
            "collection": self.collection,
            "label": self.label,
            "release": self.release,
            "embedder": to_builtins(self.embedder),
            "inputsDigest": self.inputs_digest,
            "rows": self.rows,
            "sites": dict(self.sites),
            "vectors": {"reused": self.reused, "resumed": self.resumed, "embedded": self.embedded},
            "empty": dict(self.empty),
            "costUsd": self.cost_usd,
            "seconds": round(self.seconds, 2),
            "stageSeconds": {name: round(seconds, 2) for name, seconds in self.stage_seconds.items()},
            "nullBank": to_builtins(self.null_bank) if self.null_bank else None,
            "plan": self.plan.as_json() if self.plan else None,
            "gate": [to_builtins(check) for check in self.gate.checks] if self.gate else [],
            "scores": {name: to_builtins(scores) for name, scores in self.asked.scores.items()},
            "cosmos": self.cosmos.as_json() if self.cosmos else None,
            "notes": self.notes,
            **self.loaded.as_json(),
        }


async def build_items(
    files: Sequence[Path],
    bucket_url: str,
    *,
    settings: Settings,
    embedder: Embedder,
    kind: Kind,
    collection: Collection | None = None,
    catalog: str = "",
    suites: Sequence[Suite[ItemQuestion]] = (),
    dry_run: bool = False,
    force: bool = False,
    told: Told = silent,
) -> ItemsReport:
    """Build some files of records into a release of `catalog` (the kind's name by default) and make it current.

    `suites` are questions that it must answer no worse than the current release.

    `collection` says what they are called; without one, the site that most of the items name, and the kind's own name
    is the site of those that name none. Does nothing where the
    current release was made of the same inputs, unless `force`. `dry_run` reads and counts, and writes nothing. What
    was embedded before a build was killed is kept below CACHE_DIR and used again. Where the site's store is Cosmos DB,
    its items are there before the release becomes current. Raises BuildError where the records,
    the model's vectors or the written files are not fit to be served, or the items could not be put there, and where
    the release falls behind the current one by more than the settings allow, unless `force`.
    """
    build = _Build(
        bucket_url,
        settings=settings,
        embedder=embedder,
        kind=kind,
        catalog=catalog or kind.name,
        suites=suites,
        gate=Gate(Limits.of(settings), force=force or dry_run),
        told=told,
    )
    return await build.run(files, collection, dry_run=dry_run, force=force)


class _Build:
    """One build: what it was asked for, and what it has learned so far."""

    def __init__(
        self,
        bucket_url: str,
        *,
        settings: Settings,
        embedder: Embedder,
        kind: Kind,
        catalog: str,
        suites: Sequence[Suite[ItemQuestion]],
        gate: Gate,
        told: Told,
    ) -> None:
        self._bucket = open_bucket(bucket_url, settings)
        self._bucket_url = bucket_url
        self._settings = settings
        self._cache_dir = Path(settings.cache_dir)
        # A site serves the catalog of its kind's name; nobody reads the items of another one from Cosmos DB.
        self._store = store_of(settings, kind.name) if catalog == kind.name else "memory"
        self._rate = settings.embedding_calls_per_minute if embedder.provider == "openrouter" else 0.0
        self._embedder: Embedder = Paced(embedder, self._rate, Shard())
        self._spec = EmbedderSpec(provider=embedder.provider, model=embedder.model, dimension=embedder.dimension)
        self._kind = kind
        self._catalog = catalog
        self._suites = suites
        self._gate = gate
        self._told = told
        self._ledger = Ledger()
        self._clock = Clock()

    async def run(
        self, files: Sequence[Path], collection: Collection | None, *, dry_run: bool, force: bool
    ) -> ItemsReport:
        manifests.pointer_key(self._catalog)  # refuses a catalog name before the work, not after it
        with self._clock.stage("collect"):
            loaded = load_items(files, self._kind, collection.site if collection else self._kind.name, self._told)
            name, label = _called(collection, loaded, self._kind)
            asked = [f"{suite.name} {suite.digest}" for suite in self._suites]
            digest = inputs_digest(loaded.items, self._spec, [self._kind.name, name, label, *asked])
            texts = texts_of(loaded.items, self._embedder.model)
        self._told(Progress("collect", len(loaded.items), len(loaded.items)))
        before = current(self._bucket, self._catalog, "items")
        report = self._report(loaded, texts, name, label, digest)
        report.release = before.id if before else None
        if isinstance(before, Current) and before.is_made_of(digest, self._spec) and not force:
            report.status, report.reused = "unchanged", len(texts.by_signature)
        else:
            compare_sources(self._gate, before, counts_of(loaded.items, texts))
            if dry_run:
                self._plan(texts, report)
            else:
                await self._publish(loaded, texts, before, report, force)
        report.cost_usd = round(self._ledger.snapshot()["cost_usd"] + report.asked.cost_usd, 6)
        report.seconds, report.stage_seconds = self._clock.total, dict(self._clock.stages)
        return report

    def _report(self, loaded: Loaded, texts: Texts, name: str, label: str, digest: str) -> ItemsReport:
        empty = {each: sum(not one[place] for one in texts.signatures) for place, each in enumerate(FIELDS)}
        return ItemsReport(
            status="planned",
            kind=self._kind.name,
            catalog=self._catalog,
            collection=name,
            label=label,
            release=None,
            embedder=self._spec,
            inputs_digest=digest,
            rows=len(loaded.items),
            sites=loaded.sites,
            loaded=loaded.report,
            empty=empty,
            gate=self._gate,
        )

    def _plan(self, texts: Texts, report: ItemsReport) -> None:
        known = self._known(report)
        missing = [text for name, text in texts.by_signature.items() if name not in known]
        report.embedded, report.reused = len(missing), len(texts.by_signature) - len(missing)
        report.plan = Plan(
            price=Priced.of(missing, self._spec, BATCH, self._rate),
            questions=sum(len(suite.questions) for suite in self._suites),
            gate=self._gate.refusals,
        )

    async def _publish(self, loaded: Loaded, texts: Texts, before: Before, report: ItemsReport, force: bool) -> None:
        work = workplace(self._cache_dir)
        with staging(work, self._bucket, self._catalog) as folder:
            checkpoints = Checkpoints(work / "vectors", self._embedder.dimension)
            vectors = await self._embed(texts, checkpoints, report)
            files = self._index(folder, loaded.items, vectors, texts)
            try:
                await self._verify(files, loaded.items, texts, report)
            except BuildError:
                checkpoints.clear()  # or the next run would take the same wrong vectors from them
                raise
            report.null_bank = await self._null_bank(files)
            judge = await self._ask(folder, files, loaded, before, report)
            expected = still_current(
                self._gate,
                self._bucket,
                self._catalog,
                before,
                kind="items",
                digest=report.inputs_digest,
                embedder=self._spec,
            )
            sources = counts_of(loaded.items, texts)
            status = write_status(folder, self._gate, judge=judge, sources=sources, asked=report.asked)
            with self._clock.stage("publish"):
                manifest = self._manifest(loaded, report, force)
                done = publish(
                    self._bucket,
                    manifest,
                    {**files, "status": status},
                    expected=expected,
                    force=force,
                    before_switch=lambda release: self._load(release, report),
                )
            report.release = done.release
            report.notes += done.notes
            self._told(Progress("publish", 1, 1))
            checkpoints.clear()
        report.status = "published"

    def _load(self, release_id: str, report: ItemsReport) -> None:
        """Into Cosmos DB, where the site reads its vectors from there."""
        if self._store != "cosmos":
            return
        catalog, load = self._catalog, partial(load_cosmos, self._bucket_url, settings=self._settings, told=self._told)
        try:
            report.cosmos = load(catalog=catalog, release_id=release_id)
        except StoreError as error:
            bucket = f"--bucket {without_userinfo(self._bucket_url)}"
            raise BuildError(
                f"{error.message}; release {release_id} is complete but for that: run `askbucket load-cosmos --site"
                f" {catalog} --release {release_id} {bucket}`, then"
                f" `askbucket publish {release_id} --catalog {catalog} {bucket}`"
            ) from error

    async def _embed(self, texts: Texts, checkpoints: Checkpoints, report: ItemsReport) -> list[Float16]:
        with self._clock.stage("embed"):
            vectors, found = await embed_items(
                texts,
                self._embedder,
                known=self._known(report),
                checkpoints=checkpoints,
                ledger=self._ledger,
                told=self._told,
            )
        report.reused, report.resumed, report.embedded = found.reused, found.resumed, found.embedded
        return vectors

    def _known(self, report: ItemsReport) -> Known:
        """Vectors of the current release by signature; none where it was made by another model or is broken."""
        try:
            release = reader.fetch(self._bucket, self._catalog, [*VECTOR_ROLES, "records"], self._cache_dir)
        except AskbucketError as error:
            if report.release:
                report.notes.append(f"no vector of the current release was reused: {error.message}")
            return {}
        try:
            is_same = release.manifest.kind == "items" and release.manifest.embedder == self._spec
            return _usable(release) if is_same else {}
        finally:
            release.close()

    def _index(
        self, folder: Path, items: Sequence[Item], vectors: Sequence[Float16], texts: Texts
    ) -> Mapping[str, Path]:
        with self._clock.stage("index"):
            files = write_item_index(folder, items, self._kind, vectors, texts.signatures)
        self._told(Progress("index", len(items), len(items)))
        return files

    async def _verify(
        self, files: Mapping[str, Path], items: Sequence[Item], texts: Texts, report: ItemsReport
    ) -> None:
        with self._clock.stage("verify"):
            verify_items(files, items, texts, self._embedder.dimension)
            self._gate.passed("files", f"every file opens and agrees with the others in {len(items):,} rows")
            self._gate.passed("ids", f"{len(items):,} items, each with an id of its own")
            report.sample_cosine = await self._check_sample(files, len(items))
            said = f"{SAMPLE} items embedded again, least cosine {report.sample_cosine:.3f}"
            self._gate.passed("vectors", said)
        self._told(Progress("verify", len(items), len(items)))

    async def _check_sample(self, files: Mapping[str, Path], rows: int) -> float:
        """Compare as a server would see them: the record from records.db, the vectors from their files."""
        records = Items(files["records"])
        try:
            sample = records.items(sample_rows(rows))
        finally:
            records.close()
        worst = 1.0
        for place, role in enumerate(VECTOR_ROLES):
            said = {row: (item.id, fields_of(item.record)[place][:MAX_CHARS]) for row, item in sample.items()}
            texts = {row: named for row, named in said.items() if named[1].strip()}
            vectors: Float16 = Vectors(files[role], role).array
            worst = min(worst, await check_texts(texts, vectors, self._embedder, self._ledger, _LEAST_SAMPLE_COSINE))
        return worst

    async def _null_bank(self, files: Mapping[str, Path]) -> NullBank:
        from shared.models.null_bank import null_bank_of_items

        with self._clock.stage("null_bank"):
            return await null_bank_of_items(self._embedder, [Vectors(files[role], role).array for role in VECTOR_ROLES])

    async def _ask(
        self, folder: Path, files: Mapping[str, Path], loaded: Loaded, before: Before, report: ItemsReport
    ) -> str:
        """Put the sample questions to what was written, and compare. Returns who ranked."""
        if not self._suites:
            self._gate.skipped("scores", "no sample questions were given")
            return "none"
        models = BuildModels(self._settings, self._embedder)
        try:
            with self._clock.stage("questions"):
                manifest = self._manifest(loaded, report, False)
                here = served(folder / "asked", manifest, files, self._settings, self._kind)
                report.asked, judge = await ask_items(here, self._kind, models, self._suites, self._told)
            with self._clock.stage("compare"):
                ask_current = partial(self._ask_current, folder / "before", models, before)
                await compare(self._gate, before, self._suites, report.asked, ask_current)
            return judge
        finally:
            await to_thread.run_sync(models.close)

    async def _ask_current(
        self, folder: Path, models: BuildModels, before: Before, suites: Sequence[Suite[ItemQuestion]]
    ) -> Asked:
        release_id = before.id if before else None
        release = reader.fetch(self._bucket, self._catalog, None, self._cache_dir, release_id=release_id, kind="items")
        with closing(release):
            here = served(folder, release.manifest, release.paths, self._settings, self._kind)
            return (await ask_items(here, self._kind, models, suites, self._told))[0]

    def _manifest(self, loaded: Loaded, report: ItemsReport, force: bool) -> Manifest:
        rows = len(loaded.items)
        measured = {"sample_cosine_min": round(report.sample_cosine, 3), **report.asked.figures()}
        return Manifest(
            format_version=FORMAT_VERSION,
            kind="items",
            catalog=self._catalog,
            label=report.label,
            collection=report.collection,
            created_at=manifests.now(),
            builder=f"{program()}, items {ITEMS_INDEX_VERSION}",
            inputs_digest=report.inputs_digest,
            embedder=self._spec,
            rows=rows,
            families=[Family(family=self._kind.name, first_row=0, rows=rows, sources=dict(loaded.sites))],
            files=[],
            null_bank=report.null_bank,
            gate=figures(measured, self._ledger, self._clock, force=force),
        )


def counts_of(items: Sequence[Item], texts: Texts) -> Counts:
    """Of each site: its items, and how many of them have a description and a body."""
    found: dict[str, dict[str, int]] = {}
    for item, (_, description, body) in zip(items, texts.signatures, strict=True):
        own = found.setdefault(item.site, {"rows": 0, "described": 0, "told": 0})
        own["rows"] += 1
        own["described"] += bool(description)
        own["told"] += bool(body)
    return found


def _called(collection: Collection | None, loaded: Loaded, kind: Kind) -> tuple[str, str]:
    """Name and label of the release: the collection's, else those of the site that most of its items name."""
    if collection:
        return collection.site, collection.label
    name = max(loaded.sites, key=lambda site: loaded.sites[site])
    return name, kind.label if name == kind.name else label_of(name)


def inputs_digest(items: Sequence[Item], embedder: EmbedderSpec, names: Sequence[str]) -> str:
    """The digest of everything a release is made of: the items, what they are called, and what writes them."""
    digest = hashlib.sha256()
    for part in ([FORMAT_VERSION, ITEMS_INDEX_VERSION, to_builtins(embedder), list(names)], *map(to_builtins, items)):
        digest.update(json.dumps(part, sort_keys=True, ensure_ascii=False).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _usable(release: reader.Release) -> dict[str, Float16]:
    """Each signature's vector in a release, but for rows that hold no unit vector."""
    records = Items(release.paths["records"])
    known: dict[str, Float16] = {}
    try:
        for name, role in zip(FIELDS, VECTOR_ROLES, strict=True):
            vectors = Vectors(release.paths[role], role)
            unusable = vectors.unusable(np.arange(vectors.rows))
            signatures = records.signatures(name)
            known.update({one: np.array(vectors.array[row]) for one, row in signatures.items() if not unusable[row]})
    finally:
        records.close()
    return known
