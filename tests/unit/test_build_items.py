"""The whole build over items: what is published is what the records say, nothing is embedded twice, nothing is lost."""

from __future__ import annotations

import asyncio
import json
import lzma
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from test_build_embed import HashEmbedder

from build_jobs.embed import Checkpoints, embed_texts
from build_jobs.items.build import ItemsReport, build_items
from build_jobs.items.embed import AT_ONCE, BATCH, MAX_CHARS
from build_jobs.items.sources import Collection, collection_of, read_sources, sources_beside
from cli.main import main
from shared.bucket.base import open_bucket
from shared.contracts.release import Manifest
from shared.errors import BucketError, BuildError, CacheUnusable, SettingsError
from shared.index.items import FIELDS, VECTOR_ROLES, Items
from shared.index.scan import Vectors
from shared.models.ledger import Ledger
from shared.models.provider import Embedder, Provider, TextKind
from shared.release import manifest as manifests
from shared.release import reader
from shared.settings import Settings
from shared.sites.kinds import KINDS

DAL = {"@type": "Recipe", "name": "Dal", "url": "https://a.example/dal", "description": "Lentils", "totalTime": "PT30M"}
ROTI = {"@type": "Recipe", "name": "Roti", "url": "https://a.example/roti", "recipeIngredient": ["flour"]}


class Remote(HashEmbedder):
    """An embedder that is called over a wire; remembers how many calls were under way at once."""

    provider: Provider = "openrouter"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.now = self.most = 0
        self.sizes: list[int] = []

    async def embed(self, texts: Sequence[str], kind: TextKind, ledger: Ledger) -> Any:
        self.now += 1
        self.most = max(self.most, self.now)
        self.sizes.append(len(texts))
        await anyio.sleep(0.001)
        self.now -= 1
        return await super().embed(texts, kind, ledger)


def written(tmp_path: Path, *records: object, name: str = "recipes.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def build(
    tmp_path: Path, *files: Path, embedder: Embedder | None = None, kind: str = "recipes", **more: Any
) -> ItemsReport:
    settings = Settings(cache_dir=str(tmp_path / "cache"))
    url = (tmp_path / "bucket").as_uri()
    embedder = embedder or HashEmbedder()
    return asyncio.run(build_items(files, url, settings=settings, embedder=embedder, kind=KINDS[kind], **more))


def release(tmp_path: Path, catalog: str = "recipes") -> tuple[Manifest, Mapping[str, Path]]:
    fetched = reader.fetch(open_bucket((tmp_path / "bucket").as_uri()), catalog, None, tmp_path / "cache")
    return fetched.manifest, fetched.paths


def test_a_build_publishes_what_its_records_say(tmp_path):
    report = build(tmp_path, written(tmp_path, ROTI, DAL))
    manifest, paths = release(tmp_path)
    assert (report.status, report.rows, manifest.kind, manifest.rows) == ("published", 2, "items", 2)
    items = Items(paths["records"]).items([0, 1])
    assert [items[row].id for row in (0, 1)] == ["https://a.example/dal", "https://a.example/roti"]
    assert items[0].record == DAL
    assert Items(paths["records"]).facts([0])[0]["minutes"] == 30


def test_an_empty_field_is_a_zero_row_and_is_never_embedded(tmp_path):
    embedder = HashEmbedder()
    report = build(tmp_path, written(tmp_path, DAL, ROTI), embedder=embedder)
    vectors = [Vectors(release(tmp_path)[1][role], role).array for role in VECTOR_ROLES]
    assert [[bool(row.any()) for row in matrix] for matrix in vectors] == [[True, True], [True, False], [True, True]]
    assert "" not in embedder.texts
    assert report.empty == {"name": 0, "description": 1, "body": 0}


def test_the_same_items_are_not_built_twice_and_force_builds_them(tmp_path):
    path = written(tmp_path, DAL)
    first = build(tmp_path, path)
    embedder = HashEmbedder()
    again = build(tmp_path, path, embedder=embedder)
    assert (again.status, again.release, embedder.calls) == ("unchanged", first.release, 0)
    assert build(tmp_path, path, force=True).status == "published"


def test_only_what_changed_is_embedded(tmp_path):
    build(tmp_path, written(tmp_path, DAL, ROTI))
    report = build(tmp_path, written(tmp_path, {**DAL, "description": "Red lentils"}, ROTI))
    assert (report.reused, report.embedded) == (4, 1)


def test_a_dry_run_counts_and_writes_nothing(tmp_path):
    report = build(tmp_path, written(tmp_path, DAL), dry_run=True)
    assert (report.status, report.embedded, report.release) == ("planned", 3, None)
    assert not (tmp_path / "bucket").exists() or not list((tmp_path / "bucket").rglob("*.json"))


def test_a_build_that_was_stopped_goes_on_where_it_was(tmp_path):
    records = [{**ROTI, "name": f"Roti {number}", "url": f"https://a.example/{number}"} for number in range(100)]
    path = written(tmp_path, *records)
    with pytest.raises(BuildError, match=r"the provider is down\. What was embedded is kept"):
        build(tmp_path, path, embedder=HashEmbedder(fail_after=1))
    report = build(tmp_path, path)
    assert (report.resumed, report.embedded) == (BATCH, 101 - BATCH)


def test_a_remote_embedder_is_asked_for_64_texts_a_call_and_8_calls_at_once(tmp_path):
    records = [{**ROTI, "name": f"Roti {number}", "url": f"https://a.example/{number}"} for number in range(1_000)]
    embedder = Remote()
    build(tmp_path, written(tmp_path, *records), embedder=embedder)
    assert (max(embedder.sizes), BATCH) == (64, 64)
    assert (embedder.most, AT_ONCE) == (8, 8)


def test_what_other_calls_have_got_is_kept_when_one_fails(tmp_path):
    texts = {f"{number:012x}": f"text {number}" for number in range(BATCH * 12)}
    kept = Checkpoints(tmp_path, Remote.dimension)
    embedding = embed_texts(
        texts, Remote(fail_after=10), known={}, checkpoints=kept, ledger=Ledger(), batch=BATCH, at_once=AT_ONCE
    )
    with pytest.raises(BuildError, match="What was embedded is kept"):
        asyncio.run(embedding)
    assert len(Checkpoints(tmp_path, Remote.dimension).load()) == BATCH * 10


def test_a_text_is_cut_at_24000_characters(tmp_path):
    embedder = HashEmbedder()
    build(tmp_path, written(tmp_path, {**DAL, "text": "word " * 10_000}), embedder=embedder)
    assert (max(map(len, embedder.texts)), MAX_CHARS) == (24_000, 24_000)


def test_the_manifest_names_the_collection_its_label_and_its_sites(tmp_path):
    collection = Collection("recipes", "kitchen", "The Kitchen")
    build(tmp_path, written(tmp_path, DAL, {**ROTI, "sourceCollection": "bakery"}), collection=collection)
    manifest, paths = release(tmp_path)
    assert (manifest.collection, manifest.label) == ("kitchen", "The Kitchen")
    assert manifest.families[0].sources == {"bakery": 1, "kitchen": 1}
    assert [item.site for item in Items(paths["records"]).items([0, 1]).values()] == ["kitchen", "bakery"]


def test_without_a_collection_the_kind_gives_its_name_to_items_that_name_none(tmp_path):
    build(tmp_path, written(tmp_path, DAL))
    manifest, _ = release(tmp_path)
    assert (manifest.collection, manifest.label) == ("recipes", "Recipes")


def test_without_a_collection_the_name_that_the_records_carry_is_the_collections(tmp_path):
    build(tmp_path, written(tmp_path, {**DAL, "sourceCollection": "nytimes"}))
    manifest, _ = release(tmp_path)
    assert (manifest.collection, manifest.label) == ("nytimes", "NYT Cooking")


def test_a_tables_manifest_reads_and_writes_as_before(tmp_path):
    build(tmp_path, written(tmp_path, DAL))
    manifest, _ = release(tmp_path)
    assert b'"collection":"recipes"' in manifests.encode(manifest)
    from msgspec.structs import replace

    assert b'"collection"' not in manifests.encode(replace(manifest, collection=""))


def test_wrappers_lists_graphs_and_compressed_files_are_read(tmp_path):
    wrapper = {"schema_object": [ROTI], "id": "r1", "url": "https://b.example/r", "name": "Roti!", "site": "bakery"}
    graph = tmp_path / "graph.json"
    graph.write_text(json.dumps({"@context": "x", "@graph": [DAL, wrapper]}, indent=1), encoding="utf-8")
    packed = tmp_path / "more.json.xz"
    packed.write_bytes(lzma.compress(json.dumps([{**DAL, "url": "https://a.example/2"}]).encode()))
    build(tmp_path, graph, packed)
    items = Items(release(tmp_path)[1]["records"]).items([0, 1, 2])
    assert [(item.id, item.name, item.site) for item in items.values()] == [
        ("https://a.example/2", "Dal", "recipes"),
        ("https://a.example/dal", "Dal", "recipes"),
        ("r1", "Roti!", "bakery"),
    ]


def test_text_that_was_escaped_twice_is_mended_in_what_is_published(tmp_path):
    build(tmp_path, written(tmp_path, {**DAL, "name": "Mom&amp;apos;s dal"}))
    item = Items(release(tmp_path)[1]["records"]).items([0])[0]
    assert (item.name, item.record["name"]) == ("Mom's dal", "Mom's dal")


def test_every_record_that_is_no_item_is_reported_with_its_reason_and_line(tmp_path):
    path = written(
        tmp_path, DAL, {**DAL, "description": "again"}, {"@type": "Movie", "name": "M"}, {"@type": "Recipe"}, 5,
        {**DAL, "name": "Dal fry"},
    )  # fmt: skip
    with path.open("a", encoding="utf-8") as file:
        file.write('{"name": NaN}\n' + "[" * 90 + "]" * 90 + '\n{"@type": "Recipe", "name": "Inf", "n": 1e999}\n')
    report = build(tmp_path, path)
    assert (report.loaded.read, report.rows) == (9, 3)
    assert report.loaded.dropped == {
        "an id that another item has": ["recipes.jsonl:2"],
        "of type Movie, not one of recipes": ["recipes.jsonl:3"],
        "without a name": ["recipes.jsonl:4"],
        "neither an object nor a list": ["recipes.jsonl:5"],
        "no JSON": ["recipes.jsonl:7: NaN is no JSON"],
        "nested deeper than 60 levels": ["recipes.jsonl:8"],
    }
    assert report.loaded.noted == {"an address that another item has, told apart by its name": ["recipes.jsonl:6"]}


def test_no_item_at_all_is_an_error_that_says_what_there_was(tmp_path):
    with pytest.raises(BuildError, match=r"no recipes in .*1 of type Movie, not one of recipes"):
        build(tmp_path, written(tmp_path, {"@type": "Movie", "name": "M"}))
    with pytest.raises(BuildError, match="the files are empty"):
        build(tmp_path, written(tmp_path, name="empty.jsonl"))


def test_items_in_any_order_give_the_same_release(tmp_path):
    first = build(tmp_path, written(tmp_path, DAL, ROTI))
    assert build(tmp_path, written(tmp_path, ROTI, DAL)).inputs_digest == first.inputs_digest


def test_a_catalog_that_cannot_be_one_is_refused_before_the_work(tmp_path):
    embedder = HashEmbedder()
    with pytest.raises(SettingsError, match="catalog 'Big One'"):
        build(tmp_path, written(tmp_path, DAL), catalog="Big One", embedder=embedder)
    assert embedder.calls == 0


def test_vectors_that_are_not_their_texts_are_never_published(tmp_path):
    calls = iter(range(1_000))
    shuffling = HashEmbedder(twist=lambda vectors: vectors[::-1] if next(calls) == 0 and len(vectors) > 1 else vectors)
    with pytest.raises(BuildError, match="its vector is not its text's"):
        build(tmp_path, written(tmp_path, DAL, ROTI), embedder=shuffling)
    assert not list((tmp_path / "bucket").rglob("current.json"))
    assert build(tmp_path, written(tmp_path, DAL, ROTI)).resumed == 0


def test_two_builds_share_the_vectors_of_a_release_in_float16(tmp_path):
    build(tmp_path, written(tmp_path, DAL))
    before = [np.array(Vectors(release(tmp_path)[1][role], role).array) for role in VECTOR_ROLES]
    build(tmp_path, written(tmp_path, DAL), force=True)
    after = [np.array(Vectors(release(tmp_path)[1][role], role).array) for role in VECTOR_ROLES]
    assert len(FIELDS) == 3
    assert all((one == other).all() for one, other in zip(before, after, strict=True))


def test_sources_name_the_collections_and_where_they_lie(tmp_path):
    path = tmp_path / "sources.yaml"
    path.write_text(
        "collections:\n- {kind: recipes, site: kitchen, label: The Kitchen,\n"
        "   crawl: crawl, items: a.jsonl, cadence: weekly}\n"
        "- {kind: recipes, site: bakery, items: b.jsonl}\n- {kind: homes, site: towns}\n",
        encoding="utf-8",
    )
    kitchen, bakery, towns = read_sources(path)
    assert (kitchen.label, kitchen.crawl, kitchen.cadence) == ("The Kitchen", tmp_path / "crawl", "weekly")
    assert bakery.label == "bakery"
    assert collection_of(KINDS["recipes"], [tmp_path / "b.jsonl"], [kitchen, bakery, towns]) == bakery
    assert collection_of(KINDS["recipes"], [tmp_path / "c.jsonl"], [kitchen, bakery, towns]) is None
    assert collection_of(KINDS["homes"], [tmp_path / "c.jsonl"], [kitchen, bakery, towns]) == towns
    assert sources_beside([tmp_path / "a.jsonl"], None) == [kitchen, bakery, towns]
    assert sources_beside([tmp_path / "deeper" / "a.jsonl"], None) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("collections: 5", "expected a list under `collections`, found int"),
        ("- a", "expected a list under `collections`"),
        ("collections: [5]", "collections.0: expected an object"),
        ("collections: [{kind: cars, site: a}]", "collections.0.kind: expected one of recipes, movies"),
        ("collections: [{kind: homes}]", "collections.0.site: expected the collection's name"),
        ("collections: [{kind: homes, site: a, colour: red}]", "no such field: colour; there are cadence, crawl"),
        ("collections: [{kind: homes, site: a}, {kind: homes, site: a}]", "two collections have the site name 'a'"),
        ("collections: [{kind: homes, site: [a]}]", r"collections.0.site: expected a text, found \['a'\]"),
        ("collections: [", "no YAML could be read"),
        ("!!python/object/apply:os.system ['true']", "no YAML could be read"),
    ],
)
def test_a_sources_file_that_is_wrong_is_refused_by_field(tmp_path, text, wrong):
    (tmp_path / "sources.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(BuildError, match=wrong):
        read_sources(tmp_path / "sources.yaml")


def test_the_demos_sources_name_a_file_for_every_kind():
    demo = Path(__file__).resolve().parents[2] / "demo" / "items"
    collections = read_sources(demo / "sources.yaml")
    assert [each.kind for each in collections] == list(KINDS)
    assert all(each.items and each.items.is_file() for each in collections)


def test_the_command_converts_and_builds(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CACHE_DIR", str(tmp_path / "cache"))
    pages = Path(__file__).resolve().parents[1] / "fixtures" / "pages" / "recipes"
    items = tmp_path / "items.jsonl"
    assert main(["convert", "--site", "recipes", "--from", str(pages), "--to", str(items), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kept"] == 4
    command = ["build", "items", "--site", "recipes", "--items", str(items), "--bucket", (tmp_path / "b").as_uri()]
    assert main([*command, "--embedder", "embedded", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 4
    assert main([*command, "--embedder", "embedded", "--catalog", "other", "--dry-run"]) == 0
    assert "would be built" in capsys.readouterr().out


def test_one_is_said_as_one(tmp_path, capsys):
    items = written(tmp_path, DAL, name="one.jsonl")
    target = tmp_path / "kept.jsonl"
    assert main(["convert", "--site", "recipes", "--from", str(items), "--to", str(target)]) == 0
    assert f"1 recipe in {target}, of 1 page or record\n" in capsys.readouterr().out


def test_the_command_says_what_is_missing(tmp_path, capsys):
    assert main(["convert", "--site", "recipes", "--to", str(tmp_path / "x.jsonl")]) != 0
    assert "give --from PATH" in capsys.readouterr().err


def test_a_bucket_that_cannot_be_written_is_refused_by_its_url_before_anything_is_embedded(tmp_path):
    (tmp_path / "bucket").write_text("a file in the way")
    embedder = HashEmbedder()
    with pytest.raises(BucketError, match=re.escape(f"{(tmp_path / 'bucket').as_uri()} cannot be")):
        build(tmp_path, written(tmp_path, DAL), embedder=embedder)
    assert embedder.calls == 0


def test_a_cache_folder_that_cannot_be_used_is_named_with_its_setting(tmp_path):
    (tmp_path / "cache").write_text("a file in the way")
    with pytest.raises(CacheUnusable, match=r"^CACHE_DIR.*set it to a folder"):
        build(tmp_path, written(tmp_path, DAL))
