"""X04: documents, addresses and replies that mean harm are shown as text and break nothing.

A release is built from hostile documents with the shipped command and served by the real gateway; what the wire could
never say, because the server does not say it, is put into replies on their way to the page.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect
from wire import Service, serving

from cli.main import main

ATTACK = """"><script>window.pwned=1</script><img src=x onerror="window.pwned=1"><b>'{{7*7}}${7*7}</b>&lt;i&gt;"""
ADDRESSES = (
    "javascript:window.pwned=1",
    " JaVaScRiPt:window.pwned=1",
    "java\nscript:window.pwned=1",
    "data:text/html,<script>window.pwned=1</script>",
    "vbscript:window.pwned=1",
    "//evil.example/x",
    "file:///etc/passwd",
)
RIGHT_TO_LEFT = "\u202egnp.exe \u2067שלום עולם \u0627\u0644\u0633\u0644\u0627\u0645\u2069"
BODY = "\n\n".join(
    [
        f"# {ATTACK}",
        f"{ATTACK} <iframe src=https://evil.example></iframe> <a href='javascript:window.pwned=1'>raw</a>",
        *(f"[link]({each}) ![picture]({each}) <{each}>" for each in ADDRESSES),
        "![tracker](https://evil.example/pixel.png)",
        f"| {ATTACK.replace('|', '')} | b |\n|---|---|\n| [c](javascript:window.pwned=1) | `{ATTACK}` |",
        f"```{ATTACK.replace('`', '')}\n{ATTACK}\n```",
        f"- {ATTACK}\n  > {ATTACK}",
        RIGHT_TO_LEFT,
    ]
)
ACCESS = {
    "type": "Data Source",
    "title": f"Hostile {ATTACK}",
    "description": ATTACK,
    "publisher": "hostile.example",
    "entityType": ATTACK,
    "resource": ADDRESSES[0],
    "access": {
        "auth": ATTACK,
        "headers": {"X-Key": ATTACK, ATTACK: "x"},
        "operations": {
            ATTACK: {"method": ATTACK, "url": ADDRESSES[0], "capability": {ATTACK: [ATTACK, {ATTACK: None}]}},
            "get": {"method": "GET", "url": "https://api.hostile.example/{variable}?x=" + ATTACK},
        },
    },
}
LEAVES: dict[str, dict[str, Any]] = {
    "script": {
        "title": f"Script {ATTACK}",
        "description": ATTACK,
        "tags": [ATTACK, "hostile", "country"],
        "representativeQueries": [f"how many scripts {ATTACK}", ATTACK],
        "variable": ATTACK,
        "unit": ATTACK,
        "resource": ADDRESSES[3],
        "coverage": {"places": 3, "dates": {"first": ATTACK, "last": ATTACK}},
        "__proto__": {"polluted": True},
        "constructor": ATTACK,
    },
    "long": {
        "title": "Long " + "x" * 20_000,
        "description": "many scripts " + "y" * 400_000,
        "tags": ["z" * 5_000],
        "representativeQueries": ["how many scripts are long", "w" * 20_000],
        "notes": "n" * 200_000,
    },
    "turned": {
        "title": f"Turned {RIGHT_TO_LEFT}",
        "description": RIGHT_TO_LEFT,
        "tags": [RIGHT_TO_LEFT],
        "representativeQueries": ["how many scripts are turned", RIGHT_TO_LEFT],
        "unit": RIGHT_TO_LEFT,
    },
    "typed": {
        "title": 42,
        "description": ["a", {"b": ATTACK}],
        "tags": "scripts",
        "representativeQueries": ["how many scripts are typed", 7],
        "unit": {"a": [1, None, {}]},
        "coverage": [1, 2],
        "facet": "none",
        "access": "ask somebody",
    },
    "bare": {"representativeQueries": ["how many scripts are bare"]},
}
QUESTION = "how many scripts"
HARMLESS = """() => {
  const made = [...document.querySelectorAll("main *")];
  return {
    pwned: window.pwned === undefined && ({}).polluted === undefined,
    tags: [...new Set(made.map((each) => each.localName))]
      .filter((tag) => ["script", "img", "iframe", "object", "embed", "style", "base", "b", "i"].includes(tag)),
    handlers: made.flatMap((each) => [...each.attributes]).filter(({name}) => /^on|^style$/.test(name)).length,
    links: [...document.links].map((each) => each.protocol).filter((each) => each !== "http:" && each !== "https:"),
    wide: document.documentElement.scrollWidth > innerWidth,
  };
}"""
NO_HARM = {"pwned": True, "tags": [], "handlers": 0, "links": [], "wide": False}


@pytest.fixture(scope="module")
def hostile_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a gateway over a release of hostile documents. JSON is YAML, so each is written as one."""
    root = tmp_path_factory.mktemp("hostile")
    folder = root / "leaves" / "sources" / "hostile"
    folder.mkdir(parents=True)
    (folder / "_access.md").write_text(f"---\n{json.dumps(ACCESS)}\n---\n\n{BODY}\n")
    for stem, matter in LEAVES.items():
        (folder / f"{stem}.md").write_text(
            f"---\n{json.dumps({'type': ATTACK, 'source': './_access.md', **matter})}\n---\n\n{BODY}\n"
        )
    (folder / "broken.md").write_text(f"---\ntitle: [\n---\n\n# how many scripts are broken {ATTACK}\n")
    url = (root / "bucket").as_uri()
    build = ["build", "tables", "--leaves", str(root / "leaves"), "--bucket", url, "--embedder", "embedded"]
    assert main(build) == 0
    with serving(url, {"LLM_PROVIDER": "embedded"}) as service:
        yield service.url


def test_X04_hostile_results_are_text_on_the_search_page(
    page: Page, hostile_url: str, axe: Callable[[Page], None]
) -> None:
    page.goto(f"{hostile_url}/?{urlencode({'q': QUESTION, 'judge': 0})}")
    expect(page.locator("article.result")).to_have_count(len(LEAVES) + 1)
    card = page.locator("article.result", has=page.locator("h3", has_text=re.compile("^Script ")))
    expect(card.locator("h3")).to_have_text(f"Script {ATTACK}")
    expect(card.locator("dt:text-is('Unit') + dd")).to_have_text(ATTACK)
    expect(card.locator(".chips button").first).to_contain_text('"><script>')
    expect(card.locator(".answers a").last).to_have_text(ATTACK)
    for fold in page.locator("summary").all():
        if fold.is_visible():
            fold.click()
    assert page.evaluate(HARMLESS) == NO_HARM
    axe(page)
    # Following what a card says is a search for these words, and no more.
    card.locator(".answers a").last.click()
    expect(page.locator("#query")).to_have_value(ATTACK)
    assert page.evaluate(HARMLESS) == NO_HARM


@pytest.mark.parametrize("stem", [*LEAVES, "broken", "_access"])
def test_X04_a_hostile_document_is_text_on_its_page(
    phone: Page, hostile_url: str, axe: Callable[[Page], None], stem: str
) -> None:
    page = phone
    page.goto(f"{hostile_url}/entry?{urlencode({'id': f'sources/hostile/{stem}.md'})}")
    expect(page.get_by_role("heading", name="Front matter")).to_be_visible()
    for fold in page.locator("summary").all():
        fold.click()
    assert page.evaluate(HARMLESS) == NO_HARM
    if stem != "broken":
        document = page.get_by_role("region", name="Document")
        expect(document).to_contain_text(ATTACK)
        expect(document).to_contain_text("[link](javascript:window.pwned=1)")
        assert {each.get_attribute("href") for each in document.get_by_role("link").all()} == {
            "https://evil.example/pixel.png",
            "https://evil.example",
        }
    axe(page)


def test_X04_a_hostile_source_is_text_where_it_is_browsed(
    page: Page, hostile_url: str, axe: Callable[[Page], None]
) -> None:
    page.goto(f"{hostile_url}/browse")
    expect(page.locator("article h2")).to_have_text(f"Hostile {ATTACK}")
    assert page.evaluate(HARMLESS) == NO_HARM
    page.goto(f"{hostile_url}/browse?source=hostile")
    expect(page.locator(".entry-list li")).to_have_count(len(LEAVES) + 1)
    expect(page.get_by_role("link", name=re.compile("^Script "))).to_have_text(f"Script {ATTACK}")
    assert page.evaluate(HARMLESS) == NO_HARM
    axe(page)


@pytest.mark.parametrize("address", ["/", "/entry", "/browse"])
def test_X04_hostile_addresses_are_text(page: Page, gateway_url: str, watch: Any, address: str) -> None:
    watch.expect(r"status of (400|404)")
    for name in ("q", "id", "source", "publisher", "tag", "page"):
        page.goto(f"{gateway_url}{address}?{urlencode({name: ATTACK, 'q': ATTACK, '__proto__': 'x'})}")
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        expect(page.locator("main h2").first).to_be_visible()
        assert page.evaluate(HARMLESS) == NO_HARM


ODD: list[Any] = [None, 7, "x", [], {}, [None], [[[]]], {"a": {"b": {}}}, ATTACK, True, -1.5, "\ud800", "x" * 50_000]
FIELDS = (
    "identifier displayName description score embedScore rerankScore foundBy tags representativeQueries data type "
    "okf:sourceDirectory okf:sourceDocument okf:accessDescriptor okf:publisher okf:resource okf:type okf:coverage "
    "okf:facet okf:unit okf:variable okf:access okf:entityType trustManifest"
).split()


def an_odd_entry(dice: random.Random) -> dict[str, Any]:
    return {field: dice.choice(ODD) for field in FIELDS if dice.random() < 0.8}


def an_odd_reply(dice: random.Random) -> dict[str, Any]:
    call = {key: dice.choice(ODD) for key in ("stage", "model", "outcome", "elapsed_ms", "tokens", "cost_usd")}
    return {
        "results": [dice.choice(ODD), *(an_odd_entry(dice) for _ in range(3))],
        "notices": dice.choice([*ODD, [{"code": dice.choice(ODD), "message": dice.choice(ODD)}]]),
        "filter": dice.choice([*ODD, {"ignored": dice.choice(ODD)}]),
        "usage": dice.choice([*ODD, {"call_events": [call, None], "cost_usd": dice.choice(ODD), "llm_calls": "x"}]),
        "eligibility": dice.choice([*ODD, {"topScore": dice.choice(ODD), "threshold": dice.choice(ODD)}]),
    }


def test_X04_replies_with_missing_fields_and_wrong_types_break_no_page(page: Page, gateway_url: str) -> None:
    dice = random.Random(20)
    replies = iter([an_odd_reply(dice) for _ in range(12)] + [{"results": [], "eligibility": each} for each in ODD])
    page.route(
        "**/search", lambda route: route.fulfill(body=json.dumps(next(replies)), content_type="application/json")
    )
    page.goto(gateway_url)
    for at in range(12 + len(ODD)):
        page.fill("#query", f"question {at}")
        page.press("#query", "Enter")
        expect(page.locator(".result" if at < 12 else ".no-match").first).to_be_visible()
        expect(page.get_by_text("Searching…")).to_have_count(0)
        page.evaluate("document.querySelectorAll('#results details').forEach((each) => { each.open = true; })")
        assert page.evaluate(HARMLESS) == NO_HARM, at
    page.unroute("**/search")


def test_X04_entries_and_lists_with_missing_fields_and_wrong_types_break_no_page(page: Page, gateway_url: str) -> None:
    dice = random.Random(21)
    entries = [an_odd_entry(dice) for _ in range(8)] + [{"okf:access": {"operations": each}} for each in ODD]
    reply: dict[str, Any] = {}
    page.route(
        "**/agents**", lambda route: route.fulfill(body=json.dumps(reply["body"]), content_type="application/json")
    )
    for entry in entries:
        reply["body"] = entry
        page.goto(f"{gateway_url}/entry?id=x")
        expect(page.get_by_role("heading", name="Front matter")).to_be_visible()
        assert page.evaluate(HARMLESS) == NO_HARM, entry.keys()
    for body in ({}, [], {"items": entries, "total": "x", "offset": {}, "pageToken": 5}, {"items": "x"}):
        reply["body"] = body
        page.goto(f"{gateway_url}/browse?source=x")
        expect(page.locator("#list")).not_to_have_attribute("aria-busy", "true")
        assert page.evaluate(HARMLESS) == NO_HARM


ALLOWED_TAGS = set(
    "div h3 h4 h5 h6 p a em strong code pre ul ol li blockquote hr table thead tbody tr th td".split()
)  # fmt: skip
ALLOWED_ATTRIBUTES = {
    "class",
    "href",
    "title",
    "rel",
    "tabindex",
    "role",
    "aria-label",
    "start",
    "scope",
    "data-language",
}
PIECES = [
    "# ", "###### ", "- ", "* ", "1. ", "99) ", "> ", "    ", "\t", "```", "~~~", "`", "``", "*", "**", "_", "__",
    "[", "]", "](", ")", "(", "![", "<", ">", "|", "|---|", "---", "\\", "\n", "\n\n", " ", "<script>", "</script>",
    "<img src=x onerror=alert(1)>", "javascript:alert(1)", "https://a.example/x", "http://", "data:text/html,x",
    "../../../x.md", "/etc/passwd", "\u202e", "שלום", "\u2028", "\U0001f600", "\u0000", "é", "h", "|-|\n", ":-:", "***",
    "&lt;", "./x.md",
]  # fmt: skip
RENDERED = """async (sources) => {
  const {markdown} = await import("./js/search/markdown.js");
  const {targetFrom} = await import("./js/search/links.js");
  return sources.map((source) => {
    const made = markdown(source, {link: (target) => targetFrom("sources/x/y.md", target)});
    const inside = [made, ...made.querySelectorAll("*")];
    return {
      tags: [...new Set(inside.map((each) => each.localName))],
      attributes: [...new Set(inside.flatMap((each) => [...each.attributes].map(({name}) => name)))],
      links: inside.filter((each) => each.localName === "a").map((each) => each.getAttribute("href")),
      shown: made.textContent + " " + inside.flatMap((each) => [...each.attributes].map(({value}) => value)).join(" "),
    };
  });
}"""


def a_text(dice: random.Random) -> str:
    words = (f"w{number}w" if dice.random() < 0.3 else dice.choice(PIECES) for number in range(dice.randrange(1, 60)))
    return "".join(words)


def test_X04_whatever_markdown_says_it_becomes_only_harmless_elements_and_loses_no_word(
    page: Page, gateway_url: str
) -> None:
    dice = random.Random(22)
    sources = [a_text(dice) for _ in range(1_500)]
    page.goto(f"{gateway_url}/entry")
    for source, made in zip(sources, page.evaluate(RENDERED, sources), strict=True):
        assert set(made["tags"]) <= ALLOWED_TAGS, source
        assert set(made["attributes"]) <= ALLOWED_ATTRIBUTES, source
        assert all(re.match(r"(?i)https?://|entry\.html\?id=sources%2F", link) for link in made["links"]), source
        assert [word for word in re.findall(r"w\d+w", source) if word not in made["shown"]] == [], source


def test_a_document_becomes_what_its_markdown_says(page: Page, gateway_url: str) -> None:
    page.goto(f"{gateway_url}/entry")
    away = 'rel="noopener noreferrer"'
    cases = {
        "# One\n### Two": "<h3>One</h3><h4>Two</h4>",
        "a *b* **c** `d*` _e_ f_g_h \\*i\\*": (
            "<p>a <em>b</em> <strong>c</strong> <code>d*</code> <em>e</em> f_g_h *i*</p>"
        ),
        "- a\n- b\n  1. c\n  2. d\n\npara": "<ul><li>a</li><li>b<ol><li>c</li><li>d</li></ol></li></ul><p>para</p>",
        "> a\n> > b": "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>",
        '[x](https://a.example/b_(c) "T")': f'<p><a href="https://a.example/b_(c)" title="T" {away}>x</a></p>',
        "[x](./_access.md)": '<p><a href="entry.html?id=sources%2Fx%2F_access.md">x</a></p>',
        "[x](../y/z.md#part)": '<p><a href="entry.html?id=sources%2Fy%2Fz.md">x</a></p>',
        "[x](../../../z.md) [y](/z.md) [z](c:z.md)": "<p>[x](../../../z.md) [y](/z.md) [z](c:z.md)</p>",
        "see https://a.example/b.": f'<p>see <a href="https://a.example/b" {away}>https://a.example/b</a>.</p>',
        "***\n\n1) x": "<hr><ol><li>x</li></ol>",
    }
    made = page.evaluate(
        """async (sources) => {
          const {markdown} = await import("./js/search/markdown.js");
          const {targetFrom} = await import("./js/search/links.js");
          return sources.map((source) => markdown(source, {link: (to) => targetFrom("sources/x/y.md", to)}).innerHTML);
        }""",
        list(cases),
    )
    assert dict(zip(cases, made, strict=True)) == cases


def test_no_text_keeps_the_page_busy(page: Page, gateway_url: str) -> None:
    """Each is as long as a document that is formatted may be; what took the square of that would never end."""
    pieces = [
        *PIECES,
        "*a",
        "**a",
        "_a_ ",
        "[](",
        "[a](b",
        "![",
        "<http://",
        "`a``",
        "- \n",
        "\n  \n",
        "a|b\n-|-\n",
        "> > ",
        "- - ",
    ]
    page.goto(f"{gateway_url}/entry")
    for piece in pieces:
        [made] = page.evaluate(RENDERED, [piece * (100_000 // len(piece.encode("utf-16-le")) * 2)])
        assert set(made["tags"]) <= ALLOWED_TAGS, piece
    [made] = page.evaluate(RENDERED, ["[x](https://a.example) " * 50_000])
    assert made["tags"] == ["div", "pre"]


def test_the_release_of_hostile_documents_is_hostile(hostile_url: str, tmp_path: Path) -> None:
    """The tests above would pass over documents that lost their harm on the way."""
    entry = Service(hostile_url, tmp_path).get("/agents/entry?id=sources/hostile/script.md").json
    assert entry["description"] == ATTACK
    assert entry["okf:resource"] == ADDRESSES[3]
    assert "[link](javascript:window.pwned=1)" in entry["data"]["content"]
