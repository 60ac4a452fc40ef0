"""infra/deploy, with stand-ins on the path for the three programs it calls: what it would do, in which order."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from checkers import read_by_gcloud
from wire import ROOT

DEPLOY = ROOT / "infra" / "deploy"
# Flags that each verb has, by its help; where the real gcloud is installed, a test has it read the same calls.
_FLAGS = {
    "gcloud": "--project --quiet --format --flatten",
    "gcloud run": "--region",
    "gcloud run services list": "--filter --limit --page-size --sort-by --uri",
    "gcloud run services describe": "",
    "gcloud run services update": "--image --no-traffic --tag --revision-suffix",
    "gcloud run services update-traffic": "--to-revisions --to-latest --to-tags --set-tags --update-tags --remove-tags",
    "gcloud run revisions list": "--service --filter --limit --page-size --sort-by --uri",
    "gcloud run jobs list": "--filter --limit --page-size --sort-by --uri",
    "gcloud run jobs update": "--image",
    "gcloud logging read": "--freshness --order --limit --bucket --location --view --resource-names",
    "docker build": "--platform --file --build-arg --tag",
    "docker push": "",
    "curl": "--silent --output --max-time --write-out --header --data --user-agent",
}
# Notes how it was called, refuses a flag that its verb has not, and answers as a project with two services would: the
# revision -00003 of each serves, -00001 served before, -00002 and -00004 failed, and an update makes -00005.
_STAND_IN = """
import collections, json, os, pathlib, sys
here = pathlib.Path(os.environ["STAND_INS"])
name, given = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
every = int(os.environ.get("SEES_EVERY", "5"))
before = [json.loads(line) for line in (here / "calls").read_text().splitlines()]
with (here / "calls").open("a") as calls:
    calls.write(json.dumps([name, *given]) + "\\n")
verb = [name]
known = FLAGS.get(name, "").split()
for part in given:
    if part.startswith("--") or " ".join([*verb, part]) not in {key[: len(" ".join([*verb, part]))] for key in FLAGS}:
        break
    verb.append(part)
    known += FLAGS.get(" ".join(verb), "").split()
unknown = [part for part in given if part.startswith("--") and part.split("=")[0] not in known]
if " ".join(verb) not in FLAGS or unknown:
    print(f"ERROR: ({'.'.join(verb)}) unrecognized arguments: {' '.join(unknown or given)}", file=sys.stderr)
    sys.exit(2)
if verb[1:] and verb[-1] == os.environ.get("BREAKS"):
    sys.exit(1)

def value(flag, call=given):
    return call[call.index(flag) + 1] if flag in call else ""

def revision(service, number):
    ready = number % 2 == 1
    conditions = [("Ready", ready), ("ContainerReady", True), ("Active", number == 3)]
    return {
        "metadata": {"name": f"{service}-{number:05}", "creationTimestamp": f"2026-01-0{number}T00:00:00Z"},
        "status": {"conditions": [{"type": kind, "status": str(true)} for kind, true in conditions]},
    }

updated = [call for call in before if call[2:4] == ["services", "update"]]
moved = [value("--to-revisions", call) for call in before if call[2:4] == ["services", "update-traffic"]]
if name == "curl":
    url = given[-1]
    asked = sum(call[0] == "curl" and call[-1] == url for call in before) + 1
    plan = (here / "statuses").read_text().split()
    (here / "statuses").write_text(" ".join(plan[1:]) or plan[0])
    broken = (moved[-1] if moved else "").endswith(os.environ.get("BROKEN_WITH", "nothing"))
    share = 1 if moved and moved[-1].endswith("=100") else 10
    print("500" if broken and asked % share == 0 else plan[0], "0.1 s", end="")
elif verb[1:] == ["run", "services", "list"]:
    ours = ["askbucket-search", "askbucket-ask-movies"]
    print("\\n".join(one for one in ours if value("--filter").removeprefix("metadata.name:") in one))
elif verb[1:] == ["run", "jobs", "list"]:
    print("askbucket-map\\naskbucket-build-movies")
elif verb[1:] == ["run", "services", "describe"]:
    service = given[3]
    created = os.environ.get("CREATES", "5" if updated else "4")
    if "latestCreated" in value("--format"):
        print(f"{service}-{int(created):05}")
    else:
        shares = [("00001", None), ("00003", 90), ("00004", 500 if os.environ.get("SERVES") else 10)]
        traffic = [{"revisionName": f"{service}-{name}", "percent": share} for name, share in shares if share]
        traffic += [{"revisionName": f"{service}-{name}", "tag": "old"} for name, share in shares if not share]
        print(json.dumps({"status": {"traffic": sorted(traffic, key=lambda share: share["revisionName"])}}))
elif verb[1:] == ["run", "revisions", "list"]:
    numbers = [3, 1, 4, 2] + ([5] if updated else [])
    service = value("--service")
    if "json" in value("--format"):
        print(json.dumps([revision(service, number) for number in numbers]))
    else:  # terms of a filter need not be of one condition, so failed revisions come as well
        print("\\n".join(f"{service}-{number:05}" for number in sorted(numbers, reverse=True)))
elif verb[1:] == ["logging", "read"]:
    clients = collections.Counter(value("--user-agent", call) for call in before if call[0] == "curl")
    own = {client: times // every for client, times in clients.items() if client.split("/")[0] + '"' in given[2]}
    print("\\n".join(client for client, times in own.items() for _ in range(times)))
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
        (tmp_path / name).write_text(f"#!{sys.executable} -S\nFLAGS = {_FLAGS}{_STAND_IN}", encoding="utf-8")
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
    assert jobs[1:6] == ["build", "--platform", "linux/amd64", "--file", "infra/jobs/Dockerfile"]
    tags = [call[call.index("--tag") + 1] for call in built.calls]
    assert tags == [f"us-central1-docker.pkg.dev/ours/askbucket/{name}:abc123" for name in [*folders, "jobs"]]
    assert [call[-1] for call in deploy("push", "abc123").calls] == tags


def test_a_rollout_goes_step_by_step_and_ends_with_all_traffic(deploy: Callable[..., Done]) -> None:
    rolled = deploy("roll", "abc123", "askbucket-ask-movies")
    assert rolled.status == 0, rolled.said
    updated = next(call for call in rolled.calls if call[2:4] == ["services", "update"])
    assert updated[5:8] == ["--image", "us-central1-docker.pkg.dev/ours/askbucket/ask_site:abc123", "--no-traffic"]
    new, old = "askbucket-ask-movies-00005", "askbucket-ask-movies-00003"
    assert rolled.traffic == [f"{new}=10,{old}=90", f"{new}=100"]


def test_a_rollout_without_names_takes_every_service(deploy: Callable[..., Done]) -> None:
    rolled = deploy("roll", "abc123")
    assert [call[4] for call in rolled.calls if call[2:4] == ["services", "update"]] == [
        "askbucket-search", "askbucket-ask-movies",
    ]  # fmt: skip


@pytest.mark.parametrize(("broken_with", "steps"), [("=90", 1), ("=100", 2)])
def test_a_broken_revision_is_found_at_every_step_and_loses_its_traffic(
    deploy: Callable[..., Done], broken_with: str, steps: int
) -> None:
    """With 10 % of the traffic, only each tenth answer is that of the revision which answers nothing but 500."""
    rolled = deploy("roll", "abc123", "askbucket-search", SEES_EVERY="10", BROKEN_WITH=broken_with)
    assert rolled.status != 0
    assert rolled.traffic[-1] == "askbucket-search-00003=100"
    assert len(rolled.traffic) == steps + 1
    assert "the smoke test failed" in rolled.said


def test_a_revision_goes_on_only_when_it_has_itself_answered_each_path(deploy: Callable[..., Done]) -> None:
    rolled = deploy("roll", "abc123", "askbucket-search", SEES_EVERY="10")
    assert rolled.status == 0, rolled.said
    first = next(at for at, call in enumerate(rolled.calls) if "update-traffic" in call)
    second = next(at for at, call in enumerate(rolled.calls) if "askbucket-search-00005=100" in call)
    clients = [call[call.index("--user-agent") + 1] for call in rolled.calls[first:second] if call[0] == "curl"]
    own = [client for client in clients if "/" in client]
    assert {client.split("/", 1)[1] for client in own} == {"health", "search"}
    assert all(own.count(client) == 30 for client in own)
    [log, *_] = [call for call in rolled.calls[first:second] if call[1:3] == ["logging", "read"]]
    assert 'revision_name="askbucket-search-00005"' in log[3]


def test_a_revision_that_never_answers_is_taken_back(deploy: Callable[..., Done]) -> None:
    rolled = deploy("roll", "abc123", "askbucket-ask-movies", SEES_EVERY="1000000")
    assert rolled.status == 2
    assert "-00005: not 3 of 150 answers are its own" in rolled.said
    assert "what its router must keep" in rolled.said
    assert rolled.traffic[-1] == "askbucket-ask-movies-00003=100"


@pytest.mark.parametrize("breaks", ["list", "read"])
def test_what_the_platform_does_not_tell_is_no_success(deploy: Callable[..., Done], breaks: str) -> None:
    assert deploy("smoke", BREAKS="list").status != 0
    rolled = deploy("roll", "abc123", "askbucket-ask-movies", BREAKS=breaks)
    assert rolled.status != 0
    assert not any(traffic.startswith("askbucket-ask-movies-00005=100") for traffic in rolled.traffic)


def test_a_rollout_that_cannot_take_its_traffic_back_says_so(deploy: Callable[..., Done]) -> None:
    rolled = deploy("roll", "abc123", "askbucket-search", BREAKS="update-traffic")
    assert (rolled.status, "HAS NOT GOT its traffic back" in rolled.said) == (2, True)


@pytest.mark.parametrize(
    ("told", "said"), [({"BREAKS": "update"}, "did not become ready"), ({"CREATES": "6"}, "-00006, is not ready")]
)
def test_a_revision_that_is_not_ready_gets_no_traffic(
    deploy: Callable[..., Done], told: dict[str, str], said: str
) -> None:
    rolled = deploy("roll", "abc123", "askbucket-search", **told)
    assert (rolled.status, rolled.traffic) == (2, [])
    assert said in rolled.said


def test_every_job_gets_the_image_of_the_jobs(deploy: Callable[..., Done]) -> None:
    updated = [without_where(call)[4:] for call in deploy("jobs", "abc123").calls if call[3] == "update"]
    image = "us-central1-docker.pkg.dev/ours/askbucket/jobs:abc123"
    assert updated == [[name, "--image", image] for name in ("askbucket-map", "askbucket-build-movies")]


def test_a_rollback_gives_the_ready_revision_before_all_traffic(deploy: Callable[..., Done]) -> None:
    assert deploy("rollback", "askbucket-search").traffic == ["askbucket-search-00001=100"]


def test_traffic_is_split_between_the_two_newest_revisions_that_are_ready(deploy: Callable[..., Done]) -> None:
    split = deploy("traffic", "askbucket-search", "25")
    assert split.traffic == ["askbucket-search-00003=25,askbucket-search-00001=75"]


def test_the_smoke_test_asks_every_function_and_the_sites_that_are_deployed(deploy: Callable[..., Done]) -> None:
    asked = deploy("smoke")
    assert asked.status == 0, asked.said
    paths = [call[-1].removeprefix("https://ask.example") for call in asked.calls if call[0] == "curl"]
    assert [path for path in paths if path.startswith("/sites/")] == ["/sites/movies/health"]
    functions = yaml.safe_load((ROOT / "infra" / "functions.yaml").read_text(encoding="utf-8"))["functions"]
    leads = {route: name for name, function in functions.items() for route in function["routes"]}
    assert {leads.get(path.split("?")[0], "pages" if path == "/" else "") for path in paths} >= set(functions)
    failed = deploy("smoke", statuses="200 404 200")
    assert (failed.status, failed.said.splitlines()[1].split()[0]) == (1, "404")


def test_a_rollout_knows_a_path_to_every_service() -> None:
    functions = yaml.safe_load((ROOT / "infra" / "functions.yaml").read_text(encoding="utf-8"))["functions"]
    routes = re.findall(r"^askbucket-(\S+) (/[^ ?\n]*)", DEPLOY.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for name, _ in routes} == set(functions)
    assert [path for name, path in routes if path not in functions[name]["routes"] and name != "pages"] == []


def test_a_rollback_from_a_revision_that_is_not_listed_says_so(deploy: Callable[..., Done]) -> None:
    rolled = deploy("rollback", "askbucket-search", SERVES="4")
    assert (rolled.status, rolled.traffic) == (2, [])
    assert "no revision before askbucket-search-00004 is ready" in rolled.said


def test_nothing_is_read_as_a_tag_that_is_a_flag(deploy: Callable[..., Done]) -> None:
    for command in ("build", "push", "jobs", "roll"):
        done = deploy(command, "--help")
        assert (done.status, done.calls) == (2, [])
        assert "--help is no TAG" in done.said


def test_the_usage_names_every_variable_that_is_read() -> None:
    text = DEPLOY.read_text(encoding="utf-8")
    usage = text[text.index("USAGE") : text.index("\nUSAGE\n")]
    read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)\b", text)) - {"RANDOM"}
    assert {"PROJECT_ID", "DOMAIN", "REGION", "SETTLE_S"} <= read
    assert sorted(name for name in read if name not in usage) == []


def test_the_real_gcloud_knows_every_flag(deploy: Callable[..., Done], tmp_path: Path) -> None:
    ran = [
        deploy("roll", "abc123", "askbucket-search"), deploy("rollback", "askbucket-search"), deploy("jobs", "abc123"),
    ]  # fmt: skip
    every = [call for done in ran for call in done.calls if call[0] == "gcloud"]
    calls = {tuple(call[1 : 3 if call[1] == "logging" else 4]): call for call in every}
    assert len(calls) == 8
    assert [call for call in calls.values() if not read_by_gcloud(call, tmp_path)] == []
    assert not read_by_gcloud(["gcloud", "run", "services", "describe", "x", "--sort-by", "y"], tmp_path)


def test_a_flag_that_gcloud_has_not_is_refused_by_its_stand_in(deploy: Callable[..., Done], tmp_path: Path) -> None:
    deploy("help")
    called = [str(tmp_path / "gcloud"), "run", "services", "describe", "x", "--sort-by", "y"]
    done = subprocess.run(called, check=False, capture_output=True, text=True, env={"STAND_INS": str(tmp_path)})
    assert (done.returncode, "unrecognized arguments: --sort-by" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["roll"], "roll needs a TAG"),
        (["build", "abc", "searches"], "no function in functions/searches"),
        (["roll", "abc", "search"], "search is no service of ours"),
        (["roll", "abc", "askbucket-stats", "askbucket-jobs"], "askbucket-jobs has an image and is no service"),
        (["traffic", "search", "10"], "search is no service of ours"),
        (["rollback", "askbucket-searches"], "no function in functions/searches"),
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
