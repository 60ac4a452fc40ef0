"""The registry's engine: two catalogs as one, pages that cover a list, counts that equal a plain count."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from building import TINY_LEAVES
from msgspec.structs import replace
from test_build_embed import HashEmbedder
from wire import ROOT

from build_jobs.run import build_tables
from shared.bucket.base import open_bucket
from shared.contracts.leaf import LEAF_TYPE, Leaf
from shared.errors import NotFound, ReleaseIncompatible, RequestError
from shared.index.lexical import query_tokens, tokens
from shared.release import reader, writer
from shared.settings import Settings
from shared.tables.names import published_by
from shared.tables.registry.browse import Listing, entry_of_path, entry_of_urn, list_entries, parse_listing
from shared.tables.registry.documents import list_folder, read_file
from shared.tables.registry.explore import explore, parse_explore
from shared.tables.registry.library import Library, open_library
from shared.tables.registry.wellknown import list_publishers, manifest

OPEN_DATA = Path(__file__).parents[1] / "fixtures/leaves/open-data"
BASE = "https://ard.example.org/"


def build(bucket: Path, leaves: Path, catalog: str = "built-in", extends: tuple[str, ...] = ()) -> None:
    settings = Settings(cache_dir=str(bucket.parent / "cache"))
    building = build_tables(
        [leaves], bucket.as_uri(), settings=settings, embedder=HashEmbedder(), catalog=catalog, extends=extends
    )
    asyncio.run(building)


@pytest.fixture(scope="module")
def two_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The tiny catalog, and one mounted beside it that adds a leaf to its census source and brings another source."""
    root = tmp_path_factory.mktemp("library")
    census = root / "more/sources/census"
    census.mkdir(parents=True)
    (census / "_access.md").write_bytes((TINY_LEAVES / "sources/census/_access.md").read_bytes())
    leaf = (TINY_LEAVES / "sources/census/dp04-0134e.md").read_text(encoding="utf-8")
    (census / "deeper").mkdir()
    (census / "deeper/dp99.md").write_text(leaf.replace("Median gross rent", "Été gross rent"), encoding="utf-8")
    tables = root / "more/sources/census-tables"
    tables.mkdir()
    for path in (OPEN_DATA / "sources/census-tables").iterdir():
        (tables / path.name).write_bytes(path.read_bytes())
    build(root / "bucket", TINY_LEAVES)
    build(root / "bucket", root / "more", "open-data", ("census",))
    return Settings(bucket_url=(root / "bucket").as_uri(), ard_catalogs="open-data", cache_dir=str(root / "cache"))


@pytest.fixture(scope="module")
def two(two_settings: Settings) -> Iterator[Library]:
    with closing(open_library(two_settings)) as library:
        yield library


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    root = tmp_path_factory.mktemp("demo-library")
    build(root / "bucket", ROOT / "demo")
    settings = Settings(bucket_url=(root / "bucket").as_uri(), cache_dir=str(root / "cache"))
    with closing(open_library(settings)) as library:
        yield library


def pages(library: Library, listing: Listing, size: int) -> Iterator[dict[str, Any]]:
    token = None
    while True:
        page = list_entries(listing, size, token, library, BASE)
        yield page
        token = page["pageToken"]
        if token is None:
            return


def leaves_of(library: Library) -> list[Leaf]:
    return [
        leaf for catalog in library.tables.catalogs for leaf in catalog.records.leaves(range(catalog.rows)).values()
    ]


# Two catalogs


def test_every_catalog_is_browsed_and_named_in_its_paths(two: Library) -> None:
    [page] = pages(two, Listing(), 100)
    assert (page["total"], len(page["items"])) == (17, 17)
    documents = [entry["okf:sourceDocument"] for entry in page["items"]]
    assert "open-data:sources/census/deeper/dp99.md" in documents
    for entry in page["items"]:
        by_path = entry_of_path(entry["okf:sourceDocument"], two.tables)
        assert by_path == entry_of_urn(entry["identifier"], two.tables)
        assert by_path is not None
        assert by_path["displayName"] == entry["displayName"]


def test_a_path_needs_its_catalogs_prefix(two: Library) -> None:
    assert entry_of_path("sources/census-tables/_access.md", two.tables) is None
    found = entry_of_path("open-data:sources/census-tables/_access.md", two.tables)
    assert found is not None
    assert found["okf:sourceDocument"] == "open-data:sources/census-tables/_access.md"
    for path in ("other:sources/census/_access.md", "open-data:open-data:sources/census/_access.md"):
        assert entry_of_path(path, two.tables) is None


def test_a_source_of_both_catalogs_is_one_entry_of_the_manifest(two: Library) -> None:
    entries = manifest(two, BASE)["entries"]
    counts = {entry.get("okf:sourceDirectory"): entry.get("okf:tableCount") for entry in entries}
    assert counts == {None: None, "census": 4, "census-tables": 1, "datacommons": 8, "worldbank": 4}
    assert all(2 <= len(entry["representativeQueries"]) <= 5 for entry in entries)


def test_publishers_add_up_over_catalogs(two: Library) -> None:
    found = {line["publisher"]: line for line in list_publishers(two.tables)["publishers"]}
    assert found["census.gov"] == {"publisher": "census.gov", "sources": ["census", "census-tables"], "entries": 5}
    assert published_by(["census.gov"], two.tables) == {"census", "census-tables"}


def test_an_order_runs_through_the_catalogs_and_knows_accents(two: Library) -> None:
    listing = parse_listing({"orderBy": "displayName"}, [])
    names = [entry["displayName"] for page in pages(two, listing, 3) for entry in page["items"]]
    assert names == sorted(names, key=str.casefold)
    assert len(names) == 17
    for words in ("ÉTÉ GROSS", "été gross"):
        [page] = pages(two, parse_listing({"q": words}, []), 10)
        assert [entry["okf:sourceDocument"] for entry in page["items"]] == ["open-data:sources/census/deeper/dp99.md"]


def test_facets_add_up_over_catalogs_and_can_be_asked_of_one(two: Library) -> None:
    asked = {"resultType": {"facets": [{"field": "source"}]}}
    counts = {"census": 4, "census-tables": 1, "datacommons": 8, "worldbank": 4}
    assert buckets(explore(parse_explore(asked, ""), two), "source") == counts
    mounted = explore(parse_explore({**asked, "catalogs": ["open-data"]}, ""), two)
    assert buckets(mounted, "source") == {"census": 1, "census-tables": 1}


def test_the_root_folder_is_that_of_every_catalog(two: Library) -> None:
    root = list_folder("", 10, None, two)
    assert [line["path"] for line in root["dirs"]] == ["sources", "open-data:sources"]
    assert [line["documents"] for line in root["dirs"]] == [18, 5 - 1]
    inside = list_folder("open-data:sources/census", 10, None, two)
    assert inside["dirs"] == [{"path": "open-data:sources/census/deeper", "title": "deeper", "documents": 1}]
    assert [each["path"] for each in inside["files"]] == ["open-data:sources/census/_access.md"]
    assert inside["total"] == 1
    for folder in ("open-data:", "open-data", "other:sources", "sources/census-tables"):
        with pytest.raises(NotFound):
            list_folder(folder, 10, None, two)


def test_a_document_is_that_of_the_catalog_its_prefix_names(two: Library) -> None:
    name = "sources/census-tables/b25070-010e.md"
    assert read_file(f"open-data:{name}", two) == (OPEN_DATA / name).read_bytes()
    with pytest.raises(NotFound):
        read_file(name, two)


def test_a_token_of_another_release_is_refused(two: Library, demo: Library) -> None:
    token = list_entries(Listing(), 5, None, two, BASE)["pageToken"]
    assert list_entries(Listing(), 5, token, two, BASE)["offset"] == 5
    with pytest.raises(RequestError, match="pageToken is not of this question and release"):
        list_entries(Listing(), 5, token, demo, BASE)


# A release from before documents were part of one


@pytest.fixture
def older(tmp_path: Path) -> Iterator[Library]:
    build(tmp_path / "bucket", TINY_LEAVES)
    bucket = open_bucket((tmp_path / "bucket").as_uri())
    current = reader.current(bucket, "built-in").release
    with closing(reader.fetch(bucket, "built-in", None, tmp_path / "cache")) as release:
        files = {role: path for role, path in release.paths.items() if role != "documents"}
        again = replace(release.manifest, files=[], builder="askbucket 0.1.0, index 2")
        writer.switch(bucket, "built-in", writer.write(bucket, again, files))
    assert reader.current(bucket, "built-in").release != current
    with closing(open_library(Settings(bucket_url=bucket.url, cache_dir=str(tmp_path / "cache")))) as library:
        yield library


def test_an_older_release_is_browsed_and_says_that_it_holds_no_documents(older: Library) -> None:
    [page] = pages(older, Listing(), 100)
    assert len(page["items"]) == 15
    assert list_folder("sources/census", 10, None, older)["total"] == 4
    with pytest.raises(ReleaseIncompatible, match=rf"release {older.releases[0]} of catalog 'built-in' holds no docu"):
        read_file("sources/census/_access.md", older)
    with pytest.raises(NotFound):
        read_file("sources/census/nothing.md", older)


# Properties, over the demo catalog


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("order", [None, "displayName", "identifier desc", "publisherId"])
def test_walking_all_pages_gives_every_entry_once(demo: Library, size: int, order: str | None) -> None:
    listing = parse_listing({"orderBy": order}, [])
    found = [entry["identifier"] for page in pages(demo, listing, size) for entry in page["items"]]
    assert sorted(found) == sorted(leaf.urn for leaf in leaves_of(demo))


@pytest.mark.parametrize(
    "text", ["income", "PERCENT", "how many", "a", "sources/", "urn:air", "%", "_", '"', "–", "zzz"]
)
def test_q_finds_what_stands_in_any_of_the_texts(demo: Library, text: str) -> None:
    found = [e["identifier"] for page in pages(demo, parse_listing({"q": text}, []), 100) for e in page["items"]]
    expected = [
        leaf.urn
        for leaf in leaves_of(demo)
        if any(
            text.casefold() in part.casefold()
            for part in (leaf.title, leaf.description, leaf.urn, leaf.path, *leaf.queries)
        )
    ]
    extra = set(found) - set(expected)
    assert set(expected) <= set(found)
    assert not extra or text == '"'  # which the list of questions has between its items


def buckets(reply: Mapping[str, Any], field: str) -> dict[str, int]:
    return {bucket["value"]: bucket["count"] for bucket in reply["facets"][field]["buckets"]}


def oracle(leaves: list[Leaf], body: Mapping[str, Any]) -> dict[str, Counter[str]]:
    """What a plain loop over all leaves counts."""
    query = body["query"]
    asked, filters = query_tokens(query["text"]), query["filter"]
    counts: dict[str, Counter[str]] = {field: Counter() for field in ("publisher", "source", "type", "tags")}
    for leaf in leaves:
        held = {
            t for text in (leaf.title, "\n".join(leaf.queries), leaf.description, leaf.code or "") for t in tokens(text)
        }
        fits = (
            (not body["sources"] or leaf.source in body["sources"] or leaf.family in body["sources"])
            and leaf.source not in body["excludeSources"]
            and ("publisher" not in filters or leaf.publisher in filters["publisher"])
            and ("tags" not in filters or set(leaf.tags) & set(filters["tags"]))
            and ("type" not in filters or LEAF_TYPE in filters["type"])
            and set(asked) <= held
        )
        if fits:
            counts["publisher"][leaf.publisher] += 1
            counts["source"][leaf.source] += 1
            counts["type"][LEAF_TYPE] += 1
            counts["tags"].update(set(leaf.tags))
    return counts


@pytest.mark.parametrize("seed", range(40))
def test_explore_counts_what_a_plain_loop_counts(demo: Library, seed: int) -> None:
    dice = random.Random(seed)
    leaves = leaves_of(demo)

    def some(values: list[str], most: int) -> list[str]:
        return dice.sample(values, dice.randint(1, most))

    filters = {
        "publisher": some(sorted({leaf.publisher for leaf in leaves}), 3),
        "tags": some(sorted({tag for leaf in leaves for tag in leaf.tags}), 20),
        "type": [LEAF_TYPE, "x/y"],
    }
    sources = sorted({leaf.source for leaf in leaves})
    body = {
        "query": {
            "text": dice.choice(["", "", "income", "how many people", "rate of", "percent population", "the"]),
            "filter": {key: filters[key] for key in filters if dice.random() < 0.4},
        },
        "sources": some(sources, 5) if dice.random() < 0.4 else [],
        "excludeSources": some(sources, 2) if dice.random() < 0.4 else [],
        "resultType": {"facets": [{"field": f, "limit": 1000} for f in ("publisher", "source", "type", "tags")]},
    }
    expected = oracle(leaves, body)
    reply = explore(parse_explore(body, ""), demo)
    assert reply["total"] == expected["source"].total()
    for field, counts in expected.items():
        assert buckets(reply, field) == {value: count for value, count in counts.items() if count}
        assert reply["facets"][field]["otherCount"] == 0
    narrow = {**body, "resultType": {"facets": [{"field": "tags", "limit": 3, "minCount": 2}]}}
    shown = explore(parse_explore(narrow, ""), demo)["facets"]["tags"]
    assert sum(each["count"] for each in shown["buckets"]) + shown["otherCount"] == expected["tags"].total()
    ordered = sorted(expected["tags"].items(), key=lambda pair: (-pair[1], pair[0]))
    assert [(b["value"], b["count"]) for b in shown["buckets"]] == [pair for pair in ordered if pair[1] >= 2][:3]


def walk(library: Library, folder: str = "", size: int = 17) -> Iterator[str]:
    """Every file below a folder, page by page."""
    token, page = None, list_folder(folder, size, None, library)
    for inside in page["dirs"]:
        below = list(walk(library, inside["path"], size))
        assert len(below) == inside["documents"]
        yield from below
    while True:
        page = list_folder(folder, size, token, library)
        yield from (each["path"] for each in page["files"])
        token = page["pageToken"]
        if token is None:
            return


def test_folders_lead_to_every_document_once_and_each_is_the_file_on_the_disk(demo: Library) -> None:
    found = list(walk(demo))
    on_disk = sorted(path.relative_to(ROOT / "demo").as_posix() for path in (ROOT / "demo/sources").rglob("*.md"))
    assert sorted(found) == on_disk
    for path in found:
        assert read_file(path, demo) == (ROOT / "demo" / path).read_bytes()
