"""How a build stands against the release that it is to replace: what that one held and scored, and the ledger."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from build_jobs.gate import Counts, Gate, told
from build_jobs.publish import current_manifest
from build_jobs.samples import Asked, Q, Suite
from build_jobs.workplace import Clock
from shared.bucket.base import Bucket
from shared.contracts.release import Embedder, Manifest
from shared.contracts.status import STATUS_ROLE, STATUS_VERSION, Scores, Status, encode, parse
from shared.errors import AskbucketError, BucketError, ReleaseError
from shared.models.ledger import Ledger
from shared.release import manifest as manifests

AskCurrent = Callable[[Sequence[Suite[Q]]], Awaitable[Asked]]


@dataclass(frozen=True, slots=True)
class Current:
    """The release that is current while a build runs. `status` is its ledger, None where it has none."""

    id: str
    manifest: Manifest
    status: Status | None

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


def current(bucket: Bucket, catalog: str, kind: manifests.Kind) -> Current | None:
    """The current release; None where there is none that can be read. Raises BucketError."""
    found = current_manifest(bucket, catalog, kind)
    return Current(*found, _status(bucket, catalog, found[1])) if found else None


def _status(bucket: Bucket, catalog: str, manifest: Manifest) -> Status | None:
    """A release's ledger. One that cannot be read is none: the release is then asked again."""
    file = next((file for file in manifest.files if file.role == STATUS_ROLE), None)
    if file is None:
        return None
    try:
        return parse(bucket.read(manifests.file_key(catalog, file.sha256)))
    except (ReleaseError, BucketError):
        return None


async def compare(
    gate: Gate, before: Current | None, suites: Sequence[Suite[Q]], asked: Asked, ask_current: AskCurrent[Q]
) -> None:
    """Hold the scores against those of the current release, which is asked what it was not asked the same way before.

    Raises BuildError where they are worse, unless forced.
    """
    if before is None:
        gate.skipped("scores", f"{told(asked.scores)}; no current release to compare with")
        return
    scores = before.comparable(asked.scores)
    missing = [suite for suite in suites if suite.name not in scores]
    try:
        if missing:
            scores |= (await ask_current(missing)).scores
    except AskbucketError as error:
        said = f"the current release could not be asked: {error.message}"
        gate.skipped("scores", f"{told(asked.scores)}; {said}")
        return
    gate.compare_scores(scores, asked.scores)


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
