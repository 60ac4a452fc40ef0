"""Builds that are killed, run twice, raced or fed bad vectors: the pointer only ever names a verified release."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "unit"))

from test_build_embed import HashEmbedder
from test_build_tables import AWKWARD, CATALOG, build, everything, files, manifest

from build_jobs import index
from build_jobs.collect import collect
from build_jobs.embed import Embedded, signatures_of
from build_jobs.progress import Progress
from build_jobs.publish import check_writable
from build_jobs.run import build_tables
from build_jobs.verify import verify
from shared.bucket.base import open_bucket
from shared.errors import AskbucketError, BucketError, BuildError, CacheUnusable
from shared.index.records import write_records
from shared.index.scan import write_vectors
from shared.models.ledger import Ledger
from shared.release import reader, writer
from shared.settings import Settings

STAGES = ["collect", "embed", "index", "verify", "publish"]


class Killed(BaseException):
    """Stands for the end of the process at that very moment."""


def kill_at(stage: str) -> object:
    def told(progress: Progress) -> None:
        if progress.stage == stage:
            raise Killed(stage)

    return told


@pytest.mark.parametrize("stage", STAGES)
def test_B01_a_build_killed_in_any_stage_leaves_the_old_release_and_its_rerun_the_same_bytes(
    tmp_path: Path, stage: str
) -> None:
    build(tmp_path, bucket="undisturbed")
    with pytest.raises(Killed):
        build(tmp_path, told=kill_at(stage))
    bucket = open_bucket((tmp_path / "bucket").as_uri())
    switched = stage == "publish"  # told after the pointer moved
    assert (bucket.size(f"{CATALOG}/current.json") is not None) == switched
    again = build(tmp_path)
    assert again.status == ("unchanged" if switched else "published")
    assert manifest(tmp_path).files == manifest(tmp_path, "undisturbed").files


def test_B01_a_process_killed_while_embedding_goes_on_where_it_was(tmp_path: Path) -> None:
    """A real SIGKILL in a real process, sent by the embedder itself in its second batch."""
    program = f"""
import asyncio, os, signal, sys
sys.path[:0] = {[str(Path(__file__).parent.parent / "unit"), str(Path(__file__).parent.parent.parent)]!r}
from pathlib import Path
from test_build_embed import HashEmbedder, LEAVES
from build_jobs.embed import Checkpoints, embed_leaves
from shared.models.ledger import Ledger

class Dying(HashEmbedder):
    async def embed(self, texts, kind, ledger):
        if self.calls == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().embed(texts, kind, ledger)

kept = Checkpoints(Path({str(tmp_path)!r}), 16)
asyncio.run(embed_leaves(LEAVES, Dying(), known={{}}, checkpoints=kept, ledger=Ledger()))
"""
    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    from test_build_embed import LEAVES, run

    embedded, _ = run(HashEmbedder(), tmp_path)
    assert (embedded.resumed, embedded.embedded) == (96, len(LEAVES) - 96)


def test_B01_two_builds_at_once_end_with_one_complete_release(tmp_path: Path) -> None:
    together = threading.Barrier(2, timeout=60)
    ended: list[object] = []

    def told(progress: Progress) -> None:
        if progress.stage == "verify":
            together.wait()

    def one() -> None:
        try:
            ended.append(build(tmp_path, told=told).release)
        except AskbucketError as error:
            ended.append(error)

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(end, str) for end in ended)
    bucket = open_bucket((tmp_path / "bucket").as_uri())
    pointer = reader.current(bucket, CATALOG)
    assert len(ended) == 2
    assert pointer.release in ended
    assert all(listed.complete for listed in writer.releases(bucket, CATALOG))
    assert {file.sha256 for file in manifest(tmp_path).files} == {
        path.name for path in (tmp_path / "bucket" / CATALOG / "files").iterdir() if not path.name.startswith(".")
    }


def test_B03_vectors_that_a_provider_reordered_are_never_published(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="its vector is not its text's"):
        build(tmp_path, embedder=HashEmbedder(twist=lambda vectors: vectors[::-1]))
    assert everything(tmp_path / "bucket") == {}


def test_B03_a_reordered_batch_is_not_reused_after_it_was_found(tmp_path: Path) -> None:
    with pytest.raises(BuildError):
        build(tmp_path, embedder=HashEmbedder(twist=lambda vectors: vectors[::-1]))
    report = build(tmp_path)
    assert (report.status, report.resumed) == ("published", 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0, 3.0], ids=["NaN", "Inf", "zero", "unnormalised"])
def test_R05_a_row_that_is_no_unit_vector_is_refused_with_its_leaf(tmp_path: Path, bad: float) -> None:
    paths, collected, embedded = written(tmp_path)
    vectors = embedded.vectors.copy()
    vectors[4] = bad
    write_vectors(paths["vectors"], vectors)
    with pytest.raises(BuildError, match=rf"row 4 \({collected.leaves[4].path}\) is no unit vector"):
        verify(paths, collected.leaves, embedded.signatures, 16)


def test_a_row_more_or_less_in_one_file_is_refused(tmp_path: Path) -> None:
    paths, collected, embedded = written(tmp_path)
    write_vectors(paths["vectors"], embedded.vectors[:-1])
    with pytest.raises(BuildError, match=r"vectors\.npy: expected 14 x 16, found 13 x 16"):
        verify(paths, collected.leaves, embedded.signatures, 16)


def test_records_in_another_order_than_the_matrix_are_refused(tmp_path: Path) -> None:
    paths, collected, embedded = written(tmp_path)
    write_records(paths["records"], collected.leaves[::-1], collected.sources, embedded.signatures[::-1])
    with pytest.raises(BuildError, match=r"records\.db: row 0: expected urn:air"):
        verify(paths, collected.leaves, embedded.signatures, 16)


def test_a_file_that_cannot_be_opened_is_refused_by_name(tmp_path: Path) -> None:
    paths, collected, embedded = written(tmp_path)
    paths["lexical.rows"].write_bytes(b"")
    with pytest.raises(BuildError, match=r"cannot be opened: lexical\.rows"):
        verify(paths, collected.leaves, embedded.signatures, 16)


def written(tmp_path: Path) -> tuple[dict[str, Path], object, Embedded]:
    collected = collect([AWKWARD])
    texts = [leaf.text for leaf in collected.leaves]
    vectors = asyncio.run(HashEmbedder().embed(texts, "document", Ledger())).astype(np.float16)
    embedded = Embedded(vectors, signatures_of(collected.leaves, "test/hash"), 0, 0, len(texts))
    return index.write_index(tmp_path / "index", collected, embedded), collected, embedded


def test_a_damaged_current_release_costs_its_vectors_but_not_the_build(tmp_path: Path) -> None:
    build(tmp_path)
    path = files(tmp_path)["vectors"]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1])
    report = build(tmp_path, force=True)
    assert (report.status, report.reused) == ("published", 0)
    assert any("no vector of the current release was reused" in note for note in report.notes)
    assert everything(tmp_path / "bucket")


def test_R13_broken_leaves_are_in_the_release_flagged_and_in_the_report(tmp_path: Path) -> None:
    report = build(tmp_path)
    assert set(report.as_json()["unreadable"]) == {
        f"sources/mixed/{name}.md" for name in ("broken-yaml", "empty", "never-closed")
    }


def unusable(kind: str, tmp_path: Path) -> Path:
    """A path at which no folder of this user's alone can be: root may write anywhere but in /proc."""
    if kind == "open to others":
        (tmp_path / "open").mkdir()
        (tmp_path / "open").chmod(0o777)
        return tmp_path / "open"
    (tmp_path / "taken").write_text("no folder")
    return {"a file": tmp_path / "taken", "below a file": tmp_path / "taken" / "x", "in /proc": Path("/proc/x/y")}[kind]


@pytest.mark.parametrize("kind", ["a file", "below a file", "in /proc", "open to others"])
def test_a_cache_that_cannot_be_used_is_refused_by_name_before_anything_is_embedded(tmp_path: Path, kind: str) -> None:
    embedder = HashEmbedder()
    settings = Settings(cache_dir=str(unusable(kind, tmp_path)))
    building = build_tables([AWKWARD], (tmp_path / "bucket").as_uri(), settings=settings, embedder=embedder)
    with pytest.raises(CacheUnusable, match=r"^CACHE_DIR.*set it to a folder") as refused:
        asyncio.run(building)
    assert (embedder.calls, str(tmp_path) in refused.value.message) == (0, False)


def test_a_work_folder_that_goes_while_a_build_runs_is_an_error_that_names_the_cache(tmp_path: Path) -> None:
    def told(progress: Progress) -> None:
        if progress.stage == "embed" and (tmp_path / "cache").is_dir():
            shutil.rmtree(tmp_path / "cache")
            (tmp_path / "cache").write_text("no folder")

    with pytest.raises(CacheUnusable, match=r"^CACHE_DIR cannot be used"):
        build(tmp_path, told=told)


@pytest.mark.parametrize("kind", ["a file", "below a file", "in /proc"])
def test_a_bucket_that_cannot_be_written_is_found_before_anything_is_embedded(tmp_path: Path, kind: str) -> None:
    embedder, url = HashEmbedder(), unusable(kind, tmp_path).as_uri()
    building = build_tables([AWKWARD], url, settings=Settings(cache_dir=str(tmp_path / "cache")), embedder=embedder)
    with pytest.raises(BucketError, match=re.escape(f"{url} cannot be written")):
        asyncio.run(building)
    assert embedder.calls == 0


def test_looking_whether_a_bucket_can_be_written_leaves_nothing_in_it(tmp_path: Path) -> None:
    bucket = open_bucket((tmp_path / "bucket").as_uri())
    check_writable(bucket, CATALOG)
    assert list(bucket.keys("")) == []


def test_a_leaf_that_goes_while_a_build_runs_is_named(tmp_path: Path) -> None:
    shutil.copytree(AWKWARD, tmp_path / "leaves")
    leaf = min((tmp_path / "leaves").rglob("[a-z]*.md"))

    def told(progress: Progress) -> None:
        if progress.stage == "embed":
            leaf.unlink(missing_ok=True)

    with pytest.raises(BuildError, match=re.escape(leaf.name)):
        build(tmp_path, told=told, roots=[tmp_path / "leaves"])
