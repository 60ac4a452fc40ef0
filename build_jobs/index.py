"""The files of a tables release, written side by side into one folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from build_jobs.acronyms import Aliases, learn
from build_jobs.collect import Collected, File
from build_jobs.embed import Embedded
from build_jobs.forked import forked
from shared.contracts.leaf import Leaf
from shared.contracts.release import Family
from shared.errors import BuildError
from shared.index.documents import write_documents
from shared.index.lexical import write_lexical
from shared.index.records import write_records
from shared.index.scan import write_vectors


def keyword_documents(leaves: Sequence[Leaf]) -> Iterator[tuple[str, str, str, str]]:
    """What the keyword leg reads of each leaf, in the order its weights are given: title, queries, description, code.

    The description ends in the acronyms of what the leaf spells out, and the full names of its acronyms.
    """
    aliases = Aliases(learn(leaf.text for leaf in leaves))
    for leaf in leaves:
        queries = "\n".join(leaf.queries)
        other_forms = aliases.of(f"{leaf.title}\n{queries}\n{leaf.description}")
        yield leaf.title, queries, f"{leaf.description}\n{other_forms}", leaf.code or ""


def write_index(folder: Path, collected: Collected, embedded: Embedded) -> dict[str, Path]:
    """Write vectors, records, postings and documents into `folder`. Returns role → file; row i is one leaf in each.

    Raises BuildError where a file is no longer what was collected.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vectors, records, documents = folder / "vectors.npy", folder / "records.db", folder / "documents.db"
    write_vectors(vectors, embedded.vectors)

    def write() -> None:
        write_records(records, collected.leaves, collected.sources, embedded.signatures)
        write_documents(documents, documents_of(collected))

    # Of 182,009 leaves each of the two takes 20 s. No threads: beside a busy interpreter every row of SQLite's waits
    # 5 ms for its turn (70 s against 31).
    with forked(write):
        lexical: Mapping[str, Path] = write_lexical(folder, keyword_documents(collected.leaves), by_word=True)
    return {"vectors": vectors, "records": records, "documents": documents, **lexical}


def documents_of(collected: Collected) -> Iterator[bytes | None]:
    """The bytes of every leaf in row order, then of every access document; None for what was not read whole."""
    for path in (*(leaf.path for leaf in collected.leaves), *(each.path for each in collected.sources if each.path)):
        file = collected.files[path]
        yield _content(path, file) if file.digest else None


def _content(path: str, file: File) -> bytes:
    try:
        content = file.path.read_bytes()
    except OSError as error:
        raise BuildError(f"{path} could not be read again: {error.strerror}; run it again") from error
    if hashlib.sha256(content).hexdigest() != file.digest:
        raise BuildError(f"{path} was changed while the build ran: run it again")
    return content


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
