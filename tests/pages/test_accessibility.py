"""axe finds nothing on the landing page, how it works, wake, stats and status, in any state, wide or on a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from replies import answering, stats, status

Axe = Callable[[Page], None]
# Between them every colour and every width.
LOOKS = ("page", "dark_phone")


@pytest.fixture(params=LOOKS)
def looked(request: pytest.FixtureRequest) -> Page:
    """A page as each kind of reader sees it."""
    page: Page = request.getfixturevalue(request.param)
    return page


def fits(page: Page) -> bool:
    """Nothing has to be scrolled for sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_the_landing_page_and_how_it_works(looked: Page, gateway_url: str, axe: Axe) -> None:
    looked.goto(f"{gateway_url}/samples/")
    expect(looked.locator(".sample-held")).to_have_count(5)
    axe(looked)
    assert fits(looked)
    looked.goto(f"{gateway_url}/samples/how.html")
    axe(looked)
    assert fits(looked)


def test_the_wake_page_awake_and_with_one_that_fails(looked: Page, gateway_url: str, axe: Axe, watch: Any) -> None:
    watch.expect("status of 503")
    answering(looked, "/sites/homes/health", {"error": "Service is starting"}, 503)
    looked.goto(f"{gateway_url}/samples/wake/")
    expect(looked.locator("#live")).to_have_text("4 of 5 services are awake")
    axe(looked)
    assert fits(looked)


def test_stats_with_numbers_without_and_refused(looked: Page, gateway_url: str, axe: Axe, watch: Any) -> None:
    watch.expect("status of 503")
    told = {"code": "stats_unreadable", "message": "Counters of some instances could not be read."}
    answering(looked, "/stats.json?days=30", stats(days=20, models=8, notices=[told]))
    answering(looked, "/stats.json?days=7", stats(days=0))
    answering(looked, "/stats.json?days=90", {"error": "Being added up"}, 503)
    looked.goto(f"{gateway_url}/stats")
    for days, shown in (("30", "svg.plot"), ("7", ".empty"), ("90", ".notice-error")):
        looked.get_by_label("Shown").select_option(days)
        expect(looked.locator(shown).first).to_be_visible()
        axe(looked)
        assert fits(looked)


def test_status_with_a_ledger_and_without_one(looked: Page, gateway_url: str, axe: Axe) -> None:
    answering(looked, "/status.json", status())
    looked.goto(f"{gateway_url}/status")
    looked.locator(".question summary").first.click()
    axe(looked)
    assert fits(looked)
    looked.unroute("**/status.json")
    answering(looked, "/status.json", {"catalogs": []})
    looked.reload()
    expect(looked.locator(".empty")).to_be_visible()
    axe(looked)


def test_the_keyboard_reaches_the_content_first_and_everything_shows_its_focus(page: Page, gateway_url: str) -> None:
    page.goto(f"{gateway_url}/samples/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip-link")).to_be_focused()
    expect(page.locator(".skip-link")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="How it works")).to_be_focused()
    outline = page.get_by_role("link", name="How it works").evaluate("(it) => getComputedStyle(it).outlineStyle")
    assert outline == "solid"


def test_who_wants_no_motion_gets_none(context_of: Callable[..., Any], gateway_url: str) -> None:
    page = context_of(reduced_motion="reduce").new_page()
    page.goto(f"{gateway_url}/samples/")
    spent = page.locator(".sample").first.evaluate("(it) => getComputedStyle(it).transitionDuration")
    assert all(float(each.strip().removesuffix("s")) <= 0.001 for each in spent.split(","))
