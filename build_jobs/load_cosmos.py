"""`askbucket load-cosmos`: a release's items become documents of Cosmos DB, beside those of other releases.

Nothing that is there is ever changed: what the release lists and the container lacks is added, and what no release
lists any more is removed once its grace is over. So a load can be killed anywhere and run again, two may run side by
side, and whoever reads another release meanwhile notices nothing.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from build_jobs.cosmos.batches import batches
from build_jobs.cosmos.container import misfits
from build_jobs.cosmos.listed import listed_ids, orphans, release_ids
from build_jobs.cosmos.opened import Opened, opened
from build_jobs.cosmos.partition import Partition, Sleep, Stamp
from build_jobs.progress import Meter, Told, silent
from build_jobs.verify import sample_rows
from shared.bucket.base import Bucket, open_bucket
from shared.errors import BuildError, ReleaseError
from shared.index.cosmos_client import Account

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.settings import Settings

USD_A_MILLION_UNITS = 0.25
"""What a serverless account is billed in most regions; throughput that is provisioned is paid by the hour instead."""

# Documents may go while they are written only where somebody removes them by hand; a load does not fight that.
_ROUNDS = 3

Status = Literal["loaded", "unchanged"]


@dataclass(slots=True)
class LoadReport:
    """What a load did. `there` were there before it, `renewed` were written again to be kept.

    `waiting` are documents that no release lists and whose grace is not over. `compared` were read back.
    """

    catalog: str
    release: str
    container: str
    rows: int
    status: Status = "unchanged"
    there: int = 0
    written: int = 0
    renewed: int = 0
    batches: int = 0
    removed: int = 0
    waiting: int = 0
    compared: int = 0
    too_large: list[str] = field(default_factory=list)
    units: float = 0.0
    write_units: float = 0.0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def cost_usd(self) -> float:
        """What the request units cost where they are billed one by one."""
        return dollars(self.units)

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "catalog": self.catalog,
            "release": self.release,
            "container": self.container,
            "rows": self.rows,
            "there": self.there,
            "written": self.written,
            "renewed": self.renewed,
            "batches": self.batches,
            "removed": self.removed,
            "waiting": self.waiting,
            "compared": self.compared,
            "tooLarge": self.too_large,
            "requestUnits": round(self.units, 2),
            "writeUnits": round(self.write_units, 2),
            "costUsd": round(self.cost_usd, 6),
            "seconds": round(self.seconds, 2),
            "notes": self.notes,
        }


def dollars(units: float) -> float:
    """What request units cost where they are billed one by one."""
    return units * USD_A_MILLION_UNITS / 1_000_000


def load_cosmos(
    bucket_url: str,
    *,
    settings: Settings,
    catalog: str,
    release_id: str | None = None,
    told: Told = silent,
    sleep: Sleep = time.sleep,
) -> LoadReport:
    """Load a release (the current one by default) of a site into the container that the settings name.

    Makes database and container where they are not there. When it returns, every item of the release is there, but
    for those in `too_large`, which the release does not list. Raises ReleaseError, StoreError, SettingsError, and
    BuildError where the container cannot hold this release or holds something else than was written.
    """
    bucket, started = open_bucket(bucket_url, settings), time.monotonic()
    with (
        opened(bucket, catalog, Path(settings.cache_dir), release_id) as release,
        closing(Account(settings)) as account,
    ):
        account.create(release.dimension)
        refuse_misfits(account.properties() or {}, release.dimension)
        partition = Partition(account.container, release.catalog, sleep)
        load = _Load(bucket, release, partition, settings, told)
        load.run()
    load.report.units, load.report.seconds = partition.units, time.monotonic() - started
    return load.report


def refuse_unloaded(bucket: Bucket, catalog: str, release_id: str, settings: Settings) -> None:
    """Raises BuildError where Cosmos DB lacks items of a release, so that nobody points to it; StoreError, too."""
    expected = release_ids(bucket, catalog, release_id, Path(settings.cache_dir))
    with closing(Account(settings)) as account:
        there = Partition(account.container, catalog).listing() if account.properties() else {}
    missing = sum(each not in there for each in expected if each)
    if missing or not expected:
        raise BuildError(
            f"Cosmos DB lacks {missing or 'all':,} items of release {release_id}: run"
            f" `askbucket load-cosmos --site {catalog} --release {release_id}` first"
        )


def refuse_misfits(properties: Mapping[str, Any], dimension: int) -> None:
    """Raises BuildError where a container cannot hold vectors of so many numbers."""
    if found := misfits(properties, dimension):
        raise BuildError(
            f"the container {properties.get('id')} does not fit this release: {'; '.join(found)}. It cannot be changed:"
            " set COSMOS_CONTAINER to another name, and it is made"
        )


class _Load:
    """One load: what it works on, and what it has done so far."""

    def __init__(self, bucket: Bucket, release: Opened, partition: Partition, settings: Settings, told: Told) -> None:
        self._bucket = bucket
        self._release = release
        self._partition = partition
        self._settings = settings
        self._told = told
        self.report = LoadReport(
            catalog=release.catalog,
            release=release.id,
            container=f"{settings.cosmos_database}/{settings.cosmos_container}",
            rows=len(release.ids),
        )

    def run(self) -> None:
        """Add what is missing, see that all of it is there, then remove what nobody needs."""
        there = self._partition.listing()
        self.report.there = sum(each in there for each in self._release.ids)
        self.report.renewed = self._write(self._outdated(there))
        for _ in range(_ROUNDS):
            if not (missing := self._missing(there)):
                break
            self.report.written += self._write(missing)
            there = self._partition.listing()
        self._refuse_gaps(there)
        self._compare()
        self._remove_orphans(there)
        self.report.too_large = self._release.too_large()
        self.report.status = "loaded" if self.report.batches else "unchanged"

    def _outdated(self, there: Mapping[str, Stamp]) -> list[int]:
        """Rows whose document is there, but is no other release's and so old that it may be about to be removed.

        It is written again: who listed it for removal then finds another version, and leaves it.
        """
        half = self._settings.cosmos_grace_s / 2
        own, before = self._release.id, time.time() - half
        try:
            listed = listed_ids(self._bucket, self._release.catalog, self._cache_dir, half, besides=own)
        except ReleaseError:
            return []  # then nobody removes anything
        return [
            row
            for row, each in enumerate(self._release.ids)
            if each in there and each not in listed and there[each].written_at < before
        ]

    def _write(self, rows: Sequence[int]) -> int:
        """Write the documents of these rows; returns how many that were."""
        meter, before, written = Meter("load", len(rows), self._told), self._partition.units, 0
        for batch in batches(self._release.documents(rows)):
            self._partition.write(batch.documents)
            written += len(batch.documents)
            self.report.batches += 1
            self.report.write_units += self._partition.units - before
            before = self._partition.units
            meter.advance(len(batch.documents), dollars(before), before)
        return written

    def _refuse_gaps(self, there: Mapping[str, Stamp]) -> None:
        if missing := self._missing(there):
            raise BuildError(
                f"{len(missing):,} items of {len(self._release.listed):,} are not there after they were written, such"
                f" as {self._release.ids[missing[0]]}: something else removes them from {self.report.container}"
            )

    def _missing(self, there: Mapping[str, Stamp]) -> list[int]:
        return [row for row in self._release.listed if self._release.ids[row] not in there]

    def _compare(self) -> None:
        """Read a sample back. Raises BuildError naming the first document that is not what was written."""
        listed = self._release.listed
        rows = [listed[place] for place in sample_rows(len(listed))]
        found = self._partition.read([self._release.ids[row] for row in rows])
        for document in self._release.documents(rows):
            if not same(found.get(document["id"]), document):
                raise BuildError(
                    f"{self.report.container}: {document['id']} ({document['item']}) is not what this release holds:"
                    " somebody else wrote it; remove it and load again"
                )
        self.report.compared = len(rows)

    def _remove_orphans(self, there: Mapping[str, Stamp]) -> None:
        """After documents were listed come the releases: what was listed since then keeps its documents."""
        grace_s = self._settings.cosmos_grace_s
        try:
            listed = listed_ids(self._bucket, self._release.catalog, self._cache_dir, grace_s)
        except ReleaseError as error:
            self.report.notes.append(f"nothing was removed: {error.message}")
            return
        found = orphans(there, listed | set(self._release.ids), time.time() - grace_s)
        self.report.removed = self._partition.remove(found.over)
        self.report.waiting = found.waiting

    @property
    def _cache_dir(self) -> Path:
        return Path(self._settings.cache_dir)


def same(found: Any, written: Any) -> bool:
    """Whether two JSON values are one. Numbers are what doubles make of them: that is what the service keeps."""
    if isinstance(found, dict) and isinstance(written, dict):
        return found.keys() == written.keys() and all(same(found[name], written[name]) for name in found)
    if isinstance(found, list) and isinstance(written, list):
        return len(found) == len(written) and all(map(same, found, written))
    if _is_number(found) and _is_number(written):
        return float(found) == float(written)
    return type(found) is type(written) and bool(found == written)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
