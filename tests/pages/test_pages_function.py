"""The pages function over HTTP: alone as deployed, and at the root of the gateway."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from references import PAGES, loaded, read, target, weight
from wire import ROOT, Service, function

from functions.pages.accept import prefers_html, takes_gzip
from functions.pages.assets import STATIC, as_sent, asset_names, open_assets
from functions.pages.config import addresses, policy
from functions.pages.service import create
from shared.errors import SettingsError
from shared.settings import Settings
from shared.sites.kinds import KINDS

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Accept-Encoding": "gzip, br"}
MOST_BYTES = 60_000
_TEXT_OR_PATTERN = re.compile(r""""(?:\\.|[^"\\])*"|/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\s])+/[a-z]*""")
ADDRESSES = [
    "/", "/entry", "/entry.html", "/browse", "/stats", "/status", "/samples/", "/samples/how.html", "/samples/wake/",
    *(f"/samples/{kind}/" for kind in KINDS),
]  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> Iterator[Service]:
    """The function alone, with no bucket: it needs none."""
    with function("pages", {}) as service:
        assert service.until_ready().status == 200
        yield service


@pytest.mark.parametrize("path", ADDRESSES)
def test_every_page_is_html_under_a_policy_that_allows_no_inline_code(pages: Service, path: str) -> None:
    answer = pages.get(path, BROWSER)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    rules = dict(rule.split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split("; "))
    assert rules == {
        "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' https: data:",
        "connect-src": "'self'", "font-src": "'self'", "form-action": "'none'", "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }  # fmt: skip
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_every_file_is_served_as_what_it_is_and_asked_for_each_time(pages: Service) -> None:
    for name in asset_names():
        if name in ("samples/ask.html", "config.js"):
            continue
        answer = pages.get(f"/{name}")
        assert answer.status == 200, name
        assert answer.content == as_sent(name, (STATIC / name).read_bytes()), name
        assert answer.headers["Cache-Control"] == "no-cache"
        again = pages.get(f"/{name}", {"If-None-Match": answer.headers["ETag"]})
        assert (again.status, again.content) == (304, b""), name


def test_a_file_is_sent_as_gzip_where_that_is_read_with_a_tag_of_its_own(pages: Service) -> None:
    plain, small = pages.get("/css/base.css"), pages.get("/css/base.css", BROWSER)
    assert (plain.headers["Content-Encoding"], small.headers["Content-Encoding"]) == (None, "gzip")
    assert gzip.decompress(small.content) == plain.content
    assert plain.headers["ETag"] != small.headers["ETag"]
    assert plain.headers["Vary"] == small.headers["Vary"] == "Accept-Encoding"


def test_head_tells_what_get_would_send(pages: Service) -> None:
    head = pages.send("HEAD", "/samples/")
    got = pages.get("/samples/")
    assert (head.status, head.content, head.headers["ETag"]) == (200, b"", got.headers["ETag"])
    assert head.headers["Content-Length"] == str(len(got.content))


@pytest.mark.parametrize(
    ("path", "status", "location"),
    [
        ("/samples", 308, "samples/"),
        ("/samples/recipes?q=a%26b&x=%C3%A9", 308, "recipes/?q=a%26b&x=%C3%A9"),
        ("/samples/wake", 308, "wake/"),
        ("/recipes?q=pie", 308, "samples/recipes/?q=pie"),
        ("/homes/", 308, "../samples/homes/"),
        ("/stats/", 308, "../stats"),
        ("/entry/?id=urn%3Aair%3Aa", 308, "../entry?id=urn%3Aair%3Aa"),
        ("/css/base.css/", 308, "../base.css"),
        ("/samples/boats", 302, "./"),
        ("/samples/ask.html", 302, "./"),
        ("/samples/boats/", 302, "../"),
        ("/samples/%2e%2e/", 302, "../"),
    ],
)
def test_a_page_has_one_address_and_the_others_lead_there_with_their_query(
    pages: Service, path: str, status: int, location: str
) -> None:
    answer = pages.get(path)
    assert (answer.status, answer.headers["Location"], answer.content) == (status, location, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/nothing", "/../service.py", "/css/../../service.py", "/css/..%2f..%2fservice.py", "/service.py", "/css",
        "/js/",
        "/css/%2e%2e/%2e%2e/service.py", "//css/base.css", "/css//base.css", "/css/base.css%00",
        "/C:/", "/samples/recipes/x", "/sites/recipes/ask",
    ],
)  # fmt: skip
def test_X04_a_path_that_is_not_on_the_list_is_a_404_in_json(pages: Service, path: str) -> None:
    answer = pages.get(path, BROWSER)
    assert (answer.status, answer.json["code"]) == (404, "not_found")


def test_what_is_no_get_is_refused(pages: Service) -> None:
    answer = pages.post("/stats", {})
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")


def test_the_function_says_that_it_is_ready_and_counts_what_it_sent(pages: Service) -> None:
    before = pages.get("/health").json["pages"]["total"]
    pages.get("/css/base.css")
    health = pages.get("/health").json
    assert (health["ok"], health["files"]) == (True, len(asset_names()))
    assert health["pages"]["total"] == before + 1


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (BROWSER["Accept"], "text/html; charset=utf-8"),
        ("*/*", "text/html; charset=utf-8"),
        ("application/json", "application/json; charset=utf-8"),
        ("application/json, text/plain, */*", "application/json; charset=utf-8"),
        ("application/json;q=0.5, text/html", "text/html; charset=utf-8"),
    ],
)
def test_the_front_is_a_page_for_people_and_the_card_for_who_asks_for_json(
    pages: Service, accept: str, kind: str
) -> None:
    answer = pages.get("/", {"Accept": accept})
    assert (answer.status, answer.headers["Content-Type"]) == (200, kind)
    assert answer.headers["Vary"].startswith("Accept, Accept-Encoding") or answer.headers["Vary"] == "Accept"
    if "json" in kind:
        assert set(answer.json) == {"name", "store", "endpoints"}
        assert answer.json["endpoints"]["search"] == f"{pages.url}/search"


def test_the_gateway_has_the_pages_at_its_root_beside_the_routes(gateway: Service) -> None:
    assert b"<html" in gateway.get("/", {"Accept": BROWSER["Accept"]}).content
    assert gateway.get("/").json["endpoints"]["search"] == f"{gateway.url}/search"
    assert gateway.get("/publishers").json["total"] == 3
    assert "searches" in gateway.get("/health").json
    assert gateway.get("/stats.json").json["scope"] == "instance"
    assert b"<html" in gateway.get("/stats").content


def test_crawlers_are_asked_to_keep_off_only_where_that_is_set(pages: Service) -> None:
    assert pages.get("/samples/").headers["X-Robots-Tag"] is None
    with function("pages", {"ROBOTS_NOINDEX": "1"}) as service:
        assert service.until_ready().status == 200
        assert service.get("/samples/").headers["X-Robots-Tag"] == "noindex"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, False), ("", True), ("text/html", True), ("text/*", True), ("*/*;q=0", True), ("image/png", True),
        ("application/json", False), ("APPLICATION/JSON ; Q=0.9, text/html;q=0.1", False), ("text/html;q=x", True),
        ("application/*", False), ("application/json, text/html", True), (";q=1,,", True),
        ("application/json;q=nan, text/html", True), ("text/html;q=0, */*", False),
    ],
)  # fmt: skip
def test_what_a_client_prefers_is_read_by_its_ratings(accept: str | None, expected: bool) -> None:
    assert prefers_html(accept) is expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, False), ("", False), ("gzip", True), ("br, GZIP;q=0.5", True), ("gzip;q=0", False), ("*", True),
        ("br", False),
    ],
)  # fmt: skip
def test_gzip_is_sent_to_those_who_take_it(header: str | None, expected: bool) -> None:
    assert takes_gzip(header) is expected


@pytest.mark.parametrize(
    ("given", "here", "tables", "sites"),
    [
        ({}, (), "", {kind: f"/sites/{kind}" for kind in KINDS}),
        ({"tables_url": "https://ard.example.org/"}, (), "https://ard.example.org",
         {kind: f"https://ard.example.org/sites/{kind}" for kind in KINDS}),
        ({"site_urls": "trails=https://t.example/mcp, boats=https://b.example"}, (), "", {"trails": "https://t.example"}),
        ({"site_urls": "trails=https://t.example,homes=http://h.example:81/a/"}, ("trails",), "",
         {"trails": "/sites/trails", "homes": "http://h.example:81/a"}),
    ],
)  # fmt: skip
def test_pages_ask_the_services_that_the_settings_name(
    given: Mapping[str, str], here: tuple[str, ...], tables: str, sites: Mapping[str, str]
) -> None:
    found = addresses(Settings(**given), here)  # type: ignore[arg-type]
    assert (found.tables, dict(found.sites)) == (tables, sites)


def test_the_policy_names_each_origin_that_is_asked_once() -> None:
    settings = Settings(
        tables_url="https://a.example/ard", site_urls="trails=https://a.example/t,homes=http://b.example:81"
    )
    assert "connect-src 'self' https://a.example http://b.example:81;" in policy(addresses(settings))


@pytest.mark.parametrize(
    "url", ["ftp://a.example", "https://a.example; script-src *", "//a", 'https://a"b', "https://a/?q"]
)
@pytest.mark.parametrize("name", ["tables_url", "site_urls"])
def test_X04_an_address_that_could_end_the_policy_or_the_script_is_refused(name: str, url: str) -> None:
    given = {name: url if name == "tables_url" else f"trails={url}"}
    with pytest.raises(SettingsError, match=name.upper()):
        create(Settings(**given))  # type: ignore[arg-type]


def test_a_page_that_is_rewritten_is_sent_anew_and_a_browser_that_knows_it_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>one")
    assets = open_assets({}, tmp_path)
    assert (assets["index.html"].content, assets.changed()) == (b"<p>one", False)
    (tmp_path / "index.html").write_text("<p>another")
    assert assets.changed()
    again = open_assets({}, tmp_path)
    assert again["index.html"].digest != assets["index.html"].digest


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_only_files_that_are_there_by_relative_addresses(page: str) -> None:
    assert loaded(page) - set(asset_names()) == set()
    for address in re.findall(r'<a\b(?![^>]*\bdata-route=)[^>]*\bhref="([^"#]+)"', read(page)):
        path = target(PAGES[page], address) if address not in ("./", "../", "../../") else "index.html"
        known = {*asset_names(), *(f"samples/{kind}" for kind in KINDS), "samples", "samples/wake", "."}
        assert path in known, address


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.js", "// x\na; // y\n  /** b\n * c */\nd;", "\na; // y\n\n\nd;"),
        ("a.js", "/* a */ b; /* c */\nd;", "/* a */ b; /* c */\nd;"),
        ("a.js", 'a = "// b";\n/* c **/\nd = /\\/\\*/;', 'a = "// b";\n\nd = /\\/\\*/;'),
        ("a.css", "a { /* b\n */ c: d; }", "a { \n c: d; }"),
        ("a.html", "<!-- // a -->\n// b", "<!-- // a -->\n// b"),
    ],
)
def test_comments_stay_at_home_and_every_line_keeps_its_number(name: str, content: str, expected: str) -> None:
    assert as_sent(name, content.encode()).decode() == expected


def test_no_script_has_a_text_over_several_lines_in_which_a_comment_could_be_seen() -> None:
    for name in asset_names():
        if name.endswith(".js"):
            text = as_sent(name, read(name).encode()).decode()
            plain = [_TEXT_OR_PATTERN.sub("", line).replace("\\`", "") for line in text.splitlines()]
            assert [line for line in plain if line.count("`") % 2] == [], name


@pytest.mark.parametrize("page", PAGES)
def test_the_scripts_and_styles_of_a_page_are_at_most_60_kb_compressed(page: str) -> None:
    assert weight(page) <= MOST_BYTES


def test_no_file_is_there_that_no_page_loads() -> None:
    used = {name for page in PAGES for name in (page, *loaded(page))}
    assert set(asset_names()) - used <= {"js/pages/moved.js"}


@pytest.mark.parametrize("page", PAGES)
def test_X04_no_page_has_code_or_style_in_its_markup(page: str) -> None:
    text = read(page)
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style\b|\bstyle=|\son\w+=|javascript:|<base\b|<iframe\b", text)
    assert re.search(r'<html lang="en">', text)
    assert text.count('<meta charset="utf-8"') == text.count("<title>") == text.count("<main") == 1
    assert 'name="viewport"' in text
    assert 'name="description"' in text
    assert 'rel="icon"' in text


def test_X04_no_script_turns_text_into_markup_or_code() -> None:
    forbidden = re.compile(
        r"\b(?:outerHTML|insertAdjacentHTML|createContextualFragment|DOMParser|eval|Function)\b|document\.write"
    )
    for name in asset_names():
        if name.endswith(".js"):
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", read(name), flags=re.DOTALL)
            assert not forbidden.search(text), name
            # The one use: a textarea, which holds text alone, decodes entities.
            assert text.count("innerHTML") == (1 if name == "js/dom.js" else 0), name


def test_the_function_imports_nothing_that_asks_models_or_reads_a_release() -> None:
    code = "import sys, functions.pages.service; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = {
        "numpy",
        "numkong",
        "onnxruntime",
        "tokenizers",
        "pydantic",
        "asyncio",
        "sqlite3",
        "httpx",
        "yaml",
        "shared.tables",
    }
    assert not heavy & set(done.stdout.split())
