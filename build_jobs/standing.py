"""How a build stands against the release that it is to replace: what that one held and scored, and the ledger."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from build_jobs.gate import Counts, Gate, told
from build_jobs.publish import naming, overtaken, pointed
from build_jobs.samples import Asked, Q, Suite
from build_jobs.workplace import Clock
from shared.bucket.base import Bucket
from shared.contracts.release import Embedder, Manifest
from shared.contracts.status import STATUS_ROLE, STATUS_VERSION, Scores, Status, encode, parse
from shared.errors import AskbucketError, BuildError, ObjectMissing, ReleaseError
from shared.models.ledger import Ledger
from shared.release import manifest as manifests
from shared.release import reader

AskCurrent = Callable[[Sequence[Suite[Q]]], Awaitable[Asked]]


@dataclass(frozen=True, slots=True)
class Current:
    """The release that is current while a build runs. `status` is its ledger, None where it has none.

    `problem` says why where it has one that cannot be read.
    """

    id: str
    manifest: Manifest
    status: Status | None
    problem: str = ""

    @property
    def sources(self) -> Counts:
        """What is counted of each source; of a release without a ledger, its rows."""
        if self.status:
            return self.status.sources
        return {name: {"rows": rows} for each in self.manifest.families for name, rows in each.sources.items()}

    def is_made_of(self, digest: str, embedder: Embedder) -> bool:
        """Whether a build of these inputs has nothing to do."""
        return self.manifest.inputs_digest == digest and self.manifest.embedder == embedder

    def comparable(self, asked: Mapping[str, Scores]) -> dict[str, Scores]:
        """Its scores of those suites that were asked of it in the same way."""
        known = self.status.scores if self.status else {}
        return {name: known[name] for name, own in asked.items() if name in known and known[name].asked == own.asked}


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A current release whose manifest cannot be read, and why: nobody knows what it held."""

    id: str
    problem: str


Before = Current | Unreadable | None
"""What a build is to replace; None only where the catalog has no pointer."""


def current(bucket: Bucket, catalog: str, kind: manifests.Kind) -> Before:
    """What the catalog's pointer names.

    Raises BuildError where that is a release of another kind, which no flag replaces: whoever serves the catalog could
    not open what came instead. Raises BucketError, and ReleaseIncompatible where the pointer itself cannot be read.
    """
    release_id = pointed(bucket, catalog)
    if release_id is None:
        return None
    try:
        with naming(bucket, "read"):
            manifest = reader.read_manifest(bucket, catalog, release_id)
    except ReleaseError as error:
        return Unreadable(release_id, error.message)
    if manifest.kind != kind:
        raise BuildError(
            f"catalog {catalog!r} holds {manifest.kind}, and a release of {kind} cannot take the place of"
            f" {release_id}: name another one with --catalog"
        )
    with naming(bucket, "read"):
        try:
            return Current(release_id, manifest, _status(bucket, catalog, manifest))
        except (ReleaseError, ObjectMissing) as error:
            return Current(release_id, manifest, None, error.message)


def _status(bucket: Bucket, catalog: str, manifest: Manifest) -> Status | None:
    """A release's ledger, None where it has none. Raises ReleaseIncompatible, ObjectMissing, BucketError."""
    file = next((file for file in manifest.files if file.role == STATUS_ROLE), None)
    if file is None:
        return None
    return parse(bucket.read(manifests.file_key(catalog, file.sha256)))


def compare_sources(gate: Gate, before: Before, after: Counts) -> None:
    """Hold what is counted against the current release. Raises BuildError, unless forced.

    One that cannot be read is no reason to publish unchecked what may have lost everything. Of one whose ledger alone
    cannot be read the rows are compared, and a second check says so; its scores are asked again anyway.
    """
    if isinstance(before, Unreadable):
        gate.refuse_current(f"the current release cannot be read: {before.problem}")
        gate.skipped("sources", "the current release cannot be read")
        return
    gate.compare_sources(before.sources if before else None, after)
    if before and before.problem:
        gate.skipped("sources", f"only rows were compared: the current ledger cannot be read: {before.problem}")


def still_current(
    gate: Gate, bucket: Bucket, catalog: str, before: Before, *, kind: manifests.Kind, digest: str, embedder: Embedder
) -> str | None:
    """The release that a build may replace: the one it was compared with, if nobody has published another meanwhile.

    To be asked before the ledger is written. Raises BuildError where there is another one, unless forced: it is then
    in the ledger, and the other one may be replaced. One of the same inputs is left to `publish`.
    """
    now, known = current(bucket, catalog, kind), before.id if before else None
    found = now.id if now else None
    if found == known or (isinstance(now, Current) and now.is_made_of(digest, embedder)):
        return known
    gate.refuse_current(overtaken(found))
    return found


async def compare(
    gate: Gate, before: Before, suites: Sequence[Suite[Q]], asked: Asked, ask_current: AskCurrent[Q]
) -> None:
    """Hold the scores against those of the current release, which is asked what it was not asked the same way before.

    Where it cannot be asked, those that its ledger has are compared all the same, and the others are a second check.
    Raises BuildError where they are worse, unless forced.
    """
    if not isinstance(before, Current):
        why = "the current release cannot be read" if before else "no current release to compare with"
        gate.skipped("scores", f"{told(asked.scores)}; {why}")
        return
    scores = before.comparable(asked.scores)
    missing = [suite for suite in suites if suite.name not in scores]
    problem = ""
    try:
        if missing:
            scores |= (await ask_current(missing)).scores
    except AskbucketError as error:
        problem = f"the current release could not be asked: {error.message}"
    comparable = {name: own for name, own in asked.scores.items() if name in scores}
    if comparable or not problem:
        gate.compare_scores(scores, comparable)
    if problem:
        left = {name: own for name, own in asked.scores.items() if name not in scores}
        gate.skipped("scores", f"{told(left)}; {problem}")


def write_status(folder: Path, gate: Gate, *, judge: str, sources: Counts, asked: Asked) -> Path:
    """Write the ledger into the folder of a build's files."""
    path = folder / "status.json"
    status = Status(
        version=STATUS_VERSION,
        judge=judge,
        forced=gate.was_forced,
        checks=gate.checks,
        sources={name: dict(counted) for name, counted in sources.items()},
        scores=asked.scores,
        questions=asked.shown,
    )
    path.write_bytes(encode(status))
    return path


def figures(measured: Mapping[str, float], ledger: Ledger, clock: Clock, *, force: bool) -> dict[str, float]:
    """The manifest's `gate`: what was measured, what the build took until now, and whether `--force` was given."""
    took = {"build_s": round(clock.total, 1), "build_usd": ledger.snapshot()["cost_usd"]}
    return {**measured, **took, **({"forced": 1.0} if force else {})}
