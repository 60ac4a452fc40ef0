"""The programs that infra/ is checked with, each in the environment that infra/checks/install makes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from wire import ROOT

CHECKS = ROOT / "infra" / "checks"


def check(name: str, *given: str | Path, cwd: Path = ROOT, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run one; the test is skipped where it is not installed."""
    program = ROOT / ".venv-checks" / "bin" / name
    if not program.exists():
        pytest.skip(f"no {name}: infra/checks/install")
    return subprocess.run([program, *given], cwd=cwd, input=stdin, check=False, capture_output=True, text=True)
