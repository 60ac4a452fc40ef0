"""Each function's image carries what its code imports and no more: derived, then run with nothing else there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from rpc import request
from wire import ROOT, Answer, Service, deployed, free_port, running

sys.path.insert(0, str(ROOT / "infra"))

import needs

TABLE: dict[str, list[str]] = json.loads(needs.TABLE.read_text(encoding="utf-8"))
FUNCTIONS = sorted(name for name in TABLE if not name.startswith("+"))


def carried(folder: Path, function: str, parts: Sequence[str]) -> Path:
    """What an image has: the packages of this function, its own code, and shared/."""
    packages = folder / "packages"
    names = {name for key in (function, *(f"+{part}" for part in parts)) for name in TABLE[key]}
    for distribution in distributions():
        if needs.canonical(distribution.metadata["Name"]) not in names:
            continue
        for file in distribution.files or ():
            if ".." not in file.parts and file.locate().is_file():
                link = packages / file
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(file.locate())
    (folder / "functions").mkdir()
    (folder / "functions" / "__init__.py").touch()
    (folder / "functions" / function).symlink_to(ROOT / "functions" / function)
    (folder / "shared").symlink_to(ROOT / "shared")
    return packages


@pytest.fixture(scope="module")
def alone(demo_bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Service]]:
    """Every function by a Python that has nothing but what its image has, with the embedded models where it asks."""
    with ExitStack() as stack:
        services = {}
        for name in FUNCTIONS:
            folder = tmp_path_factory.mktemp(name)
            asks = name in {"search", "mcp", "ask_site"}
            packages = carried(folder, name, ["embedded"] if asks else [])
            command, env = deployed(name)
            env |= {"PYTHONPATH": f"{folder}:{packages}", "FUNCTION_SOURCE": f"{folder}/functions/{name}/main.py"}
            env |= {"HOST": "127.0.0.1", "PORT": str(free_port()), "BUCKET_URL": demo_bucket, "SITE": "recipes"}
            env |= {"LLM_PROVIDER": "embedded"} if asks else {}
            # Without `site` nothing of this environment's own packages is there.
            _, log = stack.enter_context(running([command[0], "-S", *command[1:]], env))
            services[name] = Service(f"http://127.0.0.1:{env['PORT']}", log)
        for name, service in services.items():
            health = service.until_ready()
            assert health.status == 200, f"{name}: {health.content!r} {service.log.read_text()}"
        yield services


def asked(service: Service, path: str, body: Any = None) -> Answer:
    """A GET, or a POST of this body."""
    return service.get(path) if body is None else service.post(path, body)


@pytest.mark.parametrize(
    ("function", "path", "body"),
    [
        ("search", "/search", {"query": {"text": "households"}}),
        ("search", "/ask?query=households", None),
        ("variable", "/variable?id=Count_Household", None),
        ("variable", "/variables?populationType=Household&measuredProperty=count&statType=measuredValue", None),
        ("registry", "/publishers", None),
        ("registry", "/agents?pageSize=2", None),
        ("registry", "/explore", {"query": {"text": "households"}, "resultType": {"facets": [{"field": "source"}]}}),
        ("registry", "/openapi.json", None),
        ("registry", "/okf/index", None),
        ("registry", "/.well-known/ard.json", None),
        ("mcp", "/mcp", request("tools/call", {"name": "search", "arguments": {"query": "households"}})),
        ("ask_site", "/ask?query=chocolate%20cake&streaming=false", None),
        ("ask_site", "/mcp", request("tools/list")),
        ("stats", "/stats.json", None),
        ("stats", "/status.json", None),
        ("pages", "/", None),
        ("pages", "/samples/recipes/", None),
    ],
)
def test_a_function_answers_with_nothing_but_what_its_image_carries(
    alone: dict[str, Service], function: str, path: str, body: Any
) -> None:
    answer = asked(alone[function], path, body)
    assert answer.status == 200, alone[function].log.read_text()
    assert b'"error"' not in answer.content[:200]


def test_every_function_is_asked_above() -> None:
    assert {path.parent.name for path in (ROOT / "functions").glob("*/main.py")} == set(FUNCTIONS)


def test_all_that_a_site_may_import_is_there_in_its_image_with_every_part(tmp_path: Path) -> None:
    packages = carried(tmp_path, "ask_site", list(needs.PARTS))
    names = needs.imported("functions.ask_site.main", needs.never()["ask_site"])
    wanted = sorted(name for name in names if name.split(".")[0] not in needs.OURS and needs.distribution_of(name))
    tried = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    try: importlib.import_module(name)\n"
        "    except ModuleNotFoundError as error:\n"
        "        if not name.startswith(f'{error.name.rpartition(\".\")[0]}.'): raise\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", tried, *wanted],
        env={"PYTHONPATH": str(packages)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("used", "named"),
    [
        ("from shared.bucket.base import open_bucket; open_bucket('s3://releases')", "PARTS=s3"),
        (
            "from shared.models.choice import Models; from shared.settings import Settings;"
            "Models(Settings(llm_provider='embedded')).judge(None)",
            "weights are not installed",
        ),
    ],
)
def test_a_part_that_an_image_lacks_is_named_in_a_typed_error(tmp_path: Path, used: str, named: str) -> None:
    packages = carried(tmp_path, "search", [])
    done = subprocess.run(
        [sys.executable, "-S", "-c", used],
        env={"PYTHONPATH": f"{tmp_path}:{packages}"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("shared.errors.")
    assert named in done.stderr


def test_the_table_of_packages_is_what_the_code_imports() -> None:
    derived = needs.written(needs.derive(needs.never()))
    assert derived == needs.TABLE.read_text(encoding="utf-8"), (
        ".venv/bin/python infra/needs.py derive > infra/needs.json"
    )


def test_an_exact_lookup_carries_no_vectors_models_or_limits_and_only_a_site_carries_cosmos() -> None:
    heavy = {"numpy", "numkong", "onnxruntime", "httpx", "redis", "mcp", "pydantic", "aiohttp", "boto3"}
    assert not heavy & {*TABLE["variable"], *TABLE["stats"], *TABLE["pages"]}
    assert [name for name in FUNCTIONS if "azure-cosmos" in TABLE[name]] == ["ask_site"]
    assert [name for name in FUNCTIONS if "mcp" in TABLE[name]] == ["ask_site", "mcp"]


def test_a_functions_lock_has_every_digest_and_an_unknown_one_is_a_sentence() -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-S", ROOT / "infra" / "needs.py", "lock", *words]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    lines = run("search", "s3").stdout
    assert lines.count("==") >= len({*TABLE["search"], *TABLE["+s3"]})
    assert all("--hash=sha256:" in entry for entry in lines.split("\n") if "==" in entry and not entry.endswith("\\"))
    unknown = run("searches")
    assert (unknown.returncode, unknown.stderr) == (2, "infra/needs.json has no 'searches'\n")
