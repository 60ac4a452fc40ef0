"""The files of a tables release, written side by side into one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from build_jobs.collect import Collected
from build_jobs.embed import Embedded
from shared.contracts.leaf import Leaf
from shared.contracts.release import Family
from shared.index.lexical import write_lexical
from shared.index.records import write_records
from shared.index.scan import write_vectors


def lexical_fields(leaf: Leaf) -> tuple[str, str, str, str]:
    """What the keyword leg reads of a leaf, in the order its weights are given: title, queries, description, code."""
    return leaf.title, "\n".join(leaf.queries), leaf.description, leaf.code or ""


def write_index(folder: Path, collected: Collected, embedded: Embedded) -> dict[str, Path]:
    """Write vectors, records and postings into `folder`. Returns role → file; row i is the same leaf in each."""
    folder.mkdir(parents=True, exist_ok=True)
    vectors, records = folder / "vectors.npy", folder / "records.db"
    write_vectors(vectors, embedded.vectors)
    write_records(records, collected.leaves, collected.sources, embedded.signatures)
    lexical: Mapping[str, Path] = write_lexical(folder, (lexical_fields(leaf) for leaf in collected.leaves))
    return {"vectors": vectors, "records": records, **lexical}


def families_of(leaves: Sequence[Leaf]) -> list[Family]:
    """Each family's slice of the rows, and the rows of each source in it. Leaves come in row order."""
    slices: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        slices.setdefault(leaf.family, []).append(leaf)
    families: list[Family] = []
    for name, members in slices.items():
        sources: dict[str, int] = {}
        for leaf in members:
            sources[leaf.source] = sources.get(leaf.source, 0) + 1
        first = families[-1].first_row + families[-1].rows if families else 0
        families.append(Family(family=name, first_row=first, rows=len(members), sources=sources))
    return families
