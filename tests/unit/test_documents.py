"""documents.db: what is written is what is read, and a release holds each file as it was on the disk."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tracemalloc
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from building import TINY_LEAVES
from test_build_embed import HashEmbedder

from build_jobs.build_report import BuildReport
from build_jobs.collect import collect
from build_jobs.index import documents_of
from build_jobs.run import build_tables
from build_jobs.verify import verify_documents
from shared.bucket.base import open_bucket
from shared.errors import BuildError, ReleaseIncompatible
from shared.index.documents import Documents, write_documents
from shared.release import reader
from shared.settings import Settings


def written(path: Path, documents: list[bytes | None]) -> Documents:
    write_documents(path / "documents.db", documents)
    return Documents(path / "documents.db")


@pytest.mark.parametrize("seed", range(20))
def test_documents_of_any_number_and_size_come_back_byte_for_byte(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    sizes = [0, 1, 900, 65_535, 65_536, 200_000]
    documents = [
        None if dice.random() < 0.1 else dice.randbytes(dice.choice(sizes)) for _ in range(dice.randrange(1, 60))
    ]
    stored = written(tmp_path, documents)
    stored.check(len(documents))
    assert [stored.read(number) for number in range(len(documents))] == documents
    assert list(stored.every()) == documents


def test_the_same_documents_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_documents(tmp_path / name, [b"x" * 70_000, None, b"y"])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_another_number_of_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseIncompatible, match="documents: expected 3 documents, found 2"):
        written(tmp_path, [b"a", b"b"]).check(3)
    with pytest.raises(ReleaseIncompatible, match="documents: expected 1 documents, found 0"):
        written(tmp_path, []).check(1)


@pytest.mark.parametrize("number", [-1, 2, 10_000])
def test_a_number_beyond_the_last_is_refused(tmp_path: Path, number: int) -> None:
    with pytest.raises(ReleaseIncompatible, match="documents: expected"):
        written(tmp_path, [b"a", b"b"]).read(number)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE block SET lengths = '[1,2]'", "does not hold what it says"),
        ("UPDATE block SET data = x'00ff'", "expected compressed blocks"),
        ("UPDATE block SET lengths = 'x'", "expected lengths"),
        ("UPDATE block SET lengths = '[1,\"1\"]'", "expected lengths"),
        ("DROP TABLE block", "expected blocks of documents"),
    ],
)
def test_a_block_that_is_not_what_it_says_is_refused(tmp_path: Path, change: str, found: str) -> None:
    stored = written(tmp_path, [b"a", b"b"])
    with closing(sqlite3.connect(tmp_path / "documents.db")) as db:
        db.execute(change)
        db.commit()
    with pytest.raises(ReleaseIncompatible, match=found):
        stored.read(1)


def test_a_block_that_would_unpack_to_more_than_it_says_is_not_unpacked(tmp_path: Path) -> None:
    stored = written(tmp_path, [b"a", b"b"])
    bomb = zlib.compress(b"x" * 50_000_000, 9)
    with closing(sqlite3.connect(tmp_path / "documents.db")) as db:
        db.execute("UPDATE block SET data = ?", (bomb,))
        db.commit()
    tracemalloc.start()
    with pytest.raises(ReleaseIncompatible, match="does not hold what it says"):
        stored.read(1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1_000_000


def test_a_file_that_is_no_database_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "documents.db").write_bytes(b"no database" * 100)
    with pytest.raises(ReleaseIncompatible, match="documents: expected blocks of documents"):
        Documents(tmp_path / "documents.db").check(1)


# In a build


@pytest.fixture
def leaves(tmp_path: Path) -> Path:
    for source in TINY_LEAVES.rglob("*.md"):
        target = tmp_path / "leaves" / source.relative_to(TINY_LEAVES)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    return tmp_path / "leaves"


def build(tmp_path: Path) -> BuildReport:
    settings = Settings(cache_dir=str(tmp_path / "cache"))
    url = (tmp_path / "bucket").as_uri()
    return asyncio.run(build_tables([tmp_path / "leaves"], url, settings=settings, embedder=HashEmbedder()))


def published(tmp_path: Path) -> list[bytes | None]:
    bucket = open_bucket((tmp_path / "bucket").as_uri())
    with closing(reader.fetch(bucket, "built-in", ["documents"], tmp_path / "cache")) as release:
        return list(Documents(release.paths["documents"]).every())


AWKWARD = [
    b"\xef\xbb\xbf---\r\ntitle: A mark, carriage returns\r\nrepresentativeQueries: [a?]\r\n---\r\n\r\n# Schema\r\n",
    b"---\n# a comment, and a date as it was written\ntitle: 2020-01-01\nrepresentativeQueries:\n- b?\n---\nno newline",
    b"---\ntitle: not UTF-8 \xff\n---\n",
    b"",
]


def test_every_file_is_published_byte_for_byte(tmp_path: Path, leaves: Path) -> None:
    for number, content in enumerate(AWKWARD):
        (leaves / f"sources/census/awkward-{number}.md").write_bytes(content)
    build(tmp_path)
    collected = collect([leaves])
    paths = [*(leaf.path for leaf in collected.leaves), *(source.path for source in collected.sources)]
    assert len(paths) == 15 + len(AWKWARD) + 3
    assert published(tmp_path) == [(leaves / str(path)).read_bytes() for path in paths]


def test_a_file_too_large_to_read_is_not_kept(tmp_path: Path, leaves: Path) -> None:
    (leaves / "sources/census/large.md").write_bytes(b"---\ntitle: Large\n---\n" + b"x" * 1_000_000)
    build(tmp_path)
    assert published(tmp_path).count(None) == 1


def test_a_change_that_no_field_shows_makes_another_release(tmp_path: Path, leaves: Path) -> None:
    first = build(tmp_path)
    path = leaves / "sources/census/dp03-0062e.md"
    path.write_bytes(path.read_bytes().replace(b"---\n", b"---\n# reviewed\n", 1))
    second = build(tmp_path)
    assert (second.status, second.embedded) == ("published", 0)
    assert second.release != first.release
    assert path.read_bytes() in published(tmp_path)


def test_a_file_that_changes_while_it_is_built_stops_the_build(tmp_path: Path, leaves: Path) -> None:
    collected = collect([leaves])
    (leaves / "sources/census/dp03-0062e.md").write_text("changed")
    with pytest.raises(BuildError, match=r"sources/census/dp03-0062e\.md was changed while the build ran"):
        list(documents_of(collected))


def test_documents_that_are_not_the_collected_ones_are_refused_by_name(tmp_path: Path, leaves: Path) -> None:
    collected = collect([leaves])
    documents = list(documents_of(collected))
    write_documents(tmp_path / "documents.db", documents[::-1])
    with pytest.raises(BuildError, match=r"documents\.db: sources/census/dp02-0068e\.md is not the file"):
        verify_documents(tmp_path / "documents.db", collected)
