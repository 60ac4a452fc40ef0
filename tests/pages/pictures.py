"""Pictures of every page for docs/pages.md: `python -m tests.pages.pictures [--url URL] [NAME …]`.

Without --url the demo is built and served for it. Each scene is photographed wide and on a phone, which become one
picture, once in light colours and once in dark ones: docs/pictures/<name>-light.webp and -dark.webp.
"""

from __future__ import annotations

import argparse
import base64
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from browser.chromium import QUIET, chromium
from playwright.sync_api import Browser, Page, sync_playwright
from wire import ROOT

from tests.pages.lighthouse import demo

FOLDER = ROOT / "docs" / "pictures"
WIDE, PHONE = (1280, 860), (390, 860)
MOST_BYTES = 60_000
SEARCHED = ("unemployment rate", "rainfall in Kenya", "median household income", "asdf qwer zxcv")

# A browser knows how to write WebP, so nothing else has to be installed for it.
_JOIN = """async ([pictures, quality]) => {
  const read = async (picture) => createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
  const [wide, phone] = await Promise.all(pictures.map(read));
  const gap = 24, scale = 0.75;
  const canvas = document.createElement("canvas");
  canvas.width = (wide.width + gap + phone.width) * scale;
  canvas.height = wide.height * scale;
  const pen = canvas.getContext("2d");
  pen.imageSmoothingQuality = "high";
  pen.scale(scale, scale);
  pen.drawImage(wide, 0, 0);
  pen.drawImage(phone, wide.width + gap, 0);
  return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""


def searched(page: Page) -> None:
    page.locator("main article").first.wait_for()


def asked(page: Page) -> None:
    page.locator("#submit:not([disabled])").wait_for()
    page.locator("#thread article").first.wait_for()
    page.locator("#usage-open:visible").wait_for(state="attached")


def opened(page: Page) -> None:
    page.locator(".question summary, .empty").first.wait_for()


# Name → the address, and what has to be there before the picture is taken.
SCENES: dict[str, tuple[str, Callable[[Page], None] | None]] = {
    "front": ("/", None),
    "search": ("/?q=unemployment+rate", searched),
    "entry": ("/entry.html?id=sources/bls/_access.md", None),
    "browse": ("/browse.html", None),
    "samples": ("/samples/", None),
    "recipes": ("/samples/recipes/?q=lentil+stew+with+spinach", asked),
    "movies": ("/samples/movies/?q=western+about+gunfighters+who+defend+a+village", asked),
    "reviews": ("/samples/reviews/?q=robot+vacuum+for+two+cats+and+a+long-haired+dog", asked),
    "trails": ("/samples/trails/?q=dog-friendly+forest+walk", asked),
    "homes": ("/samples/homes/?q=4-bedroom+house+with+a+pool", asked),
    "how": ("/samples/how.html", None),
    "wake": ("/samples/wake/", None),
    "stats": ("/stats", None),
    "status": ("/status", opened),
}


def photographed(browser: Browser, url: str, scheme: str, size: tuple[int, int], until: object) -> str:
    """A page's first screen as PNG in base64."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce"
    )
    try:
        page = context.new_page()
        page.goto(url)
        if callable(until):
            until(page)
        page.wait_for_load_state("networkidle")
        page.evaluate("document.fonts.ready")
        return base64.b64encode(page.screenshot()).decode()
    finally:
        context.close()


def joined(browser: Browser, pictures: list[str]) -> bytes:
    """Both as one WebP, as good as fits."""
    page = browser.new_page()
    try:
        for quality in (0.9, 0.8, 0.7, 0.6, 0.5):
            made = base64.b64decode(page.evaluate(_JOIN, [pictures, quality]))
            if len(made) <= MOST_BYTES:
                return made
    finally:
        page.close()
    raise AssertionError(f"a picture of {len(made):,} bytes: at most {MOST_BYTES:,}")


def photograph(base_url: str, names: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET[1:]))
        request = playwright.request.new_context()
        for text in SEARCHED:
            request.post(f"{base_url}/search", data={"query": {"text": text}})
        for name in names:
            path, until = SCENES[name]
            for scheme in ("light", "dark"):
                taken = [photographed(browser, base_url + path, scheme, size, until) for size in (WIDE, PHONE)]
                made = joined(browser, taken)
                (FOLDER / f"{name}-{scheme}.webp").write_bytes(made)
                print(f"{name}-{scheme}.webp {len(made):7,} bytes", flush=True)
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="where the pages are served already, without limits")
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(SCENES), help="default: every scene")
    args = parser.parse_args()
    with nullcontext(args.url) if args.url else demo() as url:
        photograph(url.rstrip("/"), args.names)


if __name__ == "__main__":
    main()
