"""The protocol's own conformance suite against our /mcp route, with the fixtures it wants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from everything import app, served
from node import CONFORMANCE, needs_node, node

pytestmark = needs_node

# What a server without sessions cannot do: ask its client something back, and keep a stream beside the requests.
# The last one passes nothing and fails nothing, which the suite counts as unexpected.
NEED_SESSIONS = (
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "server-sse-multiple-streams",
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(app()) as served_at:
        yield served_at


def suite(url: str, version: str, expected: Path) -> str:
    """What the suite prints; it ends with 0 where nothing failed beyond what was expected."""
    done = node(
        CONFORMANCE, "server", "--url", url, "--spec-version", version, "--expected-failures", str(expected),
        "--output-dir", str(expected.parent / "out"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-1_000:]
    return done.stdout


def test_every_check_of_the_stateless_revision_passes(url: str, tmp_path: Path) -> None:
    nothing = tmp_path / "expected.yml"
    nothing.write_text("server: []\n")
    assert "Total: 22 passed, 0 failed" in suite(url, "2026-07-28", nothing)


def test_of_the_handshake_revisions_only_what_needs_a_session_fails(url: str, tmp_path: Path) -> None:
    expected = tmp_path / "expected.yml"
    expected.write_text("server:\n" + "".join(f"  - {name}\n" for name in NEED_SESSIONS))
    printed = suite(url, "2025-11-25", expected)
    failed = re.findall(r"^✗ ([\w-]+):", printed, re.MULTILINE)
    assert set(failed) <= set(NEED_SESSIONS)
    assert "Total: 27 passed, 4 failed" in printed
