"""Whether a catalog that extends others' families can be mounted beside the built-in one, found out before it is.

A server refuses catalogs that do not fit together when it starts; by then the release is current. So a build with
`--extends` compares itself with the built-in catalog of its bucket.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from build_jobs.collect import Collected
from build_jobs.gate import Gate
from shared.bucket.base import Bucket
from shared.contracts.release import Embedder, Manifest
from shared.errors import ReleaseMissing
from shared.index.records import Records
from shared.release import reader
from shared.tables.catalogs import BUILT_IN, EXACT_ROLES
from shared.words import counted


def check_beside(
    gate: Gate,
    bucket: Bucket,
    collected: Collected,
    *,
    embedder: Embedder,
    extends: Sequence[str],
    cache_dir: Path,
) -> None:
    """Compare with the bucket's built-in catalog what extends its families. Raises BuildError, unless forced.

    What has to hold: the same embedder, families that are there, no source in common but of those, no URN twice.
    """
    try:
        release = reader.fetch(bucket, BUILT_IN, EXACT_ROLES, cache_dir, kind="tables")
    except ReleaseMissing:
        gate.skipped("beside", "the bucket has no built-in catalog to be mounted beside")
        return
    with closing(release), closing(Records(release.paths["records"])) as records:
        faults = list(_faults(collected, records, release.manifest, embedder, extends))
    gate.compare_beside(faults, _joined(collected, extends))


def _faults(
    collected: Collected, records: Records, manifest: Manifest, embedder: Embedder, extends: Sequence[str]
) -> Iterator[str]:
    if embedder != manifest.embedder:
        one, other = (f"{each.model} ({each.dimension})" for each in (embedder, manifest.embedder))
        yield f"it is embedded by {one}, the built-in catalog by {other}"
    families = {family.family for family in manifest.families}
    for name in (name for name in extends if name not in families):
        yield f"it extends {name}, but the built-in catalog has only {', '.join(sorted(families))}"
    there = records.sources()
    shared = [source for source in collected.sources if source.directory in there]
    for source in (source for source in shared if source.family not in extends):
        yield f"source {source.directory} is in the built-in catalog too, and its family is not extended"
    known = records.urns([source.directory for source in shared])
    twice = sorted(leaf.urn for leaf in collected.leaves if leaf.urn in known)
    if twice:
        yield f"{twice[0]} is in the built-in catalog too ({len(twice):,} such in all)"


def _joined(collected: Collected, extends: Sequence[str]) -> str:
    """How many leaves join each family, and how many the exact lookups will not find, since they have no code."""
    joining = [leaf for leaf in collected.leaves if leaf.family in extends]
    counts = Counter(leaf.family for leaf in joining)
    said = ", ".join(f"{counted(counts[name], 'leaf', 'leaves')} join {name}" for name in extends)
    without = sum(1 for leaf in joining if not leaf.code)
    return said + (f"; {counted(without, 'leaf has', 'leaves have')} no code to be looked up by" if without else "")
