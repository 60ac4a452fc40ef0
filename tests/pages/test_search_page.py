"""The search page against the real service; failures are answered at the wire."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect
from wire import Service

QUESTION = "how many people live in poverty in Kenya"
NONSENSE = "best pizza dough recipe"
Open = Callable[..., Page]


@pytest.fixture
def opened(page: Page, gateway_url: str) -> Open:
    """Opens the search page with these parameters."""

    def to(on: Page = page, **parameters: Any) -> Page:
        on.goto(f"{gateway_url}/?{urlencode(parameters, doseq=True)}")
        return on

    return to


@pytest.fixture(scope="session")
def service(gateway_url: str, tmp_path_factory: pytest.TempPathFactory) -> Service:
    """The same service, asked without a browser."""
    return Service(gateway_url, tmp_path_factory.getbasetemp())


def reply_of(service: Service, **query: Any) -> Any:
    return service.post("/search", {"query": {"text": QUESTION}, "pageSize": 10, **query}).json


def titles(page: Page) -> list[str]:
    expect(page.locator(".result-title").first).to_be_visible()
    return page.locator(".result-title").all_inner_texts()


def answered(page: Page, status: int, body: dict[str, Any] | str, headers: dict[str, str] | None = None) -> None:
    """Every search of the page is answered so from now on."""
    content = body if isinstance(body, str) else json.dumps(body)
    kind = "text/html" if isinstance(body, str) else "application/json"
    page.route(
        "**/search", lambda route: route.fulfill(status=status, body=content, content_type=kind, headers=headers)
    )


def hold(page: Page, held: list[Route], times: int | None = None) -> None:
    """Searches of the page get no answer. A function, since Playwright cannot mark a bound method as its handler."""

    def keep(route: Route) -> None:
        held.append(route)

    page.route("**/search", keep, times=times)


def failed(code: str, **more: Any) -> dict[str, Any]:
    return {"error": f"said of {code}", "message": f"said of {code}", "code": code, "requestId": "r-1", **more}


def test_a_question_in_the_address_is_answered_with_the_cards_of_the_reply(
    opened: Open, service: Service, axe: Callable[[Page], None]
) -> None:
    wanted = reply_of(service)["results"]
    page = opened(q=QUESTION)
    assert titles(page) == [result["displayName"] for result in wanted]
    first, card = wanted[0], page.locator("article.result").first
    expect(card).to_contain_text(first["description"])
    expect(card.locator(".score")).to_have_text(f"Score {first['score']}")
    for name, value in {
        "Geography": "countries (170 places)",
        "Unit": first["okf:unit"],
        "Variable": first["okf:indicator"],
        "Years": "1963–2024",
    }.items():
        expect(card.locator(f"dt:text-is('{name}') + dd")).to_have_text(value)
    assert card.locator(".answers a").all_inner_texts() == first["representativeQueries"][:4]
    assert card.locator(".chips button").all_inner_texts() == [tag for tag in first["tags"] if tag != "country"]
    expect(page.get_by_role("listitem").filter(has_text="no chat model read the documents")).to_be_visible()
    axe(page)


def test_why_a_result_matched_and_what_it_cost_are_there_for_who_asks(
    opened: Open, axe: Callable[[Page], None]
) -> None:
    page = opened(q=QUESTION)
    why = page.locator("details.why").first
    expect(why.get_by_text("Found because")).to_be_hidden()
    why.locator("summary").click()
    expect(why.get_by_text("The judge’s verdict")).to_be_visible()
    expect(why.get_by_text("it holds words of the question")).to_be_visible()
    report = page.locator("details.report")
    expect(report.locator("summary")).to_contain_text(re.compile(r"2 model calls · \d+ tokens · \$0\.00 · \d+"))
    report.locator("summary").click()
    expect(report.get_by_role("row", name="Embed the question")).to_be_visible()
    expect(report.get_by_role("rowheader", name="All in the service")).to_be_visible()
    expect(report.get_by_role("button", name="Copy search as curl")).to_be_visible()
    axe(page)


def test_the_counts_beside_sources_and_publishers_are_those_of_explore(opened: Open, service: Service) -> None:
    page = opened()
    for field in ("source", "publisher"):
        facets = [{"field": field, "limit": 1_000}]
        buckets = service.post("/explore", {"resultType": {"facets": facets}}).json["facets"][field]["buckets"]
        group = page.get_by_role("group", name=f"{field.capitalize()}s")
        shown = group.locator("li")
        expect(shown).to_have_count(len(buckets))
        for bucket in buckets:
            row = shown.filter(has=page.locator(f"input[value='{bucket['value']}']"))
            expect(row.locator(".number")).to_have_text(str(bucket["count"]))


def test_a_chosen_source_holds_the_results_stands_in_the_address_and_is_undone_by_back(opened: Open) -> None:
    page = opened(q=QUESTION)
    before = titles(page)
    page.locator("input[value='census']").check()
    page.wait_for_url("**/?q=*&source=census")
    chips = page.locator("#chips li")
    expect(chips).to_contain_text("Source: American Community Survey")
    expect(page.locator(".result-title").first).to_contain_text("Census Bureau")
    # Counts of the other filter are held to the choice.
    expect(page.locator("li", has=page.locator("input[value='worldbank.org']")).locator(".number")).to_have_text("0")
    page.reload()
    expect(page.locator("input[value='census']")).to_be_checked()
    page.go_back()
    expect(chips).to_have_count(0)
    assert titles(page) == before
    expect(page.locator("input[value='census']")).not_to_be_checked()


def test_sources_publishers_and_tags_are_sent_as_the_wire_takes_them(opened: Open) -> None:
    asked = []
    page = opened()
    page.on("request", lambda request: request.url.endswith("/search") and asked.append(request.post_data_json))
    opened(
        q="poverty", source=["worldbank", "census"], publisher="worldbank.org", tag="poverty", order="score", size=25
    )
    expect(page.locator("#chips li")).to_have_count(4)
    assert titles(page)
    assert asked[-1] == {
        "query": {"text": "poverty", "filter": {"publisher": ["worldbank.org"], "tags": ["poverty"]}},
        "pageSize": 25,
        "sources": ["worldbank", "census"],
        "order": "score",
    }
    page.get_by_role("button", name="Remove tag poverty").click()
    expect(page.locator("#chips li")).to_have_count(3)
    assert "tag" not in parse_qs(urlsplit(page.url).query)


def test_a_tag_of_a_card_holds_the_results_to_it(opened: Open) -> None:
    page = opened(q=QUESTION)
    assert titles(page)
    with page.expect_response("**/search") as answer:
        page.get_by_role("button", name="Only tables with the tag inequality").first.click()
    page.wait_for_url("**/?q=*&tag=inequality")
    expect(page.locator("#chips li")).to_contain_text("Tag: inequality")
    tagged = [result["displayName"] for result in answer.value.json()["results"]]
    assert tagged
    expect(page.locator(".result-title")).to_have_text(tagged)
    expect(page.locator("article.result button", has_text="inequality")).to_have_count(len(tagged))


def test_an_empty_page_offers_questions_of_the_collection_and_answers_the_one_that_is_chosen(
    opened: Open, axe: Callable[[Page], None]
) -> None:
    page = opened()
    examples = page.locator("#results a.chip")
    expect(examples).to_have_count(8)
    expect(page.locator("#total")).to_have_text(re.compile(r"[1-9]\d* tables of [1-9]\d* sources"))
    axe(page)
    question = examples.nth(1).inner_text()
    examples.nth(1).click()
    expect(page.locator("#query")).to_have_value(question)
    assert titles(page)
    expect(page.locator("#results h2")).to_be_focused()
    assert parse_qs(urlsplit(page.url).query) == {"q": [question]}
    page.go_back()
    expect(examples).to_have_count(8)


def test_no_match_says_how_far_it_was_and_what_could_be_tried(opened: Open, axe: Callable[[Page], None]) -> None:
    page = opened(q=NONSENSE, source="worldbank")
    expect(page.get_by_role("heading", name="No table matches")).to_be_visible()
    expect(page.locator(".no-match")).to_contain_text(re.compile(r"scored \d+ of 100; a result needs 50"))
    expect(page.locator(".no-match .chips a")).to_have_text([re.compile(r"best · 1 table")])
    axe(page)
    page.get_by_role("button", name="Without World Bank").click()
    page.wait_for_url(lambda url: "source=" not in url)
    page.get_by_role("button", name="not judged").click()
    expect(page.locator(".result-title")).to_have_count(10)
    expect(page.locator("#chips li")).to_contain_text("not judged")
    expect(page.get_by_role("listitem").filter(has_text="embedding order")).to_be_visible()


def test_filters_that_leave_nothing_are_named_as_the_reason(opened: Open) -> None:
    page = opened(q=QUESTION, source="worldbank", publisher="bls.gov")
    expect(page.get_by_text("The filters left no table to look at.")).to_be_visible()
    page.get_by_role("button", name="Without any filter").click()
    assert titles(page)


def test_a_search_under_way_shows_that_it_is_and_can_be_stopped(
    context_of: Callable[..., BrowserContext], opened: Open, axe: Callable[[Page], None]
) -> None:
    page = context_of(reduced_motion="reduce").new_page()
    held: list[Route] = []
    hold(page, held)
    opened(page, q=QUESTION)
    expect(page.locator("#results")).to_have_attribute("aria-busy", "true")
    expect(page.locator("#results .skeleton")).to_have_count(3)
    axe(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("heading", name="Stopped")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    page.unroute("**/search")
    page.get_by_role("button", name="Search again").click()
    assert titles(page)


def test_a_newer_question_is_never_overwritten_by_the_answer_to_an_older_one(opened: Open, page: Page) -> None:
    held: list[Route] = []
    hold(page, held, times=1)
    opened(q=NONSENSE)
    expect(page.locator("#results .skeleton").first).to_be_visible()
    page.fill("#query", QUESTION)
    page.press("#query", "Enter")
    found = titles(page)
    held[0].abort()
    page.wait_for_function("document.fonts.ready")
    assert titles(page) == found


def test_going_back_and_forth_asks_nothing_twice(opened: Open, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: request.url.endswith("/search") and asked.append(request.url))
    opened(q=QUESTION)
    first = titles(page)
    page.fill("#query", "unemployment rate")
    page.press("#query", "Enter")
    expect(page.locator(".result-title").first).to_contain_text("nemploy")
    page.go_back()
    expect(page.locator("#query")).to_have_value(QUESTION)
    assert titles(page) == first
    page.go_forward()
    expect(page.locator(".result-title").first).to_contain_text("nemploy")
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("status", "body", "headers", "said", "offered"),
    [
        (400, failed("invalid_request"), None, ["not accepted", "said of invalid_request", "r-1"], "Try again"),
        (
            429,
            failed("quota_exceeded", retryAfterSeconds=58_000),
            {"Retry-After": "58000"},
            ["used up", "It can be tried again in 16 h 7 min"],
            "Try again",
        ),
        (503, failed("relevance_scoring_failed"), None, ["could not be judged"], "not judged"),
        (504, failed("query_cancelled"), None, ["took too long"], "Try again"),
        (502, "<html>bad gateway</html>", None, ["The service failed", "HTTP 502"], "Try again"),
        (200, "no JSON", None, ["That did not work", "could not be read"], "Try again"),
    ],
)
def test_a_failure_says_what_happened_and_what_can_be_done(
    opened: Open, page: Page, watch: Any, axe: Callable[[Page], None],
    status: int, body: Any, headers: dict[str, str] | None, said: list[str], offered: str,
) -> None:  # fmt: skip
    watch.expect(rf"status of {status}")
    answered(page, status, body, headers)
    opened(q=QUESTION)
    shown = page.locator(".failure")
    for words in said:
        expect(shown).to_contain_text(words)
    if status == 429:
        axe(page)
    page.unroute("**/search")
    page.get_by_role("button", name=offered).click()
    assert titles(page)


def test_a_service_that_cannot_be_reached_says_so_and_is_asked_again(opened: Open, page: Page, watch: Any) -> None:
    watch.expect("net::ERR_CONNECTION_REFUSED")
    page.route("**/search", lambda route: route.abort("connectionrefused"))
    opened(q=QUESTION)
    expect(page.locator(".failure")).to_contain_text("could not be reached")
    page.unroute("**/search")
    page.get_by_role("button", name="Try again").click()
    assert titles(page)


@pytest.mark.parametrize(("status", "code"), [(503, "starting"), (429, "busy")])
def test_what_passes_by_itself_is_waited_for_and_asked_again(
    opened: Open, page: Page, watch: Any, status: int, code: str
) -> None:
    watch.expect(rf"status of {status}")
    body, headers = json.dumps(failed(code)), {"Retry-After": "2"}
    page.route("**/search", lambda route: route.fulfill(status=status, body=body, headers=headers), times=1)
    opened(q=QUESTION)
    expect(page.locator(".failure .wait")).to_contain_text("Trying again in")
    assert titles(page)


def test_a_page_that_was_opened_while_the_service_starts_fills_itself(opened: Open, page: Page, watch: Any) -> None:
    watch.expect("status of 503")
    body, headers = json.dumps(failed("starting")), {"Retry-After": "2"}
    page.route("**/.well-known/ard.json", lambda route: route.fulfill(status=503, body=body, headers=headers), times=1)
    opened()
    expect(page.locator(".failure .wait")).to_contain_text("Trying again in")
    expect(page.locator("#results a.chip")).to_have_count(8)
    expect(page.get_by_role("group", name="Sources")).to_be_visible()


def test_a_source_that_is_not_there_is_named_with_those_that_are(opened: Open, watch: Any) -> None:
    watch.expect("status of 400")
    page = opened(q=QUESTION, source="nowhere")
    expect(page.locator(".failure")).to_contain_text("unknown source 'nowhere'")
    expect(page.locator(".failure")).to_contain_text("the valid ones are: bigquery, bls")
    page.get_by_role("button", name="Search without filters").click()
    assert titles(page)


def test_the_keyboard_reaches_the_question_the_results_and_the_stop(opened: Open, page: Page) -> None:
    opened(q=QUESTION)
    found = titles(page)
    page.keyboard.press("/")
    box = page.locator("#query")
    expect(box).to_be_focused()
    page.keyboard.type("a/b")
    expect(box).to_have_value("a/b")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name=found[1], exact=True)).to_be_focused()
    for _ in range(2):
        page.keyboard.press("ArrowUp")
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(box).to_have_value("")
    held: list[Route] = []
    hold(page, held)
    page.keyboard.type("rain")
    page.keyboard.press("Enter")
    expect(page.locator("#results .skeleton").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Stopped")).to_be_visible()


def test_who_listens_is_told_once_how_many_were_found(opened: Open, page: Page) -> None:
    opened(q=QUESTION)
    found = len(titles(page))
    expect(page.get_by_role("status")).to_have_count(1)
    expect(page.get_by_role("status")).to_have_text(f"{found} tables found")


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("phone", {"q": QUESTION}),
        ("phone", {"q": NONSENSE, "source": "bls"}),
        ("dark", {"q": QUESTION}),
        ("dark_phone", {}),
    ],
)
def test_phones_and_dark_pages_are_whole_and_accessible(
    request: pytest.FixtureRequest, opened: Open, axe: Callable[[Page], None], kind: str, parameters: dict[str, str]
) -> None:
    page = opened(request.getfixturevalue(kind), **parameters)
    expect(page.locator("#results h2").first).to_be_visible()
    expect(page.locator("#total")).to_contain_text("tables")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if "phone" in kind:
        expect(page.get_by_role("group", name="Sources")).to_be_hidden()
        page.locator("#filter-fold > summary").click()
    expect(page.get_by_role("group", name="Sources")).to_be_visible()
    axe(page)
