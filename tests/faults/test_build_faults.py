"""Builds that are killed, run twice, raced or fed bad vectors: the pointer only ever names a verified release."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "unit"))

from test_build_embed import HashEmbedder
from test_build_tables import AWKWARD, CATALOG, build, everything, files, manifest

from build_jobs import index
from build_jobs.build_report import BuildReport
from build_jobs.collect import collect
from build_jobs.embed import Embedded, signatures_of
from build_jobs.progress import Progress
from build_jobs.publish import check_writable
from build_jobs.rate import Shard
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


def many_leaves(root: Path, count: int = 400) -> Path:
    """A leaf root with two sources: enough for several batches, and one text that stands in both halves."""
    for source in ("rain", "snow"):
        folder = root / "sources" / source
        folder.mkdir(parents=True)
        (folder / "_access.md").write_text(f"---\npublisher: {source}.example.org\n---\n", encoding="utf-8")
        for number in range(count // 2):
            title = "Said twice" if number == 7 else f"{source} at station {number}"
            text = f"---\ntitle: {title}\nvariable: V{number}\nrepresentativeQueries: [how much]\n---\n"
            (folder / f"{number:04}.md").write_text(text, encoding="utf-8")
    return root


def tasks(tmp_path: Path, order: Sequence[int], of: int = 4, **options: Any) -> list[BuildReport]:
    """The tasks of a build in this order, each as a machine of its own: with no cache but its own."""
    reports = []
    for place, task in enumerate(order):
        machine = tmp_path / f"machine-{place}"
        building = build_tables(
            [tmp_path / "leaves"],
            (tmp_path / "bucket").as_uri(),
            settings=Settings(cache_dir=str(machine)),
            embedder=options.pop("embedder", None) or HashEmbedder(),
            shard=Shard(task, of),
            **options,
        )
        reports.append(asyncio.run(building))
    return reports


def shared_files(tmp_path: Path) -> list[str]:
    return list(open_bucket((tmp_path / "bucket").as_uri()).keys(f"{CATALOG}/builds/"))


def test_B01_one_task_and_four_in_any_order_give_the_same_bytes(tmp_path: Path) -> None:
    roots = [many_leaves(tmp_path / "leaves")]
    build(tmp_path, bucket="alone", roots=roots)
    reports = tasks(tmp_path, [2, 0, 3, 1])
    assert [report.status for report in reports] == ["waiting", "waiting", "waiting", "published"]
    assert [report.waiting_for for report in reports] == [[0, 1, 3], [1, 3], [1], []]
    assert sum(report.embedded for report in reports) == 399  # two of the 400 say the same
    assert manifest(tmp_path).files == manifest(tmp_path, "alone").files
    assert shared_files(tmp_path) == []


def test_B01_a_task_that_runs_twice_or_late_embeds_nothing_and_changes_nothing(tmp_path: Path) -> None:
    many_leaves(tmp_path / "leaves")
    twice = tasks(tmp_path, [0, 0], of=2)
    assert [report.embedded for report in twice] == [200, 0]
    tasks(tmp_path, [1], of=2)
    before = everything(tmp_path / "bucket")
    late = HashEmbedder()
    assert [report.status for report in tasks(tmp_path, [0, 1], of=2, embedder=late)] == ["unchanged", "unchanged"]
    assert late.calls == 0
    assert everything(tmp_path / "bucket") == before


def test_B01_a_killed_task_goes_on_where_it_was_on_another_machine(tmp_path: Path) -> None:
    many_leaves(tmp_path / "leaves")
    with pytest.raises(BuildError, match="What was embedded is kept"):
        tasks(tmp_path, [0], of=2, embedder=HashEmbedder(fail_after=1))
    [again] = tasks(tmp_path, [0], of=2)
    assert (again.resumed, again.embedded) == (96, 200 - 96)


def test_tasks_that_do_not_merge_leave_the_release_to_a_build_without_one(tmp_path: Path) -> None:
    roots = [many_leaves(tmp_path / "leaves")]
    assert [report.status for report in tasks(tmp_path, [0, 1], of=2, merge=False)] == ["waiting", "waiting"]
    embedder = HashEmbedder()
    merged = build(tmp_path, roots=roots, embedder=embedder)
    assert (merged.status, merged.embedded, merged.resumed) == ("published", 0, 399)
    assert shared_files(tmp_path) == []


def test_B01_tasks_that_read_other_leaves_never_make_one_release(tmp_path: Path) -> None:
    many_leaves(tmp_path / "leaves")
    tasks(tmp_path, [0], of=2)
    (tmp_path / "leaves/sources/rain/0001.md").unlink()
    [report] = tasks(tmp_path, [1], of=2)
    assert (report.status, report.waiting_for) == ("waiting", [0])
    assert reader_finds_nothing(tmp_path)


def reader_finds_nothing(tmp_path: Path) -> bool:
    return open_bucket((tmp_path / "bucket").as_uri()).size(f"{CATALOG}/current.json") is None


# Builds in forked children, so that Python starts once: each is killed from outside at a random moment of its run.
KILLED = """
import asyncio, json, os, random, signal, sys, time
sys.path[:0] = {paths!r}
from pathlib import Path
from test_build_embed import HashEmbedder
from build_jobs.rate import Shard
from build_jobs.run import build_tables
from shared.bucket.base import open_bucket
from shared.errors import ReleaseMissing
from shared.release import reader, writer
from shared.settings import Settings

leaves, folder = Path({leaves!r}), Path({folder!r})

def run(name, shards):
    for shard in shards:
        settings = Settings(cache_dir=str(folder / name / "cache"))
        asyncio.run(build_tables([leaves], (folder / name / "bucket").as_uri(), settings=settings,
                                 embedder=HashEmbedder(), shard=shard))

def child(name, shards):
    pid = os.fork()
    if pid == 0:
        run(name, shards)
        os._exit(0)
    return pid

def killed(name, shards, after_s):
    pid = child(name, shards)
    time.sleep(after_s)
    os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])

def pointed(name):
    bucket = open_bucket((folder / name / "bucket").as_uri())
    listed = {{one.id: one for one in writer.releases(bucket, "built-in")}}
    try:
        return listed[reader.current(bucket, "built-in").release].complete
    except ReleaseMissing:
        return None

started = time.monotonic()
run("undisturbed", [Shard()])
took_s, draw, found = time.monotonic() - started, random.Random(7), []
for moment in range({moments}):
    name, shards = f"run-{{moment}}", [Shard()] if moment % 2 else [Shard(i, 3) for i in range(3)]
    after_s = draw.random() * took_s
    while not killed(name, shards, after_s):  # it was faster this time: begin anew, and kill it earlier
        after_s, name = after_s / 2, name + "x"
    between = pointed(name)
    run(name, shards)
    bucket = open_bucket((folder / name / "bucket").as_uri())
    current = reader.current(bucket, "built-in").release
    files = {{file.role: file.sha256 for file in reader.read_manifest(bucket, "built-in", current).files}}
    found.append([between, pointed(name), files, len(list(bucket.keys("built-in/builds/sending/")))])
print(json.dumps(found))
"""
MOMENTS = 20


def test_B01_a_build_killed_at_twenty_random_moments_is_completed_by_the_next_run(tmp_path: Path) -> None:
    """The pointer names a complete release or none, and what comes of it is the same whatever was interrupted."""
    root = Path(__file__).parent.parent
    program = KILLED.format(
        paths=[str(root / "unit"), str(root.parent)],
        leaves=str(many_leaves(tmp_path / "leaves", 200)),
        folder=str(tmp_path),
        moments=MOMENTS,
    )
    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert len(found) == MOMENTS
    assert {between for between, _, _, _ in found} <= {None, True}
    assert all(after is True for _, after, _, _ in found)
    assert len({json.dumps(files) for _, _, files, _ in found}) == 1


def test_a_run_that_is_interrupted_says_how_to_go_on(tmp_path: Path) -> None:
    """Ctrl-C in the middle of embedding, sent by the embedder itself to the command's process."""
    program = f"""
import os, signal, sys
sys.path[:0] = {[str(Path(__file__).parent.parent / "unit"), str(Path(__file__).parent.parent.parent)]!r}
from test_build_embed import HashEmbedder
import build_jobs.run
from cli.main import main

# A shell that runs tests in the background lets its children ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupted(HashEmbedder):
    async def embed(self, texts, kind, ledger):
        if self.calls == 1:
            os.kill(os.getpid(), signal.SIGINT)
            import asyncio
            await asyncio.sleep(60)
        return await super().embed(texts, kind, ledger)

build_jobs.run.open_build_embedder = lambda *_: Interrupted()
sys.exit(main(["build", "tables", "--leaves", {str(many_leaves(tmp_path / "leaves"))!r},
               "--bucket", {(tmp_path / "bucket").as_uri()!r}]))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True,
        env={**os.environ, "CACHE_DIR": str(tmp_path / "cache"), "LLM_PROVIDER": "none"},
    )  # fmt: skip
    assert ended.returncode == 130, ended.stderr
    assert "the same command goes on" in ended.stderr
    assert "Traceback" not in ended.stderr
    report = build(tmp_path, roots=[tmp_path / "leaves"])
    assert (report.status, report.resumed) == ("published", 96)
