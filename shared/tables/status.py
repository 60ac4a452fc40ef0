"""The status ledgers of the mounted catalogs: what sample questions got from what is current. Needs no vectors."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec import to_builtins

from shared.contracts.release import Manifest, ReleaseFile
from shared.contracts.status import STATUS_ROLE, Scores, Status, parse
from shared.errors import ReleaseCorrupt, ReleaseMissing
from shared.release import manifest as manifests
from shared.release.reader import current, read_manifest
from shared.settings import Settings
from shared.tables.catalogs import Mount, mounts

Json = dict[str, Any]


class Ledgers:
    """What /status.json answers. Looks for new releases when the last look is REFRESH_S ago; safe between threads."""

    def __init__(self, settings: Settings, now: Callable[[], float] = time.monotonic) -> None:
        """Raises SettingsError where the settings name catalogs that could be none. Reads nothing."""
        self._mounts = mounts(settings) if settings.bucket_url else ()
        self._refresh_s = settings.refresh_s
        self._now = now
        self._lock = threading.Lock()
        self._looked_at = float("-inf")
        self._known: dict[str, tuple[str, Json | None]] = {}

    def shown(self) -> Json:
        """The ledger of each mounted catalog whose current release has one, in the order of the mounts.

        Raises BucketError, and ReleaseError for a ledger that cannot be read.
        """
        with self._lock:
            if self._now() - self._looked_at >= self._refresh_s:
                self._look()
            return {"catalogs": [ledger for _, ledger in self._known.values() if ledger is not None]}

    def _look(self) -> None:
        if self._mounts:
            with ThreadPoolExecutor(len(self._mounts)) as pool:
                found = list(pool.map(self._ledger, self._mounts))
            self._known = {mount.name: ledger for mount, ledger in zip(self._mounts, found, strict=True)}
        self._looked_at = self._now()

    def _ledger(self, mount: Mount) -> tuple[str, Json | None]:
        """The current release and its ledger; None where there is none."""
        try:
            release_id = current(mount.bucket, mount.name).release
        except ReleaseMissing:
            return "", None
        known = self._known.get(mount.name)
        if known and known[0] == release_id:
            return known
        manifest = read_manifest(mount.bucket, mount.name, release_id, "tables")
        file = next((file for file in manifest.files if file.role == STATUS_ROLE), None)
        return release_id, None if file is None else _shown(mount, release_id, manifest, _read(mount, file))


def _read(mount: Mount, file: ReleaseFile) -> Status:
    data = mount.bucket.read(manifests.file_key(mount.name, file.sha256))
    found = hashlib.sha256(data).hexdigest()
    if found != file.sha256:
        raise ReleaseCorrupt(f"{file.role} of catalog {mount.name!r}: expected sha256 {file.sha256}, found {found}")
    return parse(data)


def _shown(mount: Mount, release_id: str, manifest: Manifest, status: Status) -> Json:
    embedder = manifest.embedder
    return {
        "catalog": mount.name,
        "release": release_id,
        "label": manifest.label,
        "evaluated_at": manifest.created_at,
        "embedder": f"{embedder.model} ({embedder.provider}, {embedder.dimension} dimensions)",
        "judge": status.judge,
        "scores": {suite: _scores(scores) for suite, scores in status.scores.items()},
        "gate": {
            "verdict": "forced" if status.forced else "passed" if status.checks else "none",
            "checks": [to_builtins(check) for check in status.checks],
        },
        "questions": [to_builtins(question) for question in status.questions],
    }


def _scores(scores: Scores) -> Json:
    return {name: value for name, value in to_builtins(scores).items() if name != "asked"}
