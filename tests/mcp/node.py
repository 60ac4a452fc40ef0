"""The Node programs of tests/mcp/package.json, where they are installed."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

_HERE = Path(__file__).parent / "node_modules"
_MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
_NODE = _HERE / f"node-{platform.system().lower()}-{_MACHINE}" / "bin" / "node"
CONFORMANCE = _HERE / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
INSPECTOR = _HERE / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"

needs_node = pytest.mark.skipif(
    not (_NODE.exists() and CONFORMANCE.exists() and INSPECTOR.exists()),
    reason="the MCP clients that run on Node are not installed: npm install --no-save in tests/mcp",
)


def node(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One run to its end, in two minutes."""
    return subprocess.run([_NODE, program, *arguments], capture_output=True, text=True, timeout=120, check=False)
