"""Every way an answer can go: refused, starting, slow, stopped, broken, empty; and what the reader can do then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from ask_page import ask, asked, kept, names, notices, open_page, over, status, stored
from fakes.ask_service import BEGIN, END, AskService, Refusal, Stream, answer, candidates, frame, recipe, results
from playwright.sync_api import Locator, Page, expect
from watching import Watch

STARTING = Refusal(503, {"error": "Service is starting", "code": "starting", "retryAfterSeconds": 1, "retry_after": 1})
LIMITED = Refusal(
    429,
    {
        "error": "Rate limit exceeded",
        "detail": "Client query limit reached.",
        "code": "quota_exceeded",
        "retry_after": 2,
    },
)
BAD = Refusal(
    400, {"error": "mode must be list, summarize, or generate", "code": "invalid_request", "requestId": "abc"}
)
FAULT = Refusal(500, {"error": "Something went wrong", "code": "internal_error", "requestId": "abc123"})
NO_JSON = Refusal(502, {})


def again(turn: Locator) -> Locator:
    return turn.get_by_role("button", name="Ask again")


def test_a_service_that_is_starting_is_asked_again_by_itself(
    page: Page, ask_url: str, service: AskService, watch: Watch
) -> None:
    watch.expect("status of 503")
    service.will(STARTING, STARTING)
    open_page(page, ask_url)
    turn = ask(page, "soup")
    expect(status(turn)).to_contain_text("The service is starting; asking again in 1 second")
    over(turn)
    assert names(turn) == ["Lentil Soup", "Bean Stew"]
    assert [body["query"] for body in service.asked] == ["soup"] * 3


def test_too_many_questions_say_how_long_to_wait_and_are_asked_again_then(
    page: Page, ask_url: str, service: AskService, watch: Watch
) -> None:
    watch.expect("status of 429")
    service.will(LIMITED)
    open_page(page, ask_url)
    turn = asked(page, "soup")
    expect(status(turn)).to_have_text("Search failed")
    expect(notices(turn)).to_have_text("Rate limit exceeded: Client query limit reached.")
    expect(again(turn)).to_have_text("Ask again in 2 s")
    expect(again(turn)).to_be_disabled()
    expect(again(turn)).to_be_enabled()
    again(turn).click()
    expect(turn.locator("article")).to_have_count(2)
    expect(again(turn)).to_have_count(0)
    assert len(service.asked) == 2


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        pytest.param(BAD, "mode must be list, summarize, or generate", id="400"),
        pytest.param(FAULT, "Something went wrong (request abc123)", id="500"),
        pytest.param(NO_JSON, "Search HTTP 502", id="502"),
    ],
)
def test_a_refusal_is_told_in_its_own_words_and_kept(
    page: Page, ask_url: str, service: AskService, watch: Watch, refusal: Refusal, said: str
) -> None:
    watch.expect(f"status of {refusal.status}")
    service.will(refusal)
    open_page(page, ask_url)
    turn = asked(page, "soup")
    expect(status(turn)).to_have_text("Search failed")
    expect(notices(turn)).to_have_text(said)
    kept(page, 1)
    page.reload()
    turn = page.locator(".turn")
    expect(status(turn)).to_have_text("Search failed")
    expect(notices(turn)).to_have_text(said)
    assert stored(page)["turns"][0]["record"]["ending"] == "failed"


def test_a_service_that_is_not_there_is_told_as_such(page: Page, ask_url: str, watch: Watch) -> None:
    watch.expect("ERR_CONNECTION_REFUSED|Content Security Policy|Failed to load|Refused to connect")
    open_page(page, ask_url, query="?ask=http://127.0.0.1:9/ask")
    turn = asked(page, "soup")
    expect(notices(turn)).to_have_text("The service could not be reached.")
    expect(again(turn)).to_be_enabled()


@pytest.mark.parametrize("ends", ["cut", "whole"])
def test_a_stream_without_its_end_is_broken_and_leaves_no_provisional_card(
    page: Page, ask_url: str, service: AskService, watch: Watch, ends: Any
) -> None:
    watch.expect("ERR_INCOMPLETE_CHUNKED_ENCODING")
    gate = threading.Event()
    service.will(Stream([BEGIN, candidates("Lentil Soup"), gate], ends))
    open_page(page, ask_url)
    turn = ask(page, "soup")
    expect(turn.locator("article.is-provisional")).to_have_count(1)
    gate.set()
    over(turn)
    expect(status(turn)).to_have_text("The answer broke off")
    expect(notices(turn)).to_contain_text("this may not be all of it")
    expect(turn.locator("article")).to_have_count(0)
    again(turn).click()
    expect(turn.locator("article")).to_have_count(2)
    kept(page, 1)
    assert "ending" not in stored(page)["turns"][0]["record"]


def test_results_that_came_before_a_stream_broke_stay(
    page: Page, ask_url: str, service: AskService, watch: Watch
) -> None:
    watch.expect("ERR_INCOMPLETE_CHUNKED_ENCODING")
    gate = threading.Event()
    service.will(Stream([BEGIN, candidates("Lentil Soup"), results("Lentil Soup"), gate], "cut"))
    open_page(page, ask_url)
    turn = ask(page, "soup")
    expect(status(turn)).to_have_text("Searching… 1 result")
    gate.set()
    expect(status(turn)).to_have_text("The answer broke off · 1 result")
    assert names(turn) == ["Lentil Soup"]


def test_provisional_cards_go_where_no_result_comes(
    page: Page, ask_url: str, service: AskService, axe: Callable[[Page], None]
) -> None:
    service.will(
        Stream([BEGIN, candidates("Lentil Soup"), frame("intermediate_message", "No matching results found."), END])
    )
    open_page(page, ask_url)
    turn = asked(page, "soup")
    expect(status(turn)).to_have_text("0 results · 12,345 tokens · $0.0041")
    expect(notices(turn)).to_have_text("No matching results found.")
    expect(turn.locator("article")).to_have_count(0)
    axe(page)


def test_a_failure_inside_a_stream_is_a_failure(
    page: Page, ask_url: str, service: AskService, axe: Callable[[Page], None]
) -> None:
    service.will(Stream([BEGIN, candidates("Lentil Soup"), frame("error", "The ranker failed."), END]))
    open_page(page, ask_url)
    turn = asked(page, "soup")
    expect(status(turn)).to_contain_text("Search failed")
    expect(notices(turn)).to_have_text("The ranker failed.")
    expect(again(turn)).to_be_enabled()
    axe(page)


def test_the_first_result_replaces_what_was_provisional(page: Page, ask_url: str, service: AskService) -> None:
    """Candidates come once each, and none after the first result; an event may bring several results."""
    gates = [threading.Event(), threading.Event()]
    many = frame("result", [recipe("Rice"), recipe("Beans")])
    first = candidates("Rice", "Peas", "Rice")
    service.will(Stream([BEGIN, first, gates[0], many, candidates("Late"), gates[1], results("Corn"), END]))
    open_page(page, ask_url)
    turn = ask(page, "soup")
    expect(turn.locator("article.is-provisional")).to_have_count(2)
    expect(status(turn)).to_have_text("Searching… 2 possible results")
    gates[0].set()
    expect(status(turn)).to_have_text("Searching… 2 results")
    expect(turn.locator("article.is-provisional")).to_have_count(0)
    gates[1].set()
    over(turn)
    assert names(turn) == ["Rice", "Beans", "Corn"]


def test_a_slow_answer_says_for_how_long_it_is_awaited(page: Page, ask_url: str, service: AskService) -> None:
    page.clock.install()
    gate = threading.Event()
    service.will(Stream([BEGIN, candidates("Rice"), gate, results("Rice"), END]))
    open_page(page, ask_url)
    turn = ask(page, "soup")
    expect(turn.locator("article")).to_have_count(1)
    page.clock.run_for(7000)
    expect(status(turn)).to_contain_text("Searching… 1 possible result · 7 s")
    gate.set()
    over(turn)


@pytest.mark.parametrize("how", ["button", "Escape"])
def test_stopping_ends_the_request_and_keeps_what_was_found(
    page: Page, ask_url: str, service: AskService, how: str
) -> None:
    service.will(Stream([BEGIN, candidates("Lentil Soup"), threading.Event()]))
    open_page(page, ask_url)
    turn = ask(page, "soup")
    expect(turn.locator("article")).to_have_count(1)
    expect(page.locator("#submit")).to_be_hidden()
    if how == "button":
        page.get_by_role("button", name="Stop").click()
    else:
        page.press("#query", "Escape")
    over(turn)
    expect(status(turn)).to_have_text("Stopped · 1 possible result")
    assert names(turn) == ["Lentil Soup"]
    assert service.left.wait(10)
    kept(page, 1)
    page.reload()
    expect(status(page.locator(".turn"))).to_have_text("Stopped · 1 possible result")
    expect(page.locator("#submit")).to_be_visible()


def test_enter_does_not_ask_while_an_answer_is_coming(page: Page, ask_url: str, service: AskService) -> None:
    gate = threading.Event()
    service.will(Stream([BEGIN, gate, results("Rice"), END]))
    open_page(page, ask_url)
    turn = ask(page, "soup")
    page.fill("#query", "stew")
    page.press("#query", "Enter")
    expect(page.locator("#live")).to_have_text("Still searching. Stop it to ask something else.")
    expect(page.locator("#query")).to_have_value("stew")
    gate.set()
    over(turn)
    page.press("#query", "Enter")
    over(page.locator(".turn").nth(1))
    assert [body["query"] for body in service.asked] == ["soup", "stew"]


def test_T03_frames_of_every_legal_shape_are_read_and_a_broken_one_costs_itself_alone(
    page: Page, ask_url: str, service: AskService
) -> None:
    """`event:` and `id:` lines, comments, CRLF and CR, data in several lines, and a break inside any of them."""
    data = '{"message_type":"result","content":[{"name":"Fa\\u2028r","url":"https://example.org/far"}]}'
    broken = "data: [DONE]\n\ndata: 7\n\ndata: null\n\n"
    whole = (
        BEGIN + ": keepalive\n\n" + f"event: result\r\nid: 1\r\nretry: 5\r\n{'data: ' + data}\r\n\r\n"
        'data: {"message_type":"result",\ndata:"content":[{"name":"Two\\nlines"}]}\n\n'
        'data:{"message_type":"nlws","content":{"answer":"Both."}}\r\r' + broken + END
    )
    service.will(Stream(list(whole)))
    open_page(page, ask_url)
    turn = asked(page, "soup")
    expect(turn.locator("article")).to_have_count(2)
    expect(turn.locator(".turn-answer")).to_have_text("Both.")
    expect(notices(turn)).to_have_text("3 messages of the answer could not be read.")
    expect(status(turn)).to_contain_text("2 results · 12,345 tokens")


def test_what_is_said_of_an_answer_stands_in_one_box_and_the_cost_in_a_dialog(
    page: Page, ask_url: str, service: AskService, axe: Callable[[Page], None]
) -> None:
    said = (
        frame("intermediate_message", "One.")
        + frame("intermediate_message", "Two.")
        + frame("decontextualized_query", "lentil soup")
    )
    held = frame("restrictions", {"restrictions": ["vegan"], "ranking_model": "openai/gpt-oss-20b"})
    service.will(answer("Rice", between=said + held + frame("nlws", {"answer": "Rice it is.", "items": []})))
    open_page(page, ask_url)
    expect(page.locator("#usage-open")).to_be_hidden()
    turn = asked(page, "lentil soup please")
    expect(status(turn)).to_have_text("1 result · 12,345 tokens · $0.0041")
    expect(turn.locator(".turn-interpreted")).to_have_text("interpreted as: lentil soup")
    expect(turn.locator(".turn-held")).to_contain_text("diet: vegan · ranked by GPT-OSS 20B")
    assert notices(turn).locator("p").all_inner_texts() == ["One.", "Two."]
    expect(page.locator("#usage-open-total")).to_have_text("last query $0.0041 · conversation $0.0041")
    page.click("#usage-open")
    expect(page.locator("#usage-rows")).to_have_text("test/rankerranking312,00034512,345$0.0041")
    expect(page.locator("#usage-note")).to_be_hidden()
    axe(page)
    page.mouse.click(5, 400)
    expect(page.locator("#usage-dialog")).to_be_hidden()
    asked(page, "banana bread")
    page.click("#usage-open")
    expect(page.locator("#usage-note-text")).to_have_text("A dish by its name.")
    expect(page.locator("#usage-open-total")).to_have_text("last query $0.0041 · conversation $0.0082")
    page.keyboard.press("Escape")
    expect(page.locator("#usage-dialog")).to_be_hidden()
