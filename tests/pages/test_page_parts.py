"""What the pages are made with: elements, formats and requests, each module imported in a real browser."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page
from replies import NASTY


def in_page(page: Page, url: str, module: str, code: str) -> Any:
    """What an expression says of a module's exports, `it`."""
    page.goto(f"{url}/samples/how.html")
    return page.evaluate(
        f"async () => {{ const it = await import(new URL('../js/{module}', location.href)); return {code}; }}"
    )


def test_values_read_as_people_write_them(page: Page, gateway_url: str) -> None:
    code = """[
      it.number(24287), it.number("x"), it.number(null), it.number(""), it.number(1.25, 1),
      it.cost(0.0041), it.cost(12.3), it.cost(0), it.cost({}), it.money(1250000), it.percent(0.825, 1),
      it.ms(340), it.ms(1840), it.ms(75000), it.ms(-1), it.bytes(1), it.bytes(2048), it.bytes(3500000),
      it.plural(1, "result"), it.plural(0, "match", "matches"),
      it.duration("PT75M"), it.duration("P1DT2H"), it.duration("PT0M"), it.duration("PT45S"), it.duration(4),
      it.day("2026-10-09"), it.day("never"), it.clip("one two three", 9), it.clip(5, 3),
    ]"""
    assert in_page(page, gateway_url, "format.js", code) == [
        "24,287", "", "", "", "1.3",
        "$0.0041", "$12.30", "$0.00", "", "$1,250,000", "82.5 %",
        "340 ms", "1.8 s", "1 min 15 s", "", "1 byte", "2 KB", "3.3 MB",
        "1 result", "0 matches",
        "1 hr 15 min", "1 day 2 hr", "", "", "",
        "Oct 9, 2026", "", "one two…", "",
    ]  # fmt: skip


def test_a_list_of_conversations_says_when_in_few_words(page: Page, gateway_url: str) -> None:
    code = """(() => {
      const now = new Date(2026, 9, 9, 15, 0);
      const days = [new Date(2026, 9, 9, 14, 5), new Date(2026, 9, 8, 23, 59), new Date(2026, 9, 6, 1)];
      return [...days, new Date(2026, 9, 1), new Date(2025, 9, 4), "x"].map((day) => it.ago(day, now));
    })()"""
    said = in_page(page, gateway_url, "format.js", code)
    assert said == ["14:05", "Yesterday", "3 days ago", "Oct 1", "Oct 4, 2025", ""]


ADDRESSES = [
    ("https://a.example/b?c#d", "https://a.example/b?c#d"), ("HTTP://A.example", "http://a.example/"),
    ("javascript:alert(1)", ""), (" java\nscript:alert(1)", ""), ("data:text/html,x", ""), ("//a.example", ""),
    ("vbscript:x", ""), ("", ""), (None, ""), (7, ""), (["https://a.example"], ""), ("blob:https://a.example/x", ""),
]  # fmt: skip


def test_X04_only_http_addresses_become_links(page: Page, gateway_url: str) -> None:
    code = f"""{json.dumps([given for given, _ in ADDRESSES])}.map((given) => [
      it.safeUrl(given),
      it.outerLink(given, null, "x").getAttribute("href") ?? "",
      it.el("a", {{ href: given }}).protocol,
    ])"""
    for (given, expected), (safe, link, protocol) in zip(
        ADDRESSES, in_page(page, gateway_url, "dom.js", code), strict=True
    ):
        assert (safe, link) == (expected, expected), given
        assert protocol in ("http:", "https:", ":", "blob:"), given


def test_X04_elements_take_text_and_refuse_code_and_style(page: Page, gateway_url: str) -> None:
    refused = [{"onclick": "alert(1)"}, {"style": "a"}, {"srcdoc": "<b>"}, {"innerHTML": "<b>"}]
    code = f"""[
      it.el("p", null, {json.dumps(NASTY)}, [1, null, false, ["a"]]).textContent,
      it.el("img", {{ src: "javascript:1" }}).hasAttribute("src"),
      it.el("input", {{ disabled: true, hidden: false }}).outerHTML,
      ...{json.dumps(refused)}.map((each) => {{
        try {{ it.el("p", each); return "made"; }} catch (error) {{ return error.name; }}
      }}),
    ]"""
    assert in_page(page, gateway_url, "dom.js", code) == [
        f"{NASTY}1a", False, '<input disabled="">', *["TypeError"] * 4
    ]  # fmt: skip


def test_entities_are_decoded_and_tags_stay_text(page: Page, gateway_url: str) -> None:
    nasty = json.dumps("</textarea><img src=x onerror='window.pwned=1'>&#39;")
    code = f"""["a &amp; b", "&lt;b&gt;", "<b>&eacute;</b>", {nasty}, "&", 5]
      .map(it.decodeEntities).concat([String(window.pwned)])"""
    assert in_page(page, gateway_url, "dom.js", code) == [
        "a & b", "<b>", "<b>é</b>", "</textarea><img src=x onerror='window.pwned=1'>'", "&", "", "undefined"
    ]  # fmt: skip


def test_the_wait_is_read_from_the_header_or_the_body(page: Page, gateway_url: str) -> None:
    code = """[["7", {}], ["0", {}], ["x", { retry_after: 9 }], [null, { retryAfterSeconds: 2.2 }], [null, null],
      [new Date(Date.now() + 90000).toUTCString(), null], ["-3", {}]].map(([header, body]) =>
      it.retryAfterOf(new Response("", { headers: header === null ? {} : { "Retry-After": header } }), body))"""
    waits = in_page(page, gateway_url, "api.js", code)
    assert waits[:5] == [7, 0, 9, 3, None]
    assert 80 <= waits[5] <= 90
    assert waits[6] is None


def test_the_addresses_of_config_js_are_used_and_the_own_origin_else(page: Page, gateway_url: str) -> None:
    code = """[it.tablesUrl("/search"), it.siteUrl("homes", "/ask"),
      (window.ASKBUCKET_API = "https://a.example/", it.tablesUrl("/search")),
      (window.NLWEB_API = { homes: "https://h.example/" }, it.siteUrl("homes", "/ask")),
      it.siteUrl("constructor", "/ask"), (window.NLWEB_API = null, it.siteUrl("homes", "/ask"))]"""
    page.route("**/config.js", lambda route: route.abort())
    assert in_page(page, gateway_url, "api.js", code) == [
        "/search", "/sites/homes/ask", "https://a.example/search", "https://h.example/ask", "/sites/constructor/ask",
        "/sites/homes/ask",
    ]  # fmt: skip
