"""What Lighthouse finds on two pages, time aside. `python -m tests.pages.lighthouse` is all pages, performance too."""

from __future__ import annotations

import pytest

from tests.pages.lighthouse import LEAST, complaints, is_installed, report, scores

pytestmark = pytest.mark.skipif(
    not is_installed(), reason="Lighthouse is not installed: npm install --no-save in tests/pages"
)


@pytest.mark.parametrize("path", ["/", "/samples/recipes/"])
def test_lighthouse_finds_a_page_accessible_well_made_and_readable_by_crawlers(gateway_url: str, path: str) -> None:
    found = report(gateway_url + path)
    for category in ("accessibility", "best-practices", "seo"):
        assert scores(found)[category] >= LEAST, complaints(found, category)
