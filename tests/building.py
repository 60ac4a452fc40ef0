"""The releases that several suites stand on, built by the shipped command."""

from __future__ import annotations

from pathlib import Path

from wire import ROOT

from shared.sites.kinds import KINDS

TINY_LEAVES = Path(__file__).parent / "fixtures" / "tiny"


def build_tiny(bucket: Path, leaves: Path = TINY_LEAVES) -> str:
    """Build and publish a release of the leaves with the shipped command, and return the bucket's URL."""
    from cli.main import main

    url = bucket.as_uri()
    assert main(["build", "tables", "--leaves", str(leaves), "--bucket", url, "--embedder", "embedded"]) == 0
    return url


def build_demo(bucket: Path) -> str:
    """Build and publish the demo catalog and its five sites, as `make demo` does, and return the bucket's URL."""
    url = build_tiny(bucket, ROOT / "demo")
    for kind in KINDS:
        build_demo_site(url, kind)
    return url


def build_demo_site(bucket: str, kind: str) -> None:
    """Build and publish a release of one of the demo's collections with the shipped command."""
    from cli.main import main

    items = str(ROOT / "demo" / "items" / f"{kind}.jsonl")
    assert main(["build", "items", "--site", kind, "--items", items, "--bucket", bucket, "--embedder", "embedded"]) == 0
