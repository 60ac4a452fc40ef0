"""What the pages' tests stand on: the real gateway over the demo, a real browser that is watched, and axe."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browser.chromium import QUIET, chromium
from fakes.ask_service import AskService
from fakes.ask_service import ask_service as running_service
from fakes.openrouter import KEY, OpenRouter
from wire import function, serving

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test installs it")

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from watching import Watch

from shared.sites.kinds import KINDS

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
PATIENCE_MS = 60_000
"""Nothing here depends on how fast the machine is: what must come has all the time it wants."""
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}
WIDE = {"viewport": {"width": 1280, "height": 860}}
# Tests ask more than a reader would in a minute.
UNLIMITED = {"RATE_LIMIT_PER_MINUTE": "0", "RATE_LIMIT_PER_HOUR": "0", "RATE_LIMIT_PER_DAY": "0", "MAX_CONCURRENT": "0"}
OPEN = {"ASKHUB_CORS_ORIGINS": "*"}
# Colours on their way have a contrast of their own. What turns for ever is not waited for.
_SETTLED = """Promise.all(document.getAnimations()
  .filter((it) => Number.isFinite(it.effect.getComputedTiming().endTime))
  .map((it) => it.finished.catch(() => 0)))"""

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def gateway_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """What `make demo` serves, without limits and to pages of any host: its address, with no slash at the end.

    ASKBUCKET_PAGES_URL names one that runs already, which saves building the demo while a page is being written.
    """
    if running := os.environ.get("ASKBUCKET_PAGES_URL"):
        yield running.rstrip("/")
        return
    with serving(request.getfixturevalue("demo_bucket"), {"LLM_PROVIDER": "embedded", **OPEN, **UNLIMITED}) as service:
        yield service.url


@pytest.fixture(scope="module")
def openrouter() -> Iterator[OpenRouter]:
    """A model gateway that answers at once, and fails as a test tells it to."""
    with OpenRouter() as fake:
        yield fake


@pytest.fixture(scope="module")
def scripted_url(demo_bucket: str, openrouter: OpenRouter) -> Iterator[str]:
    """The demo with chat models that judge and write, who are `openrouter`."""
    reached = {"LLM_PROVIDER": "openrouter", "OPENROUTER_API_KEY": KEY, "OPENROUTER_BASE_URL": openrouter.url}
    with serving(demo_bucket, {**reached, **UNLIMITED}) as service:
        yield service.url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium. One a module: while it is there, this thread cannot run an event loop of its own."""
    with sync_playwright() as playwright:
        # A core of two is the gateway's; without a sandbox because root has none.
        launched = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET[1:]))
        yield launched
        launched.close()


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Fails the test where a page said an error, broke its policy or asked another host, unless that was expected."""
    watched = Watch()
    yield watched
    assert watched.unexpected() == []


@pytest.fixture
def context_of(browser: Browser, watch: Watch) -> Iterator[Callable[..., BrowserContext]]:
    """Makes watched contexts, each with its own storage: `context_of(**options of Playwright's new_context)`."""
    with ExitStack() as opened:

        def make(**options: Any) -> BrowserContext:
            context = browser.new_context(**{**WIDE, **options})
            opened.callback(context.close)
            watch.on(context)
            context.set_default_timeout(PATIENCE_MS)
            return context

        yield make


@pytest.fixture
def page(context_of: Callable[..., BrowserContext]) -> Page:
    """A wide page in light colours."""
    return context_of(color_scheme="light").new_page()


@pytest.fixture
def dark(context_of: Callable[..., BrowserContext]) -> Page:
    """A wide page in dark colours."""
    return context_of(color_scheme="dark").new_page()


@pytest.fixture
def phone(context_of: Callable[..., BrowserContext]) -> Page:
    """A phone in light colours."""
    return context_of(**PHONE, color_scheme="light").new_page()


@pytest.fixture
def dark_phone(context_of: Callable[..., BrowserContext]) -> Page:
    """A phone in dark colours."""
    return context_of(**PHONE, color_scheme="dark").new_page()


@pytest.fixture(scope="session")
def axe() -> Callable[[Page], None]:
    """`axe(page)` fails where axe finds anything on the page as it is now."""
    if not AXE.exists():
        pytest.skip("axe is not installed: npm install --no-save in tests/pages")
    source = AXE.read_text(encoding="utf-8")

    def check(page: Page) -> None:
        page.evaluate(_SETTLED)
        page.evaluate(f"{source}; undefined")
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        told = [
            f"{each['id']}: {each['help']}: {node['html'][:160]} ({node.get('failureSummary', '')[:300]})"
            for each in found["violations"]
            for node in each["nodes"]
        ]
        assert told == [], page.url

    return check


@pytest.fixture(scope="session")
def ask_service() -> Iterator[AskService]:
    """A site's service of which each test writes the replies; `service` gives it fresh."""
    with running_service() as service:
        yield service


@pytest.fixture
def service(ask_service: AskService) -> AskService:
    ask_service.reset()
    return ask_service


@pytest.fixture(scope="session")
def ask_url(ask_service: AskService) -> Iterator[str]:
    """The pages function as deployed, whose ask pages ask `ask_service` at another origin."""
    sites = ",".join(f"{kind}={ask_service.url}" for kind in KINDS)
    with function("pages", {"SITE_URLS": sites}) as pages:
        assert pages.until_ready().status == 200
        yield pages.url
