"""A walk over all pages, by their own links, as a reader takes it: wide, dark and on a phone, over the real services.

What every step of it holds: no error in the console, no request to another host, nothing that axe finds, no page that
is wider than its window, one h1, and a title of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from ask_page import asked
from playwright.sync_api import Page, expect

QUESTION = "a short easy loop where dogs are allowed"
TABLES = "life expectancy at birth"


class Walk:
    """One reader on the way; `here` is what each step ends with."""

    def __init__(self, page: Page, axe: Callable[[Page], None]) -> None:
        self.page = page
        self.titles: list[str] = []
        self._axe = axe

    def here(self, path: str) -> None:
        expect(self.page).to_have_url(re.compile(rf"^http://127\.0\.0\.1:\d+{path}$"))
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)
        expect(self.page.locator("h1")).to_have_count(1)
        self.titles.append(self.page.title())
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        self._axe(self.page)

    def follow(self, name: str, within: str = "body") -> None:
        self.page.locator(within).get_by_role("link", name=name, exact=True).first.click()


@pytest.mark.parametrize("which", ["page", "dark", "phone"])
def test_a_reader_walks_over_every_page(
    request: pytest.FixtureRequest, which: str, gateway_url: str, axe: Callable[[Page], None]
) -> None:
    page: Page = request.getfixturevalue(which)
    walk = Walk(page, axe)

    page.goto(f"{gateway_url}/samples/")
    expect(page.locator(".sample-link")).to_have_count(5)
    walk.here("/samples/")

    walk.follow("How it works")
    walk.here("/samples/how.html")
    page.go_back()

    walk.follow("Trails")
    expect(page.locator("#sample-queries button").first).to_be_visible()
    walk.here("/samples/trails/")

    turn = asked(page, QUESTION)
    turn.get_by_text("Where they are").click()
    expect(turn.locator(".map-sketch")).to_be_visible()
    expect(turn.locator(".constraint-chip")).to_have_count(4)
    expect(turn.locator(".turn-results article").first).to_be_visible()
    walk.here("/samples/trails/")
    if which == "phone":
        page.locator("#toggle-sidebar").click()
        walk.follow("All sites", "#sidebar")
    else:
        page.locator("#scope-chip").click()
    walk.here("/samples/")

    walk.follow("Wake the services")
    expect(page.locator("#services")).to_contain_text("warm")
    walk.here("/samples/wake/")

    walk.follow("Stats", ".topnav")
    walk.here(r"/stats(\.html)?")
    walk.follow("Status", ".topnav")
    walk.here(r"/status(\.html)?")

    walk.follow("Tables", ".topnav")
    walk.here("/")
    page.fill("#query", TABLES)
    page.press("#query", "Enter")
    expect(page.locator(".result-title").first).to_be_visible()
    walk.here(r"/\?q=.*")
    page.locator("a.result-title").first.click()
    walk.here(r"/entry(\.html)?\?id=.*")

    walk.follow("Browse", ".topnav")
    walk.here(r"/browse(\.html)?")
    assert len(set(walk.titles)) >= 9, walk.titles


@pytest.mark.parametrize("kind", ["recipes", "movies", "reviews", "trails", "homes"])
def test_every_kind_answers_its_first_sample_with_cards_of_its_own(
    dark_phone: Page, gateway_url: str, axe: Callable[[Page], None], kind: str
) -> None:
    """By the chip that the page offers, at the short address of the site, with every fold open."""
    dark_phone.goto(f"{gateway_url}/{kind}")
    expect(dark_phone).to_have_url(f"{gateway_url}/samples/{kind}/")
    dark_phone.locator("#sample-queries button").first.click()
    turn = dark_phone.locator(".turn")
    expect(turn).to_have_attribute("aria-busy", "false")
    own = {"recipes": "recipe", "movies": "movie", "reviews": "review", "trails": "trail", "homes": "home"}[kind]
    cards = turn.locator("article")
    expect(cards.first).to_be_visible()
    assert set(cards.evaluate_all("all => all.map((one) => one.dataset.kind)")) == {own}
    dark_phone.evaluate("document.querySelectorAll('.turn details').forEach((fold) => { fold.open = true; })")
    assert dark_phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    axe(dark_phone)
