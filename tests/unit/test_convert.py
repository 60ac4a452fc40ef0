"""Crawled pages become items: one main entity a page, pruned, and every page that gives none is accounted for."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from build_jobs.items.address import address_key
from build_jobs.items.convert import convert
from build_jobs.items.load import Report
from build_jobs.items.markup import decoded, markup_of
from build_jobs.items.prune import pruned, reencoded
from shared.errors import BuildError
from shared.sites.kinds import KINDS

PAGES = Path(__file__).resolve().parents[1] / "fixtures" / "pages"


def converted(source: Path, to: Path, kind: str = "recipes") -> tuple[dict[str, dict[str, Any]], Report]:
    """Items by name, and the report."""
    report = convert(KINDS[kind], source, to / "out" / "items.jsonl")
    lines = (to / "out" / "items.jsonl").read_text(encoding="utf-8").splitlines()
    return {item["name"]: item for item in map(json.loads, lines)}, report


@pytest.fixture(scope="module")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], Report]:
    return converted(PAGES / "recipes", tmp_path_factory.mktemp("recipes"))


def page(*records: object, url: str = "") -> str:
    blocks = "".join(f'<script type="application/ld+json">{json.dumps(record)}</script>' for record in records)
    return f'<html><head><link rel="canonical" href="{url}">{blocks}</head></html>'


def test_a_page_with_a_graph_gives_its_one_entity_with_what_it_refers_to(recipes):
    item = recipes[0]["Crème brûlée"]
    assert item["@type"] == "Recipe"
    assert item["url"] == "https://kitchen.example/recipes/creme-brulee"
    assert item["author"] == {"@type": "Person", "@id": "#ann", "name": "Ann Example"}


def test_what_is_no_part_of_the_thing_is_pruned(recipes):
    item = recipes[0]["Crème brûlée"]
    assert not {"publisher", "mainEntityOfPage", "isAccessibleForFree", "hasPart"} & set(item)
    assert item["image"] == "https://kitchen.example/a.jpg"
    assert [review["reviewBody"] for review in item["review"]] == ["One", "Two", "Three"]
    assert item["recipeIngredient"] == ["4 egg yolks", "500 ml cream"]


def test_text_that_was_escaped_twice_is_read_as_it_was_meant(recipes):
    assert recipes[0]["Crème brûlée"]["description"] == "It's set custard under burnt sugar."


def test_microdata_is_read_like_json_ld(recipes):
    item = recipes[0]["Pea soup with mint"]
    assert "url" not in item
    assert recipes[1].noted["without an address"] == ["microdata.html"]
    assert (item["totalTime"], item["recipeYield"]) == ("PT25M", "2 servings")
    assert item["recipeIngredient"] == ["400 g peas", "mint"]
    assert item["author"] == {"@type": "Person", "name": "Bo Example"}
    assert item["nutrition"]["calories"] == "180"


def test_of_two_entities_the_one_that_names_the_page_is_kept_and_the_other_noted(recipes):
    items, report = recipes
    assert "Rye bread" in items
    assert "Butter" not in items
    assert report.noted["several entities of its kind: the main one was kept"] == ["two.html: 2"]


def test_what_was_dropped_is_reported_with_its_reason_and_place(recipes):
    _, report = recipes
    assert report.dropped == {
        "an address that was there before": ["printed.html, as graph.html"],
        "without a name": ["nameless.html"],
        "no structured data": ["none.html"],
        "nothing of its kind, but Organization": ["other.html"],
        "a .jpg file, no page": ["picture.jpg"],
    }


def test_a_comma_too_many_a_bare_line_break_and_comment_marks_do_not_lose_a_page(recipes):
    items, report = recipes
    assert items["Stew"]["recipeIngredient"] == ["beef", "carrots"]
    assert report.noted["a JSON-LD block that is none"] == ["broken.html"]


def test_every_page_is_either_kept_or_dropped(recipes):
    _, report = recipes
    assert report.read == report.kept + sum(map(len, report.dropped.values())) == 9


def test_a_reviews_siblings_are_folded_into_its_parts(tmp_path):
    items, _ = converted(PAGES / "reviews", tmp_path, "reviews")
    item = items["The best robot vacuums"]
    assert [part["name"] for part in item["hasPart"]] == ["Sweepo 9", "Dustling Mini"]
    assert item["hasPart"][0]["offers"] == [{"@type": "Offer", "price": "399.00", "priceCurrency": "USD"}]
    assert len(item["articleBody"]) <= 1_502


def test_records_are_converted_like_pages(tmp_path):
    lines = [
        {"@type": "Recipe", "name": "Dal", "url": "https://kitchen.example/dal", "publisher": {"name": "X"}},
        {
            "schema_object": {"@type": "Recipe", "name": "Roti"},
            "url": "https://kitchen.example/roti",
            "site": "kitchen",
        },
        {"@type": "Movie", "name": "Dal, the film"},
    ]
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "a.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\nnot json\n", encoding="utf-8")
    items, report = converted(tmp_path / "crawl", tmp_path)
    assert list(items) == ["Dal", "Roti"]
    assert items["Roti"]["url"] == "https://kitchen.example/roti"
    assert "publisher" not in items["Dal"]
    assert report.dropped["no JSON"][0].startswith("a.jsonl:4: Expecting value")


def test_a_web_archive_gives_its_pages_with_their_addresses_and_counts_the_rest(tmp_path):
    def response(url: str, status: str, media: str, body: bytes) -> bytes:
        http = f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\n\r\n".encode() + body
        warc = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Record-ID: <urn:uuid:{url}>\r\n"
        warc += f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
        return gzip.compress(warc.encode() + http + b"\r\n\r\n")

    body = page({"@type": "Recipe", "name": "X"}).replace('"X"', '"Smørrebrød"').encode("cp1252")
    (tmp_path / "crawl.warc.gz").write_bytes(
        response("https://kitchen.example/smorrebrod", "200 OK", "text/html; charset=windows-1252", body)
        + response("https://kitchen.example/gone", "404 Not Found", "text/html", b"gone")
        + response("https://kitchen.example/a.png", "200 OK", "image/png", b"png")
    )
    items, report = converted(tmp_path / "crawl.warc.gz", tmp_path)
    assert items["Smørrebrød"]["url"] == "https://kitchen.example/smorrebrod"
    assert report.dropped == {
        "answered 404": ["https://kitchen.example/gone"],
        "image/png, no page": ["https://kitchen.example/a.png"],
    }


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_pages_may_be_compressed(tmp_path, suffix):
    content = page({"@type": "Recipe", "name": "Dal"}).encode()
    folder = tmp_path / "crawl"
    folder.mkdir()
    (folder / f"dal.html{suffix}").write_bytes(gzip.compress(content) if suffix else content)
    assert list(converted(folder, tmp_path)[0]) == ["Dal"]


def test_nothing_of_the_kind_is_an_error_that_says_what_was_there_and_leaves_no_file(tmp_path):
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "a.html").write_text(page({"@type": "Movie", "name": "M"}), encoding="utf-8")
    with pytest.raises(BuildError, match=r"no recipes found; 1 nothing of its kind, but Movie"):
        convert(KINDS["recipes"], tmp_path / "crawl", tmp_path / "out" / "items.jsonl")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_source_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BuildError, match="nowhere: no such file or folder"):
        convert(KINDS["recipes"], tmp_path / "nowhere", tmp_path / "items.jsonl")


def test_two_runs_over_one_crawl_write_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        convert(KINDS["recipes"], PAGES / "recipes", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("Brûlée".encode(), "", "Brûlée"),
        ("Brûlée".encode("cp1252"), "", "Brûlée"),
        ("Brûlée".encode("utf-8-sig"), "iso-8859-1", "Brûlée"),
        ("Brûlée".encode("utf-16"), "", "Brûlée"),
        ("七人の侍".encode("shift_jis"), "Shift_JIS", "七人の侍"),
        (b'<meta charset="windows-1251">' + "Сталкер".encode("cp1251"), "", "Сталкер"),
        (b'<meta content="text/html; charset=koi8-r">' + "Сталкер".encode("koi8-r"), "", "Сталкер"),
        ("Brûlée".encode(), "no-such-charset", "Brûlée"),
        ("Brûlée".encode(), "base64", "Brûlée"),
    ],
)  # fmt: skip
def test_a_page_is_read_in_the_encoding_it_is_in(content, charset, text):
    assert decoded(content, charset)[0].endswith(text)


def test_a_page_that_lies_about_its_encoding_is_read_and_said_to(tmp_path):
    text, problems = decoded(b'<meta charset="utf-8">' + "Brûlée".encode("cp1252"))
    assert text.endswith("Brûlée")
    assert problems == ["said to be utf-8, read as cp1252"]


@pytest.mark.parametrize(
    ("broken", "meant"),
    [
        ("CrÃ¨me brÃ»lÃ©e", "Crème brûlée"),
        ("donâ€™t", "don’t"),
        ("Ã\u0081vila", "Ávila"),
        ("Ã Â la carte", "Ã Â la carte"),
        ("São Paulo — Âme", "São Paulo — Âme"),
        ("plain", "plain"),
    ],
)
def test_mojibake_is_mended_where_it_makes_sense_and_left_alone_otherwise(broken, meant):
    assert reencoded(broken) == meant


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://www.a.example/x/", "http://a.example/x?utm_source=y#z", True),
        ("https://a.example/x?b=2&a=1", "https://a.example/x?a=1&b=2", True),
        ("https://a.example/x?id=1", "https://a.example/x?id=2", False),
        ("https://a.example/X", "https://a.example/x", False),
    ],
)
def test_two_addresses_of_one_page_are_one(one, other, same):
    assert (address_key(one) == address_key(other)) is same


def test_a_picture_in_any_shape_leaves_one_address():
    assert pruned({"image": ["data:image/png;base64,x", {"contentUrl": "https://a.example/p.jpg"}]})["image"] == (
        "https://a.example/p.jpg"
    )
    assert "image" not in pruned({"image": {"url": "javascript:alert(1)"}})


def test_items_within_items_are_not_taken_for_the_page(tmp_path):
    content = b"""<div itemscope itemtype="https://schema.org/Recipe"><b itemprop="name">Outer</b>
    <p itemprop="isRelatedTo" itemscope itemtype="https://schema.org/Recipe"><b itemprop="name">Inner</b></p></div>"""
    assert [record["name"] for record in markup_of(content).records] == ["Outer"]
