"""Lighthouse on every page: `python -m tests.pages.lighthouse [--url URL] [PAGE …]` prints its four scores of each.

Without --url the demo is built and served for it. Exits with 1 where a score is under 95.
Lighthouse plays a slow phone on a slow network, from what it measured here: run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from browser.chromium import NAMES, QUIET
from wire import ROOT, serving

LEAST = 95
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
PAGES = (
    "/", "/?q=unemployment+rate", "/browse.html", "/entry.html?id=sources/bls/_access.md", "/samples/",
    *(f"/samples/{kind}/" for kind in ("recipes", "movies", "reviews", "trails", "homes")),
    "/samples/how.html", "/samples/wake/", "/stats", "/status",
)  # fmt: skip

_HERE = Path(__file__).parent / "node_modules"
_MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
NODE = _HERE / f"node-{platform.system().lower()}-{_MACHINE}" / "bin" / "node"
LIGHTHOUSE = _HERE / "lighthouse" / "cli" / "index.js"


def is_installed() -> bool:
    return NODE.exists() and LIGHTHOUSE.exists()


def report(url: str) -> dict[str, Any]:
    """Lighthouse's report on one page."""
    try:
        return _report(url)
    except AssertionError:  # on a busy machine the browser sometimes misses its own start; twice is no accident
        return _report(url)


def _report(url: str) -> dict[str, Any]:
    flags = ["--quiet", "--output=json", "--no-enable-error-reporting", f"--only-categories={','.join(CATEGORIES)}"]
    chrome = next(path for name in NAMES if (path := shutil.which(name)))
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [NODE, LIGHTHOUSE, url, *flags, f"--chrome-flags={' '.join(QUIET)}"],
            env={"PATH": os.environ["PATH"], "HOME": home, "CHROME_PATH": chrome},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def scores(found: Mapping[str, Any]) -> dict[str, int]:
    """Category → score, 0 to 100."""
    return {name: round(100 * (found["categories"][name]["score"] or 0)) for name in CATEGORIES}


def complaints(found: Mapping[str, Any], category: str) -> list[str]:
    """The audits that cost a category something."""
    audits = [(found["audits"][each["id"]], each["weight"]) for each in found["categories"][category]["auditRefs"]]
    poor = [audit for audit, weight in audits if weight and audit["score"] is not None and audit["score"] < 0.9]
    return [f"{audit['id']}: {audit['title']} {audit.get('displayValue', '')}".rstrip() for audit in poor]


@contextmanager
def demo() -> Iterator[str]:
    """The demo, built into a folder of its own and served."""
    from cli.main import main
    from shared.sites.kinds import KINDS

    with tempfile.TemporaryDirectory() as folder:
        bucket = ["--bucket", Path(folder).as_uri(), "--embedder", "embedded"]
        assert main(["build", "tables", "--leaves", str(ROOT / "demo"), *bucket]) == 0
        for kind in KINDS:
            items = str(ROOT / "demo" / "items" / f"{kind}.jsonl")
            assert main(["build", "items", "--site", kind, "--items", items, *bucket]) == 0
        with serving(Path(folder).as_uri(), {"LLM_PROVIDER": "embedded"}) as service:
            yield service.url


def audit(base_url: str, pages: list[str]) -> bool:
    """Print each page's scores and what lowers them; whether all are high enough."""
    good = True
    for page in pages:
        found = report(base_url + page)
        reached = scores(found)
        good = good and min(reached.values()) >= LEAST
        print(f"{page:40} " + "  ".join(f"{name} {score:3}" for name, score in reached.items()), flush=True)
        for category in (name for name, score in reached.items() if score < LEAST):
            print("\n".join(f"    {category}: {line}" for line in complaints(found, category)), flush=True)
    return good


def run() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="where the pages are served already")
    parser.add_argument("pages", nargs="*", metavar="PAGE", default=list(PAGES), help="default: every page")
    args = parser.parse_args()
    if not is_installed():
        print("Lighthouse is not installed: npm install --no-save in tests/pages", file=sys.stderr)
        return 2
    if args.url:
        return 0 if audit(args.url.rstrip("/"), args.pages) else 1
    with demo() as url:
        return 0 if audit(url, args.pages) else 1


if __name__ == "__main__":
    sys.exit(run())
