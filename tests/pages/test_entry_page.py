"""The page of one entry, and browsing by source, against the real service."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from wire import Service

TABLE = "urn:air:datacommons.org:okf:datacommons.sdg-si-pov-day1"
SOURCE = "urn:air:worldbank.org:okf:worldbank"

COMMANDS = "async (all) => { const {curlOf} = await import('./js/search/curl.js'); return all.map(curlOf); }"


@pytest.fixture(scope="session")
def service(gateway_url: str, tmp_path_factory: pytest.TempPathFactory) -> Service:
    """The same service, asked without a browser."""
    return Service(gateway_url, tmp_path_factory.getbasetemp())


@pytest.fixture
def reader(context_of: Callable[..., BrowserContext]) -> Page:
    """A page whose clipboard can be read."""
    return context_of(permissions=["clipboard-read", "clipboard-write"]).new_page()


def opened(page: Page, gateway_url: str, identifier: str) -> Page:
    page.goto(f"{gateway_url}/entry?{urlencode({'id': identifier})}")
    expect(page.locator("#entry")).not_to_have_attribute("aria-busy", "true")
    return page


def copied(page: Page, label: str) -> str:
    """What a button puts into the clipboard."""
    page.get_by_role("button", name=label).first.click()
    expect(page.get_by_role("status")).to_have_text("Copied")
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_an_entry_shows_its_front_matter_its_questions_and_its_document(
    page: Page, gateway_url: str, service: Service, axe: Callable[[Page], None]
) -> None:
    entry = service.get(f"/agents/entry?id={TABLE}").json
    opened(page, gateway_url, TABLE)
    expect(page.get_by_role("heading", level=1)).to_have_text(entry["displayName"])
    expect(page).to_have_title(f"{entry['displayName']} · One table · Askbucket")
    matter = page.get_by_role("region", name="Front matter")
    for term in ("variable", "populationType", "statType", "sourceDocument"):
        expect(matter.locator(f"dt:text-is('{term}') + dd").first).to_have_text(entry[f"okf:{term}"])
    expect(matter.locator("dt:text-is('importName') + dd")).to_have_text(entry["okf:facet"]["importName"])
    assert page.locator("#entry .chips a").all_inner_texts() == entry["representativeQueries"]
    document = page.get_by_role("region", name="Document")
    expect(document.get_by_role("heading", name="Schema", level=3)).to_be_visible()
    expect(document.get_by_role("row", name="unit Percent")).to_be_visible()
    axe(page)
    document.get_by_role("link", name="access").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Data Commons statistical variables (access)")
    axe(page)


def test_the_operations_of_a_source_are_filled_with_what_the_table_knows(
    reader: Page, gateway_url: str, service: Service
) -> None:
    entry = service.get(f"/agents/entry?id={TABLE}").json
    opened(reader, gateway_url, TABLE)
    card = reader.locator(".operation", has=reader.get_by_role("heading", name="observation", exact=True))
    template = entry["okf:access"]["operations"]["observation"]["url"]
    url = template.replace("{variable}", entry["okf:variable"])
    expect(card.locator("pre")).to_have_text(url)
    assert card.locator(".blank").all_inner_texts() == ["{entity}", "{date}"]
    assert copied(reader, "Copy address of observation") == url
    assert copied(reader, "Copy as curl of observation") == f"curl -H 'X-API-Key: '\"$DC_API_KEY\" '{url}'"


def test_an_entry_is_copied_as_json_and_as_a_command_that_gets_it(
    reader: Page, gateway_url: str, service: Service
) -> None:
    entry = service.get(f"/agents/entry?id={TABLE}").json
    opened(reader, gateway_url, "sources/datacommons/sdg-si-pov-day1.md")
    assert json.loads(copied(reader, "Copy as JSON")) == entry
    assert copied(reader, "Copy identifier") == TABLE
    command = copied(reader, "Copy as curl")
    assert command == f"curl '{gateway_url}/agents/entry?{urlencode({'id': TABLE})}'"
    assert service.get(command.split("'")[1].removeprefix(gateway_url)).json == entry
    raw = reader.get_by_role("link", name="As published").get_attribute("href")
    assert raw
    assert service.get(raw).content.startswith(b"---\n")


def test_X04_a_command_made_of_a_hostile_document_runs_nothing_but_curl(
    page: Page, gateway_url: str, tmp_path: Path
) -> None:
    """Who copies a command trusts it: a real shell runs it here, with a curl of ours that says what it was given."""
    curl = tmp_path / "curl"
    curl.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    curl.chmod(0o755)
    mean = [
        "'; touch pwned; '",
        "$(touch pwned)",
        "`touch pwned`",
        "a\ntouch pwned",
        "\u2028\x1b[201~touch pwned",
        "-o pwned",
    ]
    operations = [
        {
            "method": "POST",
            "url": f"https://x.example/{each}".replace(" ", "%20").replace("\n", ""),
            "headers": headers,
            "body": each,
        }
        for each in mean
        for headers in ({"X-Key": each}, {each: "x"}, {"X-Key": "env:PATH"}, {"X-Key": "env:A;touch pwned"})
    ]
    page.goto(f"{gateway_url}/entry")
    lines = page.evaluate(COMMANDS, operations)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for line, operation in zip(lines, operations, strict=True):
        if not line:
            continue
        run = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        given = run.stdout.split("\0")[:-1]
        assert given[-1] == operation["url"].replace("\u2028", " ").replace("\x1b", " ")
        assert given[:2] == ["-X", "POST"]
        assert "\n" not in line
    assert sum(map(bool, lines)) >= len(mean)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curl"]
    refused = [
        {"method": "GET;id", "url": "https://x.example"},
        {"method": "GET", "url": "-o /x"},
        {"url": "file:///x"},
    ]
    assert page.evaluate(COMMANDS, refused) == ["", "", ""]


def test_an_entry_that_is_not_there_is_said_to_be_none(
    page: Page, gateway_url: str, watch: Any, axe: Callable[[Page], None]
) -> None:
    watch.expect("status of 404")
    opened(page, gateway_url, "urn:air:nowhere.org:okf:none")
    expect(page.get_by_role("heading", name="There is no such entry")).to_be_visible()
    expect(page.locator(".failure")).to_contain_text("urn:air:nowhere.org:okf:none")
    axe(page)
    page.goto(f"{gateway_url}/entry")
    expect(page.get_by_role("heading", name="No entry is named")).to_be_visible()
    page.get_by_role("button", name="Browse all sources").click()
    expect(page.get_by_role("heading", name="Browse by source")).to_be_visible()


@pytest.mark.parametrize("address", ["entry?id=x", "browse?source=worldbank", "browse"])
def test_a_service_that_starts_is_asked_again_until_it_answers(
    page: Page, gateway_url: str, watch: Any, address: str
) -> None:
    watch.expect("status of 503")
    body = json.dumps({"error": "Service is starting", "code": "starting"})
    route = (
        "**/.well-known/ard.json" if address == "browse" else "**/agents*/**" if "entry" in address else "**/agents?*"
    )
    page.route(route, lambda each: each.fulfill(status=503, body=body, headers={"Retry-After": "2"}), times=1)
    if "entry" in address:
        address = f"entry?id={TABLE}"
    page.goto(f"{gateway_url}/{address}")
    expect(page.locator(".wait")).to_contain_text("Trying again in")
    expect(page.locator(".failure")).to_have_count(0)
    expect(page.locator("#entry h2, #list a").first).to_be_visible()


def test_every_source_is_listed_with_its_tables(
    page: Page, gateway_url: str, service: Service, axe: Callable[[Page], None]
) -> None:
    listed = service.get("/.well-known/ard.json").json["entries"][1:]
    page.goto(f"{gateway_url}/browse")
    cards = page.locator("article")
    expect(cards).to_have_count(len(listed))
    for source in listed:
        card = cards.filter(has=page.locator(f"a[href='browse.html?source={source['okf:sourceDirectory']}']"))
        expect(card).to_contain_text(source["description"])
        expect(card).to_contain_text(f"{source['okf:tableCount']} tables")
    axe(page)
    page.get_by_role("link", name="World Bank").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("World Bank")


def test_the_entries_of_a_source_are_read_page_by_page_there_and_back(
    page: Page, gateway_url: str, service: Service, axe: Callable[[Page], None]
) -> None:
    wanted = []
    token = ""
    while token is not None:
        query = urlencode({"publisherId": "datacommons", "orderBy": "displayName", "pageSize": 50, "pageToken": token})
        reply = service.get(f"/agents?{query.removesuffix('&pageToken=')}").json
        wanted.append([entry["displayName"] for entry in reply["items"]])
        token = reply["pageToken"]
    total = sum(map(len, wanted))
    page.goto(f"{gateway_url}/browse?source=datacommons")
    rows = page.locator(".entry-list a")
    expect(page.locator("#list").get_by_text(f"1–50 of {total} tables")).to_be_visible()
    for at, names in enumerate(wanted):
        expect(rows).to_have_text(names)
        if at < len(wanted) - 1:
            page.get_by_role("button", name="Next").click()
            expect(page.locator("#list").get_by_text(f"{50 * (at + 1) + 1}–")).to_be_visible()
    axe(page)
    expect(page.get_by_role("button", name="Next")).to_have_count(0)
    page.reload()
    expect(rows).to_have_text(wanted[-1])
    page.get_by_role("button", name="Previous").click()
    expect(rows).to_have_text(wanted[-2])
    page.go_back()
    expect(rows).to_have_text(wanted[-1])
    page.get_by_role("button", name="Previous").click()
    expect(rows).to_have_text(wanted[-2])


def test_a_source_is_narrowed_to_what_mentions_a_word(page: Page, gateway_url: str) -> None:
    page.goto(f"{gateway_url}/browse?source=worldbank")
    page.get_by_label("Only tables that mention").fill("forest")
    page.get_by_role("button", name="Narrow").click()
    expect(page.locator("#list").get_by_text("with “forest”")).to_be_visible()
    names = page.locator(".entry-list a").all_inner_texts()
    assert names
    assert len(names) < 10
    assert parse_qs(urlsplit(page.url).query) == {"source": ["worldbank"], "q": ["forest"]}
    page.get_by_label("Only tables that mention").fill("nothing says this")
    page.keyboard.press("Enter")
    expect(page.locator("#list").get_by_text("No table with")).to_be_visible()
    page.go_back()
    expect(page.locator(".entry-list a")).to_have_text(names)


@pytest.mark.parametrize(
    ("query", "heading", "offered"),
    [
        ("source=nowhere", "A filter names what is not there", "All sources"),
        ("source=worldbank&page=old", "The collection has changed since", "Begin at the first page"),
    ],
)
def test_a_list_that_is_not_there_any_more_says_where_to_go_on(
    page: Page, gateway_url: str, watch: Any, axe: Callable[[Page], None], query: str, heading: str, offered: str
) -> None:
    watch.expect("status of 400")
    page.goto(f"{gateway_url}/browse?{query}")
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    axe(page)
    page.get_by_role("button", name=offered).click()
    expect(page.locator(".failure")).to_have_count(0)
    expect(page.locator("#list a").first).to_be_visible()


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("phone", f"entry?id={TABLE}"),
        ("phone", "browse?source=sec-edgar"),
        ("dark", f"entry?id={SOURCE}"),
        ("dark", "browse"),
    ],
)
def test_entries_and_lists_are_whole_and_accessible_on_phones_and_in_the_dark(
    request: pytest.FixtureRequest, gateway_url: str, axe: Callable[[Page], None], kind: str, address: str
) -> None:
    page: Any = request.getfixturevalue(kind)
    page.goto(f"{gateway_url}/{address}")
    expect(page.locator("#entry h2, #list a").first).to_be_visible()
    for fold in page.locator("summary").all():
        fold.click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    axe(page)
