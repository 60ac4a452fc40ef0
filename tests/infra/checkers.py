"""The programs that infra/ is checked with, each in the environment that infra/checks/install makes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
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


def read_by_gcloud(call: Sequence[str], home: Path) -> bool:
    """Whether the real one takes a call: it reads the flags before it asks who is there, and nobody is."""
    found = shutil.which("gcloud")
    if found is None:
        pytest.skip("no gcloud: https://cloud.google.com/sdk/docs/install")
    nobody = {"CLOUDSDK_CONFIG": str(home / "config"), "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false", "HOME": str(home)}
    done = subprocess.run(
        [found, *call[1:]], check=False, capture_output=True, text=True, env={"PATH": os.environ["PATH"], **nobody}
    )
    taken = "active account" in done.stderr
    assert taken or "unrecognized arguments" in done.stderr, done.stderr
    return taken
