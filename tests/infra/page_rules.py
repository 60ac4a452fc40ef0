"""What docs/deploy.md and docs/operations.md tell an operator to type. Each rule yields a sentence for each mistake."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from deployment import INFRA, Deployment, Root
from rules import refused
from wire import ROOT

_TERRAFORM = "infra/terraform"
# Attributes of a site, in `sites`.
_OF_A_SITE = {"store", "release_mib"}
# Stand-ins for what a reader fills in.
_FILLED = {"PROJECT": "our-project", "$kind": "recipes", "$name": "releases", "NAME": "open-data", "DIR": "leaves"}


@dataclass(frozen=True)
class Page:
    """One page, and what is deployed."""

    name: str
    text: str
    deployment: Deployment

    def blocks(self) -> list[str]:
        """What stands between fences, without the prompt; a line that goes on is one."""
        found = re.findall(r"^```\w*\n(.*?)^```$", self.text, re.MULTILINE | re.DOTALL)
        return [re.sub(r"^\$ ", "", block.replace("\\\n", " "), flags=re.MULTILINE) for block in found]

    def commands(self, program: str) -> Iterator[list[str]]:
        """Every call of a program, also inside another one, as words."""
        for block in self.blocks():
            for line in block.splitlines():
                inner = re.findall(r"\$\(([^)]*)\)", line)
                for part in [*inner, *re.split(r";\s+(?:do\s+)?|\s&&\s", line)]:
                    yield from self._call(program, part)

    def _call(self, program: str, part: str) -> Iterator[list[str]]:
        called = re.match(rf"\s*(?:[A-Z_]+=\S+ )*((?:\S*/)?{program}\b.*)", part)
        if called:
            text = called[1]
            for name, value in _FILLED.items():
                text = text.replace(name, value)
            yield shlex.split(text, comments=True)

    def settings(self) -> Iterator[tuple[str, set[str]]]:
        """The folder and the names of every terraform.tfvars that stands here whole."""
        for folder, block in re.findall(r"`(\S*)/terraform\.tfvars`[^\n]*\n\n```\n(.*?)```", self.text, re.DOTALL):
            yield folder, set(re.findall(r"^(\w+)\s+=", block, re.MULTILINE))

    def root(self, folder: str) -> Root | None:
        """Terraform's root in a folder of the project; none where there is none."""
        inside = folder.removeprefix(_TERRAFORM).strip("/")
        return self.deployment.roots.get(inside) if folder.startswith(_TERRAFORM) else None


PageRule: TypeAlias = Callable[[Page], Iterator[str]]


def every_apply_reads_what_was_written_down(page: Page) -> Iterator[str]:
    """A setting on the command line is gone at the next apply; a state without a bucket is gone with the disk."""
    for call in page.commands("terraform"):
        said = " ".join(call)
        folder = next((word.removeprefix("-chdir=") for word in call if word.startswith("-chdir=")), "")
        root = page.root(folder)
        if root is None:
            yield f"no root of ours: {said}"
            continue
        if "-var" in said:
            yield f"a setting that is written down nowhere: {said}"
        if "init" in call and not any(word.startswith("-backend-config=bucket=") for word in call):
            yield f"a state without a bucket: {said}"
        if "output" in call and call[-1] not in root.named("output"):
            yield f"no output {call[-1]}"
    if re.search(r"`[^`\n]*-var[ =]", page.text):
        yield "a setting that is written down nowhere, in a sentence"


def every_setting_is_a_variable(page: Page) -> Iterator[str]:
    """What is written into a terraform.tfvars or exported is one, and nothing that must be given is left out."""
    exported = set(re.findall(r"TF_VAR_(\w+)", page.text))
    for name in sorted(exported - page.deployment.named("variable").keys()):
        yield f"TF_VAR_{name} is no variable"
    for folder, names in page.settings():
        root = page.root(folder)
        variables = root.named("variable") if root else {}
        yield from (f"{name} is no variable of {folder}" for name in sorted(names - variables.keys()))
        needed = {name for name, about in variables.items() if "default" not in about}
        given = names | (exported if folder == _TERRAFORM else set())
        yield from (f"{name} is not given to {folder}" for name in sorted(needed - given))
    every = {name for root in page.deployment.roots.values() for name in root.named("variable")} | _OF_A_SITE
    for name in re.findall(r"`(\w+) = [^`]*`", page.text):
        if name not in every:
            yield f"{name} is no variable"


def what_an_apply_makes_is_rolled_out(page: Page) -> Iterator[str]:
    """A service's new setting has no traffic: whoever is told to change one is told of the rollout."""
    functions = (INFRA / "terraform" / "functions.tf").read_text(encoding="utf-8")
    of_services = set(re.findall(r"\bvar\.(\w+)", functions))
    for line in page.text.splitlines():
        changed = set(re.findall(r"`(\w+)(?: = [^`]*)?`", line)) & of_services
        if changed and "terraform.tfvars" in line and "roll" not in line:
            yield f"{', '.join(sorted(changed))} without a rollout"
    for block in page.blocks():
        applied = re.search(r"^terraform -chdir=infra/terraform apply$", block, re.MULTILINE)
        if applied and "init" not in block and "infra/deploy roll " not in block[applied.end() :]:
            yield "an apply without a rollout"


def every_command_of_ours_is_one(page: Page) -> Iterator[str]:
    """The command line takes it, `make setup` has put it there, and what functions read has their embedder."""
    for call in page.commands("askbucket"):
        said = " ".join(call)
        if call[0] != ".venv/bin/askbucket":
            yield f"{call[0]} is on nobody's path"
        if why := refused(call[1:]):
            yield f"{said}: {why}"
        if "build" in call and "--embedder openrouter" not in said:
            yield f"{said}: an embedder that no function's image has"
    for said in re.findall(r"`askbucket (build [^`]*--[^`]*)`", page.text):
        if why := refused(shlex.split(said)) or ("" if "--embedder openrouter" in said else "no embedder"):
            yield f"{said}: {why}"
    for call in page.commands("infra/deploy"):
        script = (ROOT / "infra" / "deploy").read_text(encoding="utf-8")
        if not re.search(rf"^  {call[1]}\b", script, re.MULTILINE):
            yield f"infra/deploy has no {call[1]}"


def every_file_is_there(page: Page) -> Iterator[str]:
    """What is copied, read or run comes with the project."""
    for block in page.blocks():
        for word in re.findall(r"(?<![\w./-])(?:demo|infra|functions|shared)/[\w./-]+", block):
            if not (ROOT / word).exists() and not word.endswith(".tfvars"):
                yield f"{word} is not there"
    for call in page.commands("gcloud"):
        if call[1:3] == ["storage", "cp"]:
            for word in call[3:-1]:
                if not word.startswith(("--", "gs://")) and not (ROOT / word).exists():
                    yield f"{word} is not there"


def every_job_is_one(page: Page) -> Iterator[str]:
    """What is executed, paused and resumed is made by Terraform; what is paused has a schedule."""
    jobs = {name.replace("<kind>", "recipes"): job for name, job in page.deployment.jobs.items()}
    for call in page.commands("gcloud"):
        for word in call:
            name = word.removeprefix("askbucket-")
            if call[1:4] == ["run", "jobs", "execute"] and word.startswith("askbucket-") and name not in jobs:
                yield f"no job {name}"
            if (
                call[1:3] == ["scheduler", "jobs"]
                and word.startswith("askbucket-")
                and "schedule" not in jobs.get(name, {})
            ):
                yield f"no schedule of {name}"
    for listed in re.findall(r"jobs_paused\s+= \[([^\]]*)\]", page.text):
        for name in re.findall(r"[\w-]+", listed):
            if "schedule" not in jobs.get(name, {}):
                yield f"no schedule of {name}"


def a_release_that_comes_back_stays(page: Page) -> Iterator[str]:
    """The job that made the release is stopped first: it would make the same one again."""
    for block in page.blocks():
        if "askbucket rollback" in block and "gcloud scheduler jobs pause" not in block.split("askbucket rollback")[0]:
            yield "a rollback that the next build undoes"
    if re.search(r"`askbucket rollback [^`]*--bucket", page.text):
        yield "a rollback in a sentence, without what goes before it"


def what_a_rollout_reads_is_kept(page: Page) -> Iterator[str]:
    """The filter that drops the platform's logs of requests leaves those of infra/deploy."""
    [client] = re.findall(r"client=([\w-]+-)\$RANDOM", (ROOT / "infra" / "deploy").read_text(encoding="utf-8"))
    for call in page.commands("gcloud"):
        for word in call:
            if "filter=" in word and "/requests" in word and f'NOT httpRequest.userAgent:"{client}"' not in word:
                yield f"infra/deploy asks as {client}, and that is dropped"
    if "exclusion filter" in page.text and "--add-exclusion" not in page.text:
        yield "an exclusion filter that everybody writes for themselves"


PAGE_RULES: Sequence[PageRule] = (
    every_apply_reads_what_was_written_down,
    every_setting_is_a_variable,
    what_an_apply_makes_is_rolled_out,
    every_command_of_ours_is_one,
    every_file_is_there,
    every_job_is_one,
    a_release_that_comes_back_stays,
    what_a_rollout_reads_is_kept,
)


def page_of(name: str, deployment: Deployment, folder: Path = ROOT / "docs") -> Page:
    """A page as it stands."""
    return Page(name, (folder / name).read_text(encoding="utf-8"), deployment)
