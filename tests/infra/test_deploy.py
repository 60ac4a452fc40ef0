"""infra/deploy, with stand-ins on the path for the three programs it calls: what it would do, in which order."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from wire import ROOT

DEPLOY = ROOT / "infra" / "deploy"
# Notes how it was called, and says what a project with two services and three revisions each would.
_STAND_IN = """
import json, os, pathlib, sys
here = pathlib.Path(os.environ["STAND_INS"])
name, given = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
with (here / "calls").open("a") as calls:
    calls.write(json.dumps([name, *given]) + "\\n")
if name == "curl":
    plan = (here / "statuses").read_text().split()
    (here / "statuses").write_text(" ".join(plan[1:]) or plan[0])
    print(plan[0], "0.1 s", end="")
elif given[1:3] == ["services", "list"]:
    print("askbucket-search\\naskbucket-ask-movies")
elif given[1:3] == ["jobs", "list"]:
    print("askbucket-map\\naskbucket-build-movies")
elif given[1:3] == ["services", "describe"]:
    print(f"{given[3]}-00002")
elif given[1:3] == ["revisions", "list"]:
    print("\\n".join(f"{given[4]}-{number:05}" for number in (3, 2, 1)))
"""


@dataclass
class Done:
    """What a run printed, and which programs it called with what."""

    status: int
    said: str
    calls: list[list[str]]

    @property
    def traffic(self) -> list[str]:
        """Every share of traffic it asked for."""
        return [call[-1] for call in self.calls for call in [without_where(call)] if "update-traffic" in call]


def without_where(call: Sequence[str]) -> list[str]:
    """A call without the flags that every one has."""
    return list(call[: call.index("--project")]) if "--project" in call else list(call)


@pytest.fixture
def deploy(tmp_path: Path) -> Callable[..., Done]:
    for name in ("gcloud", "docker", "curl"):
        (tmp_path / name).write_text(f"#!{sys.executable} -S{_STAND_IN}", encoding="utf-8")
        (tmp_path / name).chmod(0o755)

    def run(*given: str, statuses: str = "200", **environment: str) -> Done:
        (tmp_path / "statuses").write_text(statuses)
        (tmp_path / "calls").write_text("")
        told = {"PROJECT_ID": "ours", "DOMAIN": "ask.example", "SETTLE_S": "0", **environment}
        path = f"{tmp_path}:{os.environ['PATH']}"
        done = subprocess.run(
            [DEPLOY, *given],
            check=False,
            capture_output=True,
            text=True,
            env={"PATH": path, "STAND_INS": str(tmp_path), **told},
        )
        calls = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
        return Done(done.returncode, done.stdout + done.stderr, calls)

    return run


def test_every_function_gets_an_image_of_its_own(deploy: Callable[..., Done]) -> None:
    built = deploy("build", "abc123")
    folders = sorted(path.parent.name for path in (ROOT / "functions").glob("*/main.py"))
    *functions, jobs = built.calls
    assert [call[call.index("--build-arg") + 1] for call in functions] == [f"FUNCTION={name}" for name in folders]
    assert jobs[1:4] == ["build", "--file", "infra/jobs/Dockerfile"]
    tags = [call[call.index("--tag") + 1] for call in built.calls]
    assert tags == [f"us-central1-docker.pkg.dev/ours/askbucket/{name}:abc123" for name in [*folders, "jobs"]]
    assert [call[-1] for call in deploy("push", "abc123").calls] == tags


def test_a_rollout_goes_step_by_step_and_ends_with_all_traffic(deploy: Callable[..., Done]) -> None:
    rolled = deploy("roll", "abc123", "askbucket-ask-movies")
    assert rolled.status == 0, rolled.said
    updated = next(call for call in rolled.calls if call[2:4] == ["services", "update"])
    assert updated[5:8] == ["--image", "us-central1-docker.pkg.dev/ours/askbucket/ask_site:abc123", "--no-traffic"]
    new, old = "askbucket-ask-movies-00003", "askbucket-ask-movies-00002"
    assert rolled.traffic == [f"{new}=10,{old}=90", f"{new}=100"]


def test_a_rollout_without_names_takes_every_service(deploy: Callable[..., Done]) -> None:
    rolled = deploy("roll", "abc123")
    assert [call[4] for call in rolled.calls if call[2:4] == ["services", "update"]] == [
        "askbucket-search", "askbucket-ask-movies",
    ]  # fmt: skip


@pytest.mark.parametrize(("statuses", "steps"), [("503", 1), (" ".join(["200"] * 12 + ["500"]), 2)])
def test_a_failed_smoke_test_gives_all_traffic_back(deploy: Callable[..., Done], statuses: str, steps: int) -> None:
    rolled = deploy("roll", "abc123", "askbucket-search", statuses=statuses)
    assert rolled.status != 0
    assert rolled.traffic[-1] == "askbucket-search-00002=100"
    assert len(rolled.traffic) == steps + 1
    assert "the smoke test failed" in rolled.said


def test_every_job_gets_the_image_of_the_jobs(deploy: Callable[..., Done]) -> None:
    updated = [without_where(call)[4:] for call in deploy("jobs", "abc123").calls if call[3] == "update"]
    image = "us-central1-docker.pkg.dev/ours/askbucket/jobs:abc123"
    assert updated == [[name, "--image", image] for name in ("askbucket-map", "askbucket-build-movies")]


def test_a_rollback_gives_the_revision_before_all_traffic(deploy: Callable[..., Done]) -> None:
    assert deploy("rollback", "askbucket-search").traffic == ["askbucket-search-00001=100"]


def test_traffic_is_split_between_the_two_newest_revisions(deploy: Callable[..., Done]) -> None:
    split = deploy("traffic", "askbucket-search", "25")
    assert split.traffic == ["askbucket-search-00003=25,askbucket-search-00002=75"]


def test_the_smoke_test_asks_every_function_and_names_what_fails(deploy: Callable[..., Done]) -> None:
    asked = deploy("smoke")
    assert asked.status == 0
    urls = [next(part for part in call if part.startswith("https://ask.example/")) for call in asked.calls]
    assert {"https://ask.example/search", "https://ask.example/sites/movies/health"} <= set(urls)
    failed = deploy("smoke", statuses="200 404 200")
    assert (failed.status, failed.said.splitlines()[1].split()[0]) == (1, "404")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["roll"], "roll needs a TAG"),
        (["build", "abc", "searches"], "no function in functions/searches"),
        (["roll", "abc", "search"], "search is no service of ours"),
        (["traffic", "askbucket-search", "101"], "from 0 to 100, not 101"),
        (["launch"], "no command launch"),
    ],
)
def test_a_mistake_is_a_sentence_and_changes_nothing(deploy: Callable[..., Done], given: list[str], said: str) -> None:
    done = deploy(*given)
    assert done.status == 2
    assert said in done.said
    assert done.calls == []


def test_the_scripts_have_nothing_that_shellcheck_minds() -> None:
    found = shutil.which("shellcheck")
    if found is None:
        pytest.skip("no shellcheck: apt-get install shellcheck")
    checks = [ROOT / "infra" / "checks" / name for name in ("audit", "install", "sbom")]
    scripts = [DEPLOY, ROOT / ".ci" / "run", *checks]
    checked = subprocess.run([found, *scripts], check=False, capture_output=True, text=True)
    assert checked.stdout == ""
    mistaken = DEPLOY.read_text(encoding="utf-8").replace('"$(image "$folder" "$tag")"', "$(image $folder $tag)")
    checked = subprocess.run([found, "-"], input=mistaken, check=False, capture_output=True, text=True)
    assert "SC2086" in checked.stdout
