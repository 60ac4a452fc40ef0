"""Pages as they really are: broken, enormous, bottomless, cut short. None stops a conversion or is lost unsaid."""

from __future__ import annotations

import gzip
import json

import pytest

from build_jobs.items.convert import convert
from build_jobs.items.markup import markup_of
from build_jobs.items.read import MAX_LINE_BYTES, read_records
from shared.errors import BuildError
from shared.sites.kinds import KINDS

GOOD = '<script type="application/ld+json">{"@type": "Recipe", "name": "Dal"}</script>'


@pytest.fixture
def crawl(tmp_path):
    folder = tmp_path / "crawl"
    folder.mkdir()
    (folder / "good.html").write_text(GOOD, encoding="utf-8")
    return folder


def report_of(crawl):
    return convert(KINDS["recipes"], crawl, crawl.parent / "items.jsonl")


def test_a_page_of_5_mb_is_read(crawl):
    (crawl / "good.html").write_text("<p>filler</p>" * 400_000 + GOOD, encoding="utf-8")
    assert report_of(crawl).kept == 1


def test_a_page_beyond_all_measure_is_dropped_by_name(crawl):
    with gzip.open(crawl / "huge.html.gz", "wb", compresslevel=1) as file:
        for _ in range(MAX_LINE_BYTES // 2**20 + 1):
            file.write(b" " * 2**20)
    report = report_of(crawl)
    assert report.kept == 1
    assert report.dropped == {"a page of more than 20 MB": ["huge.html.gz"]}


@pytest.mark.parametrize(
    "content",
    [
            b"\x00" * 100, b"\xff\xfe\xfd", b"<" * 50_000, b"<div>" * 20_000, b"<!--",
        b"<script type='application/ld+json'>",
        b"<script type='application/ld+json'>" + b"[" * 200_000, b"<div itemscope itemprop=x>" * 3_000,
        b"<script type='application/ld+json'>" + b'{"a":' * 500 + b"1" + b"}" * 500 + b"</script>",
        b"<script type='application/ld+json'>NaN</script>", b"<script type='application/ld+json'>null</script>",
        b"<script type='application/ld+json'>[[[1]], 2, null]</script>", b"PK\x03\x04 a zip",
        "<html>\ud800</html>".encode("utf-8", "surrogatepass"),
    ],
)  # fmt: skip
def test_a_page_that_is_no_page_costs_only_itself(crawl, content):
    (crawl / "bad.html").write_bytes(content)
    report = report_of(crawl)
    assert (report.read, report.kept) == (2, 1)
    assert list(report.dropped.values()) == [["bad.html"]]


def test_a_graph_that_refers_to_itself_ends():
    itself = {"@id": "#a", "@type": "Recipe", "name": "A"}
    graph = {"@graph": [{**itself, "isRelatedTo": {"@id": "#a"}, "author": [{"@id": "#b"}]}]}
    text = f'<script type="application/ld+json">{json.dumps(graph)}</script>'.encode()
    assert markup_of(text).records[0]["isRelatedTo"] == itself
    assert markup_of(text).records[0]["author"] == [{"@id": "#b"}]


@pytest.mark.parametrize("record", [
    {"@type": 7, "name": "x"}, {"@type": ["Recipe", None], "name": {"deep": []}},
    {"@type": "Recipe", "name": ["x"] * 3, "image": 4},
    {"@type": "Recipe", "name": "x", "url": {"@id": 5}, "review": "no list", "hasPart": "none"},
    {"@type": "Recipe", "name": "x", "url": "http://[broken", "mainEntityOfPage": {"@id": ["x"]}},
    {"@type": "Recipe", "name": "x", "recipeYield": 1e999, "n": 10**400},
])  # fmt: skip
@pytest.mark.parametrize("kind", ["recipes", "reviews"])
def test_records_of_any_shape_do_no_harm(crawl, record, kind):
    record = {**record, "@type": "Article"} if kind == "reviews" and record["@type"] == "Recipe" else record
    text = json.dumps(record).replace("Infinity", "1e999")
    url = '<link rel="canonical" href="http://[broken">'
    (crawl / "odd.html").write_text(f'{url}<script type="application/ld+json">{text}</script>', encoding="utf-8")
    (crawl / "review.html").write_text(GOOD.replace("Recipe", "Article"), encoding="utf-8")
    assert convert(KINDS[kind], crawl, crawl.parent / "items.jsonl").kept >= 1


def test_an_archive_that_is_cut_short_loses_only_what_it_lost(crawl):
    (crawl / "a.warc.gz").write_bytes(gzip.compress(b"WARC/1.0\r\nWARC-Type: response\r\n")[:-9])
    (crawl / "b.warc").write_bytes(b"this is no archive\r\n\r\n")
    (crawl / "c.html.gz").write_bytes(gzip.compress(GOOD.encode())[:-9])
    (crawl / "d.jsonl.xz").write_bytes(b"\xfd7zXZ\x00 cut")
    report = report_of(crawl)
    assert report.kept == 1
    lost = sorted(place for places in report.dropped.values() for place in places)
    assert lost == ["a.warc.gz", "b.warc", "c.html.gz", "d.jsonl.xz"]


def test_a_line_beyond_all_measure_is_said_and_the_next_one_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'"' + b"x" * (MAX_LINE_BYTES + 10) + b'"\n{"name": "next"}\n')
    first, second = read_records(path)
    assert first.problem == "a line of more than 20 MB"
    assert second.record == {"name": "next"}
    assert second.where == "a.jsonl:2"


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BuildError, match=r"none\.jsonl"):
        list(read_records(tmp_path / "none.jsonl"))
