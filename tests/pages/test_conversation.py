"""A whole conversation on each of the five sites, against the real gateway with the embedded models."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ask_page import asked, kept, names, open_page, over, status, stored
from playwright.sync_api import Page, expect

# A site, a question of its demo, a follow-up, what the follow-up is read as, and a site's own part of a card.
CONVERSATIONS = [
    ("recipes", "lentil stew with spinach", "only the vegan ones", "lentil stew with spinach", "Ingredients"),
    ("movies", "farmers hire swordsmen to defend their village", "from before 1960", "before 1960", "Director"),
    ("reviews", "robot vacuum for two cats and a long-haired dog", "under 400 dollars", "under 400 dollars", "$"),
    ("trails", "short easy walk where my dog can run off leash", "in Vermont", "Vermont", "km"),
    ("homes", "4-bedroom house with a pool", "under $3M", "under $3M", "bd"),
]


@pytest.mark.parametrize(
    ("kind", "question", "followup", "read_as", "part"), CONVERSATIONS, ids=[c[0] for c in CONVERSATIONS]
)
def test_a_whole_conversation(
    page: Page,
    gateway_url: str,
    axe: Callable[[Page], None],
    kind: str,
    question: str,
    followup: str,
    read_as: str,
    part: str,
) -> None:
    """Ask, ask on, reload, begin anew, reopen, delete, undo, delete for good; nothing is asked twice."""
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url) if request.method == "POST" else None)
    open_page(page, gateway_url, kind)
    expect(page.locator("#scope-chip")).to_contain_text(f"{kind} · Demo")
    first = asked(page, question)
    expect(status(first)).to_contain_text("result")
    expect(first.locator("article").first).to_contain_text(part)
    expect(first.locator(".turn-answer")).to_be_visible()
    second = asked(page, followup)
    expect(second.locator("h2")).to_have_text(followup)
    expect(second.locator(".turn-interpreted, .turn-held").first).to_be_visible()
    expect(second).to_contain_text(read_as)
    kept(page, 2)
    shown = [names(first), names(second)]
    assert shown[0]
    axe(page)

    page.reload()
    expect(page.locator(".turn")).to_have_count(2)
    page.locator("#scroll").evaluate("(area) => area.scrollTo(0, 0)")  # a turn is shown when it comes near
    expect(page.locator(".turn").first.locator("article").first).to_be_attached()
    assert [names(page.locator(".turn").nth(place)) for place in range(2)] == shown

    page.click("#new-chat-top")
    expect(page.locator(".turn")).to_have_count(0)
    page.click("#toggle-sidebar")
    page.click(".conversation-link")
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator("#chat-title")).to_have_text(question)

    page.click("#menu-open")
    page.click("#delete-thread")
    expect(page.locator(".turn")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".turn")).to_have_count(2)
    page.click("#menu-open")
    page.click("#delete-thread")
    expect(page.locator(".conversation")).to_have_count(0)
    assert stored(page) == {"threads": [], "turns": []}
    assert requests == [f"{gateway_url}/sites/{kind}/ask"] * 2


@pytest.mark.parametrize("kind", ["recipes", "trails"])
def test_the_same_page_with_chat_models(page: Page, scripted_url: str, kind: str) -> None:
    """Candidates come one by one, and every one that stays is a result."""
    open_page(page, scripted_url, kind)
    turn = asked(page, "an easy one")
    expect(status(turn)).to_contain_text("$")
    expect(turn.locator("article.is-provisional")).to_have_count(0)
    expect(turn.locator("article").first).to_be_visible()


def test_short_addresses_lead_to_the_page_and_keep_the_question(page: Page, gateway_url: str) -> None:
    page.goto(f"{gateway_url}/recipes?q=lentil+soup")
    expect(page.locator(".turn h2")).to_have_text("lentil soup")
    over(page.locator(".turn"))
    expect(page.locator(".turn article").first).to_be_visible()
    assert page.url == f"{gateway_url}/samples/recipes/"
