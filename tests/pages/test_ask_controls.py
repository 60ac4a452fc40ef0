"""What a reader does with the ask page: keys, phones, dark rooms, screen readers, and the controls of a list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from ask_page import ask, asked, kept, names, open_page, over
from fakes.ask_service import BEGIN, END, AskService, Stream, answer, candidates, frame, recipe, results
from playwright.sync_api import Browser, BrowserContext, Page, expect

CONDITIONS = {
    "restrictions": ["vegetarian"],
    "ranking_model": "m",
    "order": {"field": "minutes", "direction": "asc", "text": "quickest first"},
    "constraints": [
        {
            "id": "c1",
            "field": "diets",
            "op": "has",
            "value": "vegetarian",
            "unit": "",
            "text": "vegetarian",
            "hard": True,
        },
        {
            "id": "c2",
            "field": "minutes",
            "op": "<",
            "value": 40,
            "unit": "min",
            "text": "under 40 minutes",
            "hard": True,
        },
        {"id": "c3", "field": "minutes", "op": "<", "value": 40, "unit": "min", "text": "not in it", "hard": True},
    ],
}
COMPOSING = """(init) => document.getElementById("query").dispatchEvent(
  new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true, ...init}))"""
SCROLLS = """window.scrolls = [];
const scrolled = Element.prototype.scrollIntoView;
Element.prototype.scrollIntoView = function (options) {
  window.scrolls.push(options);
  scrolled.call(this, options);
};"""
HEARD = """window.heard = [];
new MutationObserver(() => {
  const text = document.getElementById("live").textContent;
  if (text) window.heard.push(text);
}).observe(document.getElementById("live"), {childList: true});"""


def trail(name: str, latitude: float, longitude: float, rating: float) -> dict[str, object]:
    geo = {"@type": "GeoCoordinates", "latitude": latitude, "longitude": longitude}
    record = {"@type": "LocalBusiness", "name": name, "geo": geo, "aggregateRating": {"ratingValue": rating}}
    return {"@type": "Item", "url": f"https://example.org/{rating}", "name": name, "site": "t", "schema_object": record}


def quick(name: str, minutes: int) -> dict[str, object]:
    return recipe(name, totalTime=f"PT{minutes}M")


def test_an_input_method_that_composes_may_use_enter(page: Page, ask_url: str, service: AskService) -> None:
    open_page(page, ask_url)
    page.fill("#query", "精進料理")
    page.evaluate(COMPOSING, {"isComposing": True})
    page.evaluate(COMPOSING, {"keyCode": 229})
    expect(page.locator(".turn")).to_have_count(0)
    page.evaluate(COMPOSING, {})
    over(page.locator(".turn"))
    assert [body["query"] for body in service.asked] == ["精進料理"]


def test_the_box_grows_with_its_text_and_shrinks_when_it_is_asked(
    page: Page, ask_url: str, service: AskService
) -> None:
    open_page(page, ask_url)
    height = "document.getElementById('query').offsetHeight"
    before = page.evaluate(height)
    page.fill("#query", "a")
    for _ in range(3):
        page.press("#query", "Shift+Enter")
    assert page.evaluate(height) > before + 40
    page.fill("#query", "\n" * 60 + "soup")
    assert page.evaluate(height) <= 200
    page.press("#query", "Enter")
    expect(page.locator("#query")).to_have_value("")
    assert page.evaluate(height) == before
    page.press("#query", "Enter")
    over(page.locator(".turn"))
    assert [body["query"] for body in service.asked] == ["soup"]


def test_everything_can_be_done_by_keys(page: Page, ask_url: str, service: AskService) -> None:
    open_page(page, ask_url)
    page.keyboard.press("Tab")
    expect(page.locator(".skip-link")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#query")).to_be_focused()
    for question in ("soup", "stew"):
        asked(page, question)
        page.locator("#new-chat-top").press("Enter")
        expect(page.locator("#query")).to_be_focused()
    kept(page, 2)
    page.locator("#toggle-sidebar").press("Enter")
    links = page.locator(".conversation-link")
    expect(links).to_have_count(2)
    links.first.focus()
    page.keyboard.press("ArrowDown")
    expect(links.last).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("F2")
    page.keyboard.type("Hotpot")
    page.keyboard.press("Enter")
    expect(page.locator(".conversation-title").first).to_have_text("Hotpot")
    links.first.focus()
    page.keyboard.press("Delete")
    expect(links).to_have_count(1)
    expect(links.first).to_be_focused()
    page.keyboard.press("Control+z")
    expect(links).to_have_count(2)
    links.last.press("Enter")
    expect(page.locator("#chat-title")).to_have_text("soup")
    page.locator("#menu-open").press("Enter")
    expect(page.locator("#thread-menu")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#thread-menu")).to_be_hidden()


def test_on_a_phone_the_sidebar_is_a_drawer_that_holds_the_focus(
    phone: Page, ask_url: str, service: AskService, axe: Callable[[Page], None]
) -> None:
    open_page(phone, ask_url)
    asked(phone, "soup")
    kept(phone, 1)
    toggle, close, drawer = (phone.locator(f"#{name}") for name in ("toggle-sidebar", "close-sidebar", "sidebar"))
    expect(drawer).to_be_hidden()
    toggle.tap()
    expect(close).to_be_focused()
    expect(toggle).to_have_attribute("aria-expanded", "true")
    for name in ("mode", "model"):
        expect(drawer.locator(f"#{name}")).to_be_visible()
    expect(drawer.get_by_role("link", name="How it works")).to_be_visible()
    axe(phone)
    for _ in range(30):
        phone.keyboard.press("Tab")
        assert phone.evaluate("document.activeElement === document.body || sidebar.contains(document.activeElement)")
    phone.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(toggle).to_be_focused()
    toggle.tap()
    phone.touchscreen.tap(380, 400)
    expect(drawer).to_be_hidden()
    toggle.tap()
    phone.locator(".conversation-link").tap()
    expect(drawer).to_be_hidden()


def test_on_a_phone_nothing_is_cut_off_and_nothing_zooms(
    phone: Page, ask_url: str, service: AskService, axe: Callable[[Page], None]
) -> None:
    long = "a" * 300
    service.will(answer("Lentil Soup", between=frame("intermediate_message", long)))
    open_page(phone, ask_url)
    axe(phone)
    turn = asked(phone, f"soup {long}")
    expect(turn.locator(".turn-remove")).to_be_visible()
    for part in ("document.documentElement", "document.getElementById('scroll')"):
        assert phone.evaluate(f"{part}.scrollWidth <= {part}.clientWidth"), part
    assert phone.evaluate("parseFloat(getComputedStyle(query).fontSize)") >= 16
    assert phone.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--app-height')") == "844px"
    phone.set_viewport_size({"width": 390, "height": 420})
    phone.wait_for_function(
        "() => getComputedStyle(document.documentElement).getPropertyValue('--app-height') === '420px'"
    )
    box = phone.locator("#query").bounding_box()
    assert box
    assert box["y"] + box["height"] <= 420
    axe(phone)


@pytest.mark.parametrize(("colours", "ground"), [("light", "rgb(246, 247, 245)"), ("dark", "rgb(17, 22, 20)")])
def test_in_a_dark_room_and_a_light_one_axe_finds_nothing_in_any_state(
    context_of: Callable[..., BrowserContext],
    ask_url: str,
    service: AskService,
    axe: Callable[[Page], None],
    colours: str,
    ground: str,
) -> None:
    """Empty, under way with all that a stream may say, answered with the sidebar open, and after a deletion."""
    page = context_of(color_scheme=colours).new_page()
    gate = threading.Event()
    held = (
        frame("restrictions", CONDITIONS)
        + frame("intermediate_message", "A note.")
        + frame("decontextualized_query", "s")
    )
    said = frame("nlws", {"answer": "Both.", "items": []})
    service.will(Stream([BEGIN, held, candidates("Rice", "Peas"), gate, results("Rice", "Peas"), said, END]))
    open_page(page, ask_url)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
    axe(page)
    turn = ask(page, "soup")
    expect(turn.locator("article.is-provisional")).to_have_count(2)
    axe(page)
    gate.set()
    over(turn)
    kept(page, 1)
    page.click("#toggle-sidebar")
    page.hover(".turn")
    axe(page)
    page.get_by_role("button", name="Remove the question").click()
    expect(page.locator("#toast")).to_be_visible()
    axe(page)


@pytest.mark.parametrize(("motion", "behavior"), [("reduce", "auto"), ("no-preference", "smooth")])
def test_nothing_glides_for_those_who_do_not_want_it(
    context_of: Callable[..., BrowserContext], ask_url: str, service: AskService, motion: str, behavior: str
) -> None:
    page = context_of(reduced_motion=motion).new_page()
    page.add_init_script(SCROLLS)
    open_page(page, ask_url)
    asked(page, "soup")
    assert page.evaluate("window.scrolls.map(({behavior}) => behavior)") == [behavior]


def test_a_screen_reader_hears_the_status_and_no_card(page: Page, ask_url: str, service: AskService) -> None:
    open_page(page, ask_url)
    regions = page.locator("[aria-live], [role=status], [role=alert], [role=log]")
    expect(regions).to_have_count(1)
    page.evaluate(HEARD)
    turn = asked(page, "soup")
    page.wait_for_function("() => window.heard.length === 2")
    assert page.evaluate("window.heard") == ["Searching", "2 results · 12,345 tokens · $0.0041"]
    expect(regions).to_have_count(1)
    expect(page.get_by_role("region", name="soup", exact=True)).to_have_count(1)
    expect(turn.get_by_role("heading", level=3)).to_have_count(2)
    for landmark in ("banner", "main", "complementary"):
        assert page.get_by_role(landmark, include_hidden=True).count() == 1, landmark


def test_a_condition_can_be_taken_away_and_the_rest_is_asked_as_it_stands(
    page: Page, ask_url: str, service: AskService
) -> None:
    held = frame("decontextualized_query", "a vegetarian dinner under 40 minutes, quickest first") + frame(
        "restrictions", CONDITIONS
    )
    service.will(answer("Rice", between=held), answer("Rice", between=held), answer("Rice"))
    open_page(page, ask_url)
    asked(page, "a vegetarian dinner under 40 minutes")
    page.get_by_role("button", name="Ask again without under 40 minutes").click()
    over(page.locator(".turn").nth(1))
    wanted = "a vegetarian dinner, quickest first"
    assert (service.asked[1]["query"], service.asked[1]["decontextualized_query"]) == (wanted, wanted)
    page.locator(".turn").nth(1).get_by_role("button", name="Ask again without quickest first").click()
    over(page.locator(".turn").nth(2))
    assert service.asked[2]["query"] == "a vegetarian dinner under 40 minutes"
    page.locator(".turn").first.get_by_role("button", name="Ask again without not in it").click()
    expect(page.locator("#query")).to_have_value("a vegetarian dinner under 40 minutes, quickest first")
    assert len(service.asked) == 3


def test_results_can_be_put_in_another_order(page: Page, ask_url: str, service: AskService) -> None:
    found = frame("result", [quick("Slow", 90), quick("Fast", 5), recipe("Unsaid"), quick("Middle", 30)])
    service.will(Stream([BEGIN, found, END]))
    open_page(page, ask_url)
    turn = asked(page, "soup")
    order = turn.get_by_label("Order")
    order.select_option(index=1)
    assert names(turn) == ["Fast", "Middle", "Slow", "Unsaid"]
    order.select_option("As answered")
    assert names(turn) == ["Slow", "Fast", "Unsaid", "Middle"]


def test_a_map_without_a_map_service_leads_to_the_cards(page: Page, ask_url: str, service: AskService) -> None:
    items = [trail("North", 44.5, -72.0, 3.0), trail("South", 40.0, -72.0, 4.5)]
    service.will(Stream([BEGIN, frame("result", items), END]))
    open_page(page, ask_url, "trails")
    turn = asked(page, "a loop")
    points = turn.locator(".turn-map svg").get_by_role("button")
    expect(points).to_have_count(0)  # closed, so that no card moves while it is read
    turn.get_by_text("Where they are").click()
    expect(points).to_have_count(2)
    points.last.click()
    expect(turn.get_by_role("link", name="South").first).to_be_focused()
    turn.get_by_label("Order").select_option(index=1)
    assert names(turn)[0] == "South"
    points.first.click()
    expect(turn.get_by_role("link", name="South").first).to_be_focused()


def test_model_and_sidebar_are_remembered_and_a_model_that_is_gone_is_not(
    page: Page, ask_url: str, service: AskService
) -> None:
    open_page(page, ask_url)
    offered = page.locator("#model option").all_inner_texts()
    assert (offered[0], offered[1], len(offered)) == ("Auto", "Jev 1.14", 10)
    page.select_option("#model", "openai/gpt-oss-120b")
    page.click("#toggle-sidebar")
    page.reload()
    expect(page.locator("#model")).to_have_value("openai/gpt-oss-120b")
    expect(page.locator("#sidebar")).to_be_visible()
    assert page.evaluate("({...localStorage})") == {
        "ask-samples:model": "openai/gpt-oss-120b",
        "ask-samples:sidebar": "open",
    }
    page.evaluate("localStorage.setItem('ask-samples:model', 'gone/model')")
    page.reload()
    expect(page.locator("#model")).to_have_value("")


def test_a_sample_is_asked_at_once_and_a_new_subject_forgets_the_old(
    page: Page, ask_url: str, service: AskService
) -> None:
    open_page(page, ask_url)
    expect(page.locator("#scope-chip")).to_have_text("61 recipes · Test Kitchen")
    expect(page.locator("#scope-chip")).to_have_attribute("title", "Corpus r1, built 2026-11-01T00:00:00Z")
    expect(page).to_have_title("Ask Recipes · NLWeb Samples")
    assert page.locator("#sample-queries button").count() == 19
    page.get_by_role("button", name="banana bread").click()
    over(page.locator(".turn"))
    expect(page.locator("#intro")).to_be_hidden()
    page.get_by_role("button", name="Ask about something else").click()
    expect(page.locator("#intro")).to_be_visible()
    asked(page, "soup")
    assert [(body["query"], body["previous_queries"]) for body in service.asked] == [("banana bread", []), ("soup", [])]


@pytest.mark.parametrize(
    ("question", "words", "left"),
    [
        ("vegetarian dinner under 40 minutes", "vegetarian", "dinner under 40 minutes"),
        ("Vegetarian dinner", "VEGETARIAN", "dinner"),
        ("dinner, under  40 minutes, with rice", "under 40 minutes", "dinner, with rice"),
        ("a house with a pool and a garden", "a pool", "a house with a garden"),
        ("a house with a pool", "a pool", "a house"),
        ("3 bedrooms under $1.5M, cheapest first", "under $1.5M", "3 bedrooms, cheapest first"),
        ("3 bedrooms under $1.5M", "3 bedrooms", "under $1.5M"),
        ("no nuts", "no nuts", ""),
        ("nonuts", "nuts", None),
        ("(a+)+ soup", "(a+)+", "soup"),
        ("Äpfel ohne Zucker", "apfel", None),
        ("soup", "", None),
    ],
)
def test_a_question_without_a_condition_still_reads(reading: Page, question: str, words: str, left: str | None) -> None:
    without = "async ([question, words]) => (await import('/js/ask/wording.js')).without(question, words)"
    assert reading.evaluate(without, [question, words]) == left


@pytest.fixture(scope="module")
def reading(browser: Browser, ask_url: str) -> Iterator[Page]:
    """A page from which a module of the pages can be imported."""
    page = browser.new_page()
    page.goto(f"{ask_url}/samples/how.html")
    yield page
    page.close()
