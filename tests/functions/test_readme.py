"""The README's commands work as they stand, and its answer is what the service answers."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from wire import ROOT, Service

README = (ROOT / "README.md").read_text(encoding="utf-8")
# Fences with a language hold files, those without hold what is typed and what is answered.
BLOCKS = re.findall(r"```\n(.*?)```", re.sub(r"```\w+\n.*?```", "", README, flags=re.DOTALL), re.DOTALL)
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


@pytest.mark.parametrize("command", [each for each in COMMANDS if "mine" not in each])
def test_a_command_that_asks_the_demo_gets_an_answer(command: str, demo_gateway: Service):
    local = command.replace("http://127.0.0.1:8080", demo_gateway.url)
    done = run(f"{local} --url {demo_gateway.url}" if "askbucket " in command else local)
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


def test_the_items_shown_are_the_items_found(demo_gateway: Service):
    shown = next(block for block in BLOCKS if block.startswith("Held to"))
    [command] = [each for each in COMMANDS if "askbucket ask" in each]
    given = run(f"{command} --url {demo_gateway.url}").stdout
    # Candidates come in the order in which two threads are done with them, and scores are bands of a fitted value.
    plain = [re.sub(r"^( *\d\.) +\d+", r"\1", text, flags=re.MULTILINE).splitlines() for text in (shown, given)]
    assert sorted(plain[0]) == sorted(plain[1])
    assert [line for line in plain[0] if "  + " not in line] == [line for line in plain[1] if "  + " not in line]


def test_the_item_shown_becomes_a_release_of_a_site(tmp_path: Path):
    [(name, text)] = re.findall(r"`mine/(\S+\.jsonl)`:\n\n```json\n(.*?)```", README, re.DOTALL)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text(text, encoding="utf-8")
    [command] = [each for each in COMMANDS if "build items" in each]
    done = run(command.replace("mine/cakes", f"{tmp_path}/mine/cakes").replace("$PWD/var", str(tmp_path / "var")))
    assert done.returncode == 0, done.stderr
    assert "1 item of Recipes (recipes);" in done.stdout
    assert (tmp_path / "var" / "mine" / "recipes" / "current.json").exists()


def test_the_two_files_shown_become_a_release_as_the_readme_says(tmp_path: Path):
    shown = re.findall(r"`mine/(\S+\.md)`:\n\n```markdown\n(.*?)```", README, re.DOTALL)
    assert len(shown) == 2
    for name, text in shown:
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_text(text, encoding="utf-8")
    [command] = [each for each in COMMANDS if "build tables" in each]
    done = run(command.replace("mine ", f"{tmp_path}/mine ").replace("$PWD/var", str(tmp_path / "var")))
    assert done.returncode == 0, done.stderr
    assert "1 row;" in done.stdout
    assert (tmp_path / "var" / "mine" / "built-in" / "current.json").exists()


def test_every_page_the_readme_names_is_there():
    for page in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / page).exists(), page
