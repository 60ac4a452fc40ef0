"""What infra/ deploys, as written: functions.yaml, jobs.yaml, and Terraform's files through HashiCorp's own parser."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from wire import ROOT

HERE = Path(__file__).parent
INFRA = ROOT / "infra"
_parsed: dict[str, Any] = {}


@dataclass(frozen=True)
class Root:
    """What `terraform apply` takes at once: every block by type and name, and the text of its files."""

    files: dict[str, Any]
    text: str

    def resources(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Name and body of each resource of a type."""
        for file in self.files.values():
            for name, bodies in file.get("resource", {}).get(kind, {}).items():
                yield from ((name, body) for body in bodies)

    def blocks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Address and body of everything that is made or read."""
        for file in self.files.values():
            for prefix, where in (("", "resource"), ("data.", "data")):
                for kind, named in file.get(where, {}).items():
                    yield from ((f"{prefix}{kind}.{name}", body) for name, bodies in named.items() for body in bodies)

    def locals(self) -> dict[str, Any]:
        """Every local value by name."""
        found: dict[str, Any] = {}
        for file in self.files.values():
            for values in file.get("locals", []):
                found |= values
        return found

    def named(self, block: str) -> dict[str, dict[str, Any]]:
        """Every block of a kind that has one name: variable, output, provider."""
        return {name: body for file in self.files.values() for name, [body, *_] in file.get(block, {}).items()}

    def settings(self) -> dict[str, Any]:
        """What all `terraform` blocks say."""
        found: dict[str, Any] = {}
        for file in self.files.values():
            for block in file.get("terraform", []):
                found |= block
        return found

    def resource(self, kind: str, name: str) -> dict[str, Any]:
        """The one of this name; empty where there is none."""
        return dict(self.resources(kind)).get(name, {})


@dataclass(frozen=True)
class Deployment(Root):
    """The tables of functions and of jobs, the root that makes them, and every root by its folder; that one is ``."""

    table: dict[str, Any]
    offline: dict[str, Any]
    roots: dict[str, Root]

    @property
    def functions(self) -> dict[str, dict[str, Any]]:
        """Every entry by name; a site's is called `site`."""
        return {**self.table["functions"], "site": self.table["site"]}

    @property
    def jobs(self) -> dict[str, dict[str, Any]]:
        """Every entry by name; those of a site are called `build-<kind>` and so on."""
        return {**self.offline["jobs"], **{f"{name}-<kind>": job for name, job in self.offline["sites"].items()}}


def read(folder: Path = INFRA) -> Deployment:
    """What lies in a folder. Raises CalledProcessError, with the parser's words, for what is no HCL."""
    terraform = folder / "terraform"
    # What `terraform init` fetches lies below .terraform, and is not ours.
    paths = [path for path in terraform.rglob("*.tf") if ".terraform" not in path.parts]
    texts = {str(path.relative_to(terraform)): path.read_text(encoding="utf-8") for path in sorted(paths)}
    key = json.dumps(texts)
    if key not in _parsed:  # the parser takes most of a second to start
        command = [node(), HERE / "parse.mjs", terraform, *texts]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        _parsed[key] = json.loads(done.stdout)
    roots = {name: _root(name, _parsed[key], texts) for name in {_folder(path) for path in texts}}
    tables = [yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8")) for name in ("functions", "jobs")]
    return Deployment(roots[""].files, roots[""].text, *tables, roots)


def with_mistake(folder: Path, file: str, right: str, wrong: str) -> Deployment:
    """The deployment with the first `right` of a file below infra/ made `wrong`, in a copy in this folder."""
    shutil.copytree(INFRA, folder / "infra")
    mistaken = folder / "infra" / file
    text = mistaken.read_text(encoding="utf-8")
    assert right in text
    mistaken.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    return read(folder / "infra")


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _root(folder: str, parsed: dict[str, Any], texts: dict[str, str]) -> Root:
    inside = [path for path in texts if _folder(path) == folder]
    return Root({path: parsed[path] for path in inside}, "\n".join(texts[path] for path in inside))


def node() -> str:
    """Where Node is; the test is skipped where it or the parser is not."""
    found = shutil.which("node")
    if found is None or not (HERE / "node_modules" / "@cdktf").exists():
        pytest.skip("no HCL parser: npm install --no-save in tests/infra")
    return found
