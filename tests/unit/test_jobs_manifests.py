"""infra/jobs: what the platform is told to run is what the command line takes, and there is a schedule for it."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.main import parser
from shared.settings import Settings

JOBS = Path(__file__).resolve().parents[2] / "infra" / "jobs"
EVERY = pytest.mark.parametrize("name", sorted(path.stem for path in JOBS.glob("*.yaml")))


def job(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((JOBS / f"{name}.yaml").read_text())
    return read


def container(name: str) -> dict[str, Any]:
    (only,) = job(name)["spec"]["template"]["spec"]["template"]["spec"]["containers"]
    return dict(only)


@EVERY
def test_a_job_runs_a_command_that_there_is(name: str) -> None:
    args = parser().parse_args(container(name)["args"])
    assert callable(args.run)
    assert job(name)["metadata"]["name"] == f"askbucket-{name}"


@EVERY
def test_a_job_sets_what_the_program_reads(name: str) -> None:
    known = {field.metadata["name"] for field in fields(Settings)}
    assert {each["name"] for each in container(name)["env"]} <= known


@pytest.mark.parametrize("name", ["map", "merge", "prune"])
def test_a_job_that_runs_by_itself_says_when(name: str) -> None:
    assert re.search(r"--schedule='[\d*]+ [\d*]+ \* \* [\d*]'", (JOBS / f"{name}.yaml").read_text())


def test_the_plan_is_of_as_many_tasks_as_there_will_be_and_all_keep_one_rate() -> None:
    spec = job("map")["spec"]["template"]["spec"]
    planned = container("plan")["args"]
    assert planned[planned.index("--of") + 1] == str(spec["taskCount"])
    rates = {
        each["value"] for name in ("plan", "map", "merge") for each in container(name)["env"]
        if each["name"] == "EMBEDDING_CALLS_PER_MINUTE"
    }  # fmt: skip
    assert len(rates) == 1
