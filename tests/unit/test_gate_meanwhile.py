"""A build at the gate when the current release is not what it takes it for: replaced, unreadable, another kind's."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bag_embedder import BagEmbedder
from releases import CATALOG, a_bucket, a_manifest, published, some_files
from test_build_items import DAL, ROTI, written
from test_build_items import build as build_recipes
from test_build_tables import manifest
from test_gate import LIMITS, scores
from test_gate_builds import THINGS, build, pointed, status, write_leaves

from build_jobs.gate import Gate
from build_jobs.progress import Progress, Told
from build_jobs.publish import publish
from build_jobs.samples import Asked, Question, Suite
from build_jobs.standing import Current, compare
from shared.bucket.base import open_bucket
from shared.contracts.status import Scores, Status
from shared.errors import BuildError, ModelUnavailable, PreconditionFailed, ReleaseIncompatible
from shared.release import manifest as manifests
from shared.release import reader, writer


def once_at(stage: str, act: Callable[[], object]) -> Told:
    """Do something beside a build, to its end, when it first tells of a stage: in a thread with a loop of its own."""
    left = [act]

    def told(progress: Progress) -> None:
        if progress.stage == stage and left:
            beside = threading.Thread(target=left.pop())
            beside.start()
            beside.join()

    return told


def verdicts(checks: list[Any], name: str) -> list[str]:
    return [check.verdict for check in checks if check.name == name]


@pytest.mark.parametrize("first", [True, False], ids=["over an older release", "over none"])
def test_a_release_that_was_published_while_another_was_built_is_not_replaced_unseen(
    tmp_path: Path, first: bool
) -> None:
    few, more = write_leaves(tmp_path / "few"), write_leaves(tmp_path / "more", source="tides")
    if first:
        build(tmp_path, roots=[write_leaves(tmp_path / "leaves", THINGS[:11])])
    winner: list[str | None] = []
    told = once_at("embed", lambda: winner.append(build(tmp_path, roots=[few, more]).release))
    with pytest.raises(BuildError, match=r"release \S+ was published while this one was built.*[Rr]un .* again"):
        build(tmp_path, roots=[few], told=told)
    assert [pointed(tmp_path)] == winner
    with pytest.raises(BuildError, match="source tides: rows fell from 12 to 0"):
        build(tmp_path, roots=[few])


def test_who_forces_over_a_release_that_was_published_meanwhile_has_it_written_down(tmp_path: Path) -> None:
    few, more = write_leaves(tmp_path / "few"), write_leaves(tmp_path / "more", source="tides")
    told = once_at("embed", lambda: build(tmp_path, roots=[few, more]))
    assert build(tmp_path, roots=[few], told=told, force=True).release == pointed(tmp_path)
    assert (verdicts(status(tmp_path).checks, "current"), status(tmp_path).forced) == (["failed"], True)
    assert manifest(tmp_path).gate["forced"] == 1


def test_the_same_inputs_published_meanwhile_are_left_current(tmp_path: Path) -> None:
    leaves = write_leaves(tmp_path / "leaves")
    winner: list[str | None] = []
    told = once_at("embed", lambda: winner.append(build(tmp_path, roots=[leaves]).release))
    report = build(tmp_path, roots=[leaves], told=told)
    assert [report.release, pointed(tmp_path)] == winner * 2
    assert any("the same inputs first" in note for note in report.notes)


def test_items_that_were_published_while_others_were_built_are_not_replaced_unseen(tmp_path: Path) -> None:
    dal, both = written(tmp_path, DAL, name="dal.jsonl"), written(tmp_path, DAL, ROTI, name="both.jsonl")
    winner: list[str | None] = []
    told = once_at("embed", lambda: winner.append(build_recipes(tmp_path, both).release))
    with pytest.raises(BuildError, match=r"release \S+ was published while this one was built"):
        build_recipes(tmp_path, dal, told=told)
    assert [reader.current(open_bucket((tmp_path / "bucket").as_uri()), "recipes").release] == winner


def test_a_release_that_is_published_while_files_are_sent_or_loaded_is_not_replaced_unseen(tmp_path: Path) -> None:
    """The last look is that of the conditional write: between it and the gate there may be an hour of loading."""
    bucket = a_bucket(tmp_path)
    before = published(bucket, tmp_path)
    other: list[str] = []

    def meanwhile(_: str) -> None:
        other.append(published(bucket, tmp_path, f"other-{len(other)}", label="other", inputs_digest="1" * 64))

    ours, files = a_manifest(inputs_digest="2" * 64), some_files(tmp_path, "ours")
    with pytest.raises(BuildError, match=r"was published while this one was built"):
        publish(bucket, ours, files, expected=before, before_switch=meanwhile)
    assert reader.current(bucket, CATALOG).release == other[-1]
    with pytest.raises(BuildError, match=other[-1]):  # and nothing is loaded for what cannot win any more
        publish(bucket, ours, files, expected=before, before_switch=meanwhile)
    assert len(other) == 1
    done = publish(bucket, ours, files, expected=before, before_switch=meanwhile, force=True)
    assert (done.switched, reader.current(bucket, CATALOG).release) == (True, done.release)
    assert other[-1] in done.notes[0]
    assert "not compared" in done.notes[0]


def test_a_switch_from_a_release_fails_where_another_is_current(tmp_path: Path) -> None:
    bucket = a_bucket(tmp_path)
    first = writer.write(bucket, a_manifest(), some_files(tmp_path))
    assert writer.switch_from(bucket, CATALOG, first, None).previous is None
    second = writer.write(bucket, a_manifest(label="second"), some_files(tmp_path, "b"))
    for wrong in (None, second):
        with pytest.raises(PreconditionFailed, match=first):
            writer.switch_from(bucket, CATALOG, second, wrong)
    assert writer.switch_from(bucket, CATALOG, second, first).previous == first
    assert writer.switch_from(bucket, CATALOG, second, first).release == second


def compared(old: float, *, force: bool = False) -> Gate:
    """The gate after suite `old`, whose score of .90 the ledger has, and `new`, which nobody can be asked now."""

    async def ask(missing: Any) -> Asked:
        assert [suite.name for suite in missing] == ["new"]
        raise ModelUnavailable("no weights")

    ledger = Status(version=1, judge="j", forced=False, checks=[], sources={}, scores={"old": scores(recall=0.9)})
    asked: dict[str, Scores] = {"old": scores(recall=old), "new": scores(recall=0.5)}
    gate, suites = Gate(LIMITS, force=force), [Suite(name, list[Question](), "") for name in asked]
    asyncio.run(compare(gate, Current("R", a_manifest(), ledger), suites, Asked(scores=asked), ask))
    return gate


def test_a_suite_that_cannot_be_asked_takes_only_itself_out_of_the_gate() -> None:
    with pytest.raises(BuildError, match=r"\(scores\): suite old: R@10 fell from 0\.900 to 0\.100"):
        compared(0.1)
    assert verdicts(compared(0.1, force=True).checks, "scores") == ["failed", "skipped"]
    passed, skipped = compared(0.9).checks
    assert (passed.verdict, "old" in passed.message, "new" in passed.message) == ("passed", True, False)
    assert (skipped.verdict, "old" in skipped.message, "new" in skipped.message) == ("skipped", False, True)
    assert "no weights" in skipped.message


def repointed(tmp_path: Path, catalog: str, data: bytes, release_id: str) -> None:
    """Put a manifest of these bytes into the bucket and make it current, unseen by any check."""
    bucket = open_bucket((tmp_path / "bucket").as_uri())
    bucket.put(manifests.manifest_key(catalog, release_id), data)
    pointer = json.loads(bucket.read(manifests.pointer_key(catalog)))
    bucket.put(manifests.pointer_key(catalog), json.dumps({**pointer, "release": release_id}).encode())


def break_current(tmp_path: Path, how: str, catalog: str = CATALOG) -> None:
    bucket = open_bucket((tmp_path / "bucket").as_uri())
    current = reader.current(bucket, catalog).release
    data = bucket.read(manifests.manifest_key(catalog, current))
    if how == "altered":
        repointed(tmp_path, catalog, data.replace(b'"rows":12', b'"rows":13'), current)
    elif how == "newer":
        later = data.replace(b'"format_version":2', b'"format_version":3')
        repointed(tmp_path, catalog, later, f"{current.partition('-')[0]}-{hashlib.sha256(later).hexdigest()[:12]}")
    else:
        bucket.delete(manifests.manifest_key(catalog, current))


@pytest.mark.parametrize(
    ("how", "said"),
    [("altered", "expected a sha256"), ("newer", "format_version: expected 1 or 2, found 3"), ("gone", "is missing")],
)
def test_a_current_release_that_cannot_be_read_is_replaced_by_force_alone(tmp_path: Path, how: str, said: str) -> None:
    write_leaves(tmp_path / "leaves")
    build(tmp_path)
    break_current(tmp_path, how)
    broken, embedder = pointed(tmp_path), BagEmbedder()
    with pytest.raises(BuildError, match=rf"\(current\): the current release cannot be read: .*{said}.*--force"):
        build(tmp_path, embedder)
    assert (pointed(tmp_path), embedder.texts) == (broken, [])
    planned = build(tmp_path, dry_run=True)
    assert planned.plan is not None
    assert "cannot be read" in planned.plan.gate[0]
    forced = build(tmp_path, force=True)
    assert (forced.status, pointed(tmp_path)) == ("published", forced.release)
    assert verdicts(status(tmp_path).checks, "current") == ["failed"]
    assert verdicts(status(tmp_path).checks, "sources") == ["skipped"]
    assert status(tmp_path).forced
    assert build(tmp_path).status == "unchanged"


def test_a_current_release_of_items_that_cannot_be_read_is_replaced_by_force_alone(tmp_path: Path) -> None:
    dal = written(tmp_path, DAL)
    build_recipes(tmp_path, dal)
    break_current(tmp_path, "gone", "recipes")
    with pytest.raises(BuildError, match=r"\(current\): the current release cannot be read"):
        build_recipes(tmp_path, dal)
    assert build_recipes(tmp_path, dal, force=True).status == "published"


def test_a_pointer_that_cannot_be_read_is_refused_by_name_before_anything_is_embedded(tmp_path: Path) -> None:
    write_leaves(tmp_path / "leaves")
    build(tmp_path)
    open_bucket((tmp_path / "bucket").as_uri()).put(manifests.pointer_key(CATALOG), b"{")
    for force in (False, True):  # no conditional write could replace what cannot be read
        embedder = BagEmbedder()
        with pytest.raises(ReleaseIncompatible, match=r"built-in/current\.json"):
            build(tmp_path, embedder, force=force)
        assert embedder.texts == []


@pytest.mark.parametrize("how", ["altered", "gone"])
def test_a_ledger_that_cannot_be_read_is_said_where_less_is_compared_without_it(tmp_path: Path, how: str) -> None:
    write_leaves(tmp_path / "leaves", THINGS[:11])
    build(tmp_path)
    bucket = open_bucket((tmp_path / "bucket").as_uri())
    ledger = next(file for file in manifest(tmp_path).files if file.role == "status")
    bucket.delete(manifests.file_key(CATALOG, ledger.sha256))
    if how == "altered":
        bucket.put(manifests.file_key(CATALOG, ledger.sha256), b"{}")
    write_leaves(tmp_path / "leaves")
    build(tmp_path)
    assert verdicts(status(tmp_path).checks, "sources") == ["passed", "skipped"]
    assert any("only rows" in check.message and "ledger" in check.message for check in status(tmp_path).checks)


@pytest.mark.parametrize("options", [{}, {"force": True}, {"dry_run": True}], ids=str)
def test_a_release_of_another_kind_is_never_replaced(tmp_path: Path, options: dict[str, Any]) -> None:
    build_recipes(tmp_path, written(tmp_path, DAL))
    write_leaves(tmp_path / "leaves")
    with pytest.raises(BuildError, match=r"catalog 'recipes' holds items.*tables.*--catalog"):
        build(tmp_path, catalog="recipes", **options)
    build(tmp_path)
    with pytest.raises(BuildError, match=r"catalog 'built-in' holds tables.*items.*--catalog"):
        build_recipes(tmp_path, tmp_path / "recipes.jsonl", catalog=CATALOG, **options)
