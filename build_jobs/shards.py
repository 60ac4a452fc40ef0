"""What the tasks of one build share: a folder in the bucket, named by the digest of the build's inputs.

    <catalog>/builds/<digest>/vectors/<index>-of-<count>/<name>.npz   batches of vectors, by signature, as they come
    <catalog>/builds/<digest>/tasks/<index>-of-<count>.json           when a task was last heard of; whether it is done

A task that is killed finds its batches there, one that runs twice or late finds the work done, and the merge is the
ordinary build, which takes from there whatever vector it has not got. Tasks that read other leaves, or have another
model, have another folder: their vectors are never mixed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

from build_jobs.embed import Checkpoints, Float16, batch_name, packed, unpacked
from build_jobs.rate import Shard
from shared.bucket.base import Bucket
from shared.errors import ObjectMissing
from shared.release import manifest as manifests
from shared.release.underway import heard_of

# A task says so often that it is alive; the grace period of a prune is far longer.
_HEARD_EVERY_S = 600.0


class SharedVectors:
    """The folder of one build. A task keeps its batches there and reads its own; without one, all of them are read.

    What an earlier build left in this machine's own folder is read as well.
    """

    def __init__(self, bucket: Bucket, catalog: str, digest: str, local: Checkpoints, shard: Shard | None) -> None:
        self._bucket = bucket
        self._prefix = f"{manifests.underway_prefix(catalog)}{digest}/"
        self._local = local
        self._shard = shard
        self._heard_at = float("-inf")
        self._loaded: dict[str, Float16] | None = None

    def load(self) -> dict[str, Float16]:
        """Every vector that was kept, by its signature; a batch that cannot be read is taken for absent. Reads once."""
        if self._loaded is not None:
            return self._loaded
        found = self._loaded = self._local.load()
        own = f"{self._named(self._shard.index)}/" if self._shard else ""
        for key in self._bucket.keys(f"{self._prefix}vectors/{own}"):
            found.update(unpacked(self._read(key), self._local.dimension) or {})
        return found

    def save(self, signatures: Sequence[str], vectors: Float16) -> None:
        """Keep one batch: of a task in the bucket, where another machine finds it, else on this one."""
        if self._shard is None:
            self._local.save(signatures, vectors)
            return
        name = batch_name(signatures, self._local.dimension)
        self._bucket.put(
            f"{self._prefix}vectors/{self._named(self._shard.index)}/{name}.npz", packed(signatures, vectors)
        )
        if time.monotonic() - self._heard_at > _HEARD_EVERY_S:
            self.begin()

    def begin(self) -> None:
        """Say that this task is at work."""
        self._say(done=False)

    def finish(self) -> list[int]:
        """Say that this task is done; the numbers of those that are not yet."""
        self._say(done=True)
        return self.missing()

    def missing(self) -> list[int]:
        """The tasks of as many that are not done."""
        if self._shard is None:
            return []
        return [index for index in range(self._shard.of) if not self._is_done(index)]

    def clear(self) -> None:
        """Remove what is kept, here and there: the vectors are in a release now, or are wrong."""
        self._local.clear()
        for key in list(self._bucket.keys(self._prefix)):
            self._bucket.delete(key)

    def _say(self, *, done: bool) -> None:
        if self._shard is None:
            return
        self._heard_at = time.monotonic()
        self._bucket.put(self._task_key(self._shard.index), heard_of(done=done))

    def _is_done(self, index: int) -> bool:
        said = self._read(self._task_key(index))
        try:
            parsed: object = json.loads(said)
        except ValueError:
            return False
        return isinstance(parsed, Mapping) and parsed.get("done") is True

    def _task_key(self, index: int) -> str:
        return f"{self._prefix}tasks/{self._named(index)}.json"

    def _named(self, index: int) -> str:
        return f"{index}-of-{self._shard.of if self._shard else 1}"

    def _read(self, key: str) -> bytes:
        try:
            return self._bucket.read(key)
        except ObjectMissing:
            return b""
