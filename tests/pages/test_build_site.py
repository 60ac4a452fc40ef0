"""`askbucket build-site`: the pages as files, which a host that knows nothing of them serves below any prefix."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from cli.main import main
from functions.pages.assets import asset_names
from shared.sites.kinds import KINDS

API = "https://ard.example.org"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def static_url(tmp_path_factory: pytest.TempPathFactory, gateway_url: str) -> Iterator[str]:
    """A host of files with the pages below a prefix, which ask the gateway."""
    folder = tmp_path_factory.mktemp("static")
    assert main(["build-site", "--to", str(folder / "some" / "where"), "--api", gateway_url]) == 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/some/where"
    server.shutdown()
    server.server_close()
    thread.join()


def test_every_page_is_written_with_its_policy_and_where_the_services_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = ["--site", "trails=https://t.example/mcp", "--site", "homes=https://h.example"]
    assert main(["build-site", "--to", str(tmp_path), "--api", f"{API}/", *site, "--json"]) == 0
    files = files_of(tmp_path)
    told = json.loads(capsys.readouterr().out)
    assert (told["files"], told["tables"]) == (len(files), API)
    assert told["sites"] == {"trails": "https://t.example", "homes": "https://h.example"}
    assert set(asset_names()) - set(files) == {"samples/ask.html"}
    assert {f"samples/{kind}/index.html" for kind in KINDS} <= set(files)
    for name, content in files.items():
        if name.endswith(".html"):
            [rules] = re.findall(rb'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', content)
            assert f"connect-src &#x27;self&#x27; {API} https://t.example https://h.example;".encode() in rules, name
            assert b"frame-ancestors" not in rules, name
            assert b"noindex" not in content, name
    assert f'<link rel="ard" href="{API}/.well-known/ard.json"'.encode() in files["index.html"]
    assert files["config.js"].decode() == (
        f'window.ASKBUCKET_API = "{API}";\n'
        'window.NLWEB_API = {\n  "trails": "https://t.example",\n  "homes": "https://h.example",\n};\n'
    )


def test_the_same_pages_are_the_same_bytes_and_other_files_stay(tmp_path: Path) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "CNAME").write_text("search.example.org")
        assert main(["build-site", "--to", str(tmp_path / folder), "--api", API]) == 0
    assert files_of(tmp_path / "one") == files_of(tmp_path / "other")
    assert main(["build-site", "--to", str(tmp_path / "one"), "--api", API]) == 0
    assert files_of(tmp_path / "one") == files_of(tmp_path / "other")
    assert (tmp_path / "one" / "CNAME").read_text() == "search.example.org"


def test_settings_name_the_services_where_no_flag_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLES_URL", API)
    monkeypatch.setenv("SITE_URLS", "movies=https://m.example/mcp")
    monkeypatch.setenv("ROBOTS_NOINDEX", "1")
    assert main(["build-site", "--to", str(tmp_path)]) == 0
    assert f'"{API}"' in (tmp_path / "config.js").read_text()
    assert '"movies": "https://m.example"' in (tmp_path / "config.js").read_text()
    assert '<meta name="robots" content="noindex">' in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--api", "ard.example.org"], "TABLES_URL has 'ard.example.org'"),
        (["--site", "boats=https://b.example"], "--site boats=…: expected <kind>=<URL>"),
        (["--site", "homes=https://b.example", "--site", "homes=https://c.example"], "each kind once"),
        (["--site", "homes=javascript:alert(1)"], "expected an http or https address"),
    ],
)
def test_a_wrong_address_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    assert main(["build-site", "--to", str(tmp_path / "site"), *flags]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "site").write_text("a file")
    assert main(["build-site", "--to", str(tmp_path / "site")]) == 1
    assert f"--to {tmp_path / 'site'}" in capsys.readouterr().err


def test_pages_of_a_file_host_find_their_services_from_below_a_prefix(page: Page, static_url: str) -> None:
    page.goto(f"{static_url}/samples/")
    expect(page.locator(".sample-held").first).to_contain_text("recipes · Demo Kitchen")
    page.get_by_role("link", name="Stats").click()
    expect(page.locator("#report .tile").first).to_be_visible()
    page.get_by_role("link", name="Samples").click()
    page.get_by_role("link", name="Wake the services").click()
    expect(page.locator("#live")).to_have_text("5 of 5 services are awake")


def test_a_file_hosts_front_searches_and_a_site_is_asked(page: Page, static_url: str) -> None:
    page.goto(f"{static_url}/?q=unemployment+rate")
    expect(page.locator("main article").first).to_be_visible()
    page.goto(f"{static_url}/samples/recipes/?q=lentil+stew+with+spinach")
    expect(page.locator("#thread article").first).to_be_visible()


def test_short_addresses_lead_on_with_query_and_fragment(page: Page, static_url: str) -> None:
    for short, page_address in (("stats/?a=1#b", "stats.html?a=1#b"), ("homes/#thread=t_1", "samples/homes/")):
        page.goto(f"{static_url}/{short}")
        page.wait_for_url(f"{static_url}/{page_address}*")
