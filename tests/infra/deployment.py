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
class Deployment:
    """The tables of functions and of jobs, and every block of Terraform by type and name."""

    table: dict[str, Any]
    offline: dict[str, Any]
    files: dict[str, Any]
    text: str

    @property
    def functions(self) -> dict[str, dict[str, Any]]:
        """Every entry by name; a site's is called `site`."""
        return {**self.table["functions"], "site": self.table["site"]}

    @property
    def jobs(self) -> dict[str, dict[str, Any]]:
        """Every entry by name; a site's is called `site`."""
        return {**self.offline["jobs"], "site": self.offline["site"]}

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

    def resource(self, kind: str, name: str) -> dict[str, Any]:
        """The one of this name; empty where there is none."""
        return dict(self.resources(kind)).get(name, {})


def read(folder: Path = INFRA) -> Deployment:
    """What lies in a folder. Raises CalledProcessError, with the parser's words, for what is no HCL."""
    terraform = folder / "terraform"
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(terraform.glob("*.tf")))
    if text not in _parsed:  # the parser takes most of a second to start
        done = subprocess.run([node(), HERE / "parse.mjs", terraform], capture_output=True, text=True, check=True)
        _parsed[text] = json.loads(done.stdout)
    tables = [yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8")) for name in ("functions", "jobs")]
    return Deployment(*tables, _parsed[text], text)


def node() -> str:
    """Where Node is; the test is skipped where it or the parser is not."""
    found = shutil.which("node")
    if found is None or not (HERE / "node_modules" / "@cdktf").exists():
        pytest.skip("no HCL parser: npm install --no-save in tests/infra")
    return found
