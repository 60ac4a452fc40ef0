"""The README's commands work as they stand, and its answer is what the service answers."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from wire import ROOT, Service

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```\n(.*?)```", README, re.DOTALL)
COMMANDS = [line[2:] for block in BLOCKS for line in block.splitlines() if line.startswith("$ ")]


def run(command: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    python = ROOT / ".venv" / "bin"
    environ = {**os.environ, "PATH": f"{python}:{os.environ['PATH']}"}
    return subprocess.run(
        command, check=False, shell=True, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=timeout_s
    )


def test_the_two_commands_are_targets_of_the_makefile():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {line.removeprefix("make ") for line in BLOCKS[0].splitlines()} == {"demo", "test"} <= set(targets)


@pytest.mark.parametrize("command", [each for each in COMMANDS if "DIR" not in each and "serve" not in each])
def test_a_command_that_asks_the_demo_gets_an_answer(command: str, demo_gateway: Service):
    local = command.replace("http://127.0.0.1:8080", demo_gateway.url)
    done = run(f"{local} --url {demo_gateway.url}" if "askbucket search" in command else local)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert '"error"' not in done.stdout


def test_the_answer_shown_is_the_answer_given(demo_gateway: Service):
    shown = next(block for block in BLOCKS if block.startswith("  1."))
    [command] = [each for each in COMMANDS if "--page-size 3" in each and "askbucket" in each]
    given = run(f"{command} --url {demo_gateway.url}").stdout
    # Scores may differ by a point between processors; the tables and their order do not.
    plain = [re.sub(r"^( *\d\.) +\d+", r"\1", text, flags=re.MULTILINE).strip() for text in (shown, given)]
    assert plain[0] == plain[1]


def test_a_folder_of_leaves_becomes_a_release_as_the_readme_says(tmp_path: Path):
    [command] = [each for each in COMMANDS if "build tables" in each]
    leaves = ROOT / "tests" / "fixtures" / "tiny"
    done = run(command.replace("DIR", str(leaves)).replace("file:///srv/askbucket", (tmp_path / "b").as_uri()))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b" / "built-in" / "current.json").exists()


def test_every_page_the_readme_names_is_there():
    for page in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / page).exists(), page
