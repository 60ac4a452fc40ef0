"""`askbucket build tables`: leaves become a release, in one pass that can be read from top to bottom."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from build_jobs.collect import Collected, CollectReport, collect
from build_jobs.embed import Checkpoints, Embedded, Float16, Known, check_sample, embed_leaves, signatures_of
from build_jobs.index import families_of, write_index
from build_jobs.progress import Progress, Told, silent
from build_jobs.publish import current_manifest, publish
from build_jobs.verify import sample_rows, verify, verify_documents
from build_jobs.workplace import Clock, program, staging, workplace
from shared.bucket.base import open_bucket
from shared.contracts.release import FORMAT_VERSION, Manifest, NullBank
from shared.contracts.release import Embedder as EmbedderSpec
from shared.errors import AskbucketError, BuildError, UnknownName
from shared.index.records import Records
from shared.index.scan import Vectors
from shared.models.choice import Models
from shared.models.ledger import Ledger
from shared.models.provider import Embedder
from shared.release import manifest as manifests
from shared.release import reader
from shared.settings import Settings

INDEX_VERSION = 3
"""Raised whenever the same leaves would give other files: a rebuild is then not skipped."""

# Two float16 roundings of one vector differ by less than 1e-5; a vector of another text is rarely above 0.95.
_LEAST_SAMPLE_COSINE = 0.98

Status = Literal["published", "unchanged", "planned"]


@dataclass(slots=True)
class BuildReport:
    """What a build did, or with `dry_run` would do. `release` is the one that is current afterwards."""

    status: Status
    catalog: str
    release: str | None
    embedder: EmbedderSpec
    inputs_digest: str
    rows: int
    reused: int = 0
    resumed: int = 0
    embedded: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    stage_seconds: dict[str, float] = field(default_factory=dict)
    null_bank: NullBank | None = None
    collected: CollectReport = field(default_factory=CollectReport)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "catalog": self.catalog,
            "release": self.release,
            "embedder": asdict(self.embedder),
            "inputsDigest": self.inputs_digest,
            "rows": self.rows,
            "vectors": {"reused": self.reused, "resumed": self.resumed, "embedded": self.embedded},
            "costUsd": self.cost_usd,
            "seconds": round(self.seconds, 2),
            "stageSeconds": {name: round(seconds, 2) for name, seconds in self.stage_seconds.items()},
            "nullBank": asdict(self.null_bank) if self.null_bank else None,
            "notes": self.notes,
            **self.collected.as_json(),
        }


def open_build_embedder(name: str | None, settings: Settings, models: Models) -> Embedder:
    """The model that `--embedder` names, else that of whoever judges by these settings. Raises ModelUnavailable."""
    from shared.models.choice import judge_provider
    from shared.models.embedded import DIMENSION
    from shared.models.weights import BGE_SMALL

    if (name or judge_provider(settings)) == "openrouter":
        model, dimension = settings.openrouter_embedding_model, settings.openrouter_embedding_dimension
        return models.embedder(EmbedderSpec(provider="openrouter", model=model, dimension=dimension))
    if name not in (None, "embedded"):
        raise UnknownName(f"no embedder {name!r}; there are: embedded, openrouter", ["embedded", "openrouter"])
    return models.embedder(EmbedderSpec(provider="embedded", model=BGE_SMALL.model, dimension=DIMENSION))


async def build_tables(
    leaves: Sequence[Path],
    bucket_url: str,
    *,
    settings: Settings,
    embedder: Embedder,
    catalog: str = "built-in",
    extends: Sequence[str] = (),
    dry_run: bool = False,
    force: bool = False,
    told: Told = silent,
) -> BuildReport:
    """Build the leaves under some roots into a release of `catalog` and make it current.

    Does nothing where the current release was made of the same inputs, unless `force`. `dry_run` reads and counts,
    and writes nothing. What was embedded before a build was killed is kept below CACHE_DIR and used again.
    Raises BuildError where the leaves, the model's vectors or the written files are not fit to be served.
    """
    build = _Build(
        leaves, bucket_url, settings=settings, embedder=embedder, catalog=catalog, extends=extends, told=told
    )
    return await build.run(dry_run=dry_run, force=force)


class _Build:
    """One build: what it was asked for, and what it has learned so far."""

    def __init__(
        self,
        roots: Sequence[Path],
        bucket_url: str,
        *,
        settings: Settings,
        embedder: Embedder,
        catalog: str,
        extends: Sequence[str],
        told: Told,
    ) -> None:
        self._roots = roots
        self._bucket = open_bucket(bucket_url, settings)
        self._cache_dir = Path(settings.cache_dir)
        self._embedder = embedder
        self._spec = EmbedderSpec(provider=embedder.provider, model=embedder.model, dimension=embedder.dimension)
        self._catalog = catalog
        self._extends = sorted(set(extends))
        self._told = told
        self._ledger = Ledger()
        self._clock = Clock()

    async def run(self, *, dry_run: bool, force: bool) -> BuildReport:
        manifests.pointer_key(self._catalog)  # refuses a catalog name before the work, not after it
        with self._clock.stage("collect"):
            collected = collect(self._roots, self._told)
            digest = inputs_digest(collected, self._spec, self._extends)
        self._told(Progress("collect", len(collected.leaves), len(collected.leaves)))
        current = current_manifest(self._bucket, self._catalog)
        report = self._report(collected, digest, current[0] if current else None)
        if current and current[1].inputs_digest == digest and current[1].embedder == self._spec and not force:
            report.status = "unchanged"
            report.reused = report.rows
        elif dry_run:
            self._plan(collected, report)
        else:
            await self._publish(collected, digest, report, force)
        report.cost_usd = self._ledger.snapshot()["cost_usd"]
        report.seconds, report.stage_seconds = self._clock.total, dict(self._clock.stages)
        return report

    def _report(self, collected: Collected, digest: str, current: str | None) -> BuildReport:
        return BuildReport(
            status="planned",
            catalog=self._catalog,
            release=current,
            embedder=self._spec,
            inputs_digest=digest,
            rows=len(collected.leaves),
            collected=collected.report,
        )

    def _plan(self, collected: Collected, report: BuildReport) -> None:
        known = self._known(report)
        signatures = set(signatures_of(collected.leaves, self._embedder.model))
        report.reused = sum(1 for name in signatures if name in known)
        report.embedded = len(signatures) - report.reused

    async def _publish(self, collected: Collected, digest: str, report: BuildReport, force: bool) -> None:
        with staging(self._work(), self._bucket, self._catalog) as folder:
            checkpoints = Checkpoints(self._work() / "vectors", self._embedder.dimension)
            embedded = await self._embed(collected, checkpoints, report)
            files = self._index(folder, collected, embedded)
            try:
                gate = await self._verify(files, collected, embedded)
            except BuildError:
                checkpoints.clear()  # or the next run would take the same wrong vectors from them
                raise
            report.null_bank = await self._null_bank(files)
            manifest = self._manifest(collected, digest, report.null_bank, gate)
            with self._clock.stage("publish"):
                report.release, switched = publish(self._bucket, manifest, files, force=force)
            if not switched:
                report.notes.append("another run published the same inputs first; its release is current")
            self._told(Progress("publish", 1, 1))
            checkpoints.clear()
        report.status = "published"

    def _work(self) -> Path:
        return workplace(self._cache_dir)

    async def _embed(self, collected: Collected, checkpoints: Checkpoints, report: BuildReport) -> Embedded:
        with self._clock.stage("embed"):
            embedded = await embed_leaves(
                collected.leaves,
                self._embedder,
                known=self._known(report),
                checkpoints=checkpoints,
                ledger=self._ledger,
                told=self._told,
            )
        report.reused, report.resumed, report.embedded = embedded.reused, embedded.resumed, embedded.embedded
        return embedded

    def _known(self, report: BuildReport) -> Known:
        """Vectors of the current release by signature; none where it was made by another model or is broken."""
        try:
            release = reader.fetch(self._bucket, self._catalog, ["vectors", "records"], self._cache_dir)
        except AskbucketError as error:
            if report.release:
                report.notes.append(f"no vector of the current release was reused: {error.message}")
            return {}
        try:
            return _usable(release) if release.manifest.embedder == self._spec else {}
        finally:
            release.close()

    def _index(self, folder: Path, collected: Collected, embedded: Embedded) -> Mapping[str, Path]:
        with self._clock.stage("index"):
            files = write_index(folder, collected, embedded)
        self._told(Progress("index", len(collected.leaves), len(collected.leaves)))
        return files

    async def _verify(self, files: Mapping[str, Path], collected: Collected, embedded: Embedded) -> dict[str, float]:
        with self._clock.stage("verify"):
            verify(files, collected.leaves, embedded.signatures, self._embedder.dimension)
            verify_documents(files["documents"], collected)
            worst = await self._check_sample(files, len(collected.leaves))
        self._told(Progress("verify", len(collected.leaves), len(collected.leaves)))
        return {"sample_cosine_min": round(worst, 3)}

    async def _check_sample(self, files: Mapping[str, Path], rows: int) -> float:
        """Compare as a server would see them: the text from records.db, the vector from vectors.npy."""
        records = Records(files["records"])
        try:
            sample = records.leaves(sample_rows(rows))
        finally:
            records.close()
        vectors: Float16 = Vectors(files["vectors"]).array
        return await check_sample(sample, vectors, self._embedder, self._ledger, _LEAST_SAMPLE_COSINE)

    async def _null_bank(self, files: Mapping[str, Path]) -> NullBank:
        from shared.models.null_bank import null_bank

        with self._clock.stage("null_bank"):
            return await null_bank(self._embedder, Vectors(files["vectors"]).array)

    def _manifest(self, collected: Collected, digest: str, null_bank: NullBank, gate: Mapping[str, float]) -> Manifest:
        return Manifest(
            format_version=FORMAT_VERSION,
            kind="tables",
            catalog=self._catalog,
            label=self._catalog,
            created_at=manifests.now(),
            builder=builder(),
            inputs_digest=digest,
            embedder=self._spec,
            rows=len(collected.leaves),
            families=families_of(collected.leaves),
            extends=self._extends,
            files=[],
            null_bank=null_bank,
            gate=dict(gate),
        )


def builder() -> str:
    """Who builds: the program's version and the version of what it writes."""
    return f"{program()}, index {INDEX_VERSION}"


def inputs_digest(collected: Collected, embedder: EmbedderSpec, extends: Sequence[str]) -> str:
    """The digest of everything a release is made of: leaves, access documents, embedder, and what writes them."""
    digest = hashlib.sha256()
    for part in ([FORMAT_VERSION, INDEX_VERSION, asdict(embedder), list(extends)], *_documents(collected)):
        digest.update(json.dumps(part, sort_keys=True, ensure_ascii=False, default=list).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _documents(collected: Collected) -> Iterator[dict[str, Any]]:
    for source in collected.sources:
        yield asdict(source)
    for leaf in collected.leaves:
        yield asdict(leaf)
    yield {path: file.digest for path, file in collected.files.items()}  # what no field of a leaf says


def _usable(release: reader.Release) -> dict[str, Float16]:
    """Each signature's vector in a release, but for rows that hold no unit vector."""
    import numpy as np

    records, vectors = Records(release.paths["records"]), Vectors(release.paths["vectors"])
    try:
        signatures = records.signatures()
    finally:
        records.close()
    unusable = vectors.unusable(np.arange(vectors.rows))
    return {name: np.array(vectors.array[row]) for name, row in signatures.items() if not unusable[row]}
