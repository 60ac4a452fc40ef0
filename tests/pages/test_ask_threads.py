"""Conversations: what is sent of them, how they are kept, named, found, shared, exported and deleted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from ask_page import ask, asked, kept, names, notices, open_page, over, status, stored
from fakes.ask_service import BEGIN, END, AskService, Stream, answer, frame, recipe
from playwright.sync_api import BrowserContext, Page, expect

WITHOUT_INDEXEDDB = """Object.defineProperty(window, "indexedDB", {
  get() { throw new DOMException("denied", "SecurityError"); },
});"""
# A conversation as older pages keep one: gzip, JSON that a browser could not compress, and bytes that are neither.
OLDER = """async () => {
  const db = await new Promise((resolve) => {
    const request = indexedDB.open("ask-samples", 1);
    request.onsuccess = () => resolve(request.result);
  });
  const record = (question, name) => new TextEncoder().encode(JSON.stringify({
    question, askedAt: "2026-10-04T12:00:00.000Z", interpretedAs: "", mode: "list", model: "", answer: "", notices: [],
    results: [{url: "https://example.org/x", name, site: "nytimes", schema_object: {"@type": "Recipe"}}], usage: null,
  }));
  const zipped = new Blob([record("old question", "Old Pie")]).stream().pipeThrough(new CompressionStream("gzip"));
  const blobs = [new Uint8Array(await new Response(zipped).arrayBuffer()), record("plain question", "Flan")];
  blobs.push(new Uint8Array(9));
  const transaction = db.transaction(["threads", "turns"], "readwrite");
  const when = "2026-10-04T12:00:00.000Z";
  transaction.objectStore("threads").put({
    id: "t_old", title: "old question", scope: "recipes", createdAt: when, updatedAt: when, turnCount: 3, schema: 1,
  });
  blobs.forEach((blob, place) => {
    transaction.objectStore("turns").put({threadId: "t_old", seq: 2 * place + 1, askedAt: when, blob});
  });
  await new Promise((resolve) => { transaction.oncomplete = resolve; });
  db.close();
}"""


def open_list(page: Page) -> None:
    page.click("#toggle-sidebar")
    expect(page.locator("#search")).to_be_visible()


def titles(page: Page) -> list[str]:
    return page.locator(".conversation-title").all_inner_texts()


def test_a_question_carries_what_was_asked_and_shown_before_it(page: Page, ask_url: str, service: AskService) -> None:
    """The last five, each as it was understood, oldest first, without itself; the last answer's first ten names."""
    many = [f"Dish {number}" for number in range(12)]
    service.will(answer("Lentil Soup"), answer("Rice", between=frame("decontextualized_query", "rice, whole")))
    service.will(*[answer("Peas")] * 4, answer(*many))
    open_page(page, ask_url)
    page.select_option("#mode", "list")
    for question in ("one", "two", "three", "four", "five", "six", "seven"):
        asked(page, question)
    page.select_option("#model", "typesafe/jev-1.14")
    asked(page, "eight")
    bare = {"site": "recipes", "mode": "list"}
    assert service.asked[0] == {"query": "one", **bare, "previous_queries": [], "previous_results": []}
    assert service.asked[1] == {
        **bare,
        "query": "two",
        "previous_queries": ["one"],
        "previous_results": ["Lentil Soup"],
    }
    last = ["three", "four", "five", "six"]
    assert service.asked[6]["previous_queries"] == ["rice, whole", *last]
    assert service.asked[7]["previous_queries"] == [*last, "seven"]
    assert service.asked[7]["previous_results"] == many[:10]
    assert service.asked[7]["ranking_model"] == "typesafe/jev-1.14"


def test_a_turn_is_kept_in_the_shape_of_the_deployed_pages(page: Page, ask_url: str, service: AskService) -> None:
    service.will(
        answer("Lentil Soup", between=frame("restrictions", {"restrictions": ["vegan"], "ranking_model": "m"}))
    )
    open_page(page, ask_url)
    asked(page, "soup " * 20)
    kept(page, 1)
    found = stored(page)
    [thread], [turn] = found["threads"], found["turns"]
    assert thread["id"].startswith("t_")
    assert len(thread["id"]) == 17
    assert thread["title"] == f"{'soup ' * 14}s…"
    assert {
        "scope": "recipes",
        "turnCount": 1,
        "lastSeq": 1,
        "schema": 1,
        "corpus": service.health["corpus"],
    }.items() <= thread.items()
    assert "lentil soup" in thread["search"]
    assert set(turn) == {"threadId", "seq", "askedAt", "record"}
    assert (turn["threadId"], turn["seq"]) == (thread["id"], 1)
    parts = {
        "question",
        "askedAt",
        "interpretedAs",
        "mode",
        "model",
        "results",
        "answer",
        "notices",
        "usage",
        "restrictions",
    }
    assert set(turn["record"]) == parts
    assert turn["record"]["results"] == [recipe("Lentil Soup")]


def test_conversations_of_older_pages_are_read_whatever_their_bytes_are(
    page: Page, ask_url: str, service: AskService
) -> None:
    """Gzip, JSON that was never compressed, and bytes that are neither; without a digest or a size."""
    open_page(page, ask_url)
    page.evaluate(OLDER)
    page.reload()
    open_list(page)
    expect(page.locator("#storage-usage")).to_contain_text("3 turns")
    page.fill("#search", "OLD PIE")
    expect(page.locator(".conversation")).to_have_count(1)
    page.click(".conversation-link")
    expect(page.locator(".turn")).to_have_count(3)
    first, second, third = (page.locator(".turn").nth(place) for place in range(3))
    expect(first.locator("h3")).to_have_text("Old Pie")
    expect(second.locator("h2")).to_have_text("plain question")
    expect(status(third)).to_have_text("What this browser kept of it is damaged.")


def test_a_reload_goes_on_where_it_was_and_back_leads_back(page: Page, ask_url: str, service: AskService) -> None:
    open_page(page, ask_url)
    asked(page, "soup")
    kept(page, 1)
    page.reload()
    expect(page.locator("#chat-title")).to_have_text("soup")
    assert names(page.locator(".turn")) == ["Lentil Soup", "Bean Stew"]
    page.click("#new-chat-top")
    expect(page.locator("#chat-title")).to_have_text("New chat")
    expect(page.locator("#intro")).to_be_visible()
    page.go_back()
    expect(page.locator("#chat-title")).to_have_text("soup")
    page.go_forward()
    expect(page.locator("#chat-title")).to_have_text("New chat")
    assert len(service.asked) == 1


def test_a_deleted_conversation_can_be_had_back(page: Page, ask_url: str, service: AskService) -> None:
    open_page(page, ask_url)
    asked(page, "soup")
    kept(page, 1)
    open_list(page)
    page.hover(".conversation")
    page.get_by_role("button", name="Delete “soup”").click()
    expect(page.locator(".conversation")).to_have_count(0)
    expect(page.locator(".turn")).to_have_count(0)
    assert stored(page)["turns"] == []
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".conversation")).to_have_count(1)
    expect(page.locator(".turn article")).to_have_count(2)
    assert len(stored(page)["turns"]) == 1


def test_an_undo_is_offered_for_ten_seconds(page: Page, ask_url: str, service: AskService) -> None:
    page.clock.install()
    open_page(page, ask_url)
    asked(page, "soup")
    kept(page, 1)
    page.hover(".turn")
    page.get_by_role("button", name="Remove the question “soup”").click()
    expect(page.locator("#toast")).to_be_visible()
    page.mouse.move(1, 1)
    page.clock.run_for(9_000)
    expect(page.locator("#toast")).to_be_visible()
    page.clock.run_for(2_000)
    expect(page.locator("#toast")).to_be_hidden()


def test_a_removed_question_gives_the_conversation_its_next_name_and_comes_back_in_its_place(
    page: Page, ask_url: str, service: AskService
) -> None:
    open_page(page, ask_url)
    asked(page, "soup")
    asked(page, "stew")
    kept(page, 2)
    page.hover(".turn")
    page.get_by_role("button", name="Remove the question “soup”").click()
    expect(page.locator("#chat-title")).to_have_text("stew")
    expect(page.locator(".turn h2").first).to_be_focused()
    kept(page, 1)
    page.keyboard.press("Control+z")
    expect(page.locator("#chat-title")).to_have_text("soup")
    assert page.locator(".turn h2").all_inner_texts() == ["soup", "stew"]
    kept(page, 2)
    for question in ("stew", "soup"):
        page.hover(f".turn:has(h2:text('{question}'))")
        page.get_by_role("button", name=f"Remove the question “{question}”").click()
    expect(page.locator("#intro")).to_be_visible()
    expect(page.locator(".conversation")).to_have_count(0)
    assert stored(page) == {"threads": [], "turns": []}


def test_a_name_of_its_own_stays(page: Page, ask_url: str, service: AskService, axe: Callable[[Page], None]) -> None:
    open_page(page, ask_url)
    asked(page, "soup")
    asked(page, "stew")
    kept(page, 2)
    page.click("#menu-open")
    page.click("#rename-thread")
    axe(page)
    page.fill("#rename-title", "  Winter   food ")
    page.keyboard.press("Enter")
    expect(page.locator("#chat-title")).to_have_text("Winter food")
    page.hover(".turn")
    page.get_by_role("button", name="Remove the question “soup”").click()
    kept(page, 1)
    page.reload()
    expect(page.locator("#chat-title")).to_have_text("Winter food")
    open_list(page)
    assert titles(page) == ["Winter food"]


def test_all_conversations_go_only_when_that_was_confirmed(
    page: Page, ask_url: str, service: AskService, axe: Callable[[Page], None]
) -> None:
    open_page(page, ask_url)
    asked(page, "soup")
    kept(page, 1)
    open_list(page)
    page.click("#clear-all")
    axe(page)
    page.get_by_role("button", name="Keep them").click()
    expect(page.locator(".conversation")).to_have_count(1)
    page.click("#clear-all")
    page.get_by_role("button", name="Delete all").click()
    expect(page.locator(".conversation")).to_have_count(0)
    expect(page.locator("#intro")).to_be_visible()
    assert stored(page) == {"threads": [], "turns": []}


def test_the_list_holds_all_sites_and_opens_each_on_its_own_page(page: Page, ask_url: str, service: AskService) -> None:
    open_page(page, ask_url, "trails")
    asked(page, "a loop")
    kept(page, 1)
    open_page(page, ask_url, "recipes")
    asked(page, "soup")
    kept(page, 2)
    open_list(page)
    assert titles(page) == ["soup", "a loop"]
    expect(page.locator(".conversation-meta").last).to_contain_text("Trails · ")
    page.fill("#search", "LOOP")
    expect(page.locator(".conversation")).to_have_count(1)
    page.click(".conversation-link")
    page.wait_for_url(f"{ask_url}/samples/trails/")
    expect(page.locator("#chat-title")).to_have_text("a loop")
    thread = stored(page)["threads"][0]["id"]
    page.goto(f"{ask_url}/samples/homes/#thread={thread}")
    page.wait_for_url(f"{ask_url}/samples/trails/")
    expect(page.locator("#chat-title")).to_have_text("a loop")
    for nowhere in ("t_nowhere", "%", ""):
        page.goto("about:blank")
        page.goto(f"{ask_url}/samples/trails/#thread={nowhere}")
        expect(page.locator("#toast-text")).to_have_text("That conversation is not in this browser.")


def test_two_tabs_see_each_others_conversations(
    context_of: Callable[..., BrowserContext], ask_url: str, service: AskService
) -> None:
    """Both ask in one conversation at once: nothing is overwritten. What one deletes goes from the other."""
    context = context_of()
    one, other = context.new_page(), context.new_page()
    open_page(one, ask_url)
    open_page(other, ask_url)
    asked(one, "soup")
    kept(other, 1)
    open_list(other)
    other.click(".conversation-link")
    expect(other.locator(".turn")).to_have_count(1)
    turns = [ask(one, "stew"), ask(other, "curry")]
    for turn in turns:
        over(turn)
    for page in (one, other):
        expect(page.locator(".turn")).to_have_count(3)
    assert [turn["seq"] for turn in stored(one)["turns"]] == [1, 2, 3]
    one.hover(".turn >> nth=0")
    one.get_by_role("button", name="Remove the question “soup”").click()
    expect(other.locator(".turn")).to_have_count(2)
    other.click("#menu-open")
    other.click("#delete-thread")
    expect(one.locator(".turn")).to_have_count(0)
    expect(one.locator("#intro")).to_be_visible()
    asked(one, "rice")
    kept(other, 1)


def test_a_full_browser_says_so_and_keeps_the_answer_on_the_page(
    context_of: Callable[..., BrowserContext], ask_url: str, service: AskService
) -> None:
    context = context_of()
    page = context.new_page()
    open_page(page, ask_url)
    chrome = context.new_cdp_session(page)
    chrome.send("Storage.overrideQuotaForOrigin", {"origin": ask_url, "quotaSize": 1})
    turn = asked(page, "soup")
    expect(notices(turn)).to_contain_text("Not kept: this browser has no room left for this page.")
    expect(status(turn)).to_have_text("2 results · 12,345 tokens · $0.0041")
    chrome.send("Storage.overrideQuotaForOrigin", {"origin": ask_url})
    page.get_by_role("button", name="Try to keep it again").click()
    kept(page, 1)
    expect(notices(turn)).to_be_hidden()


def test_without_a_database_the_page_works_and_says_that_it_keeps_nothing(
    page: Page, ask_url: str, service: AskService
) -> None:
    page.add_init_script(WITHOUT_INDEXEDDB)
    open_page(page, ask_url)
    asked(page, "soup")
    asked(page, "stew")
    assert service.asked[1]["previous_queries"] == ["soup"]
    open_list(page)
    expect(page.locator("#storage-usage")).to_have_text(
        "This browser keeps no conversations here: they end with a reload."
    )
    page.hover(".turn")
    page.get_by_role("button", name="Remove the question “soup”").click()
    page.get_by_role("button", name="Undo").click()
    assert page.locator(".turn h2").all_inner_texts() == ["soup", "stew"]


def test_another_tab_that_deletes_the_database_is_not_held_up(
    context_of: Callable[..., BrowserContext], ask_url: str, service: AskService
) -> None:
    context = context_of()
    page, other = context.new_page(), context.new_page()
    open_page(page, ask_url)
    asked(page, "soup")
    kept(page, 1)
    other.goto(f"{ask_url}/samples/how.html")
    other.evaluate("""() => new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase("ask-samples");
      request.onsuccess = resolve;
      request.onblocked = () => reject(new Error("blocked"));
    })""")
    expect(page.locator("#toast-text")).to_contain_text("no longer keeps conversations")
    asked(page, "stew")
    expect(page.locator(".turn")).to_have_count(2)


def test_a_shared_link_asks_its_question_at_once_and_only_once(
    context_of: Callable[..., BrowserContext], ask_url: str, service: AskService
) -> None:
    context = context_of(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{ask_url}/samples/recipes/?q=soup%20%26%20stew&mode=list&model=google/gemini-3.8-flash")
    turn = page.locator(".turn")
    over(turn)
    expect(turn.locator("h2")).to_have_text("soup & stew")
    assert {
        "query": "soup & stew",
        "mode": "list",
        "ranking_model": "google/gemini-3.8-flash",
    }.items() <= service.asked[0].items()
    assert page.url == f"{ask_url}/samples/recipes/"
    kept(page, 1)
    page.reload()
    expect(page.locator(".turn article")).to_have_count(2)
    assert len(service.asked) == 1
    page.hover(".turn")
    page.get_by_role("button", name="Copy link to the question “soup & stew”").click()
    expect(page.locator("#toast-text")).to_have_text("Link copied: it asks this question at once.")
    link = page.evaluate("navigator.clipboard.readText()")
    assert parse_qs(urlsplit(link).query) == {
        "q": ["soup & stew"],
        "mode": ["list"],
        "model": ["google/gemini-3.8-flash"],
    }
    assert link.startswith(f"{ask_url}/samples/recipes/?")


def test_what_a_link_names_that_is_not_offered_is_left_out(page: Page, ask_url: str, service: AskService) -> None:
    page.goto(f"{ask_url}/samples/recipes/?q=soup&mode=generate&model=evil/model")
    over(page.locator(".turn"))
    assert service.asked[0]["mode"] == "summarize"
    assert "ranking_model" not in service.asked[0]


def test_X04_an_exported_conversation_is_whole_and_its_markdown_holds_no_markup_of_others(
    page: Page, ask_url: str, service: AskService, tmp_path: Path
) -> None:
    hostile = {
        **recipe("x"),
        "name": "<b>[Pie](javascript:alert(1))</b>",
        "url": "javascript:alert(1)",
        "description": "# a\n\n# b",
    }
    service.will(
        Stream([BEGIN, frame("result", [hostile, recipe("Lentil Soup")]), frame("nlws", {"answer": "*Soup*"}), END])
    )
    open_page(page, ask_url)
    asked(page, "soup")
    kept(page, 1)
    exported = {}
    for kind in ("json", "markdown"):
        page.click("#menu-open")
        with page.expect_download() as download:
            page.click(f"#export-{kind}")
        download.value.save_as(tmp_path / kind)
        exported[download.value.suggested_filename] = (tmp_path / kind).read_text(encoding="utf-8")
    whole = json.loads(exported["soup.json"])
    assert (whole["title"], whole["site"]) == ("soup", "recipes")
    assert [turn["results"] for turn in whole["turns"]] == [[hostile, recipe("Lentil Soup")]]
    lines = exported["soup.md"].splitlines()
    assert lines[0] == "# soup"
    assert "## soup" in lines
    assert "\\*Soup\\*" in lines
    assert "1. \\<b\\>\\[Pie\\](javascript:alert(1))\\</b\\> — \\# a \\# b" in lines
    assert "2. [Lentil Soup](https://example.org/recipes/lentil-soup) — Lentil Soup is what was asked for." in lines
