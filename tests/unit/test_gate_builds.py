"""Whole builds at the gate: what falls behind the current release is not published, and the message names it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from bag_embedder import BagEmbedder
from test_build_tables import CATALOG, manifest

from build_jobs.build_report import BuildReport
from build_jobs.items.build import build_items
from build_jobs.run import build_tables
from build_jobs.samples import Suite, read_table_suites
from shared.bucket.base import open_bucket
from shared.contracts.status import Status, parse
from shared.errors import BuildError
from shared.models.provider import Embedder
from shared.release import manifest as manifests
from shared.release import reader
from shared.settings import Settings
from shared.sites.kinds import KINDS

THINGS = ("rain", "snow", "wind", "income", "rent", "births", "wheat", "steel", "coal", "tourists", "patents", "fish")


def write_leaves(root: Path, things: tuple[str, ...] = THINGS, source: str = "weather") -> Path:
    """A leaf root with one source, a leaf a thing."""
    folder = root / "sources" / source
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "_access.md").write_text("---\npublisher: figures.example.org\nentityType: a town\n---\n")
    for thing in things:
        text = f"---\ntitle: Yearly {thing}\nvariable: V_{thing}\nrepresentativeQueries:\n- how much {thing}\n---\n"
        (folder / f"{thing}.md").write_text(text)
    return root


def suites(tmp_path: Path, things: tuple[str, ...] = THINGS) -> list[Suite[Any]]:
    path = tmp_path / "asked.yaml"
    path.write_text("".join(f"- question: how much {thing}\n  answers: [V_{thing}]\n" for thing in things))
    return read_table_suites([path], [])


def build(tmp_path: Path, embedder: Embedder | None = None, **options: Any) -> BuildReport:
    roots = options.pop("roots", [tmp_path / "leaves"])
    settings = Settings(cache_dir=str(tmp_path / "cache"), llm_provider="none")
    building = build_tables(
        roots, (tmp_path / "bucket").as_uri(), settings=settings, embedder=embedder or BagEmbedder(), **options
    )
    return asyncio.run(building)


def status(tmp_path: Path) -> Status:
    bucket, current = open_bucket((tmp_path / "bucket").as_uri()), manifest(tmp_path)
    file = next(file for file in current.files if file.role == "status")
    return parse(bucket.read(manifests.file_key(CATALOG, file.sha256)))


def pointed(tmp_path: Path) -> str:
    return reader.current(open_bucket((tmp_path / "bucket").as_uri()), CATALOG).release


def test_a_release_keeps_what_its_questions_got_and_what_its_gate_said(tmp_path: Path) -> None:
    write_leaves(tmp_path / "leaves")
    report = build(tmp_path, suites=suites(tmp_path))
    kept = status(tmp_path)
    assert [(check.name, check.verdict) for check in kept.checks] == [
        ("sources", "skipped"), ("files", "passed"), ("urns", "passed"), ("vectors", "passed"), ("scores", "skipped"),
    ]  # fmt: skip
    assert kept.scores["asked"].recall_at_10 == 1.0
    assert kept.sources == {"weather": {"rows": 12, "readable": 12, "coded": 12}}
    rain = kept.questions[0]
    assert (rain.text, rain.verdict, rain.rank) == ("how much rain", "right", 1)
    assert rain.expected == ["urn:air:figures.example.org:okf:weather.rain"]
    assert rain.results[0].identifier == rain.expected[0]
    gate = manifest(tmp_path).gate
    assert (gate["questions"], gate["recall_at_10"]) == (12, 1.0)
    assert "forced" not in gate
    assert report.as_json()["scores"]["asked"]["recall_at_10"] == 1.0


def test_B04_a_worse_index_is_refused_and_the_last_good_release_stays(tmp_path: Path) -> None:
    write_leaves(tmp_path / "leaves")
    asked = suites(tmp_path)
    good = build(tmp_path, suites=asked).release
    with pytest.raises(BuildError, match=r"\(scores\): suite asked: .* fell from 1\.000 to 0\.\d+.*--force"):
        build(tmp_path, BagEmbedder(deaf=True), suites=asked)
    assert pointed(tmp_path) == good
    forced = build(tmp_path, BagEmbedder(deaf=True), suites=asked, force=True)
    assert pointed(tmp_path) == forced.release != good
    assert manifest(tmp_path).gate["forced"] == 1
    assert status(tmp_path).forced
    assert next(check for check in status(tmp_path).checks if check.name == "scores").verdict == "failed"


def test_questions_that_the_current_release_was_never_asked_are_put_to_it(tmp_path: Path) -> None:
    """The index is as good as it was: it is the new questions that are harder, for the current release as well."""
    write_leaves(tmp_path / "leaves")
    build(tmp_path, suites=suites(tmp_path, THINGS[:4]))
    harder = tmp_path / "asked.yaml"
    harder.write_text(f"{harder.read_text()}- question: quantity of moonlight\n  answers: [V_rain]\n")
    report = build(tmp_path, suites=read_table_suites([harder], []))
    scored = next(check for check in status(tmp_path).checks if check.name == "scores")
    assert (report.status, scored.verdict) == ("published", "passed")
    assert report.asked.scores["asked"].mrr is not None
    assert report.asked.scores["asked"].mrr < 1


def test_B02_a_source_that_shrank_is_refused_before_anything_is_embedded(tmp_path: Path) -> None:
    write_leaves(tmp_path / "leaves")
    good = build(tmp_path).release
    write_leaves(tmp_path / "leaves", THINGS[:9])
    embedder = BagEmbedder()
    with pytest.raises(BuildError, match=r"\(sources\): source weather: rows fell from 12 to 9"):
        build(tmp_path, embedder)
    assert (pointed(tmp_path), embedder.texts) == (good, [])
    planned = build(tmp_path, dry_run=True)
    assert planned.plan is not None
    assert "source weather: rows fell from 12 to 9" in planned.plan.gate[0]
    assert build(tmp_path, force=True).status == "published"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("<!doctype html><html><title>Just a moment</title></html>", "rows fell from 12 to 4"),
        ("---\n<html>: [\n---\n", "readable rows fell from 12 to 4"),
        ("---\ntitle: x\nrepresentativeQueries: [q]\nident: V\n---\n", "coded rows fell from 12 to 4"),
    ],
    ids=["HTML in the place of leaves", "broken front matter", "another schema, without codes"],
)
def test_B02_a_source_that_returns_something_else_is_refused_and_named(tmp_path: Path, content: str, what: str) -> None:
    write_leaves(tmp_path / "leaves")
    build(tmp_path)
    for thing in THINGS[4:]:
        (tmp_path / "leaves/sources/weather" / f"{thing}.md").write_text(content)
    with pytest.raises(BuildError, match=f"source weather: .*{what}"):
        build(tmp_path)


def test_B02_a_duplicated_urn_is_refused_with_both_files(tmp_path: Path) -> None:
    folder = write_leaves(tmp_path / "leaves") / "sources/weather"
    (folder / "again").mkdir()
    shutil.copy(folder / "rain.md", folder / "again" / "rain.md")
    with pytest.raises(BuildError, match=r"weather\.rain names two files: .*again/rain\.md and .*weather/rain\.md"):
        build(tmp_path)


def test_B03_misaligned_vectors_are_refused_by_row_and_file_even_with_force(tmp_path: Path) -> None:
    class Mixed(BagEmbedder):
        async def embed(self, texts: Any, kind: Any, ledger: Any) -> Any:
            return (await super().embed(texts, kind, ledger))[::-1]

    write_leaves(tmp_path / "leaves")
    with pytest.raises(BuildError, match=r"row 0 \(sources/weather/births\.md\): its vector is not its text's"):
        build(tmp_path, Mixed(), force=True)
    assert list(open_bucket((tmp_path / "bucket").as_uri()).keys("")) == []


def test_the_gate_of_items_refuses_a_site_that_shrank_and_one_whose_descriptions_are_gone(tmp_path: Path) -> None:
    def items(records: list[dict[str, Any]]) -> Any:
        import json

        path = tmp_path / "homes.jsonl"
        path.write_text("\n".join(map(json.dumps, records)))
        building = build_items(
            [path], (tmp_path / "bucket").as_uri(), settings=Settings(cache_dir=str(tmp_path / "cache")),
            embedder=BagEmbedder(), kind=KINDS["homes"],
        )  # fmt: skip
        return asyncio.run(building)

    homes = [
        {"@type": "House", "name": f"Home {n}", "url": f"https://h.example/{n}", "description": f"By the {thing}."}
        for n, thing in enumerate(THINGS)
    ]
    good = items(homes)
    assert [check.name for check in good.gate.checks] == ["sources", "files", "ids", "vectors", "scores"]
    with pytest.raises(BuildError, match="source homes: rows fell from 12 to 6"):
        items(homes[:6])
    with pytest.raises(BuildError, match="source homes: described rows fell from 12 to 0"):
        items([{**home, "description": ""} for home in homes])
