"""`askbucket build tables`: leaves become a release, in one pass that can be read from top to bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from anyio import to_thread

from build_jobs.beside import check_beside
from build_jobs.build_report import BuildReport
from build_jobs.collect import Collected, collect
from build_jobs.embed import (
    BATCH,
    Checkpoints,
    Embedded,
    Float16,
    Known,
    check_sample,
    embed_leaves,
    embed_texts,
    signatures_of,
)
from build_jobs.gate import Gate, Limits
from build_jobs.index import families_of, write_index
from build_jobs.inputs import builder, counts_of, inputs_digest
from build_jobs.known import KnownDocuments, known_vectors
from build_jobs.plan import Plan, Priced, owners, tasks_of
from build_jobs.progress import Progress, Told, silent
from build_jobs.publish import check_writable, publish
from build_jobs.rate import Paced, Shard
from build_jobs.samples import Asked, Suite, TableQuestion
from build_jobs.shards import SharedVectors
from build_jobs.standing import Before, Current, compare, compare_sources, current, figures, still_current, write_status
from build_jobs.table_samples import BuildModels, ask_tables, judge_of, leaves_of, opened
from build_jobs.verify import SAMPLE, sample_rows, verify, verify_documents
from build_jobs.workplace import Clock, staging, workplace
from shared.bucket.base import open_bucket
from shared.contracts.release import FORMAT_VERSION, Manifest, NullBank
from shared.contracts.release import Embedder as EmbedderSpec
from shared.errors import AskbucketError, BuildError, ReleaseError, UnknownName
from shared.garbage import no_search_for_cycles
from shared.index.records import Records
from shared.index.scan import Vectors
from shared.models.choice import Models
from shared.models.ledger import Ledger
from shared.models.provider import Embedder
from shared.release import manifest as manifests
from shared.release import reader
from shared.release.cache import cache_failures
from shared.settings import Settings
from shared.tables.catalogs import SEARCH_ROLES
from shared.words import counted

# Two float16 roundings of one vector differ by less than 1e-5; a vector of another text is rarely above 0.95.
_LEAST_SAMPLE_COSINE = 0.98


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
    suites: Sequence[Suite[TableQuestion]] = (),
    shard: Shard | None = None,
    merge: bool = True,
    dry_run: bool = False,
    force: bool = False,
    told: Told = silent,
) -> BuildReport:
    """Build the leaves under some roots into a release of `catalog` and make it current, if the gate lets it pass.

    Does nothing where the current release was made of the same inputs, unless `force`. `dry_run` reads and counts,
    and writes nothing. What was embedded before a build was killed is kept below CACHE_DIR and used again.

    With a `shard` of several, only its part is embedded and kept in the bucket; the task that finds every part done
    goes on to the release, unless `merge` is false. The same call without a shard is the merge as well.
    Raises BuildError where the leaves, the model's vectors or the written files are not fit to be served, and where
    the release falls behind the current one by more than the settings allow, unless `force`.
    """
    build = _Build(
        leaves,
        bucket_url,
        settings=settings,
        embedder=embedder,
        catalog=catalog,
        extends=extends,
        suites=suites,
        shard=shard or Shard(),
        gate=Gate(Limits.of(settings), force=force or dry_run),
        told=told,
    )
    return await build.run(merge=merge, dry_run=dry_run, force=force)


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
        suites: Sequence[Suite[TableQuestion]],
        shard: Shard,
        gate: Gate,
        told: Told,
    ) -> None:
        self._roots = roots
        self._settings = settings
        self._bucket = open_bucket(bucket_url, settings)
        self._cache_dir = Path(settings.cache_dir)
        self._rate = settings.embedding_calls_per_minute if embedder.provider == "openrouter" else 0.0
        self._embedder: Embedder = Paced(embedder, self._rate, shard)
        self._spec = EmbedderSpec(provider=embedder.provider, model=embedder.model, dimension=embedder.dimension)
        self._catalog = catalog
        self._extends = sorted(set(extends))
        self._suites = suites
        self._shard = shard
        self._gate = gate
        self._told = told
        self._ledger = Ledger()
        self._clock = Clock()

    async def run(self, *, merge: bool, dry_run: bool, force: bool) -> BuildReport:
        manifests.pointer_key(self._catalog)  # refuses a catalog name before the work, not after it
        before = current(self._bucket, self._catalog, "tables")
        with self._clock.stage("collect"), no_search_for_cycles():
            collected = collect(self._roots, self._told, self._known_documents(before))
            digest = inputs_digest(collected, self._spec, self._extends, self._suites)
        self._told(Progress("collect", len(collected.leaves), len(collected.leaves)))
        report = self._report(collected, digest, before.id if before else None)
        if isinstance(before, Current) and before.is_made_of(digest, self._spec) and not force:
            self._leave(report)
        else:
            compare_sources(self._gate, before, counts_of(collected.leaves))
            if self._extends:
                self._check_beside(collected)
            if dry_run:
                self._plan(collected, report)
            elif self._shard.of == 1 or await self._is_to_merge(collected, report, merge=merge):
                await self._publish(collected, before, report, force)
        report.cost_usd = round(self._ledger.snapshot()["cost_usd"] + report.asked.cost_usd, 6)
        report.seconds, report.stage_seconds = self._clock.total, dict(self._clock.stages)
        return report

    def _check_beside(self, collected: Collected) -> None:
        with cache_failures():
            check_beside(
                self._gate,
                self._bucket,
                collected,
                embedder=self._spec,
                extends=self._extends,
                cache_dir=self._cache_dir,
            )

    def _known_documents(self, before: Before) -> KnownDocuments | None:
        """What the current release was told by its files; None where another version of this program read them."""
        if not isinstance(before, Current) or before.manifest.builder != builder():
            return None
        try:
            release = reader.fetch(
                self._bucket, self._catalog, ["records", "documents"], self._cache_dir, release_id=before.id
            )
        except AskbucketError:
            return None  # the files are read anew; whether vectors can be reused is asked, and told, later
        try:
            return KnownDocuments(release.paths["records"], release.paths["documents"], release.manifest.rows)
        except ReleaseError:
            return None
        finally:
            release.close()

    def _leave(self, report: BuildReport) -> None:
        """Nothing is to be done; what a task that came late or ran twice has kept is of no use any more."""
        report.status, report.reused = "unchanged", report.rows
        if self._shard.of > 1:
            self._kept(report.inputs_digest, None).clear()

    async def _is_to_merge(self, collected: Collected, report: BuildReport, *, merge: bool) -> bool:
        """Do this task's part. Whether it was the last, and no other one has published meanwhile."""
        await self._part(collected, report)
        if report.waiting_for or not merge:
            return False
        now = current(self._bucket, self._catalog, "tables")
        if isinstance(now, Current) and now.is_made_of(report.inputs_digest, self._spec):
            report.release = now.id
            self._leave(report)
            return False
        return True

    def _report(self, collected: Collected, digest: str, current: str | None) -> BuildReport:
        return BuildReport(
            status="planned",
            catalog=self._catalog,
            release=current,
            embedder=self._spec,
            inputs_digest=digest,
            rows=len(collected.leaves),
            shard=self._shard,
            gate=self._gate,
            collected=collected.report,
        )

    def _plan(self, collected: Collected, report: BuildReport) -> None:
        known = self._known(report)
        signatures = signatures_of(collected.leaves, self._spec.model)
        texts = {name: collected.leaves[row].text for name, row in owners(signatures).items() if name not in known}
        report.reused, report.embedded = len(set(signatures)) - len(texts), len(texts)
        report.plan = Plan(
            price=Priced.of(texts.values(), self._spec, BATCH, self._rate),
            tasks=tasks_of([leaf.urn for leaf in collected.leaves], signatures, texts, self._shard.of),
            questions=sum(len(suite.questions) for suite in self._suites),
            gate=self._gate.refusals,
        )

    async def _part(self, collected: Collected, report: BuildReport) -> None:
        """Embed this task's rows and keep their vectors in the bucket."""
        with cache_failures():
            check_writable(self._bucket, self._catalog)
            kept = self._kept(report.inputs_digest, self._shard)
        kept.begin()
        signatures = signatures_of(collected.leaves, self._spec.model)
        rows = self._shard.part(len(signatures))
        texts = {name: collected.leaves[row].text for name, row in owners(signatures).items() if row in rows}
        with self._clock.stage("embed"):
            found = await embed_texts(
                texts,
                self._embedder,
                known=self._known(report),
                checkpoints=kept,
                ledger=self._ledger,
                told=self._told,
            )
        report.status = "waiting"
        report.reused, report.resumed, report.embedded = found.reused, found.resumed, found.embedded
        report.waiting_for = kept.finish()

    async def _publish(self, collected: Collected, before: Before, report: BuildReport, force: bool) -> None:
        with staging(self._work(), self._bucket, self._catalog) as folder:
            kept = self._kept(report.inputs_digest, None)
            embedded = await self._embed(collected, kept, report)
            files = self._index(folder, collected, embedded)
            try:
                await self._verify(files, collected, embedded, report)
            except BuildError:
                kept.clear()  # or the next run would take the same wrong vectors from them
                raise
            report.null_bank = await self._null_bank(files)
            judge = await self._ask(files, collected, before, report)
            expected = still_current(
                self._gate,
                self._bucket,
                self._catalog,
                before,
                kind="tables",
                digest=report.inputs_digest,
                embedder=self._spec,
            )
            status = write_status(
                folder, self._gate, judge=judge, sources=counts_of(collected.leaves), asked=report.asked
            )
            with self._clock.stage("publish"):
                manifest = self._manifest(collected, report, force)
                named = {**files, "status": status}
                done = publish(self._bucket, manifest, named, expected=expected, force=force)
            report.release = done.release
            report.notes += done.notes
            self._told(Progress("publish", 1, 1))
            kept.clear()
        report.status = "published"

    def _work(self) -> Path:
        return workplace(self._cache_dir)

    def _kept(self, digest: str, shard: Shard | None) -> SharedVectors:
        local = Checkpoints(self._work() / "vectors", self._spec.dimension)
        return SharedVectors(self._bucket, self._catalog, digest, local, shard)

    async def _embed(self, collected: Collected, kept: SharedVectors, report: BuildReport) -> Embedded:
        with self._clock.stage("embed"):
            kept.load()  # first: who publishes the same meanwhile removes it, and then the release has it
            embedded = await embed_leaves(
                collected.leaves,
                self._embedder,
                known=self._known(report),
                checkpoints=kept,
                ledger=self._ledger,
                told=self._told,
            )
        if self._shard.of == 1:
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
            with no_search_for_cycles():  # among 182,009 leaves it is 3 of 4 s
                return known_vectors(release) if release.manifest.embedder == self._spec else {}
        finally:
            release.close()

    def _index(self, folder: Path, collected: Collected, embedded: Embedded) -> Mapping[str, Path]:
        with self._clock.stage("index"), no_search_for_cycles():
            files = write_index(folder, collected, embedded)
        self._told(Progress("index", len(collected.leaves), len(collected.leaves)))
        return files

    async def _verify(
        self, files: Mapping[str, Path], collected: Collected, embedded: Embedded, report: BuildReport
    ) -> None:
        with self._clock.stage("verify"):
            with no_search_for_cycles():
                verify(files, collected.leaves, embedded.signatures, self._spec.dimension)
                verify_documents(files["documents"], collected)
            rows = counted(len(collected.leaves), "row")
            self._gate.passed("files", f"every file opens and agrees with the others in {rows}")
            self._gate.passed("urns", f"{rows}, each with a valid URN of its own")
            report.sample_cosine = await self._check_sample(files, len(collected.leaves))
            self._gate.passed("vectors", f"{SAMPLE} texts embedded again, least cosine {report.sample_cosine:.3f}")
        self._told(Progress("verify", len(collected.leaves), len(collected.leaves)))

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

    async def _ask(self, files: Mapping[str, Path], collected: Collected, before: Before, report: BuildReport) -> str:
        """Put the sample questions to what was written, and compare. Returns who judged."""
        if not self._suites:
            self._gate.skipped("scores", "no sample questions were given")
            return "none"
        release = reader.Release("unpublished", self._catalog, self._manifest(collected, report, False), files)
        models = BuildModels(self._settings, self._embedder)
        try:
            with self._clock.stage("questions"), opened(release, self._bucket, self._settings, models) as tables:
                report.asked = await ask_tables(tables, self._suites, collected.leaves, self._told)
                judge = judge_of(tables)
            with self._clock.stage("compare"):
                await compare(
                    self._gate, before, self._suites, report.asked, partial(self._ask_current, models, before)
                )
            return judge
        finally:
            await to_thread.run_sync(models.close)

    async def _ask_current(self, models: BuildModels, before: Before, suites: Sequence[Suite[TableQuestion]]) -> Asked:
        release_id = before.id if before else None
        release = reader.fetch(
            self._bucket, self._catalog, SEARCH_ROLES, self._cache_dir, release_id=release_id, kind="tables"
        )
        with opened(release, self._bucket, self._settings, models) as tables:
            return await ask_tables(tables, suites, leaves_of(tables), self._told)

    def _manifest(self, collected: Collected, report: BuildReport, force: bool) -> Manifest:
        measured = {"sample_cosine_min": round(report.sample_cosine, 3), **report.asked.figures()}
        return Manifest(
            format_version=FORMAT_VERSION,
            kind="tables",
            catalog=self._catalog,
            label=self._catalog,
            created_at=manifests.now(),
            builder=builder(),
            inputs_digest=report.inputs_digest,
            embedder=self._spec,
            rows=len(collected.leaves),
            families=families_of(collected.leaves),
            extends=self._extends,
            files=[],
            null_bank=report.null_bank,
            gate=figures(measured, self._ledger, self._clock, force=force),
        )
